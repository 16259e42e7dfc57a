#!/usr/bin/env bash
# What takes longer than CI. tests/README.md holds the date and the figures of the last run of each.
set -euo pipefail
cd "$(dirname "$0")/.."

# name | about how long | what it does | command
runs='
sanitizers | 2 min  | every test that CI runs, whatever its label, under ASan and UBSan, then under TSan | sanitizers
repeat     | 10 min | the tests of CI over and over for ten minutes, in random order, until one fails | repeat_tests 600
'

sanitizers() {
  PRESET=asan-ubsan tests/run.sh
  PRESET=tsan tests/run.sh
}

repeat_tests() {
  tests/run.sh --build-only
  local until=$((SECONDS + $1)) rounds=0
  while ((SECONDS < until)); do
    ctest --preset release --parallel "$(nproc)" --schedule-random --no-tests=error >build/repeat.log || { cat build/repeat.log; exit 1; }
    ((++rounds))
  done
  tail -n 6 build/repeat.log
  echo "$rounds rounds"
}

field() { cut -d'|' -f"$1" <<<"$2" | sed 's/^ *//; s/ *$//'; }

if (($# != 1)) || [[ $1 == -* ]]; then
  echo "usage: tests/long.sh NAME"
  echo
  while read -r line; do
    [[ -z $line ]] || printf '  %-12s %-7s %s\n' "$(field 1 "$line")" "$(field 2 "$line")" "$(field 3 "$line")"
  done <<<"$runs"
  echo
  echo "Example: tests/long.sh repeat"
  [[ ${1:-} == -h || ${1:-} == --help ]] && exit 0
  exit 2
fi

row=$(awk -F'|' -v name="$1" '{ word = $1; gsub(/ /, "", word) } word == name' <<<"$runs")
[[ -n $row ]] || { echo "no long run '$1'; tests/long.sh -h lists them" >&2; exit 2; }
read -ra command <<<"$(field 4 "$row")"
date -u '+%F %H:%M UTC'
"${command[@]}"
echo "took $SECONDS s"
