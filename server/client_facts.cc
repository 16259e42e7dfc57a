#include "server/client_facts.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

namespace holdfast {

std::string client_flags(const ClientFacts& facts) {
  std::string flags;
  if (facts.monitors) flags += 'O';
  if (facts.subscribes) flags += 'P';
  if (facts.queued >= 0) flags += 'x';
  if (facts.blocked) flags += 'b';
  if (facts.closing) flags += 'c';
  if (facts.no_evict) flags += 'e';
  if (facts.no_touch) flags += 'T';
  return flags.empty() ? "N" : flags;
}

std::string_view client_type(const ClientFacts& facts) noexcept { return facts.subscribes ? "pubsub" : "normal"; }

std::string command_label(const CommandEntry* entry) {
  if (entry == nullptr) return "NULL";
  std::string label(entry->name);
  if (!entry->subcommand.empty()) label.append("|").append(entry->subcommand);
  std::transform(label.begin(), label.end(), label.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  return label;
}

void append_client_line(std::string& text, const ClientFacts& facts) {
  const auto out = std::back_inserter(text);
  fmt::format_to(
      out, "id={} addr={} laddr={} fd={} name={} age={} idle={} flags={} db=0 sub={} psub={} ssub={} multi={}",
      facts.id, facts.address, facts.local_address, facts.fd, facts.name, facts.age_seconds, facts.idle_seconds,
      client_flags(facts), facts.channels, facts.patterns, facts.shard_channels, facts.queued);
  // No words of a command outlive it, and there is no fixed reply buffer with a peak of its own.
  fmt::format_to(out, " qbuf={} qbuf-free={} argv-mem=0 multi-mem={} rbs={} rbp=0 obl={} oll={} omem={} tot-mem={}",
                 facts.input_bytes, facts.input_free_bytes, facts.queued_bytes, facts.output_buffer_bytes,
                 facts.output_bytes, facts.output_replies, facts.output_held_bytes, facts.memory_bytes);
  fmt::format_to(out, " events={}{} cmd={} user={} redir=-1 resp={} lib-name={} lib-ver={}\n",
                 facts.watches_input ? "r" : "", facts.watches_output ? "w" : "", command_label(facts.last), facts.user,
                 static_cast<int>(facts.version), facts.library, facts.library_version);
}

}  // namespace holdfast
