// What threads tell each other besides commands and replies. Values; they travel through a mailbox.
#pragma once

#include "server/control.h"
#include "server/poller.h"
#include "server/pubsub.h"
#include "server/slow_log.h"
#include "server/view_keeper.h"
#include "server/view_map.h"

#include <utility>
#include <variant>

namespace holdfast {

/// A connection that was accepted and admitted: for the thread that will own it.
struct Newcomer {
  FileDescriptor socket;
  std::uint64_t id = 0;
  std::string address;
  std::string local_address;
};

/// Something to do to the connections of a thread; it answers with an OrderPart.
struct AskedOrder {
  ConnectionOrder order;
  ThreadIndex asker;
  std::uint64_t ticket = 0;  // of the asker
};

/// What an order came to on one thread.
struct OrderPart {
  std::uint64_t ticket = 0;
  std::uint64_t count = 0;  // of connections that it meant
  std::string lines;
  std::vector<std::pair<std::uint64_t, std::size_t>> ends;  // id, and where its line ends
};

/// For the connections of a thread that monitor.
struct MonitorLine {
  std::string text;
};

/// A batch that was slow, for the thread that knows who sent it.
struct SlowBatch {
  SlowLog::Entry entry;
  ConnectionKey connection;
};

/// Views of an owner that a thread may answer from, after it was refused by that owner.
struct ViewsToKnow {
  ShardIndex owner;
  std::vector<ViewNews> views;
};

/// How often a thread was asked for an item of this one, and answered itself.
struct ItemAsked {
  ViewAsked asked;
};

/// A view, or a filter, that the owner frees once every thread has answered.
struct ViewToForget {
  ThreadIndex owner;
  RetireTicket ticket;
  const ItemView* view = nullptr;  // none: nothing is to be forgotten, only answered
};
struct ViewForgotten {
  RetireTicket ticket;
};

using ThreadMessage = std::variant<Newcomer, AskedOrder, OrderPart, MonitorLine, SlowBatch, Delivery, ViewsToKnow,
                                   ItemAsked, ViewToForget, ViewForgotten>;

}  // namespace holdfast
