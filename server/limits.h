// Every bound of connections, sessions, mailboxes and shards, and how they relate. Constants; any thread.
#pragma once

#include "protocol/resp_parser.h"
#include "protocol/types.h"

#include <chrono>
#include <cstddef>

namespace holdfast {

// One turn of the loop.

/// Commands that are parsed before they are run: what a block carries.
inline constexpr std::uint32_t kBlockCommandsMax = 64;
/// Bytes of the words in a block; a longer command has a block of its own.
inline constexpr std::size_t kBlockBytesMax = 4_KiB;
/// Words in a block; a command of more words has a block of its own.
inline constexpr std::size_t kBlockWordsMax = 512;
/// A connection's share of a turn.
inline constexpr std::uint32_t kTurnCommandsMax = 256;
inline constexpr std::size_t kTurnBytesMax = 64_KiB;
/// Readiness events taken from the system at once. A socket costs as much as ten commands of others: the owner of a hot
/// item serves its own connections by the handful, and other threads' commands in between.
inline constexpr int kEventsMax = 64;
/// Connections accepted in one turn.
inline constexpr int kAcceptsMax = 10;
/// Commands taken from one thread before the next one's, and how often it is each one's turn.
inline constexpr std::size_t kCommandsPerSourceMax = 256;
inline constexpr std::size_t kRoundsMax = 16;
/// An idle thread sleeps this long at most.
inline constexpr Millis kIdleSleep{1000};

// What waits.

/// Commands without a reply on one connection; from here on it is not read.
inline constexpr std::uint32_t kUnansweredMax = 1024;
/// Replies that a connection has not taken; from here on nothing more of it is executed.
inline constexpr std::size_t kOutputBytesMax = 1_MiB;
/// The largest single reply.
inline constexpr std::size_t kReplyBytesMax = 8_MiB;
/// The same before AUTH; a connection that exceeds it is closed.
inline constexpr std::size_t kOutputBytesBeforeAuthMax = 4_KiB;
/// Commands that one thread may have at one owner without replies.
inline constexpr std::uint32_t kCreditsMax = 4096;
/// Places in a ring between two threads.
inline constexpr std::size_t kMailboxBlocksMax = 256;
/// RESERVATION WAIT that wait at one owner; further ones are answered as things stand.
inline constexpr std::size_t kWaitsMax = 1024;
/// The longest TIMEOUT of RESERVATION WAIT, WAIT and WAITAOF, and what 0 means in the last two.
inline constexpr Millis kWaitMax{24 * 3600 * 1000};
/// Sealed groups of one shard at the log. More than one would make batches smaller, and so more of them.
inline constexpr std::size_t kGroupsAtLogMax = 1;
/// Full groups may be there in any number up to this; then the shard runs nothing until the log has caught up.
inline constexpr std::size_t kGroupsBehindMax = 64;
/// Committed groups on their way back. A block of commands makes few groups, each of at least 16 KiB.
inline constexpr std::size_t kCommittedMax = 4096;
/// Blocks that a thread keeps for reuse, and what a block may have grown to in order to be kept.
inline constexpr std::size_t kSpareBlocksMax = 512;
inline constexpr std::size_t kSpareBlockBytesMax = 64_KiB;

// The log as a stream.

/// Whole batches that one LOG READ answers, unless the first one alone is longer.
inline constexpr std::size_t kLogReadBytesMax = kReplyBytesMax - 4_KiB;
/// Entries of one XREAD or XRANGE stop here.
inline constexpr std::size_t kEntryBytesMax = 1_MiB;
/// Who reads a snapshot keeps it, and the log after it, for so long after each LOG SNAPSHOT.
inline constexpr Millis kSnapshotHold{60'000};
/// Batches that are kept in memory for readers.
inline constexpr std::size_t kRecentBytesMax = 16_MiB;
/// The reader of the log looks at what was written at least every so many bytes, also when nobody asks.
inline constexpr std::uint64_t kLearnEveryBytes = kRecentBytesMax / 4;
/// Of so much of --log-max-bytes it also looks after the sinks.
inline constexpr std::uint64_t kLooksPerLog = 64;
/// A snapshot is due at the latest after this part of --log-max-bytes: two of them, and what is written while one is made,
/// leave it below the alarm.
inline constexpr std::uint64_t kSnapshotsPerLog = 4;
/// Segments that --log-max-bytes has to have room for at least: one goes as a whole, or not.
inline constexpr std::uint64_t kSegmentsPerLogMin = 16;
/// Replies that threads have not taken from the reader of the log; from here on it makes no more.
inline constexpr std::size_t kStreamRepliesBytesMax = 32_MiB;

// Messages between connections.

/// Channels, patterns and shard channels of one connection, and the bytes of their names.
inline constexpr std::size_t kSubscriptionsMax = 1024;
inline constexpr std::size_t kSubscriptionBytesMax = 64_KiB;
/// A channel's name; a pattern has kPatternBytesMax.
inline constexpr std::size_t kChannelBytesMax = 256;
/// Different patterns of all connections: each is compared with every channel that is published to.
inline constexpr std::size_t kPatternsMax = 1024;
/// Patterns of one connection: nobody takes the place of all.
inline constexpr std::size_t kConnectionPatternsMax = 64;
static_assert(kConnectionPatternsMax * 16 <= kPatternsMax);
/// A connection for which so much waits when a message comes is closed at once.
inline constexpr std::size_t kSubscriberBytesMax = 8_MiB;
/// Items looked at for one page of first notices, and what may wait for the socket when the next page is asked for.
inline constexpr std::size_t kNoticePageItems = 256;
inline constexpr std::size_t kNoticeRoomBytes = 64_KiB;

// Views: refusals by other threads than the owner's.

/// Rows that are looked at in a turn to build filters, and filters that are finished in it.
inline constexpr std::uint32_t kFilterRowsPerTurn = 8192;
inline constexpr std::size_t kFiltersPerTurn = 64;
/// Nothing is published that ends sooner.
inline constexpr Millis kViewLifeMin{1};
/// When the wall clock moves so much against the hold clock, everything that was published is withdrawn.
inline constexpr Millis kClockStepMax{10};
/// Views that a thread keeps; one more displaces another.
inline constexpr std::size_t kViewsKnownMax = 16'384;
/// A thread that had so many more refusals of an item by its owner is told of the view again.
inline constexpr std::uint32_t kTellAgainAfter = 1024;

// Transactions.

/// Commands between MULTI and EXEC.
inline constexpr std::size_t kTransactionCommandsMax = 128;
/// What they may take while they are queued: their words, and a view for each.
inline constexpr std::size_t kTransactionBytesMax = 256_KiB;
/// Records that one command writes at most, expiry apart: CREATE's three, or a change and what it forgets.
inline constexpr std::size_t kStepRecordsMax = 4;

// Connections.

/// Bytes of CLIENT SETNAME and of each SETINFO value.
inline constexpr std::size_t kClientLabelBytesMax = 256;
/// A buffer of a connection larger than this is given back when it is empty.
inline constexpr std::size_t kKeptBufferBytesMax = 16_KiB;
/// A listener that has no descriptors left tries again after this time.
inline constexpr Millis kAcceptPause{100};
/// Patterns of ITEM LIST, SSCAN, CONFIG GET and COMMAND LIST.
inline constexpr std::size_t kPatternBytesMax = 128;
/// Descriptors that the process needs besides its connections' sockets, and those that each thread has.
inline constexpr std::uint64_t kOwnDescriptors = 32;
inline constexpr std::uint64_t kThreadDescriptors = 2;
/// Shard threads.
inline constexpr std::uint64_t kThreadsMax = 64;
/// SIGTERM: replies that are not taken by then are dropped.
inline constexpr Millis kDrainMax{5000};

/// Connections that one thread looks at in a turn for CLIENT LIST, KILL and UNBLOCK.
inline constexpr std::size_t kOrderVisitsMax = 256;
/// CLIENT LIST, KILL and UNBLOCK of the connections of one thread that wait for an answer; further ones are refused.
inline constexpr std::size_t kOrdersMax = 1024;
/// A connection that is done, whose peer has taken everything and may still send, is closed after this time; a peer that
/// has not taken everything has write-timeout for the next piece.
inline constexpr Millis kLingerMax{1000};
/// What MONITOR may leave unread; more, and it is closed at once.
inline constexpr std::size_t kMonitorBytesMax = 8_MiB;
/// Connections that monitor at once.
inline constexpr std::size_t kMonitorsMax = 64;

/// A silent peer is asked by TCP whether it is there: after so long, then so often, and is gone after so many times.
inline constexpr std::chrono::seconds kKeepAliveAfter{300};
inline constexpr std::chrono::seconds kKeepAliveEvery{100};
inline constexpr int kKeepAliveProbes = 3;

// Users.

inline constexpr std::size_t kUsersMax = 1000;
inline constexpr std::size_t kUserNameBytesMax = 64;
/// Secrets of one user that are right at the same time.
inline constexpr std::size_t kUserSecretsMax = 4;
/// Wrong secrets on one connection; then it is closed.
inline constexpr std::uint32_t kWrongSecretsMax = 3;
/// The configuration file.
inline constexpr std::size_t kConfigBytesMax = 1_MiB;
/// Unknown words longer than this are not compared with known ones.
inline constexpr std::size_t kSuggestedBytesMax = 64;
// What SLOWLOG and LATENCY keep, as in Redis.

inline constexpr std::size_t kSlowLogWordsMax = 32;
inline constexpr std::size_t kSlowLogWordBytesMax = 128;
inline constexpr std::size_t kLatencySamplesMax = 160;

// What /metrics serves.

/// Items looked at for a report, when too few are busy.
inline constexpr std::uint32_t kReportLooksMax = 2000;
/// Items whose memory one report counts.
inline constexpr std::size_t kReportMemoryItemsMax = 256;
/// How long a scrape waits for the shard's answer, and how often it looks for it.
inline constexpr Millis kReportWait{100};
inline constexpr Millis kReportPoll{1};
/// Connections to the metrics port at once; one more displaces the one that has been idle longest.
inline constexpr std::size_t kMetricsConnectionsMax = 32;
/// Bytes of the line and headers of a request.
inline constexpr std::uint32_t kMetricsHeaderBytesMax = 8 * 1024;
/// Until a request is whole, and until its answer is taken.
inline constexpr Millis kMetricsDeadline{5000};
/// Between the requests of a connection.
inline constexpr Millis kMetricsIdle{60'000};

// Time.

/// A connection whose time is over is closed at most so much later, if the time was a second or more.
inline constexpr Millis kDeadlineLateMax{100};
/// The sweep is at most this late: looked at this often while the thread is busy, and by a timer when it is not.
inline constexpr Millis kSweepEvery{20};
inline constexpr Millis kSweepLateMax{100};

static_assert(kTurnCommandsMax % kBlockCommandsMax == 0 && kTurnCommandsMax <= kUnansweredMax);
static_assert(kUnansweredMax <= kCreditsMax);
static_assert(kCreditsMax / kBlockCommandsMax < kMailboxBlocksMax, "full blocks of all credits fit the ring");
static_assert(kRequestLimits.request_bytes_max >= kTurnBytesMax && kBlockBytesMax < kTurnBytesMax);
static_assert(kRequestLimits.request_bytes_max < kOutputBytesMax, "ECHO's reply fits what may wait");
static_assert(kGroupsAtLogMax < kGroupsBehindMax && kGroupsBehindMax < kCommittedMax / 2);
static_assert(kOutputBytesMax < kReplyBytesMax);
static_assert(kEntryBytesMax <= kOutputBytesMax && kReplyBytesMax < kStreamRepliesBytesMax);
static_assert(kOutputBytesMax < kSubscriberBytesMax && kNoticeRoomBytes < kOutputBytesMax);
static_assert(kNoticePageItems * 1024 < kOutputBytesMax, "a notice has less than 1 KiB: a name of 128 bytes, escaped");
static_assert(kOutputBytesBeforeAuthMax < kOutputBytesMax);
static_assert(kRequestLimitsBeforeAuth.words_max < kRequestLimits.words_max &&
              kRequestLimitsBeforeAuth.request_bytes_max < kRequestLimits.request_bytes_max);
static_assert(kDeadlineLateMax < kIdleSleep);
static_assert(kSweepEvery < kSweepLateMax && kSweepLateMax < kIdleSleep);
static_assert(kReportPoll < kReportWait && kReportWait < kMetricsDeadline && kMetricsDeadline < kMetricsIdle);
static_assert(kKeptBufferBytesMax <= kSpareBlockBytesMax);
static_assert(kMonitorBytesMax > 4 * kRequestLimits.request_bytes_max, "one line of MONITOR fits");
static_assert(kLingerMax < kDrainMax);

}  // namespace holdfast
