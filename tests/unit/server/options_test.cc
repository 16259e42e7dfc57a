#include "server/options.h"

#include "tests/doctest.h"

#include <fstream>
#include <vector>

using namespace holdfast;

namespace {

CommandLine read(std::vector<const char*> arguments) {
  arguments.insert(arguments.begin(), "holdfastd");
  return read_command_line(static_cast<int>(arguments.size()), arguments.data());
}

}  // namespace

TEST_CASE("options: the defaults of the table") {
  const CommandLine line = read({});
  REQUIRE_FALSE(line.leave);
  CHECK(line.options.data_dir == "./holdfast-data");
  CHECK(line.options.bind == "127.0.0.1");
  CHECK(line.options.port == 7379);
  CHECK(line.options.fsync == "always");
  CHECK(line.options.segment_bytes == 64_MiB);
  CHECK(line.options.ended_retention == std::chrono::hours(24));
  CHECK_FALSE(line.options.require_data);
}

TEST_CASE("options: durations are milliseconds or carry a unit, bytes likewise") {
  CHECK(!read({}).options.ended_max.has_value());
  CHECK(!read({"--ended-max", "auto"}).options.ended_max.has_value());
  CHECK(read({"--ended-max", "0"}).options.ended_max == 0U);
  CHECK(read({"--ended-max", "few"}).exit_status != 0);
  CHECK(read({"--ended-retention", "300"}).options.ended_retention == Millis(300));
  CHECK(read({"--ended-retention", "500ms"}).options.ended_retention == Millis(500));
  CHECK(read({"--downtime-max", "2d"}).options.downtime_max == std::chrono::hours(48));
  CHECK(read({"--segment-bytes", "64KiB"}).options.segment_bytes == 64_KiB);
  CHECK(read({"--require-data"}).options.require_data);
  for (const auto* bad : {"5x", "-1", "", "1.5s", "99999999999999999999ms", "0"}) {
    CHECK(read({"--ended-retention", bad}).exit_status != 0);
  }
}

TEST_CASE("options: what is wrong is refused and named") {
  CHECK(read({"--nosuch"}).exit_status != 0);
  CHECK(read({"--fsync", "sometimes"}).text.find("always|everysec|never") != std::string::npos);
  CHECK(read({"--port", "0"}).exit_status != 0);
  CHECK(read({"--bind", "0.0.0.0"}).text.find("loopback") != std::string::npos);
  CHECK(read({"--bind", "127.0.0.2"}).exit_status == 0);
  CHECK(read({"--bind", "::1"}).exit_status == 0);
  CHECK(read({"--segment-bytes", "1"}).text.find("65536") != std::string::npos);
  CHECK(read({"--log-max-bytes", "512MiB"}).text.find("16 segments of 67108864 bytes") != std::string::npos);
  CHECK(read({"--log-max-bytes", "512MiB", "--segment-bytes", "32MiB"}).exit_status == 0);
}

TEST_CASE("options: with users an explicit bind may be any address") {
  std::ofstream("users.toml") << "[users.shop]\nroles = [\"buyer\"]\nsecrets = "
                                 "[\"sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad\"]\n";
  CHECK(read({"--config", "users.toml", "--bind", "0.0.0.0"}).exit_status == 0);
  CHECK(read({"--config", "users.toml"}).options.bind == "127.0.0.1");
}

TEST_CASE("options: --help shows every option, and is no error") {
  const CommandLine line = read({"--help"});
  CHECK(line.leave);
  CHECK(line.exit_status == 0);
  for (const OptionEntry& entry : option_table())
    CHECK(line.text.find("--" + std::string(entry.name)) != std::string::npos);
}

TEST_CASE("options: a file sets them, arguments win, an unknown key is refused") {
  std::ofstream("good.toml") << "port = 7001\nfsync = \"never\"\nrequire-data = true\nended-retention = \"2h\"\n";
  const CommandLine line = read({"--config", "good.toml", "--port", "7002"});
  REQUIRE_FALSE(line.leave);
  CHECK(line.options.port == 7002);
  CHECK(line.options.fsync == "never");
  CHECK(line.options.require_data);
  CHECK(line.options.ended_retention == std::chrono::hours(2));
  std::ofstream("unknown.toml") << "port = 7001\nprot = 7002\n";
  CHECK(read({"--config", "unknown.toml"}).text.find("unknown.toml:2: unknown key 'prot'; did you mean 'port'?") !=
        std::string::npos);
  std::ofstream("broken.toml") << "port = \n";
  CHECK(read({"--config", "broken.toml"}).exit_status != 0);
  CHECK(read({"--config", "missing.toml"}).exit_status != 0);
}
