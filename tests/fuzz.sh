#!/usr/bin/env bash
# Builds one libFuzzer target and runs it for a while.
set -euo pipefail
cd "$(dirname "$0")/.."

if (($# != 2)) || [[ $1 == -* ]]; then
  cat <<'HELP'
usage: tests/fuzz.sh NAME SECONDS

NAME is a target tests/fuzz/NAME_fuzz.cc. It starts from tests/fuzz/corpus/NAME (kept) and what earlier runs found in
build/fuzz/corpus/NAME (not kept). What it fails on is written to build/fuzz, with the command that replays it.

Examples:
  tests/fuzz.sh resp_parser 60
  build/fuzz/bin/resp_parser_fuzz -merge=1 tests/fuzz/corpus/resp_parser build/fuzz/corpus/resp_parser
                                        keep what added coverage
HELP
  [[ ${1:-} == -h || ${1:-} == --help ]] && exit 0
  exit 2
fi

name=$1
seconds=$2
kept=tests/fuzz/corpus/$name
found=build/fuzz/corpus/$name
[[ -f tests/fuzz/${name}_fuzz.cc ]] || { echo "no tests/fuzz/${name}_fuzz.cc" >&2; exit 2; }
PRESET=fuzz TARGET=${name}_fuzz tests/run.sh --build-only
mkdir -p "$found"
corpora=("$found")
[[ ! -d $kept ]] || corpora+=("$kept")

log=build/fuzz/$name.log
echo "Fuzz: $name for $seconds s"
if ! "build/fuzz/bin/${name}_fuzz" -max_total_time="$seconds" -timeout=10 -entropic=0 -rss_limit_mb=1024 -print_final_stats=1 \
  -artifact_prefix="build/fuzz/$name-" "${corpora[@]}" >"$log" 2>&1; then
  tail -n 60 "$log"
  sed -n "s|.*Test unit written to \(.*\)|Replay: build/fuzz/bin/${name}_fuzz \1|p" "$log"
  exit 1
fi
grep -E '^(stat::number_of_executed_units|stat::new_units_added|stat::peak_rss_mb)' "$log" | sed 's/^stat:://'
