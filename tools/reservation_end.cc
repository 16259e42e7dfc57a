#include "tools/reservation_end.h"

namespace holdfast {
namespace {

constexpr int kTriesMax = 3;  // between question and answer it may be confirmed, and then end

Error refused(const Reply& reply) {
  return Error::format(ErrorCode::err, "the server says: {}", Echo(reply.text).text());
}

}  // namespace

Result<std::string> end_reservation(RespClient& client, const std::string& item, const std::string& id,
                                    bool write_off) {
  std::int64_t refusal = 0;
  for (int i = 0; i < kTriesMax; ++i) {
    const auto found = client.ask({"RESERVATION", "GET", item, "ID", id});
    if (!found) return found.error();
    if (found->is_error()) return refused(*found);
    const Reply* const state = found->find("state");
    if (state == nullptr) return std::string();
    if (state->text != "RESERVED" && state->text != "CONFIRMED") return state->text;
    std::vector<std::string> words = {state->text == "RESERVED" ? "RELEASE" : "REFUND", item, "-", "ID", id};
    if (write_off) words.emplace_back("WRITEOFF");
    const auto ended = client.ask(words);
    if (!ended) return ended.error();
    if (ended->is_error()) return refused(*ended);
    if (ended->kind == Reply::Kind::integer && ended->integer >= 0) return state->text;
    refusal = ended->integer;  // it is in another state by now
  }
  return Error::format(ErrorCode::err, "the server does not end the reservation {}: its last answer was {}", id,
                       refusal);
}

}  // namespace holdfast
