#include "tools/holdfastctl_topic.h"

#include "replication/dead_letter.h"
#include "replication/kafka_look.h"
#include "replication/kafka_topic_maker.h"
#include "storage/record_lines.h"
#include "tools/kafka_argument.h"
#include "tools/kafka_property.h"

#include <fmt/format.h>
#include <CLI/CLI.hpp>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

#include <thread>

namespace holdfast {
namespace {

namespace json = boost::json;

constexpr std::int64_t kDaysMax = 36'500;
constexpr std::size_t kPartitionsMax = 100'000;
constexpr std::size_t kReplicasMax = 1'000;

constexpr std::chrono::seconds kSeenTime{30};
constexpr Millis kLookEvery{100};

constexpr const char* kExamples =
    R"(Makes those that are missing. What is there is compared with what the sink needs; it is never changed.

  flash-sale-orders      cleanup.policy=delete, kept 7 days, 12 partitions
  flash-sale-events      the same
  holdfast-cursors       cleanup.policy=compact, segments of 16 MiB, 1 partition
  flash-sale-orders.DLT  with --dead-letters, and flash-sale-events.DLT: kept 30 days
  all of them            3 replicas, min.insync.replicas=2, unclean.leader.election.enable=false

An item's records are in one partition, which its name and the count choose: choose the count for the sales to come, since raising
it later moves items to other partitions. Where an option is not given, a topic that is there may have its own count and retention.

examples:
  holdfastctl topic create --kafka k1:9092,k2:9092,k3:9092
  holdfastctl topic create --kafka k1:9092 --partitions 24 --retention-days 14 --dead-letters
  holdfastctl topic create --kafka localhost:9092 --replicas 1           a single broker, to try it
  holdfastctl topic create --kafka k1:9093 --kafka-property security.protocol=SSL --dry-run
  holdfastctl topic create --kafka k1:9092 --kafka-orders-topic ''       without orders, as the relay may run

exit status: 0 all are there, as they should be; 1 one differs, or the brokers refuse to make it; 2 they could not be asked)";

struct TopicArguments {
  KafkaWords kafka;
  KafkaTopicWishes wishes;
  std::optional<std::int64_t> retention_days;
  bool dead_letters = false;
  bool dry_run = false;
};

std::vector<KafkaTopicPlan> plans_of(const TopicArguments& words) {
  std::vector<KafkaTopicPlan> plans;
  for (const std::string& topic : {words.kafka.orders_topic, words.kafka.events_topic}) {
    if (topic.empty()) continue;
    plans.push_back(plan_kafka_topic(KafkaTopicKind::published, topic, words.wishes));
    if (!words.dead_letters) continue;
    plans.push_back(plan_kafka_topic(KafkaTopicKind::dead_letters, dead_letter_topic(topic), words.wishes));
  }
  plans.push_back(plan_kafka_topic(KafkaTopicKind::cursor, words.kafka.cursor_topic, words.wishes));
  return plans;
}

/// What came of one topic.
struct TopicOutcome {
  std::string state;  // made, would be made, right, differs, refused
  std::string detail;
  std::vector<KafkaTopicDifference> differences;
};

class TopicCreate {
 public:
  TopicCreate(KafkaAccess access, TopicArguments words, bool as_json)
      : access_(std::move(access)), words_(std::move(words)), json_(as_json), plans_(plans_of(words_)) {}

  Result<int> run() {
    outcomes_.resize(plans_.size());
    HOLDFAST_TRY(look());
    if (!missing_.empty()) HOLDFAST_TRY(make());
    print();
    for (const TopicOutcome& each : outcomes_) {
      if (each.state == "differs" || each.state == "refused") return kNotOk;
    }
    return kDone;
  }

