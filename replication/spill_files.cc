#include "replication/spill_files.h"

#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>

namespace holdfast {
namespace {

Error failed(std::string_view what) {
  const ErrorCode code = errno == ENOSPC || errno == EDQUOT ? ErrorCode::no_space : ErrorCode::io_failed;
  return Error::format(code, "temporary files: {}: {}", what, std::strerror(errno));
}

}  // namespace

Result<SpillFiles> SpillFiles::make() {
  SpillFiles spill;
  std::error_code ec;
  const std::string folder = std::filesystem::temp_directory_path(ec).string();
  if (ec) return Error::format(ErrorCode::io_failed, "the folder for temporary files, TMPDIR: {}", ec.message());
  for (auto& file : spill.files_) {
    std::string name = folder + "/holdfast-reconcile-XXXXXX";
    const int fd = ::mkstemp(name.data());
    if (fd < 0) return failed(name);
    ::unlink(name.c_str());
    file.reset(::fdopen(fd, "w+b"));
    if (file == nullptr) return failed(name);
    std::setvbuf(file.get(), nullptr, _IOFBF, kSpillBufferBytes);
  }
  return spill;
}

Result<void> SpillFiles::write(std::size_t part, std::span<const std::byte> bytes) {
  if (std::fwrite(bytes.data(), 1, bytes.size(), files_.at(part).get()) != bytes.size()) return failed("write");
  return {};
}

Result<void> SpillFiles::rewind(std::size_t part) {
  std::FILE* const file = files_.at(part).get();
  if (std::fflush(file) != 0 || std::fseek(file, 0, SEEK_SET) != 0) return failed("write");
  return {};
}

Result<bool> SpillFiles::read(std::size_t part, std::span<std::byte> bytes) {
  std::FILE* const file = files_.at(part).get();
  const std::size_t count = std::fread(bytes.data(), 1, bytes.size(), file);
  if (count == bytes.size()) return true;
  if (std::ferror(file) != 0 || count > 0) return failed("read");
  return false;
}

void SpillFiles::drop(std::size_t part) { files_.at(part).reset(); }

}  // namespace holdfast
