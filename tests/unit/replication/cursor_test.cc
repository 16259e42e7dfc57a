#include "replication/cursor.h"

#include "tests/doctest.h"

using namespace holdfast;

namespace {

constexpr LogId kLog{0xab, 1};
constexpr LogId kOther{2};
const LogRange kRange{kLog, Lsn(11), Lsn(20)};

std::string said(const Cursor& cursor, ErrorCode code) {
  const auto checked = check_cursor(cursor, kRange);
  REQUIRE(!checked);
  CHECK(checked.error().code() == code);
  return std::string(checked.error().text());
}

}  // namespace

TEST_CASE("cursor: it may stand anywhere between what the log still has and what is durable") {
  CHECK(check_cursor({kLog, Lsn(10), Epoch(1)}, kRange).has_value());
  CHECK(check_cursor({kLog, Lsn(20), Epoch(1)}, kRange).has_value());
  CHECK(check_cursor({LogId{}, Lsn(), Epoch(1)}, {kLog, Lsn(1), Lsn()}).has_value());
}

TEST_CASE("cursor: another log, a cursor ahead and a cursor before the log's beginning are refused, never skipped") {
  CHECK(said({kOther, Lsn(15), Epoch(1)}, ErrorCode::foreign).find("LSN 15 of log 02000000") != std::string::npos);
  CHECK(said({kLog, Lsn(21), Epoch(1)}, ErrorCode::damaged).find("LSN 21, and the server's log ends at 20") !=
        std::string::npos);
  CHECK(said({kLog, Lsn(21), Epoch(1)}, ErrorCode::damaged).find("run holdfast-relay bootstrap") != std::string::npos);
  CHECK(said({kLog, Lsn(9), Epoch(1)}, ErrorCode::damaged).find("needs LSN 10, and the server's log begins at 11") !=
        std::string::npos);
  CHECK(said({LogId{}, Lsn(), Epoch(1)}, ErrorCode::damaged).find("needs LSN 1,") != std::string::npos);
}

TEST_CASE("cursor: a sink goes on with a log that forked from its own only where it has nothing else") {
  LogRange fork{kOther, Lsn(1), Lsn(30)};
  fork.forked_from = kLog;
  fork.forked_at = Lsn(20);
  CHECK(check_adoption({kLog, Lsn(20), Epoch(1)}, fork).has_value());
  const auto said_of = [](const Result<void>& checked) { return checked ? "" : std::string(checked.error().text()); };
  CHECK(said_of(check_adoption({kLog, Lsn(21), Epoch(1)}, fork)).find("parted from that one after 20") !=
        std::string::npos);
  CHECK(said_of(check_adoption({kOther, Lsn(3), Epoch(1)}, fork)).find("does not go on from") != std::string::npos);
  CHECK(said_of(check_adoption({kOther, Lsn(3), Epoch(1)}, kRange)).find("does not go on from") != std::string::npos);
  // Who only asks whether he can go on is told which of the two it is.
  CHECK(said_of(check_cursor({kLog, Lsn(20), Epoch(1)}, fork)).find("holdfast-relay adopt") != std::string::npos);
  CHECK(said_of(check_cursor({kLog, Lsn(21), Epoch(1)}, fork)).find("holdfast-relay bootstrap") != std::string::npos);
}

TEST_CASE("cursor: log ids as text, with a UUID's dashes or without") {
  CHECK(log_id_text(kLog) == "ab010000000000000000000000000000");
  CHECK(*parse_log_id("ab010000000000000000000000000000") == kLog);
  CHECK(*parse_log_id("ab010000-0000-0000-0000-000000000000") == kLog);
  CHECK(!parse_log_id(""));
  CHECK(!parse_log_id("ab01000000000000000000000000000"));
  CHECK(!parse_log_id("ab01000000000000000000000000000g"));
}
