#!/usr/bin/env bash
# What takes longer than CI. tests/README.md holds the date and the figures of the last run of each.
set -euo pipefail
cd "$(dirname "$0")/.."

# name | how much when run whole | of what | what it does | command, which gets the amount
runs='
crash        | 1000 | kills   | kills the server, cuts the power of its disk, asks for everything it acknowledged | crash
crash-buffered | 200 | kills | the same on a file system without O_DIRECT, with flushes that fail | crash_buffered
crash-shards |  200 | kills   | as crash, each start with another number of shards, 1 to 4 | crash_shards
crash-snapshots | 200 | kills | as crash, while snapshots are made all the time and what they replace is removed | crash_snapshots
crash-disk   | 20000 | histories | five lives each of a log on the simulated disk, with power cuts, kills and failed flushes | crash_disk
cycles       |   10 | million | one user reserves and releases; memory stays where it is | cycles
deadlock     |  600 | seconds | every connection asks every shard at full speed; all replies are counted | shards_load everybody --seconds
fuzz-records |  600 | seconds | any records against the inventory, as the reader of a log would bring them | tests/fuzz.sh inventory_apply
fuzz-resp    |  600 | seconds | any bytes, any split, against the parser of requests | tests/fuzz.sh resp_parser
fuzz-server  |  600 | seconds | any bytes and commands from the table against the whole server in memory | tests/fuzz.sh server
fuzz-segment |  600 | seconds | any bytes against the readers of segments, records and marks | tests/fuzz.sh segment
kafka-cuts   |   20 | cuts of each kind | requests and answers between relay and broker cut, before, during and after; the broker away for a minute | kafka_cuts
kafka-kills  |  100 | kills   | SIGKILL to the relay into Kafka while orders come, and to the server after every fifth | kafka_kills
order-shards | 100000 | pairs | RELEASE and RESERVE on one connection while others are refused the same item | shards_load released --pairs
property     |  600 | seconds | random commands against the model, the law, the indexes and the replica | property
race-shards  | 1000 | rounds  | 1,000 users for 100 units of ten items at once, on four shards | shards_load thousand --rounds
relay-cuts   |   50 | cuts of each kind | connections cut before, during and after COMMIT; the database away for a minute | relay_cuts
relay-kills  |  100 | kills   | SIGKILL to the relay while orders come | relay_kills
relay-restarts | 20 | restarts | power cuts of the server, SIGKILL to the database, also in the middle of a COMMIT | relay_restarts
repeat       |  600 | seconds | the tests of CI over and over, in random order, until one fails | repeat_tests
shards       |    4 | shards  | every test of a real server with 1, 2, ... so many shards (3-4: with these), acceptance and clients included | every_test_with_shards
turnover     |  100 | million | reservations of 200 items that come and go; disk and memory stay within their bounds | turnover
views        |   60 | seconds | refusals at full speed while units expire, each judged against the whole history | shards_load view --seconds
'

# kills N OPTION...: the crash test on the release build.
kills() {
  tests/run.sh --build-only
  python3 tests/crash/crash.py --server build/release/bin/holdfastd --kills "$1" --folder build/release \
    --shim build/release/tests/shim/libholdfast_shim.so --undo build/release/bin/holdfast-undo \
    --flags='--segment-bytes 256KiB' --kills-per-log 10 "${@:2}"
}
crash() { kills "$@" --live-write 'write_durable:*'; }
crash_buffered() { kills "$1" --live-write 'sync:*' --always 'open_direct:*:1:EINVAL:sticky'; }

crash_shards() { crash "$1" --shards 1,2,4,3; }

crash_snapshots() { crash "$1" --flags='--segment-bytes 64KiB --snapshot-log-bytes 64KiB --snapshot-every 1s'; }

turnover() {
  tests/run.sh --build-only
  python3 tests/system/turnover_test.py --server build/release/bin/holdfastd --reservations "$1"000000
}

# relay SCRIPT OPTION...: on the release build.
relay() {
  tests/run.sh --build-only
  python3 "tests/system/$1" --server build/release/bin/holdfastd --relay build/release/bin/holdfast-relay "${@:2}"
}
relay_cuts() { relay relay_faults_test.py --only commit --cuts "$1" && relay relay_faults_test.py --only away --away 60; }
relay_kills() { relay relay_test.py --only killed --kills "$1"; }
relay_restarts() {
  relay relay_faults_test.py --only killed --restarts "$1" --shim build/release/tests/shim/libholdfast_shim.so --undo build/release/bin/holdfast-undo
  relay relay_faults_test.py --only away --restarts "$1"
}

