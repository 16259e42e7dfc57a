# Sourced by tests/run.sh and tools/demo.sh: makes sure that the Debian packages of tests/packages.txt are there.
# shellcheck shell=bash

# install_packages LIST: installs what is missing of a list and says so. Needs root and apt only when something is
# missing; without them it names the missing packages and fails. A line "PACKAGE unless PROGRAM" wants the package only
# where that program is not found.
install_packages() {
  local package unless program missing=()
  local -a wanted
  mapfile -t wanted < <(grep -v '^ *\(#\|$\)' "$1")
  if ! command -v dpkg-query >/dev/null; then
    echo "This is no Debian system (no dpkg-query). Holdfast's scripts need these packages of Debian 12:" >&2
    echo "  ${wanted[*]}" >&2
    return 1
  fi
  while read -r package unless program; do
    [[ $unless != unless ]] || ! command -v "$program" >/dev/null || continue
    [[ $(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null) == installed ]] || missing+=("$package")
  done < <(printf '%s\n' "${wanted[@]}")
  if ((${#missing[@]} == 0)); then
    echo "Packages: all ${#wanted[@]} are installed."
    return 0
  fi
  if ((EUID != 0)) || ! command -v apt-get >/dev/null; then
    echo "Missing Debian packages: ${missing[*]}" >&2
    echo "Not run by root with apt-get, so nothing was installed. Let root run:" >&2
    echo "  apt-get update && apt-get install --no-install-recommends ${missing[*]}" >&2
    return 1
  fi
  echo "Packages: installing ${#missing[@]} from Debian: ${missing[*]}"
  local log status=0
  log=$(mktemp)
  { apt-get update && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends "${missing[@]}"; } \
    >"$log" 2>&1 </dev/null || status=$?
  if ((status != 0)); then
    cat "$log" >&2
    echo "Installing packages failed (exit status $status); still missing of: ${missing[*]}" >&2
  fi
  rm -f "$log"
  return "$status"
}
