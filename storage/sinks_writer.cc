#include "storage/sinks_writer.h"

#include "protocol/check.h"
#include "storage/byte_codec.h"
#include "storage/log_files.h"

#include <xxhash.h>

namespace holdfast {

using namespace sinks_format;

std::vector<std::byte> encode_sinks(const Sinks& sinks) {
  std::size_t bytes = kHeaderBytes + kSumBytes;
  for (const Sink& sink : sinks.sinks) bytes += kSinkBytesMax + sink.parked->size() * kParkedBytesMax;
  std::vector<std::byte> file(bytes);
  store(file, 0, kMagic);
  store(file, 8, kVersion);
  store(file, 16, sinks.log_id);
  store(file, 32, static_cast<std::uint64_t>(sinks.sinks.size()));
  ByteWriter out(file.data() + kHeaderBytes);
  for (const Sink& sink : sinks.sinks) {
    out.text(sink.name);
    out.number(sink.acked.value());
    out.number(sink.ahead.value());
    out.integer(to_ms(sink.acked_at));
    out.number(sink.parked->size());
    for (const auto& [key, reason] : *sink.parked) {
      out.text(key.item);
      out.number(key.version.value());
      out.text(key.id);
      out.text(reason);
    }
  }
  const std::size_t summed = kHeaderBytes + out.size();
  CHECK(summed + kSumBytes <= file.size() && summed + kSumBytes <= kFileBytesMax);
  store(file, summed, XXH3_64bits(file.data(), summed));
  file.resize(summed + kSumBytes);
  return file;
}

Result<void> write_sinks(FileSystem& files, const std::string& directory, const Sinks& sinks) {
  const std::string path = sinks_path(directory);
  const std::string temporary = temporary_path(path);
  const auto leftover = files.exists(temporary);
  if (!leftover) return leftover.error();
  if (*leftover) HOLDFAST_TRY(files.remove(temporary));
  auto file = files.open(temporary, OpenMode::create);
  if (!file) return file.error();
  HOLDFAST_TRY((*file)->write(0, encode_sinks(sinks)));
  HOLDFAST_TRY((*file)->sync());
  file->reset();
  HOLDFAST_TRY(files.rename(temporary, path));
  return files.sync_directory(directory);
}

}  // namespace holdfast
