#include "server/fold.h"

#include "server/inventory_snapshot.h"
#include "storage/log_walk.h"
#include "storage/record_reader.h"
#include "storage/snapshot_choice.h"
#include "storage/snapshot_writer.h"

#include <map>

namespace holdfast {
namespace {

/// Nothing is decided in a fold.
class NoRecords final : public RecordSink {
 public:
  RecordPosition on_item(const RecordStamp&, const ItemRecord&) override { return refuse(); }
  RecordPosition on_reservation(const RecordStamp&, const ReservationRecord&) override { return refuse(); }
  RecordPosition on_forget(const RecordStamp&, const ForgetRecord&) override { return refuse(); }
  RecordPosition on_default_returns(const RecordStamp&, const DefaultReturnsRecord&) override { return refuse(); }

 private:
  static RecordPosition refuse() {
    CHECK(false);
    return 0;
  }
};

/// Takes over what snapshot and log say, and notes which item versions the log speaks of.
class Folder final : public RecordVisitor, public SnapshotVisitor {
 public:
  explicit Folder(const LogSecret& secret) : inventory_(settings(secret), records_), restore_(inventory_) {}

  StateHash seal() { return inventory_.seal(); }
  Result<void> save(SnapshotVisitor& to, Lsn oldest) const;

  Result<void> on_item(const RecordStamp& stamp, const ItemRecord& record) override;
  Result<void> on_reservation(const RecordStamp& stamp, const ReservationRecord& record) override {
    touch(stamp);
    return inventory_.on_reservation(stamp, record);
  }
  Result<void> on_forget(const RecordStamp& stamp, const ForgetRecord& record) override {
    touch(stamp);
    return inventory_.on_forget(stamp, record);
  }
  Result<void> on_default_returns(const RecordStamp& stamp, const DefaultReturnsRecord& record) override {
    return inventory_.on_default_returns(stamp, record);
  }

  Result<void> on_log(const SnapshotLog& log) override { return restore_.on_log(log); }
  Result<void> on_name(const SnapshotName& name) override { return restore_.on_name(name); }
  Result<void> on_version(const SnapshotVersion& version) override;
  Result<void> on_item(const SnapshotItem& item) override { return restore_.on_item(item); }
  Result<void> on_row(const SnapshotRow& row) override { return restore_.on_row(row); }
  Result<void> on_order(std::span<const std::uint32_t> slots) override { return restore_.on_order(slots); }
  Result<void> on_adjust(const ReservationId& id, std::int64_t delta) override { return restore_.on_adjust(id, delta); }
  Result<void> on_item_end() override { return restore_.on_item_end(); }

 private:
  struct Version {
    std::string name;
    ItemVersion version;
    ItemDefinition definition;
    Lsn last;
  };

  static Inventory::Settings settings(const LogSecret& secret) {
    Inventory::Settings settings;
    settings.secret = secret;
    settings.views = false;
    return settings;
  }
  void touch(const RecordStamp& stamp) {
    if (const auto known = versions_.find(stamp.item); known != versions_.end()) known->second.last = stamp.lsn;
  }

  NoRecords records_;
  Inventory inventory_;
  InventoryRestore restore_;
  std::map<ItemNumber, Version> versions_;
};

Result<void> Folder::on_item(const RecordStamp& stamp, const ItemRecord& record) {
  HOLDFAST_TRY(inventory_.on_item(stamp, record));
  versions_[stamp.item] = {std::string(record.name), record.version, record.definition, stamp.lsn};
  return {};
}

Result<void> Folder::on_version(const SnapshotVersion& version) {
  versions_[version.item] = {std::string(version.name), version.version, version.definition, version.last};
  return {};
}

/// `oldest`: the first LSN of the log that there is.
Result<void> Folder::save(SnapshotVisitor& to, Lsn oldest) const {
  HOLDFAST_TRY(to.on_log({inventory_.item_number_max(), inventory_.returns_held_by_default()}));
  HOLDFAST_TRY(save_names(inventory_, to));
  for (const auto& [number, version] : versions_) {
    if (version.last < oldest) continue;
    HOLDFAST_TRY(to.on_version({number, version.version, version.last, version.name, version.definition}));
  }
  return save_items(inventory_, to);
}

class Fold {
 public:
  /// `begin`: where the log begins.
  Fold(FileSystem& files, const std::string& directory, const LogWalk& begin)
      : files_(files), log_{directory, begin.identity(), begin.first_lsn()}, folder_(log_.log.secret) {
    header_.log = log_.log;
  }

