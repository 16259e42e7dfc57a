// Makes segments ahead of their use: N.tmp, zeros to its full length, flushed, renamed, directory flushed. Its header
// block stays zero until the log switches to it.
#pragma once

#include "storage/file_system.h"

#include <optional>
#include <string>

namespace holdfast {

/// What to prepare. The temporary file is `path` + ".tmp"; leftovers of either name are replaced.
struct SegmentRequest {
  std::string directory;
  std::string path;
  std::uint64_t bytes = 0;
};

/// Does all of it on the calling thread; when it returns without an error, the file and its name are durable.
Result<void> prepare_segment(FileSystem& files, const SegmentRequest& request);

/// Where the preparing runs. Calls come from the log's thread.
class SegmentPreparer {
 public:
  virtual ~SegmentPreparer() = default;
  /// REQUIRES: nothing is being prepared.
  virtual void start(const SegmentRequest& request) = 0;
  /// The outcome, once; nothing while it runs.
  virtual std::optional<Result<void>> poll() = 0;
};

/// Prepares inside start(): for tests and tools.
class InlinePreparer final : public SegmentPreparer {
 public:
  explicit InlinePreparer(FileSystem& files) : files_(files) {}
  void start(const SegmentRequest& request) override { outcome_ = prepare_segment(files_, request); }
  std::optional<Result<void>> poll() override;

 private:
  FileSystem& files_;
  std::optional<Result<void>> outcome_;
};

}  // namespace holdfast
