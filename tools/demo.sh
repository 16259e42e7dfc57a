#!/usr/bin/env bash
# From a fresh Debian 12 to a sale that survives a crash: installs, builds, sells to half a million users, sells again, kills
# the server in the middle, and shows that nothing acknowledged is missing and nothing was sold twice, in the server, in
# PostgreSQL and, where a broker can be started, in Kafka.
set -euo pipefail
cd "$(dirname "$0")/.."

if [[ ${1:-} == -h || ${1:-} == --help ]]; then
  cat <<'HELP'
usage: tools/demo.sh [PORT]

Makes sure of the Debian packages in tests/packages.txt, builds the preset release, starts holdfastd on 127.0.0.1:PORT
(7379) and holds two sales. In the first, 500,000 users come for 10,000 units at 50,000 a second over 64 connections: what
was sold and refused, how long it took, how late the answers were, and the law. In the second, 50,000 users buy 1,000 units
over 50 connections; in the middle the server is killed with SIGKILL and started again, and who was told that he has a unit
must have it. Meanwhile holdfast-relay writes the orders into a private PostgreSQL and a private Kafka, and at the end these are
compared with the server. That takes less than a minute. Leaves all of it running, with commands to try by hand; when a step
fails, or with Ctrl-C, it stops them. All data is in a new folder; PostgreSQL runs as the user postgres when this is run by root.

Kafka needs Java and Maven, which are among those packages, and its jars: the first time they are fetched from Maven Central (44 MB)
into ${XDG_CACHE_HOME:-~/.cache}/holdfast/kafka. Where that cannot be, the demonstration says so and goes on without it.

Environment: JOBS=n instead of the number of cores. PROGRAMS=FOLDER: those programs, and nothing is installed or built.
HELP
  exit 0
fi

port=${1:-7379}
programs=${PROGRAMS:-build/release/bin}
if [[ -z ${PROGRAMS:-} ]]; then
  # shellcheck source=tools/install_packages.sh
  source tools/install_packages.sh
  install_packages tests/packages.txt
  echo "Build: preset release into build/release."
  cmake --preset release --log-level=WARNING >/dev/null
  cmake --build --preset release --parallel "${JOBS:-$(nproc)}" --target holdfastd holdfastctl holdfast-bench holdfast-relay -- --quiet
fi

folder=$(mktemp -d "${TMPDIR:-/tmp}/holdfast-demo-XXXXXX")

# stop SIGNAL PIDFILE: ends the process whose number is a file's first line, and waits until it is gone.
stop() {
  local pid tries=100
  pid=$(head -n 1 "$2" 2>/dev/null) && kill "-$1" "$pid" 2>/dev/null || return 0
  while ((tries-- > 0)) && kill -0 "$pid" 2>/dev/null; do sleep 0.1; done
  kill -KILL "$pid" 2>/dev/null || true
}

# on_exit STATUS: what was started goes on only when all of it went well.
on_exit() {
  trap '' INT TERM HUP
  (($1 == 0)) && return
  kill "$sale" 2>/dev/null || true
  wait "$sale" || true
  stop TERM "$folder/relay.pid"
  stop TERM "$folder/pid"
  stop INT "$folder/postgres/data/postmaster.pid"
  stop KILL "$folder/kafka/node1/pid"
  echo "Stopped: the demonstration did not come to its end. What its programs said is in $folder." >&2
}
sale=0
trap 'on_exit $?' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

# Beside this shell, so that a signal does not wait for it.
python3 tools/demo_sale.py --programs "$programs" --folder "$folder" --port "$port" &
sale=$!
wait "$sale"
postgres=$(cat "$folder/postgres.url")
pids=("$folder/relay.pid" "$folder/pid" "$folder/postgres.pid")
kafka='' try_kafka=''
if [[ -e $folder/kafka.servers ]]; then
  pids+=("$folder/kafka/node1/pid")
  kafka=", Kafka, $(cat "$folder/kafka/node1/pid")"
  try_kafka="
  export HOLDFAST_KAFKA=$(cat "$folder/kafka.servers")
  $programs/holdfastctl --server 127.0.0.1:$port reconcile      # both of them; --json for programs
  $programs/holdfastctl topic create --dead-letters --replicas 1
  $programs/holdfastctl dlt list"
fi
cat <<TRY

All go on: the server, process $(cat "$folder/pid"), the relay, $(cat "$folder/relay.pid"), PostgreSQL, $(cat "$folder/postgres.pid")$kafka; data and output in $folder. Try by hand:
  redis-cli -p $port ITEM GET demo
  redis-cli -p $port XREAD COUNT 5 STREAMS log 0
  $programs/holdfastctl --server 127.0.0.1:$port verify
  $programs/holdfastctl --server 127.0.0.1:$port snapshot
  redis-cli -p $port ITEM CREATE shoes STOCK 3
  redis-cli -p $port RESERVE shoes alice        # what is available after; again: -2
  redis-cli -p $port CONFIRM shoes alice
  $programs/holdfastctl --server 127.0.0.1:$port --json item shoes
  export HOLDFAST_POSTGRES='$postgres'
  psql "\$HOLDFAST_POSTGRES" -c 'SELECT * FROM flash_sale_order LIMIT 5'
  psql "\$HOLDFAST_POSTGRES" -c "UPDATE flash_sale_order SET status = 'PAID' WHERE item_id = 'demo' AND user_id LIKE '%7'"
  $programs/holdfastctl --server 127.0.0.1:$port reconcile --repair      # what differs now; --apply mends it
  $programs/holdfastctl --server 127.0.0.1:$port parked list$try_kafka
  $programs/holdfast-bench raw --server 127.0.0.1:$port -n 200000 -P 16 RESERVE demo __rand_int__
Stop them: kill $(cat "${pids[@]}" | paste -sd ' ')
TRY
