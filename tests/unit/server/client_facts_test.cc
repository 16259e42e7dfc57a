#include "server/client_facts.h"

#include "tests/doctest.h"

using namespace holdfast;

TEST_CASE("client_facts: a line has the fields of Redis 7.2 in its order") {
  ClientFacts facts;
  facts.id = 7;
  facts.address = "127.0.0.1:5000";
  facts.local_address = "127.0.0.1:7379";
  facts.fd = 9;
  facts.name = "n";
  facts.age_seconds = 5;
  facts.idle_seconds = 2;
  facts.input_bytes = 3;
  facts.input_free_bytes = 4;
  facts.output_bytes = 10;
  facts.output_replies = 1;
  facts.output_held_bytes = 11;
  facts.output_buffer_bytes = 40;
  facts.memory_bytes = 700;
  facts.watches_input = facts.watches_output = true;
  facts.last = &command_table()[static_cast<std::size_t>(CommandId::client_list)];
  facts.library = "lib";
  facts.library_version = "1";
  std::string text;
  append_client_line(text, facts);
  CHECK(text ==
        "id=7 addr=127.0.0.1:5000 laddr=127.0.0.1:7379 fd=9 name=n age=5 idle=2 flags=N db=0 sub=0 psub=0 ssub=0 "
        "multi=-1 qbuf=3 qbuf-free=4 argv-mem=0 multi-mem=0 rbs=40 rbp=0 obl=10 oll=1 omem=11 tot-mem=700 events=rw "
        "cmd=client|list user=default redir=-1 resp=2 lib-name=lib lib-ver=1\n");
}

TEST_CASE("client_facts: flags stand in Redis's order, N for none") {
  ClientFacts facts;
  CHECK(client_flags(facts) == "N");
  CHECK(client_type(facts) == "normal");
  facts.monitors = facts.subscribes = facts.blocked = facts.closing = facts.no_evict = facts.no_touch = true;
  facts.queued = 0;
  CHECK(client_flags(facts) == "OPxbceT");
  CHECK(client_type(facts) == "pubsub");
  CHECK(command_label(nullptr) == "NULL");
}
