#include "storage/sinks_reader.h"

#include "storage/byte_codec.h"
#include "storage/log_files.h"

#include <xxhash.h>

namespace holdfast {

using namespace sinks_format;

namespace {

Error impossible(std::string_view what) { return Error::format(ErrorCode::damaged, "{} is impossible", what); }

Result<std::shared_ptr<const Parked>> take_parked(ByteReader& in, std::size_t& left) {
  const std::uint64_t count = in.number();
  if (!in.ok() || count > left) return impossible("the number of parked ones");
  left -= static_cast<std::size_t>(count);
  auto parked = std::make_shared<Parked>();
  for (std::uint64_t i = 0; i < count && in.ok(); ++i) {
    ParkedKey key;
    key.item = in.text(kItemNameBytesMax);
    key.version = ItemVersion(in.number());
    key.id = in.text(kParkedIdBytesMax);
    const std::string_view reason = in.text(kParkedReasonBytesMax);
    if (!parked->empty() && key <= parked->rbegin()->first) return impossible("the order of parked ones");
    parked->emplace_hint(parked->end(), std::move(key), reason);
  }
  return std::shared_ptr<const Parked>(std::move(parked));
}

Result<Sink> take_sink(ByteReader& in, std::size_t& parked_left) {
  Sink sink;
  sink.name = in.text(kSinkNameBytesMax);
  sink.acked = Lsn(in.number());
  sink.ahead = Lsn(in.number());
  sink.acked_at = wall_time(in.integer());
  auto parked = take_parked(in, parked_left);
  if (!parked) return parked.error();
  sink.parked = std::move(*parked);
  if (!in.ok() || sink.name.empty()) return impossible("a sink");
  return sink;
}

}  // namespace

Result<Sinks> decode_sinks(std::span<const std::byte> file) {
  if (file.size() < kHeaderBytes + kSumBytes) return Error(ErrorCode::damaged, "the file is too short");
  if (load<std::uint64_t>(file, 0) != kMagic) return Error(ErrorCode::damaged, "the file does not begin as it must");
  const std::size_t summed = file.size() - kSumBytes;
  if (load<std::uint64_t>(file, summed) != XXH3_64bits(file.data(), summed)) {
    return Error::format(ErrorCode::damaged, "the sum at offset {} is wrong", summed);
  }
  if (const auto version = load<std::uint16_t>(file, 8); version != kVersion) {
    return Error::format(ErrorCode::unsupported, "format {} needs a newer Holdfast; this one reads {}", version,
                         kVersion);
  }
  Sinks sinks;
  sinks.log_id = load<LogId>(file, 16);
  const auto count = load<std::uint64_t>(file, 32);
  if (count > kSinksMax) return impossible("the number of sinks");
  ByteReader in(file.subspan(kHeaderBytes, summed - kHeaderBytes));
  std::size_t parked_left = kParkedMax;
  for (std::uint64_t i = 0; i < count; ++i) {
    auto sink = take_sink(in, parked_left);
    if (!sink) return sink.error();
    if (!sinks.sinks.empty() && sink->name <= sinks.sinks.back().name) return impossible("the order of sinks");
    sinks.sinks.push_back(std::move(*sink));
  }
  if (!in.at_end()) return Error(ErrorCode::damaged, "bytes follow the last sink");
  return sinks;
}

Result<std::optional<Sinks>> read_sinks(FileSystem& files, const std::string& directory) {
  const std::string path = sinks_path(directory);
  const auto there = files.exists(path);
  if (!there) return there.error();
  if (!*there) return std::optional<Sinks>();
  auto file = files.open(path, OpenMode::read);
  if (!file) return file.error();
  const auto size = (*file)->size();
  if (!size) return size.error();
  if (*size > kFileBytesMax) return Error::format(ErrorCode::damaged, "{}: the file is too long", path);
  std::vector<std::byte> bytes(*size);
  const auto got = (*file)->read(0, bytes);
  if (!got) return got.error();
  bytes.resize(*got);
  auto sinks = decode_sinks(bytes);
  if (!sinks) return Error::format(sinks.error().code(), "{}: {}", path, sinks.error().text());
  return std::optional<Sinks>(std::move(*sinks));
}

}  // namespace holdfast
