// The file sink: one line of JSON an event, for a first look. Three files:
//
//   PATH          the events
//   PATH.items    what the items are, a line a change
//   PATH.cursor   one JSON object: log id, LSN, epoch, and how long the two others are at that point
//
// Lines are appended and flushed, then the cursor file replaced, durably. A crash between leaves lines behind the cursor;
// the next start cuts them off and gets them again: each event stands there exactly once. Blocking; one thread.
#pragma once

#include "replication/event_sink.h"

#include <memory>

namespace holdfast {

/// Nothing is touched before open(). Another relay's use of the file is `superseded`.
std::unique_ptr<EventSink> make_file_sink(std::string path);

}  // namespace holdfast
