#include "tests/simulation/fault_plan.h"

#include "tests/doctest.h"

using namespace holdfast;
using namespace holdfast::simulation;

TEST_CASE("fault_plan: names of sites hide numbers") {
  CHECK(site_name("/data/log/00000012.segment") == "#.segment");
  CHECK(site_name("segment-7f3a.log") == "segment-#.log");
  CHECK(site_name("mark") == "mark");
  CHECK(site_name("facade") == "facade");  // no digit: a word
  CHECK(site_name("a1b22.tmp") == "#.tmp");
}

TEST_CASE("fault_plan: the n-th call of its kind and path is hit, once or from then on") {
  FaultPlan plan;
  const auto once = plan.add({.call = IoCall::sync, .path_part = ".log", .nth = 2});
  const auto sticky = plan.add({.call = IoCall::write, .path_part = {}, .nth = 3, .sticky = true});
  const auto site = plan.site("a.log");
  int syncs_hit = 0;
  int writes_hit = 0;
  for (int n = 0; n < 5; ++n) {
    plan.on_call(IoCall::sync, plan.site("mark"), "mark");
    syncs_hit += plan.on_call(IoCall::sync, site, "a.log") != nullptr;
    writes_hit += plan.on_call(IoCall::write, site, "a.log") != nullptr;
  }
  CHECK(syncs_hit == 1);
  CHECK(plan.hits(once) == 1);
  CHECK(writes_hit == 3);
  CHECK(plan.hits(sticky) == 3);
}

TEST_CASE("fault_plan: calls are counted by kind and by site") {
  FaultPlan plan;
  for (int n = 0; n < 3; ++n) plan.on_call(IoCall::sync, plan.site("segment-1.log"), "segment-1.log");
  plan.on_call(IoCall::sync, plan.site("segment-2.log"), "segment-2.log");
  plan.on_call(IoCall::read, plan.site("mark"), "mark");
  CHECK(plan.calls() == 5);
  CHECK(plan.calls(IoCall::sync) == 4);
  CHECK(plan.calls_by_site() == std::map<std::string, std::uint64_t>{{"sync segment-#.log", 4}, {"read mark", 1}});
}
