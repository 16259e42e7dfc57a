#include "tools/server_log_source.h"

#include "replication/limits.h"
#include "tools/resp_client.h"

namespace holdfast {
namespace {

constexpr auto kTimeout = std::chrono::duration_cast<std::chrono::seconds>(kBlockTime + kAnswerTime);

struct RefusalCode {
  std::string_view word;
  ErrorCode code;
  std::string_view advice;
};
/// First words of refusals that waiting does not change; all others may pass.
constexpr RefusalCode kRefusals[] = {
    {"LOGGONE", ErrorCode::damaged, "; run holdfast-relay bootstrap, which begins anew with a snapshot"},
    {"LOGAHEAD", ErrorCode::damaged, ""},
    {"NOPERM", ErrorCode::no_perm, "; the user needs the role relay"},
    {"NOAUTH", ErrorCode::no_auth, "; see --user and --secret-file"},
    {"WRONGPASS", ErrorCode::wrong_pass, ""}};

/// The line "name:value" of an INFO text.
std::string_view field_of(std::string_view info, std::string_view name) {
  for (std::size_t at = 0; at < info.size();) {
    const std::size_t end = std::min(info.find("\r\n", at), info.size());
    const std::string_view line = info.substr(at, end - at);
    if (line.size() > name.size() && line.starts_with(name) && line[name.size()] == ':')
      return line.substr(name.size() + 1);
    at = end + 2;
  }
  return {};
}

class ServerLogSource final : public LogSource {
 public:
  ServerLogSource(std::string server, Credentials credentials)
      : server_(std::move(server)), credentials_(std::move(credentials)) {}

  Result<LogRange> look() override;
  Result<LogPage> read(Lsn from, std::size_t bytes_max, Millis block) override;
  Result<void> acknowledge(const std::string& sink, Lsn lsn, const std::vector<ParkNotice>& notices) override;
  void interrupt() override { interrupt_.raise(); }

 private:
  /// A reply that is no error. What goes wrong with the connection ends it.
  Result<Reply> ask(const std::vector<std::string>& words);
  Error odd(std::string_view what) const {
    return Error::format(ErrorCode::unsupported, "{}: {} was not answered as holdfastd does", server_, what);
  }

  std::string server_;
  Credentials credentials_;
  SocketInterrupt interrupt_;
  std::unique_ptr<RespClient> client_;
};

Result<Reply> ServerLogSource::ask(const std::vector<std::string>& words) {
  if (client_ == nullptr) {
    auto client = RespClient::connect(server_, kTimeout, credentials_, &interrupt_);
    if (!client) return client.error();
    client_ = std::move(*client);
  }
  auto reply = client_->ask(words);
  if (!reply) {
    client_.reset();
    return reply.error();
  }
  if (!reply->is_error()) return reply;
  RefusalCode found{"", ErrorCode::io_failed, ""};
  for (const RefusalCode& refusal : kRefusals) {
    if (reply->text.starts_with(refusal.word)) found = refusal;
  }
  return Error::format(found.code, "{}: {} {}: {}{}", server_, words[0], words.size() > 1 ? words[1] : "",
                       Echo(reply->text).text(), found.advice);
}

Result<LogRange> ServerLogSource::look() {
  const auto reply = ask({"INFO", "persistence", "holdfast"});
  if (!reply) return reply.error();
  if (field_of(reply->text, "loading") != "0") {
    return Error::format(ErrorCode::io_failed, "{} replays its log", server_);
  }
  const auto log = parse_log_id(field_of(reply->text, "log_id"));
  std::uint64_t durable = 0;
  if (!log || !parse_canonical(field_of(reply->text, "durable_lsn"), UINT64_MAX, durable)) return odd("INFO");
  LogRange range{*log, Lsn(), Lsn(durable)};
  std::uint64_t forked_at = 0;
  const std::string_view forked_from = field_of(reply->text, "forked_from_log_id");
  if (const auto origin = parse_log_id(forked_from); !forked_from.empty()) {
    const bool sound = origin && parse_canonical(field_of(reply->text, "forked_from_lsn"), UINT64_MAX, forked_at);
    if (!sound) return odd("INFO");
    range.forked_from = *origin;
    range.forked_at = Lsn(forked_at);
  }
  return range;
}

Result<LogPage> ServerLogSource::read(Lsn from, std::size_t bytes_max, Millis block) {
  auto reply = ask({"LOG", "READ", std::to_string(from.value()), "MAXBYTES", std::to_string(bytes_max), "BLOCK",
                    std::to_string(block.count())});
  if (!reply) return reply.error();
  const bool shaped = reply->kind == Reply::Kind::array && reply->items.size() == 4;
  const auto log = shaped ? parse_log_id(reply->items[0].text) : Result<LogId>(Error());
  if (!log) return odd("LOG READ");
  LogPage page;
  page.range = {*log, Lsn(static_cast<std::uint64_t>(reply->items[1].integer)),
                Lsn(static_cast<std::uint64_t>(reply->items[2].integer))};
  page.batches = std::move(reply->items[3].text);
  return page;
}

Result<void> ServerLogSource::acknowledge(const std::string& sink, Lsn lsn, const std::vector<ParkNotice>& notices) {
  std::vector<std::string> words = {"LOG", "ACK", sink, std::to_string(lsn.value())};
  for (const ParkNotice& notice : notices) {
    // The server knows ids and sequence numbers; what kind of thing they name is the sink's own matter.
    const std::string id = notice.id.substr(notice.id.find(':') + 1);
    words.insert(words.end(),
                 {notice.parked() ? "PARK" : "UNPARK", notice.item, std::to_string(notice.version.value()), id});
    if (notice.parked()) words.push_back(notice.reason);
  }
  HOLDFAST_TRY(ask(words));
  return {};
}

}  // namespace

std::unique_ptr<LogSource> make_server_log_source(std::string server, Credentials credentials) {
  return std::make_unique<ServerLogSource>(std::move(server), std::move(credentials));
}

}  // namespace holdfast
