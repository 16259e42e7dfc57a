#!/usr/bin/env bash
# Format and lint of everything that is tracked; nothing is tolerated.
set -euo pipefail
cd "$(dirname "$0")/.."

if [[ ${1:-} == -h || ${1:-} == --help ]]; then
  cat <<'HELP'
usage: tests/lint.sh [fix]

Checks every tracked source with clang-format and clang-tidy (version 14, any finding is an error) and every script
with shellcheck. Sources that passed before with the same content, headers and options are not read again; what passed
is kept in build/lint, or in the directory that HOLDFAST_LINT_CACHE names.

Examples:
  tests/lint.sh          check
  tests/lint.sh fix      format the sources in place, then check
HELP
  exit 0
fi

mapfile -t sources < <(git ls-files '*.h' '*.cc' '*.c')
mapfile -t units < <(git ls-files '*.cc')
mapfile -t scripts < <(git ls-files '*.sh' .ci/run)

[[ ${1:-} != fix ]] || clang-format-14 -i "${sources[@]}"
failed=0
clang-format-14 --dry-run -Werror "${sources[@]}" || failed=1
echo "clang-format: ${#sources[@]} sources"
shellcheck --external-sources --exclude=SC2317 "${scripts[@]}" || failed=1
echo "shellcheck: ${#scripts[@]} scripts"
[[ -f build/release/compile_commands.json ]] || cmake --preset release --log-level=WARNING >/dev/null
python3 tests/tidy.py build/release/compile_commands.json "${HOLDFAST_LINT_CACHE:-build/lint}" "${units[@]}" || failed=1
((failed == 0)) || echo "Lint: findings above. 'tests/lint.sh fix' mends the format." >&2
exit "$failed"
