// Every bound of the relay in one place, and how the bounds relate. Constants; any thread.
#pragma once

#include "protocol/types.h"

namespace holdfast {

/// Bytes of the log that a sink asks for at once. More come only where one batch of the log is longer.
inline constexpr std::size_t kReadBytesMax = 1_MiB;
/// Events that are written as one batch.
inline constexpr std::size_t kBatchEventsMax = 5000;
/// A sink that has all that is durable asks again this long after it last did, so that what comes meanwhile is one batch.
inline constexpr Millis kGatherTime{50};
/// The server holds the answer back this long when there is nothing new.
inline constexpr Millis kBlockTime{1000};
/// How long a server may take to answer beyond that.
inline constexpr Millis kAnswerTime{15'000};
/// Things that the server is told of with one acknowledgement, at most five words each; a request has at most 1,024.
inline constexpr std::size_t kNoticesMax = 200;
/// What a person changed in the tables is looked at, and told to the server, this often.
inline constexpr Millis kNoticesEvery{5000};
/// So often a sink is given time for what is not of one batch.
inline constexpr Millis kTendEvery{5000};
/// Items whose place was taken get their rows then: no more than so many, until so many of them failed. An item that failed is tried
/// again after the first of these times, then after twice as long each time, up to the last.
inline constexpr std::size_t kClaimsAtOnce = 1000;
inline constexpr std::size_t kClaimFailuresMax = 10;
inline constexpr Millis kClaimAgainFirst{5000};
inline constexpr Millis kClaimAgainLast{60'000};
/// A relay that is to end gives its sinks this long for what they are doing. Then it cuts them off.
inline constexpr Millis kEndTime{5000};
/// What was parked and has ended is kept this long, by the log's time; what is older goes from time to time, so many at once.
inline constexpr Millis kParkedKept = std::chrono::hours(30 * 24);
inline constexpr Millis kForgetEvery = std::chrono::hours(1);
inline constexpr std::size_t kForgetAtOnce = 1000;
/// What failed is tried again after the first of these, then twice as long each time up to the last, each time with up to a
/// half of it taken off at random.
inline constexpr Millis kBackOffFirst{100};
inline constexpr Millis kBackOffLast{15'000};

/// A Kafka cluster that does not answer for so long is away; a transaction that does not end by then is undone by the brokers.
inline constexpr Millis kKafkaAnswerTime{10'000};
inline constexpr Millis kKafkaTransactionTime{30'000};
/// A producer that failed waits no longer for the answers to the records that it sent.
inline constexpr Millis kKafkaDrainTime = kKafkaAnswerTime + Millis(1'000);
/// Records that are on their way to the brokers: no more than these bytes.
inline constexpr std::size_t kKafkaQueueBytes = 64_MiB;
/// What one request holds for a partition, where the topic takes so much.
inline constexpr std::size_t kKafkaBatchBytes = 1'000'000;

/// Reconcile compares reservations in so many parts, one after another; each is about that fraction of all.
inline constexpr std::size_t kReconcileParts = 64;
inline constexpr std::size_t kSpillBufferBytes = 64_KiB;
/// Rows that it asks a database for at once.
inline constexpr std::size_t kRowsAtOnce = 5000;
/// Differences that it keeps and mends in one run; more are counted.
inline constexpr std::size_t kDifferencesMax = 100'000;
/// Those that it mends in one transaction, for which the relay waits.
inline constexpr std::size_t kMendsAtOnce = 500;

static_assert(kKafkaAnswerTime < kKafkaTransactionTime && kKafkaBatchBytes < kKafkaQueueBytes);
static_assert(kGatherTime < kBlockTime && kBlockTime < kAnswerTime && kBackOffFirst < kBackOffLast);
static_assert(kTendEvery <= kClaimAgainFirst && kClaimAgainFirst < kClaimAgainLast &&
              kClaimFailuresMax < kClaimsAtOnce);
static_assert(4 + 5 * kNoticesMax <= 1024);

}  // namespace holdfast