 private:
  /// Compares what is there, and notes what is not.
  Result<void> look() {
    const auto looking = KafkaLook::connect(access_);
    if (!looking) return looking.error();
    std::vector<KafkaTopicFacts> facts;
    for (const KafkaTopicPlan& plan : plans_) {
      auto found = (*looking)->topic(plan.name);
      if (!found) return found.error();
      facts.push_back(std::move(*found));
    }
    HOLDFAST_TRY((*looking)->settings(facts));
    missing_.clear();
    for (std::size_t i = 0; i < plans_.size(); ++i) {
      if (outcomes_[i].state == "made") continue;
      if (!facts[i].exists) {
        missing_.push_back(i);
        continue;
      }
      outcomes_[i].differences = compare_kafka_topic(plans_[i], facts[i]);
      outcomes_[i].state = outcomes_[i].differences.empty() ? "right" : "differs";
      outcomes_[i].detail = fmt::format("{} partitions, {} replicas", facts[i].partitions, facts[i].replicas);
    }
    return {};
  }

  Result<void> make() {
    std::vector<KafkaTopicPlan> wanted;
    for (const std::size_t i : missing_) wanted.push_back(plans_[i]);
    const auto made = make_kafka_topics(access_, wanted, words_.dry_run);
    if (!made) return made.error();
    bool others_made_one = false;
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      TopicOutcome& outcome = outcomes_[missing_[i]];
      const KafkaTopicMade& answer = (*made)[i];
      others_made_one |= answer.existed;
      outcome.state = answer.made ? (words_.dry_run ? "would be made" : "made") : "refused";
      outcome.detail = answer.made ? as_made(wanted[i]) : answer.refusal;
    }
    if (!words_.dry_run) HOLDFAST_TRY(wait_until_seen(wanted));
    return others_made_one ? look() : Result<void>();
  }

  /// A broker learns a moment later than the controller that a topic was made, and who asks it meanwhile hears of none.
  Result<void> wait_until_seen(std::span<const KafkaTopicPlan> wanted) const {
    const auto looking = KafkaLook::connect(access_);
    if (!looking) return looking.error();
    const auto deadline = std::chrono::steady_clock::now() + kSeenTime;
    for (std::size_t i = 0; i < wanted.size();) {
      const auto facts = (*looking)->topic(wanted[i].name);
      if (!facts) return facts.error();
      const bool made = outcomes_[missing_[i]].state == "made";
      if (!made || facts->partitions == wanted[i].partitions) {
        ++i;
      } else if (std::chrono::steady_clock::now() > deadline) {
        return Error::format(ErrorCode::io_failed, "topic {} was made, and a broker does not know it yet",
                             wanted[i].name);
      } else {
        std::this_thread::sleep_for(kLookEvery);
      }
    }
    return {};
  }

  static std::string as_made(const KafkaTopicPlan& plan) {
    std::string text = fmt::format("{} partitions, {} replicas", plan.partitions, plan.replicas);
    for (const KafkaTopicSetting& each : plan.settings) text += fmt::format(", {}={}", each.name, each.value);
    return text;
  }

  void print() const {
    json::array topics;
    for (std::size_t i = 0; i < plans_.size(); ++i) {
      if (json_) {
        topics.push_back(object_of(plans_[i], outcomes_[i]));
      } else {
        print_lines(plans_[i], outcomes_[i]);
      }
    }
    if (json_) fmt::print("{}\n", render({{"topics", std::move(topics)}}, true));
  }

  static json::object object_of(const KafkaTopicPlan& plan, const TopicOutcome& outcome) {
    json::object shown{{"topic", plan.name}, {"state", outcome.state}, {"detail", outcome.detail}};
    json::array differences;
    for (const KafkaTopicDifference& each : outcome.differences)
      differences.push_back(json::object{{"what", each.what}, {"is", each.is}, {"wanted", each.wanted}});
    shown["differences"] = std::move(differences);
    return shown;
  }

