#include "tools/holdfastctl_repair.h"

#include "storage/log_repair.h"
#include "storage/machine_clock.h"
#include "storage/posix_file_system.h"
#include "storage/record_lines.h"
#include "tools/backup_directory.h"
#include "tools/control_arguments.h"

#include <fmt/format.h>
#include <boost/json/array.hpp>

#include <cstdio>

namespace holdfast {
namespace {

namespace json = boost::json;

constexpr std::uint64_t kLinesShown = 100;

void print_line(std::string_view line) { fmt::print("{}\n", line); }

class Repair {
 public:
  explicit Repair(const RepairArguments& arguments)
      : arguments_(arguments), repair_(files_, clock_, random_, arguments.directory) {}

  int run() {
    const auto looked = repair_.examine(progress("looking"));
    if (!looked) return fail(looked.error());
    report_ = *looked;
    if (report_.usable) return nothing_to_do();
    if (!report_.unfinished) {
      if (const auto listed = list_losses(); !listed) return fail(listed.error());
    }
    if (!arguments_.accept_loss) return refuse();
    const auto done = repair_.carry_out(progress("writing"));
    if (!done) return fail(done.error());
    print_done(*done);
    return kDone;
  }

 private:
  LogSalvage::Progress progress(const char* what) {
    return [this, what](std::uint64_t bytes) { progress_.show(fmt::format("{}: {} MiB", what, bytes / 1_MiB)); };
  }

  int nothing_to_do() const {
    if (arguments_.json) {
      print_report({{"usable", true}, {"repaired", false}});
    } else {
      fmt::print("nothing to repair: a server starts from {}, whose log ends with LSN {}\n", arguments_.directory,
                 report_.kept.value());
    }
    return kDone;
  }

  /// What would be lost, in text or, with --json, as one line for each record that can be read.
  Result<void> list_losses() {
    if (arguments_.json) return repair_.list_lost(true, print_line);
    print_line(fmt::format("refused: {}", report_.refusal));
    const auto kept = report_.kept == Lsn()   ? std::string("nothing")
                      : report_.base == Lsn() ? fmt::format("LSN 1 to {}", report_.kept.value())
                                              : fmt::format("the snapshot of LSN {} and the log up to {}",
                                                            report_.base.value(), report_.kept.value());
    print_line(report_.lost == 0 ? fmt::format("a repair keeps {} and loses nothing", kept)
                                 : fmt::format("a repair keeps {} and loses {} records, LSN {} to {}", kept,
                                               report_.lost, report_.kept.next().value(), report_.known.value()));
    for (const auto& [first, last] : report_.unreadable) {
      print_line(fmt::format("  LSN {} to {}: nothing of it can be read", first.value(), last.value()));
    }
    std::uint64_t lines = 0;
    const auto listed = repair_.list_lost(false, [&lines](std::string_view line) {
      if (++lines <= kLinesShown) print_line(fmt::format("  {}", line));
    });
    if (lines > kLinesShown) print_line(fmt::format("  and {} more; --json lists all", lines - kLinesShown));
    return listed;
  }

  int refuse() const {
    if (arguments_.json) {
      print_report({{"usable", false}, {"repaired", false}});
    } else if (report_.unfinished) {
      fmt::print("an earlier repair was cut off; nothing was changed now. --accept-loss completes it\n");
    } else {
      fmt::print("nothing was changed; --accept-loss repairs it, and keeps the old files\n");
    }
    return kNotOk;
  }

  void print_done(const RepairDone& done) const {
    const std::string& old = done.old_files;
    if (arguments_.json) {
      json::object line{{"usable", true}, {"repaired", true}, {"old-files", old}};
      if (!report_.unfinished) {
        line["log"] = hex(done.id);
        line["forked-from"] = hex(done.forked_from);
      }
      return print_report(std::move(line));
    }
    if (report_.unfinished) return print_line(fmt::format("the repair is complete; the old files are in {}", old));
    print_line(fmt::format("repaired: log {}, forked from {} after LSN {}; the old files are in {}", hex(done.id),
                           hex(done.forked_from), done.fork.last.value(), old));
    if (done.fork.restated > 0) {
      print_line(fmt::format("{} batches told another state than their records make; they tell that one now",
                             done.fork.restated));
    }
    print_line("It is another log now: sinks that followed the old one have to be told so before they go on.");
  }

  void print_report(json::object line) const {
    if (report_.unfinished) line["unfinished"] = true;
    if (!report_.unfinished) {
      line["base"] = report_.base.value();
      line["kept"] = report_.kept.value();
      line["known"] = report_.known.value();
      line["lost"] = report_.lost;
      json::array ranges;
      for (const auto& [first, last] : report_.unreadable) ranges.push_back(json::array{first.value(), last.value()});
      line["unreadable"] = std::move(ranges);
      if (!report_.refusal.empty()) line["refusal"] = report_.refusal;
    }
    print_line(render(line, true));
  }

  const RepairArguments& arguments_;
  PosixFileSystem files_;
  MachineClock clock_;
  MachineRandom random_;
  LogRepair repair_;
  RepairReport report_;
  ProgressLine progress_;
};

}  // namespace

const char* const kRepairExamples =
    R"(Keeps what is sound from the log's beginning on, as a log with another id that says from which it was forked. The old
files are kept in DIR/before-repair-N. Without --accept-loss nothing is changed. A repair that was cut off is completed
by the next one; until then no server starts from DIR.

examples:
  holdfastctl log repair /var/lib/holdfast                 what would be lost
  holdfastctl log repair /var/lib/holdfast --accept-loss   repairs it
  holdfastctl log repair --json /var/lib/holdfast          a line for each record that would be lost, then one for all

exit status: 0 the log is sound, or repaired; 1 it is damaged, and nothing was changed; 2 it could not be looked at or
written)";

int repair_log(const RepairArguments& arguments) { return Repair(arguments).run(); }

}  // namespace holdfast
