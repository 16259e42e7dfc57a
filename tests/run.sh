#!/usr/bin/env bash
# Installs what is missing, builds the release preset with warnings as errors, runs the tests.
set -euo pipefail
cd "$(dirname "$0")/.."

if [[ ${1:-} == -h || ${1:-} == --help ]]; then
  cat <<'HELP'
usage: tests/run.sh [--build-only | ctest options]

Makes sure of the Debian packages in tests/packages.txt, builds the preset release into build/release, proves that
every header compiles alone, and runs the tests. At the end the runner says how many passed and how many failed.

Environment: PRESET=asan-ubsan (or tsan, debug) instead of release, without the proof about headers; JOBS=n instead of the
number of cores; TARGET=name instead of everything.

Examples:
  tests/run.sh                          everything that ends within CI's time
  tests/run.sh --build-only             everything but the tests
  tests/run.sh -N                       only list the tests
  tests/run.sh -R names                 the tests whose names contain "names"
  tests/run.sh -L unit                  the tests with the label "unit"
  PRESET=asan-ubsan tests/run.sh        under AddressSanitizer and UndefinedBehaviorSanitizer
  PRESET=tsan TARGET=threads tests/run.sh -L 'threads|shards'    what has several threads, under ThreadSanitizer
  build/release/tests/names_test -tc='user:*'    one case of one test, after a build
HELP
  exit 0
fi

# shellcheck source=tools/install_packages.sh
source tools/install_packages.sh
preset=${PRESET:-release}
jobs=${JOBS:-$(nproc)}

install_packages tests/packages.txt
targets=(all)
[[ $preset != release ]] || targets+=(all_verify_interface_header_sets)
[[ -z ${TARGET:-} ]] || targets=("$TARGET")
mkdir -p build
exec {lock}>build/lock
flock "$lock"  # two runs of this may go on at once, two builds in one folder may not
echo "Build: preset $preset into build/$preset, $jobs jobs."
cmake --preset "$preset" --log-level=WARNING >/dev/null
quiet=()
[[ -t 1 ]] || quiet=(-- --quiet)  # in a file only what fails is worth a line
cmake --build --preset "$preset" --parallel "$jobs" --target "${targets[@]}" "${quiet[@]}"
exec {lock}>&-
[[ ${1:-} != --build-only ]] || exit 0
echo "Tests: ctest --preset $preset $*"
# No test at all means that a part is missing.
exec ctest --preset "$preset" --parallel "$jobs" --no-tests=error "$@"
