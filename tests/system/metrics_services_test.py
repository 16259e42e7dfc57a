#!/usr/bin/env python3
"""Others read the server's metrics: a real Prometheus, promtool's redis exporter, HAProxy's checks. From Debian's packages
prometheus, prometheus-redis-exporter and haproxy.

usage: metrics_services_test.py --server build/release/bin/holdfastd [--only NAME]
"""
import contextlib
import json
import os
import signal
import subprocess
import sys
import urllib.parse

sys.dont_write_bytecode = True
from cases import arguments, run_cases  # noqa: E402
from holdfastd_test import check  # noqa: E402
from machine import free_port  # noqa: E402
from metrics_test import eventually, running  # noqa: E402
from resp import Connection  # noqa: E402
from scrape import Scrape, get, info, info_fields  # noqa: E402

STOP_SECONDS = 20


@contextlib.contextmanager
def service(folder, name, *command):
    """A program that writes its log into the folder; the log's path."""
    path = os.path.join(folder, f"{name}.log")
    with open(path, "wb") as output:
        process = subprocess.Popen(command, stdout=output, stderr=output, cwd=folder)
    try:
        yield path
        check(process.poll() is None, f"{name} runs", read(path)[-2000:])
        process.send_signal(signal.SIGTERM)
        process.wait(STOP_SECONDS)
    finally:
        process.kill()
        process.wait()


def read(path):
    with open(path, errors="replace") as file:
        return file.read()


def answers(port, path):
    try:
        return get(port, path)[0] == 200
    except (OSError, ValueError):
        return False


def a_prometheus_stores_what_info_says(program, folder):
    with running(program, folder) as server:
        port, config = free_port(), os.path.join(folder, "prometheus.yml")
        with open(config, "w") as file:
            file.write("global:\n  scrape_interval: 1s\n  scrape_timeout: 1s\nscrape_configs:\n  - job_name: holdfast\n    static_configs:\n"
                       f"      - targets: ['127.0.0.1:{server.metrics_port}']\n")
        with service(folder, "prometheus", "prometheus", f"--config.file={config}", f"--storage.tsdb.path={folder}/tsdb",
                     f"--web.listen-address=127.0.0.1:{port}") as log:
            eventually(lambda: answers(port, "/-/ready"), "Prometheus starts")
            eventually(lambda: query(port, "up") == 1, "it scrapes")
            with Connection(server.address) as connection:
                a_sale(connection)
                fields = info(connection, "all")

                def stored():
                    return {metric: query(port, f"sum({metric})") for metric, _ in info_fields()}
                # Each INFO changes the first of these; the other is looked at now and then, and asked for anew each time.
                wanted = {metric: float(fields[field]) for metric, field in info_fields() if field not in ("total_net_output_bytes", "log_retention_bytes")}
                eventually(lambda: all(stored()[metric] == value for metric, value in wanted.items()), "the stored series are INFO's numbers")
                eventually(lambda: query(port, "holdfast_log_retention_bytes") == float(info(connection, "all")["log_retention_bytes"]), "and so is a gauge that moves")
                check(query(port, 'holdfast_commands_total{command="reserve",outcome="sold_out"}') == 100, "outcomes")
                check(query(port, 'holdfast_item_available{item="sale"}') == 0, "items")
                check(query(port, "histogram_quantile(0.5, sum by (le) (holdfast_command_latency_seconds_bucket))") > 0, "a quantile")
                check(query(port, "min_over_time(up[1m])") == 1, "no scrape failed")
            check("level=error" not in read(log) and "level=warn" not in read(log), "Prometheus complains of nothing", read(log)[-1000:])


def a_sale(connection):
    connection.ask("ITEM", "CREATE", "sale", "STOCK", 200)
    connection.ask_all([("RESERVE", "sale", user) for user in range(300)])
    connection.ask_all([("CONFIRM", "sale", user) for user in range(150)])
    connection.ask("NOSUCH")


def query(port, expression):
    """The one value of an instant query; None when there is none."""
    status, text = get(port, "/api/v1/query?" + urllib.parse.urlencode({"query": expression}))
    check(status == 200, "a query", expression, text)
    found = json.loads(text)["data"]["result"]
    return float(found[0]["value"][1]) if found else None


def the_redis_exporter_finds_nothing_wrong(program, folder):
    with running(program, folder) as server, Connection(server.address) as connection:
        a_sale(connection)
        port = free_port()
        with service(folder, "exporter", "prometheus-redis-exporter", "-redis.addr", f"redis://127.0.0.1:{server.port}",
                     "-web.listen-address", f"127.0.0.1:{port}", "-log-format", "json") as log:
            eventually(lambda: answers(port, "/health"), "the exporter starts")
            for _ in range(3):
                status, text = get(port, "/metrics")
                check(status == 200, "a scrape", status)
            seen = Scrape(text)
            check(seen.value("redis_up") == 1, "redis_up", read(log))
            check(seen.value("redis_exporter_last_scrape_error", err="") == 0, "no error", text)
            check(seen.value("redis_commands_total", cmd="reserve") == 300, "commandstats are read")
            check(seen.value("redis_slowlog_length") == 0, "the slow log is read")
            lines = [json.loads(line) for line in read(log).splitlines() if line.startswith("{")]
            wrong = [line for line in lines if line["level"] in ("error", "warning", "fatal")]
            check(not wrong, "no error in its log", wrong)


def haproxy_sees_it_up(program, folder):
    with running(program, folder) as server:
        config, stats = os.path.join(folder, "haproxy.cfg"), free_port()
        with open(config, "w") as file:
            file.write("defaults\n  mode tcp\n  timeout connect 5s\n  timeout client 5s\n  timeout server 5s\n"
                       "backend redis\n  option redis-check\n"
                       f"  server holdfast 127.0.0.1:{server.port} check inter 200ms\n"
                       f"backend tcp\n  server holdfast 127.0.0.1:{server.port} check inter 200ms\n"
                       "backend ready\n  option httpchk GET /readyz\n"
                       f"  server holdfast 127.0.0.1:{server.port} check port {server.metrics_port} inter 200ms\n"
                       f"frontend stats\n  mode http\n  bind 127.0.0.1:{stats}\n  stats enable\n  stats uri /stats\n")
        said = server.output()
        with service(folder, "haproxy", "haproxy", "-db", "-f", config):
            eventually(lambda: answers(stats, "/stats;csv"), "HAProxy starts")

            def states():
                rows = [line.split(",") for line in get(stats, "/stats;csv")[1].splitlines()]
                column = rows[0].index("status"), rows[0].index("check_status")
                # A star means that a check is under way.
                return {row[0]: [row[at].removeprefix("* ") for at in column] for row in rows[1:] if len(row) > 2 and row[1] == "holdfast"}
            wanted = {"redis": ["UP", "L7OK"], "tcp": ["UP", "L4OK"], "ready": ["UP", "L7OK"]}
            eventually(lambda: states() == wanted, "all checks pass")
            with Connection(server.address) as connection:
                before = info(connection)
                received = int(before["total_connections_received"])
                eventually(lambda: int(info(connection)["total_connections_received"]) > received + 20, "it goes on checking")
                check(states() == wanted and info(connection)["total_error_replies"] == before["total_error_replies"], "nothing was wrong", states())
        check(server.output() == said, "nothing in the server's log", server.output())


ALL = [a_prometheus_stores_what_info_says, the_redis_exporter_finds_nothing_wrong, haproxy_sees_it_up]


if __name__ == "__main__":
    run_cases(ALL, arguments(__doc__).parse_args())
