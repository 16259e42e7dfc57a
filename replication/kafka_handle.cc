#include "replication/kafka_handle.h"

#include "replication/limits.h"

#include <librdkafka/rdkafka.h>

#include <array>
#include <utility>

namespace holdfast {
namespace {

constexpr int kLogWarning = 4;  // as syslog counts

void on_log(const rd_kafka_t* client, int level, const char* kind, const char* text) {
  // That a property is not for this kind of client is no trouble.
  if (level > kLogWarning || std::string_view(kind) == "CONFWARN") return;
  if (auto* const trouble = static_cast<KafkaTrouble*>(rd_kafka_opaque(client))) trouble->put(text);
}

Result<void> put(rd_kafka_conf_t* conf, const KafkaProperty& property) {
  std::array<char, 256> reason{};
  const auto put = rd_kafka_conf_set(conf, property.name.c_str(), property.value.c_str(), reason.data(), reason.size());
  if (put == RD_KAFKA_CONF_OK) return {};
  return Error::format(ErrorCode::bad_option, "kafka: property {}: {}", Echo(property.name).text(), reason.data());
}

Result<KafkaHandle> make_handle(rd_kafka_type_t type, KafkaConf conf) {
  std::array<char, 256> reason{};
  KafkaHandle handle(rd_kafka_new(type, conf.get(), reason.data(), reason.size()));
  if (handle == nullptr) return Error::format(ErrorCode::bad_option, "kafka: {}", reason.data());
  [[maybe_unused]] auto* const taken = conf.release();  // by the handle
  return handle;
}

}  // namespace

Result<void> check_interrupt(const KafkaInterrupt* interrupt) {
  if (interrupt == nullptr || !interrupt->raised()) return {};
  return Error::format(ErrorCode::io_failed, "kafka: it is not waited for any longer");
}

void KafkaTrouble::put(std::string_view text) {
  constexpr std::string_view kThread = "]: ";
  if (text.starts_with("[thrd:") && text.find(kThread) != std::string_view::npos) {
    text.remove_prefix(text.find(kThread) + kThread.size());
  }
  const std::lock_guard lock(mutex_);
  text_ = text;
}

std::string KafkaTrouble::take() {
  const std::lock_guard lock(mutex_);
  return std::exchange(text_, {});
}

void KafkaConfDestroyer::operator()(rd_kafka_conf_s* conf) const noexcept { rd_kafka_conf_destroy(conf); }
void KafkaHandleDestroyer::operator()(rd_kafka_s* handle) const noexcept { rd_kafka_destroy(handle); }

Result<KafkaConf> make_kafka_conf(const KafkaAccess& access, const std::vector<KafkaProperty>& defaults,
                                  const std::vector<KafkaProperty>& fixed, KafkaTrouble& trouble) {
  KafkaConf conf(rd_kafka_conf_new());
  rd_kafka_conf_set_log_cb(conf.get(), on_log);
  rd_kafka_conf_set_opaque(conf.get(), &trouble);
  HOLDFAST_TRY(put(conf.get(), {"client.id", "holdfast-relay"}));
  HOLDFAST_TRY(put(conf.get(), {"socket.keepalive.enable", "true"}));
  for (const KafkaProperty& each : defaults) HOLDFAST_TRY(put(conf.get(), each));
  for (const KafkaProperty& each : access.properties) HOLDFAST_TRY(put(conf.get(), each));
  HOLDFAST_TRY(put(conf.get(), {"bootstrap.servers", access.brokers}));
  for (const KafkaProperty& each : fixed) HOLDFAST_TRY(put(conf.get(), each));
  return conf;
}

Result<KafkaHandle> make_kafka_consumer(KafkaConf conf) { return make_handle(RD_KAFKA_CONSUMER, std::move(conf)); }
Result<KafkaHandle> make_kafka_producer(KafkaConf conf) { return make_handle(RD_KAFKA_PRODUCER, std::move(conf)); }

Error kafka_failed(std::string_view what, int code, std::string_view text, const std::string& trouble) {
  if (text.empty()) text = rd_kafka_err2str(static_cast<rd_kafka_resp_err_t>(code));
  // What can be done says more than what was seen of it.
  const std::string_view hint = kafka_error_hint(code);
  const std::string_view more = hint.empty() ? std::string_view(trouble) : hint;
  return Error::format(kafka_error_code(code), "kafka: {}: {}{}{}", what, text, more.empty() ? "" : "; ", more);
}

}  // namespace holdfast
