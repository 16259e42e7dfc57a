#include "server/refusal.h"

#include <algorithm>

namespace holdfast {

void write_refusal(ReplyWriter& reply, const Refusal& refusal, bool details, WallTime wall) {
  if (!details) return reply.integer(reply_number(refusal.outcome));
  const bool not_open = refusal.outcome == ReserveOutcome::not_open;
  const bool sold_out = refusal.outcome == ReserveOutcome::sold_out;
  reply.map(not_open || sold_out ? 4 : 3);
  reply.bulk("result");
  reply.integer(reply_number(refusal.outcome));
  reply.bulk("reason");
  reply.bulk(reason_word(refusal.outcome));
  reply.bulk("sequence");
  reply.integer(static_cast<std::int64_t>(refusal.sequence.value()));
  if (sold_out) {
    reply.bulk("reserved");
    reply.integer(refusal.reserved);
  }
  if (!not_open) return;
  reply.bulk("opens-in");
  if (refusal.opens_at == WallTime()) return reply.null();
  reply.integer(std::max<std::int64_t>((refusal.opens_at - wall).count(), 0));
}

}  // namespace holdfast