  Result<void> read_snapshot(const std::vector<Lsn>& snapshots);
  Result<void> read_log(Lsn through);
  Result<void> write();
  bool has_news() const noexcept { return header_.lsn > report_.lsn; }
  const FoldReport& report() const noexcept { return report_; }

 private:
  Error ended_early(const LogWalk& walk, Lsn through) const;

  FileSystem& files_;
  const LogExtent log_;
  Folder folder_;
  SnapshotHeader header_;
  FoldReport report_;
};

Result<void> Fold::read_snapshot(const std::vector<Lsn>& snapshots) {
  auto last = choose_snapshot(files_, log_, snapshots, {});
  if (!last) return last.error();
  if (!*last) return {};
  const auto totals = (*last)->read(folder_);
  if (!totals) return totals.error();
  header_ = (*last)->header();
  report_ = {header_.lsn, (*last)->bytes(), 0, *totals};
  return {};
}

/// Up to the last batch that ends with `through` or before. That the log has no such batch, though `through` is durable, is
/// an error: nothing behind it is looked at.
Result<void> Fold::read_log(Lsn through) {
  auto walk = LogWalk::open(files_, log_.directory, header_.lsn.next());
  if (!walk) return walk.error();
  while (header_.lsn < through) {
    const LogWalk::Step step = walk->next();
    if (step == LogWalk::Step::segment) continue;
    if (step == LogWalk::Step::end) return ended_early(*walk, through);
    const BatchHeader& read = walk->batch().header;
    if (read.last_lsn() > through) return {};
    if (read.last_lsn() <= report_.lsn) continue;
    const auto applied = read_records({walk->batch().body, read.first_lsn, read.count, report_.lsn}, folder_);
    if (!applied) return applied.error();
    report_.records += applied->visited;
    header_.lsn = read.last_lsn();
    header_.incarnation = read.epoch;
    header_.clocks = read.clocks;
    header_.state = read.state;
  }
  return {};
}

Error Fold::ended_early(const LogWalk& walk, Lsn through) const {
  if (walk.unsound()) return *walk.unsound();
  return Error::format(ErrorCode::damaged, "the log of {} ends with LSN {}, before {}", log_.directory,
                       header_.lsn.value(), through.value());
}

Result<void> Fold::write() {
  if (folder_.seal() != header_.state) {
    return Error::format(ErrorCode::damaged, "the log of {} does not lead to the state that it says at LSN {}",
                         log_.directory, header_.lsn.value());
  }
  auto writer = SnapshotWriter::begin(files_, log_.directory, header_);
  if (!writer) return writer.error();
  HOLDFAST_TRY(folder_.save(**writer, log_.first));
  HOLDFAST_TRY((*writer)->publish());
  report_.lsn = header_.lsn;
  report_.bytes = (*writer)->bytes();
  report_.totals = (*writer)->totals();
  return {};
}

}  // namespace

Result<FoldReport> fold_log(FileSystem& files, const std::string& directory, Lsn through) {
  auto found = look_at_directory(files, directory);
  if (!found) return found.error();
  const auto begin = LogWalk::open(files, directory);
  if (!begin) return begin.error();
  std::erase_if(found->snapshots, [&](Lsn lsn) { return lsn > through; });
  Fold fold(files, directory, *begin);
  HOLDFAST_TRY(fold.read_snapshot(found->snapshots));
  HOLDFAST_TRY(fold.read_log(through));
  if (fold.has_news()) HOLDFAST_TRY(fold.write());
  return fold.report();
}

}  // namespace holdfast
