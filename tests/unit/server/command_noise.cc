#include "tests/unit/server/command_noise.h"

#include "protocol/command_table.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <vector>

namespace holdfast::test {
namespace {

constexpr std::array<std::string_view, 48> kWords = {"i",
                                                     "j",
                                                     "{i}",
                                                     "{i}:stock",
                                                     "{i}:buyers",
                                                     "{s}a",
                                                     "{s}b",
                                                     "u1",
                                                     "u2",
                                                     "7",
                                                     "0",
                                                     "1",
                                                     "-1",
                                                     "10",
                                                     "64",
                                                     "1000",
                                                     "99999999999",
                                                     "-",
                                                     "9223372036854775807",
                                                     "ITEM",
                                                     "GET",
                                                     "ID",
                                                     "QTY",
                                                     "LIMIT",
                                                     "STOCK",
                                                     "VERSION",
                                                     "CURSOR",
                                                     "COUNT",
                                                     "USER",
                                                     "TTL",
                                                     "MATCH",
                                                     "*",
                                                     "a*b?c[d",
                                                     "HOLD",
                                                     "FREE",
                                                     "sale",
                                                     "item",
                                                     "RESERVED",
                                                     "",
                                                     "nokey",
                                                     "{a}{b}",
                                                     "x\r\ny",
                                                     "\xff",
                                                     "%",
                                                     "true",
                                                     "channel",
                                                     "9223372036854775808",
                                                     "id-broken"};
constexpr std::array<std::string_view, 3> kIds = {"00000000-0000-4000-8000-000000000001",
                                                  "00000000-0000-4000-8000-000000000002",
                                                  "00000000-0000-4000-8000-00000000000A"};

/// Commands whose replies show how the bytes came or what else the server did, or that make messages come.
bool shows_traffic(const CommandEntry& entry) {
  constexpr std::string_view kNames[] = {"INFO",      "MONITOR",    "SLOWLOG",   "LATENCY",
                                         "SUBSCRIBE", "PSUBSCRIBE", "SSUBSCRIBE"};
  if (std::find(std::begin(kNames), std::end(kNames), entry.name) != std::end(kNames)) return true;
  return entry.name == "CLIENT" && (entry.subcommand == "INFO" || entry.subcommand == "LIST");
}

std::vector<std::string> split(std::string_view text) {
  std::vector<std::string> words;
  std::size_t at = 0;
  while (at < text.size()) {
    const std::size_t end = std::min(text.find_first_of(" []|", at), text.size());
    if (end > at) words.emplace_back(text.substr(at, end - at));
    at = end + 1;
  }
  return words;
}

std::string framed(const std::vector<std::string>& words) {
  std::string bytes = "*" + std::to_string(words.size()) + "\r\n";
  for (const std::string& word : words) bytes += "$" + std::to_string(word.size()) + "\r\n" + word + "\r\n";
  return bytes;
}

std::string inlined(const std::vector<std::string>& words) {
  std::string line;
  for (const std::string& word : words) (line += word) += ' ';
  return line + "\r\n";
}

}  // namespace

std::string CommandNoise::stream(int requests) {
  std::string bytes;
  for (int i = 0; i < requests; ++i) bytes += dice_.chance(1, 120) ? framing_error() : request();
  return bytes;
}

/// The words of a line of the table: what is in capitals stays, what is not becomes some word; now and then one is
/// dropped, doubled or exchanged.
std::string CommandNoise::request() {
  const auto table = command_table();
  const CommandEntry* entry = &table[dice_.below(table.size())];
  while (repeatable_ && shows_traffic(*entry)) entry = &table[dice_.below(table.size())];
  if (dice_.chance(1, 6)) return framed({"ITEM", "CREATE", word(), "STOCK", std::to_string(dice_.below(5))});
  if (dice_.chance(1, 6)) return framed({"RESERVE", dice_.chance(1, 2) ? "i" : "{s}a", word()});
  std::vector<std::string> words;
  for (std::string& part : split(entry->syntax)) {
    const bool literal = std::none_of(part.begin(), part.end(), [](unsigned char c) { return std::islower(c) != 0; });
    if (!literal) part = word();
    if (words.size() > 1 && dice_.chance(1, 12)) continue;
    if (dice_.chance(1, 20)) words.push_back(part);
    words.push_back(std::move(part));
  }
  return dice_.chance(1, 5) ? inlined(words) : framed(words);
}

std::string CommandNoise::word() {
  if (dice_.chance(1, 4)) return std::string(kIds[dice_.below(kIds.size())]);
  if (dice_.chance(1, 200)) return std::string(static_cast<std::size_t>(dice_.below(70'000)), 'w');
  return std::string(kWords[dice_.below(kWords.size())]);
}

std::string CommandNoise::framing_error() {
  constexpr std::array<std::string_view, 8> kErrors = {
      "*-1\r\n",       "*0\r\n",       "\r\n",     "*2\r\n$4\r\nPING\r\n+x\r\n",
      "*1\r\n$-1\r\n", "PING \"x\r\n", "*abc\r\n", "*1\r\n$70000\r\n"};
  return std::string(kErrors[dice_.below(kErrors.size())]);
}

}  // namespace holdfast::test
