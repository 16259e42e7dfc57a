#include "server/slow_log.h"

#include "server/limits.h"
#include "server/redaction.h"

#include <fmt/format.h>

#include <iterator>

namespace holdfast {

std::string& ClippedWords::next() {
  if (count_ == words_.size()) words_.emplace_back();
  std::string& word = words_[count_++];
  word.clear();
  return word;
}

void ClippedWords::assign(const CommandEntry& command, Words words) {
  clear();
  const bool fits = words.size() <= kSlowLogWordsMax;
  const std::size_t shown = fits ? words.size() : kSlowLogWordsMax - 1;
  for (std::size_t i = 0; i < shown; ++i) {
    std::string& out = next();
    const std::string_view word = is_secret(command, words, i) ? kRedacted : words[i];
    out.assign(word.substr(0, kSlowLogWordBytesMax));
    if (word.size() <= kSlowLogWordBytesMax) continue;
    fmt::format_to(std::back_inserter(out), "... ({} more bytes)", word.size() - kSlowLogWordBytesMax);
  }
  if (!fits) fmt::format_to(std::back_inserter(next()), "... ({} more arguments)", words.size() - shown);
}

void ClippedWords::add_batch(std::size_t more) {
  if (more > 0) fmt::format_to(std::back_inserter(next()), "... (time of a batch with {} more commands)", more);
}

void SlowLog::add(Entry entry, std::size_t kept_max) {
  entry.id = next_id_++;
  entries_.push_front(std::move(entry));
  while (entries_.size() > kept_max) entries_.pop_back();
}

}  // namespace holdfast
