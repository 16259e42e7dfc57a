// Every verb on a reservation in every state, and every verb and step on an item in every state, as two tables.
#include "tests/unit/server/step_bench.h"

#include "tests/doctest.h"

using namespace holdfast;
using namespace holdfast::testing;

namespace {

constexpr const char* kStates[] = {"RESERVED", "CONFIRMED", "RELEASED", "EXPIRED", "REFUNDED"};

/// An item of three units with one reservation #id of user u in a state; DUE: RESERVED, its deadline just reached.
void prepare(StepBench& bench, const std::string& state) {
  const auto ask = [&](const std::string& line) { REQUIRE(bench.ask(line).front() != '-'); };
  ask("ITEM CREATE i STOCK 3");
  ask("RESERVE i u ID 00000000-0000-4000-8000-000000000001 TTL 1000");
  if (state == "CONFIRMED" || state == "REFUNDED") ask("CONFIRM i u");
  if (state == "REFUNDED") ask("REFUND i u ID 00000000-0000-4000-8000-000000000001");
  if (state == "RELEASED") ask("RELEASE i u");
  if (state == "EXPIRED" || state == "DUE") bench.pass(Millis(1000));
  if (state == "EXPIRED") bench.sweep();
}

struct Cell {
  const char* reply;
  const char* after;
};

struct VerbRow {
  const char* verb;
  Cell cells[6];  // by kStates, then DUE
};

// "=": the state stays. "?": not looked at.
// clang-format off
constexpr VerbRow kVerbs[] = {
    // command                           RESERVED             CONFIRMED            RELEASED     EXPIRED              REFUNDED     DUE
    {"RESERVE i u ID #",                {{"2", "="},          {"2", "="},          {"-8", "="}, {"-8", "="},         {"-8", "="}, {"-8", "EXPIRED"}}},
    {"RESERVE i v ID #",                {{"-IDMISMATCH user", "="}, {"-IDMISMATCH user", "="}, {"-IDMISMATCH user", "="}, {"-IDMISMATCH user", "="}, {"-IDMISMATCH user", "="}, {"-IDMISMATCH user", "EXPIRED"}}},
    {"RESERVE i u QTY 2 ID #",          {{"-IDMISMATCH qty", "="}, {"-IDMISMATCH qty", "="}, {"-IDMISMATCH qty", "="}, {"-IDMISMATCH qty", "="}, {"-IDMISMATCH qty", "="}, {"-IDMISMATCH qty", "EXPIRED"}}},
    {"RESERVE i u",                     {{"-2", "="},         {"-2", "="},         {"2", "="},  {"2", "="},          {"2", "="},  {"2", "EXPIRED"}}},
    {"CONFIRM i u ID #",                {{"1", "CONFIRMED"},  {"1", "="},          {"-3", "="}, {"-4", "="},         {"-5", "="}, {"-4", "EXPIRED"}}},
    {"CONFIRM i - ID #",                {{"1", "CONFIRMED"},  {"1", "="},          {"-3", "="}, {"-4", "="},         {"-5", "="}, {"-4", "EXPIRED"}}},
    {"CONFIRM i v ID #",                {{"-IDMISMATCH user", "="}, {"-IDMISMATCH user", "="}, {"-IDMISMATCH user", "="}, {"-IDMISMATCH user", "="}, {"-IDMISMATCH user", "="}, {"-IDMISMATCH user", "?"}}},
    {"CONFIRM i u ID # RESUME",         {{"1", "CONFIRMED"},  {"1", "="},          {"-3", "="}, {"1", "CONFIRMED"},  {"-5", "="}, {"1", "CONFIRMED"}}},
    {"CONFIRM i u",                     {{"1", "CONFIRMED"},  {"1", "="},          {"-1", "="}, {"-1", "="},         {"-1", "="}, {"-1", "EXPIRED"}}},
    {"CONFIRM i u RESUME",              {{"1", "CONFIRMED"},  {"1", "="},          {"-1", "="}, {"1", "CONFIRMED"},  {"-1", "="}, {"1", "CONFIRMED"}}},
    {"RELEASE i u ID #",                {{"3", "RELEASED"},   {"-2", "="},         {"-3", "="}, {"-4", "="},         {"-5", "="}, {"-4", "EXPIRED"}}},
    {"RELEASE i u ID # WRITEOFF",       {{"2", "RELEASED"},   {"-2", "="},         {"-3", "="}, {"-4", "="},         {"-5", "="}, {"-4", "EXPIRED"}}},
    {"RELEASE i u",                     {{"3", "RELEASED"},   {"-2", "="},         {"-1", "="}, {"-1", "="},         {"-1", "="}, {"-1", "EXPIRED"}}},
    {"RELEASE i v ID #",                {{"-IDMISMATCH user", "="}, {"-IDMISMATCH user", "="}, {"-IDMISMATCH user", "="}, {"-IDMISMATCH user", "="}, {"-IDMISMATCH user", "="}, {"-IDMISMATCH user", "?"}}},
    {"REFUND i u ID #",                 {{"-2", "="},         {"3", "REFUNDED"},   {"-3", "="}, {"-4", "="},         {"-5", "="}, {"-4", "EXPIRED"}}},
    {"REFUND i u ID # WRITEOFF",        {{"-2", "="},         {"2", "REFUNDED"},   {"-3", "="}, {"-4", "="},         {"-5", "="}, {"-4", "EXPIRED"}}},
    {"EXTEND i u TTL 2000 ID #",        {{"@2000", "="},      {"-2", "="},         {"-3", "="}, {"-4", "="},         {"-5", "="}, {"-4", "EXPIRED"}}},
    {"EXTEND i u TTL 2000",             {{"@2000", "="},      {"-2", "="},         {"-1", "="}, {"-1", "="},         {"-1", "="}, {"-1", "EXPIRED"}}},
    {"RESERVATION GET i USER u",        {{"*", "="},          {"*", "="},          {"nil", "="}, {"nil", "="},       {"nil", "="}, {"nil", "EXPIRED"}}},
    {"SISMEMBER {i}:buyers u",          {{"1", "="},          {"1", "="},          {"0", "="},  {"0", "="},          {"0", "="},  {"0", "EXPIRED"}}},
};
// clang-format on

void run_verb(const VerbRow& row, const std::string& state, const Cell& cell) {
  std::string line = row.verb;
  if (const std::size_t id = line.find('#'); id != std::string::npos) {
    line.replace(id, 1, "00000000-0000-4000-8000-000000000001");
  }
  CAPTURE(line);
  CAPTURE(state);
  StepBench bench;
  prepare(bench, state);
  const std::string sequence_before = bench.run("ITEM GET i").at("sequence").to_text();
  const std::string reply = bench.ask(line);
  const std::string expected = cell.reply;
  if (expected == "@2000") {
    CHECK(reply == std::to_string(to_ms(bench.now().wall) + 2000));
  } else if (expected != "*") {
    CHECK(reply.substr(0, expected.size()) == expected);
    if (expected.front() != '-' || std::isdigit(expected[1]) != 0) CHECK(reply == expected);
  }
  const std::string after = cell.after;
  if (after != "?") {
    const std::string found = bench.run("RESERVATION GET i ID 00000000-0000-4000-8000-000000000001").at("state").text;
    CHECK(found == (after == "=" ? state : after));
  }
  if (after == "=" && reply.front() == '-') {
    CHECK(bench.run("ITEM GET i").at("sequence").to_text() == sequence_before);
  }
  bench.compare_all();
}

constexpr const char* kItemStates[] = {"DRAFT", "READY", "OPEN", "PAUSED", "CLOSED"};

void prepare_item(StepBench& bench, const std::string& state) {
  REQUIRE(bench.ask("ITEM LOAD i VERSION 4 STOCK 3") == "OK");
  if (state == "CLOSED") REQUIRE(bench.ask("ITEM CLOSE i") == "OK");
  if (state == "DRAFT" || state == "CLOSED") return;
  REQUIRE(bench.ask("ITEM READY i") == "OK");
  if (state == "READY") return;
  REQUIRE(bench.ask("ITEM OPEN i") == "OK");
  if (state == "PAUSED") REQUIRE(bench.ask("ITEM PAUSE i") == "OK");
}

struct ItemRow {
  const char* command;
  Cell cells[5];  // by kItemStates
};

// clang-format off
constexpr ItemRow kItemCommands[] = {
    // command                          DRAFT               READY               OPEN                PAUSED              CLOSED
    {"ITEM READY i",                   {{"OK", "READY"},    {"OK", "="},        {"-ERR item is OPEN", "="}, {"-ERR item is PAUSED", "="}, {"-ERR item is CLOSED", "="}}},
    {"ITEM OPEN i",                    {{"-ERR item is DRAFT", "="}, {"OK", "OPEN"}, {"OK", "="},   {"OK", "OPEN"},     {"-ERR item is CLOSED", "="}}},
    {"ITEM PAUSE i",                   {{"-ERR item is DRAFT", "="}, {"-ERR item is READY", "="}, {"OK", "PAUSED"}, {"OK", "="}, {"-ERR item is CLOSED", "="}}},
    {"ITEM CLOSE i",                   {{"OK", "CLOSED"},   {"OK", "CLOSED"},   {"OK", "CLOSED"},   {"OK", "CLOSED"},   {"OK", "="}}},
    {"RESERVE i u",                    {{"-3", "="},        {"-3", "="},        {"2", "="},         {"-5", "="},        {"-4", "="}}},
    {"RESERVE i u QTY 2",              {{"-2", "="},        {"-2", "="},        {"-2", "="},        {"-2", "="},        {"-2", "="}}},
    {"ITEM LOAD i VERSION 4 STOCK 3",  {{"OK", "="},        {"OK", "="},        {"OK", "="},        {"OK", "="},        {"OK", "="}}},
    {"ITEM LOAD i VERSION 4 STOCK 4",  {{"-VERSION stock", "="}, {"-VERSION stock", "="}, {"-VERSION stock", "="}, {"-VERSION stock", "="}, {"-VERSION stock", "="}}},
    {"ITEM LOAD i VERSION 5 STOCK 3",  {{"-VERSION", "="},  {"-VERSION", "="},  {"-VERSION", "="},  {"-VERSION", "="},  {"OK", "DRAFT"}}},
    {"ITEM LOAD i VERSION 3 STOCK 3",  {{"-VERSION", "="},  {"-VERSION", "="},  {"-VERSION", "="},  {"-VERSION", "="},  {"-VERSION", "="}}},
    {"ITEM CREATE i STOCK 3",          {{"OK", "OPEN"},     {"OK", "="},        {"OK", "="},        {"OK", "="},        {"OK", "="}}},
    {"ITEM CREATE i STOCK 4",          {{"-VERSION stock", "="}, {"-VERSION stock", "="}, {"-VERSION stock", "="}, {"-VERSION stock", "="}, {"-VERSION stock", "="}}},
    {"ITEM CREATE i STOCK 3 VERSION 5", {{"-VERSION", "="}, {"-VERSION", "="},  {"-VERSION", "="},  {"-VERSION", "="},  {"OK", "OPEN"}}},
    {"SET {i}:stock 9",                {{"OK", "="},        {"OK", "="},        {"OK", "="},        {"OK", "="},        {"OK", "OPEN"}}},
    {"SET {i}:stock 9 NX",             {{"nil", "="},       {"nil", "="},       {"nil", "="},       {"nil", "="},       {"nil", "="}}},
    {"INCRBY {i}:stock 2",             {{"5", "="},         {"5", "="},         {"5", "="},         {"5", "="},         {"-ERR", "="}}},
    {"DECRBY {i}:stock 2",             {{"1", "="},         {"1", "="},         {"1", "="},         {"1", "="},         {"-ERR", "="}}},
    {"ITEM ADJUST i 2 ID 00000000-0000-4000-8000-000000000001 REASON x",
                                       {{"5", "="},         {"5", "="},         {"5", "="},         {"5", "="},         {"5", "="}}},
    {"ITEM SET i LIMIT 2 EXPECT 1",    {{"OK", "="},        {"OK", "="},        {"OK", "="},        {"OK", "="},        {"OK", "="}}},
    {"ITEM RETURNS i HOLD",            {{"OK", "="},        {"OK", "="},        {"OK", "="},        {"OK", "="},        {"OK", "="}}},
    {"GET {i}:stock",                  {{"\"3\"", "="},     {"\"3\"", "="},     {"\"3\"", "="},     {"\"3\"", "="},     {"\"3\"", "="}}},
    {"CONFIRM i u",                    {{"-1", "="},        {"-1", "="},        {"-1", "="},        {"-1", "="},        {"-1", "="}}},
    {"ITEM DROP i",                    {{"1", ""},          {"1", ""},          {"1", ""},          {"1", ""},          {"1", ""}}},
    {"DEL {i}:stock",                  {{"1", ""},          {"1", ""},          {"1", ""},          {"1", ""},          {"1", ""}}},
};
// clang-format on

}  // namespace

TEST_CASE("states: every verb on a reservation in every state") {
  for (const VerbRow& row : kVerbs) {
    for (std::size_t i = 0; i < std::size(kStates); ++i) run_verb(row, kStates[i], row.cells[i]);
    run_verb(row, "DUE", row.cells[5]);
  }
}

TEST_CASE("states: every command on an item in every state") {
  for (const ItemRow& row : kItemCommands) {
    for (std::size_t i = 0; i < std::size(kItemStates); ++i) {
      const std::string state = kItemStates[i];
      CAPTURE(row.command);
      CAPTURE(state);
      StepBench bench;
      prepare_item(bench, state);
      const std::string reply = bench.ask(row.command);
      CHECK(reply.substr(0, std::string(row.cells[i].reply).size()) == row.cells[i].reply);
      const std::string after = row.cells[i].after;
      if (after.empty()) {
        CHECK(bench.ask("ITEM GET i").starts_with("-NOITEM"));
      } else {
        CHECK(bench.run("ITEM GET i").at("state").text == (after == "=" ? state : after));
      }
      bench.compare_all();
    }
  }
}
