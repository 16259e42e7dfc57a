#include "tests/simulation/disk_names.h"

#include "tests/doctest.h"

using namespace holdfast;
using namespace holdfast::simulation;
using Names = std::vector<std::string>;

TEST_CASE("disk_names: parents") {
  CHECK(parent_directory("a") == ".");
  CHECK(parent_directory("/a") == "/");
  CHECK(parent_directory("/a/b") == "/a");
}

TEST_CASE("disk_names: an unsynced rename leaves the old or the new name, never neither") {
  for (const auto fate : {SectorFate::kept, SectorFate::lost}) {
    DiskNames names;
    names.create("d/new.tmp", 1);
    names.create("d/old", 2);
    names.sync("d");
    names.rename("d/new.tmp", "d/old");
    FixedCrash chooser(fate);
    names.crash(chooser);
    const bool kept = fate == SectorFate::kept;
    CHECK(names.list("d") == (kept ? Names{"old"} : Names{"new.tmp", "old"}));
    CHECK(names.find("d/old") == (kept ? 1 : 2));
  }
}

TEST_CASE("disk_names: every outcome of create and rename, and no other") {
  std::map<Names, int> seen;
  EveryCrash chooser;
  do {
    DiskNames names;
    names.create("d/a.tmp", 1);
    names.rename("d/a.tmp", "d/a");
    names.crash(chooser);
    ++seen[names.list("d")];
  } while (chooser.next());
  CHECK(chooser.combinations_seen() == 4);
  CHECK(seen == std::map<Names, int>{{{}, 1}, {{"a.tmp"}, 1}, {{"a"}, 2}});  // a kept rename keeps the create
}

TEST_CASE("disk_names: an unsynced unlink may be undone, a synced one may not") {
  DiskNames names;
  names.create("d/a", 1);
  names.create("d/b", 2);
  names.sync("d");
  names.remove("d/a");
  names.sync("d");
  names.remove("d/b");
  CHECK(names.list("d").empty());
  FixedCrash chooser(SectorFate::lost);
  names.crash(chooser);
  CHECK(names.list("d") == Names{"b"});
}

TEST_CASE("disk_names: syncing one directory leaves the others pending") {
  DiskNames names;
  names.create("d/a", 1);
  names.create("e/b", 2);
  names.sync("d");
  CHECK(names.pending() == 1);
  FixedCrash chooser(SectorFate::lost);
  names.crash(chooser);
  CHECK(names.find("d/a") == 1);
  CHECK_FALSE(names.find("e/b").has_value());
  CHECK_FALSE(names.reachable(2));
}
