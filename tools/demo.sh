#!/usr/bin/env bash
# From a fresh Debian 12 to a sale that survives a crash: installs, builds, sells to half a million users, sells again, kills
# the server in the middle, and shows that nothing acknowledged is missing and nothing was sold twice, in the server and in
# PostgreSQL.
set -euo pipefail
cd "$(dirname "$0")/.."

if [[ ${1:-} == -h || ${1:-} == --help ]]; then
  cat <<'HELP'
usage: tools/demo.sh [PORT]

Makes sure of the Debian packages in tests/packages.txt, builds the preset release, starts holdfastd on 127.0.0.1:PORT
(7379) and holds two sales. In the first, 500,000 users come for 10,000 units at 50,000 a second over 64 connections: what
was sold and refused, how long it took, how late the answers were, and the law. In the second, 50,000 users buy 1,000 units
over 50 connections; in the middle the server is killed with SIGKILL and started again, and who was told that he has a unit
must have it. Meanwhile holdfast-relay writes the orders into a private PostgreSQL, and at the end the two are compared. That
takes less than a minute. Leaves server, relay and PostgreSQL running, with commands to try by hand. All data is in a new
folder; PostgreSQL runs as the user postgres when this is run by root.

Environment: JOBS=n instead of the number of cores.
HELP
  exit 0
fi

port=${1:-7379}
# shellcheck source=tools/install_packages.sh
source tools/install_packages.sh
install_packages tests/packages.txt
echo "Build: preset release into build/release."
cmake --preset release --log-level=WARNING >/dev/null
cmake --build --preset release --parallel "${JOBS:-$(nproc)}" --target holdfastd holdfastctl holdfast-bench holdfast-relay -- --quiet

folder=$(mktemp -d "${TMPDIR:-/tmp}/holdfast-demo-XXXXXX")
python3 tools/demo_sale.py --programs build/release/bin --folder "$folder" --port "$port"
postgres=$(cat "$folder/postgres.url")
cat <<TRY

All go on: the server, process $(cat "$folder/pid"), the relay, $(cat "$folder/relay.pid"), and PostgreSQL, $(cat "$folder/postgres.pid"); data and output in $folder. Try by hand:
  redis-cli -p $port ITEM GET demo
  redis-cli -p $port XREAD COUNT 5 STREAMS log 0
  build/release/bin/holdfastctl --server 127.0.0.1:$port verify
  build/release/bin/holdfastctl --server 127.0.0.1:$port snapshot
  redis-cli -p $port ITEM CREATE shoes STOCK 3
  redis-cli -p $port RESERVE shoes alice        # what is available after; again: -2
  redis-cli -p $port CONFIRM shoes alice
  build/release/bin/holdfastctl --server 127.0.0.1:$port --json item shoes
  export HOLDFAST_POSTGRES='$postgres'
  psql "\$HOLDFAST_POSTGRES" -c 'SELECT * FROM flash_sale_order LIMIT 5'
  psql "\$HOLDFAST_POSTGRES" -c "UPDATE flash_sale_order SET status = 'PAID' WHERE item_id = 'demo' AND user_id LIKE '%7'"
  build/release/bin/holdfastctl --server 127.0.0.1:$port reconcile --repair      # what differs now; --apply mends it
  build/release/bin/holdfastctl --server 127.0.0.1:$port parked list
  build/release/bin/holdfast-bench raw --server 127.0.0.1:$port -n 200000 -P 16 RESERVE demo __rand_int__
Stop them: kill $(cat "$folder/relay.pid" "$folder/pid" "$folder/postgres.pid" | paste -sd ' ')
TRY