# kafka SCRIPT OPTION...: the same with Debian's Python, which has the client.
kafka() {
  tests/run.sh --build-only
  /usr/bin/python3 "tests/system/$1" --server build/release/bin/holdfastd --relay build/release/bin/holdfast-relay "${@:2}"
}
kafka_cuts() { kafka relay_kafka_faults_test.py --only cut --cuts "$1" && kafka relay_kafka_faults_test.py --only is_away --away 60; }
kafka_kills() { kafka relay_kafka_test.py --only killed --kills "$1"; }

# shards_load CASE OPTION AMOUNT
shards_load() {
  tests/run.sh --build-only
  python3 tests/system/shards_load_test.py --server build/release/bin/holdfastd --only "$1" "$2" "$3"
}

every_test_with_shards() {
  tests/run.sh --build-only
  local bin=build/release/bin shim=build/release/tests/shim/libholdfast_shim.so shards name
  local numbers
  read -ra numbers <<<"${1/-/ }"
  for shards in $(seq "${numbers[@]}"); do
    echo "== $shards shards"
    local common=(--server "$bin/holdfastd" --shards "$shards")
    for name in holdfastd messages admin log_stream redis_differential redis_tools metrics metrics_services; do
      python3 "tests/system/${name}_test.py" "${common[@]}"
    done
    python3 tests/system/access_test.py "${common[@]}" --tools "$bin"
    python3 tests/system/damaged_log_test.py "${common[@]}" --ctl "$bin/holdfastctl"
    python3 tests/system/system_test.py "${common[@]}" --shim "$shim" --folder build/release
    python3 tests/races/races_test.py "${common[@]}"
    crash 50 --shards "$shards"
    tests/acceptance.py "$bin/holdfastd" --shards "$shards" --shim "$shim"
    tests/clients/run.py "${common[@]}"
  done
  for name in shards shards_commands shards_load; do
    python3 "tests/system/${name}_test.py" --server "$bin/holdfastd"
  done
}

crash_disk() {
  tests/run.sh --build-only
  HOLDFAST_SEED=$(date +%s) HOLDFAST_RUNS=$1 build/release/tests/storage_tests -tc='crash: random*'
}

cycles() {
  tests/run.sh --build-only
  HOLDFAST_CYCLES=$((1000000 * $1)) build/release/tests/allocation_test -tc='*cycles*'
}

property() {
  tests/run.sh --build-only
  HOLDFAST_SEED=$(date +%s) HOLDFAST_SECONDS=$1 build/release/tests/property_test
}

repeat_tests() {
  tests/run.sh --build-only
  local until=$((SECONDS + $1)) rounds=0 log=build/repeat.log
  while ((SECONDS < until)); do
    ctest --preset release --parallel "$(nproc)" --schedule-random --no-tests=error >"$log" || { cat "$log"; exit 1; }
    ((++rounds))
  done
  tail -n 6 "$log"
  echo "$rounds rounds"
}

field() { cut -d'|' -f"$1" <<<"$2" | sed 's/^ *//; s/ *$//'; }

if (($# < 1 || $# > 2)) || [[ $1 == -* ]]; then
  echo "usage: tests/long.sh NAME [AMOUNT]"
  echo
  while read -r line; do
    [[ -z $line ]] ||
      printf '  %-13s %5s %-8s %s\n' "$(field 1 "$line")" "$(field 2 "$line")" "$(field 3 "$line")" "$(field 4 "$line")"
  done <<<"$runs"
  printf '\nExamples:\n  tests/long.sh crash\n  tests/long.sh fuzz-resp 60\n'
  [[ ${1:-} == -h || ${1:-} == --help ]] && exit 0
  exit 2
fi

row=$(awk -F'|' -v name="$1" '{ word = $1; gsub(/ /, "", word) } word == name' <<<"$runs")
[[ -n $row ]] || { echo "no long run '$1'; tests/long.sh -h lists them" >&2; exit 2; }
read -ra command <<<"$(field 5 "$row")"
date -u '+%F %H:%M UTC'
"${command[@]}" "${2:-$(field 2 "$row")}"
echo "took $SECONDS s"