  void print_lines(const KafkaTopicPlan& plan, const TopicOutcome& outcome) const {
    const bool right = outcome.state == "right";
    fmt::print("{}: {} ({})\n", plan.name, right ? "is as it should be" : outcome.state, outcome.detail);
    std::string settings;
    for (const KafkaTopicDifference& each : outcome.differences) {
      fmt::print("  {} is {}, wanted is {}\n", each.what, each.is.empty() ? "not set" : each.is, each.wanted);
      if (!each.set_to.empty()) settings += fmt::format("{}{}={}", settings.empty() ? "" : ",", each.what, each.set_to);
    }
    if (settings.empty()) return;
    fmt::print("  kafka-configs.sh --bootstrap-server {} --alter --topic {} --add-config {}\n", words_.kafka.brokers,
               plan.name, settings);
  }

  KafkaAccess access_;
  TopicArguments words_;
  bool json_;
  std::vector<KafkaTopicPlan> plans_;
  std::vector<TopicOutcome> outcomes_;  // of each plan
  std::vector<std::size_t> missing_;    // plans without a topic
};

/// Nothing: they can be meant.
std::optional<Error> wrong(const TopicArguments& words) {
  const KafkaWords& kafka = words.kafka;
  if (auto checked = check_kafka_topic_names(kafka.orders_topic, kafka.events_topic, kafka.cursor_topic); !checked)
    return checked.error();
  if (words.wishes.in_sync && *words.wishes.in_sync > static_cast<std::int64_t>(words.wishes.replicas)) {
    return Error::format(ErrorCode::bad_option,
                         "--min-insync: {} of {} replicas can never be in sync, and nothing could be written",
                         *words.wishes.in_sync, words.wishes.replicas);
  }
  return std::nullopt;
}

void add_topic_options(CLI::App& app, TopicArguments& words) {
  add_kafka_options(app, words.kafka);
  add_published_topic_options(app, words.kafka);
  add_cursor_topic_option(app, words.kafka);
  app.add_option("--partitions", words.wishes.partitions, "Of orders and events, 12 if not said.")
      ->type_name("N")
      ->check(CLI::Range(std::size_t{1}, kPartitionsMax));
  app.add_option("--replicas", words.wishes.replicas, "Of each partition, 3 if not said.")
      ->type_name("N")
      ->check(CLI::Range(std::size_t{1}, kReplicasMax));
  app.add_option("--min-insync", words.wishes.in_sync,
                 "Replicas that must have a record before it counts: 2 if not said, 1 of less than 3 replicas.")
      ->type_name("N")
      ->check(CLI::Range(std::int64_t{1}, static_cast<std::int64_t>(kReplicasMax)));
  app.add_option("--retention-days", words.retention_days,
                 "How long records are kept, 7 if not said, 30 of TOPIC.DLT; 0: for ever.")
      ->type_name("N")
      ->check(CLI::Range(std::int64_t{0}, kDaysMax));
  app.add_flag("--dead-letters", words.dead_letters, "Also TOPIC.DLT of both, where consumers put what they refuse.");
  app.add_flag("--dry-run", words.dry_run, "Asks the brokers what they would make, and makes nothing.");
}

}  // namespace

int topic_command(CommandWords words, ServerArguments arguments) {
  TopicArguments topic;
  CLI::App app("The topics that the kafka sink needs.", "holdfastctl topic");
  CLI::App* const create = app.add_subcommand("create", "make those that are missing, compare the others");
  add_topic_options(*create, topic);
  create->add_flag("--json", arguments.json, "Print data as JSON.");
  create->footer(kExamples);
  app.add_flag("--json", arguments.json, "Print data as JSON.");
  app.require_subcommand(1);
  if (const auto status = read_words(app, words)) return *status;
  if (topic.retention_days)
    topic.wishes.retention_ms = *topic.retention_days == 0 ? -1 : *topic.retention_days * kDayMs;
  if (const auto error = wrong(topic)) return fail(*error);
  auto access = kafka_access(topic.kafka);
  if (!access) return fail(access.error());
  const auto done = TopicCreate(std::move(*access), topic, arguments.json).run();
  return done ? *done : fail(done.error());
}

}  // namespace holdfast
