#!/usr/bin/env python3
"""What a genuine redis-server answers, holdfastd answers too: the same requests to both, byte for byte.

  redis_differential_test.py --server build/release/bin/holdfastd [--redis redis-server] [--only word]

Each conversation runs on a fresh connection in RESP2 and again in RESP3. Debian's Redis is 7.0: what 7.2 changed is not here but in
the rows of the contract's suite. Its order of a connection's own message and the reply to its PUBLISH is that of 7.2. What cannot be the same (ids, times, versions) is made so before comparing.
Prints a line for each conversation that differs and "N passed, N failed"; exit status 1 when anything failed.
"""
import argparse
import contextlib
import re
import select
import shutil
import socket
import subprocess
import sys
import tempfile
import time

PATIENCE_SECONDS = 30

# One conversation a line, requests parted by ";". Words as a shell splits them; \\xNN stands for a byte.
CONVERSATIONS = r"""
PING; PING hello; PING a b; ping
ECHO hello; ECHO; ECHO a b; ECHO ""; ECHO "\x00\r\n\xff"
QUIT
RESET; PING
SELECT 0; SELECT 16; SELECT -1; SELECT abc; SELECT
NOSUCH; NOSUCH a; NOSUCH "a b" c; "no such\r\nthing" x
HELLO 1; HELLO 4; HELLO abc; HELLO 2 SETNAME; HELLO 2 FOO; HELLO 2 AUTH x; HELLO 2 SETNAME "a b"; PING
HELLO 2 SETNAME me; CLIENT GETNAME
AUTH; AUTH a b c; AUTH x; AUTH default x; AUTH nobody x
CLIENT GETNAME; CLIENT SETNAME me; CLIENT GETNAME; CLIENT SETNAME "a b"; CLIENT SETNAME; CLIENT GETNAME x
CLIENT NOSUCH; CLIENT; CLIENT NO-EVICT ON; CLIENT NO-EVICT maybe; CLIENT NO-EVICT
CLIENT REPLY SKIP; PING; PING; CLIENT REPLY maybe; CLIENT REPLY OFF; PING; CLIENT REPLY ON
CLIENT KILL ID 999999; CLIENT KILL 127.0.0.1:1; CLIENT KILL ID abc; CLIENT KILL TYPE nosuch; CLIENT KILL FOO bar; CLIENT KILL
CLIENT LIST ID 999999; CLIENT LIST TYPE nosuch; CLIENT LIST FOO; CLIENT LIST TYPE replica
CLIENT UNBLOCK 999999; CLIENT UNBLOCK abc; CLIENT UNBLOCK 1 FOO
CLIENT GETREDIR; CLIENT TRACKINGINFO
CONFIG GET databases-nope; CONFIG GET; CONFIG; CONFIG NOSUCH
CONFIG GET maxmemory-policy; CONFIG GET appendonly-nope nothing
COMMAND COUNT x; COMMAND NOSUCH; COMMAND INFO nosuch; COMMAND INFO nosuch nosuch2; COMMAND DOCS nosuch; COMMAND LIST FILTERBY MODULE nosuch
COMMAND LIST FILTERBY PATTERN pin*; COMMAND LIST FILTERBY; COMMAND LIST FOO
COMMAND GETKEYS GET k; COMMAND GETKEYS MGET a b; COMMAND GETKEYS NOSUCH a; COMMAND GETKEYS
TIME x; ROLE; ROLE x; DBSIZE; DBSIZE x; LASTSAVE x
INFO nosuch; INFO cluster
CLUSTER SLOTS; CLUSTER NODES; CLUSTER INFO; READONLY; READWRITE; ASKING; READONLY x
SENTINEL MASTERS
MODULE LIST; MODULE; MODULE NOSUCH
ACL WHOAMI; ACL CAT nosuch; ACL; ACL NOSUCH
SLOWLOG RESET; SLOWLOG LEN; SLOWLOG NOSUCH; SLOWLOG GET -2; SLOWLOG GET abc
LATENCY LATEST; LATENCY RESET nosuch; LATENCY HISTORY nosuch; LATENCY NOSUCH; LATENCY
WAIT 0 0; WAIT; WAIT a 0; WAIT 0 -1; WAIT 0 a
SHUTDOWN ABORT; SHUTDOWN FOO
GET nokey; GET; GET a b; EXISTS nokey nokey; EXISTS; TYPE nokey; TTL nokey; PTTL nokey; DEL nokey nokey; UNLINK nokey; STRLEN nokey; MGET nokey nokey2
SISMEMBER nokey a; SCARD nokey; SMEMBERS nokey; SSCAN nokey 0; SSCAN nokey abc; SSCAN nokey 0 COUNT 10 MATCH x
SCAN abc; SCAN 0 COUNT 0; SCAN 0 COUNT abc; SCAN 0 FOO; SCAN
EXPIRE nokey abc; EXPIRE nokey; PERSIST nokey; OBJECT ENCODING nokey; MEMORY USAGE nokey
XLEN nokey; XLEN; XRANGE nokey - +; XRANGE nokey - + COUNT 0; XRANGE nokey - + COUNT; XRANGE nokey - + COUNT abc; XRANGE nokey - + FOO 1; XRANGE nokey
XRANGE nokey a b; XRANGE nokey (- +; XRANGE nokey - (0-0; XRANGE nokey (5 (7-3; XRANGE nokey 007 +; XRANGE nokey 5-x +; XRANGE nokey (18446744073709551615-18446744073709551615 +
XREAD STREAMS nokey 0; XREAD COUNT 2 STREAMS nokey other 0-0 $; XREAD BLOCK 1 STREAMS nokey 0; XREAD BLOCK x STREAMS nokey 0; XREAD BLOCK -1 STREAMS nokey 0
XREAD COUNT x STREAMS nokey 0; XREAD COUNT -1 STREAMS nokey 0; XREAD STREAMS nokey x; XREAD STREAMS nokey >; XREAD FOO 1 STREAMS nokey 0; XREAD a b c; XREAD; XREAD STREAMS nokey
XINFO STREAM nokey; XINFO STREAM nokey FULL; XINFO STREAM; XINFO; XINFO NOSUCH
MULTI; PING; ECHO a; EXEC
MULTI; EXEC; EXEC; DISCARD
MULTI; MULTI; EXEC
MULTI; DISCARD; EXEC
MULTI; WATCH a; EXEC
MULTI; NOSUCH; PING; EXEC; PING
MULTI; GET; EXEC
MULTI x; DISCARD x; WATCH; UNWATCH x
MULTI; RESET; PING; EXEC
MULTI; QUIT
MULTI; ECHO; GET nokey; EXEC; GET nokey
WATCH nokey; MULTI; GET nokey; EXEC
WATCH nokey; UNWATCH; MULTI; EXEC
MULTI; TIME x; EXEC
SUBSCRIBE; UNSUBSCRIBE; PUNSUBSCRIBE; UNSUBSCRIBE a b
SUBSCRIBE c; UNSUBSCRIBE c; PING
SUBSCRIBE a b c; UNSUBSCRIBE b; PUNSUBSCRIBE
SUBSCRIBE c; SUBSCRIBE c; UNSUBSCRIBE
PSUBSCRIBE c*; SUBSCRIBE c; PUNSUBSCRIBE c*; UNSUBSCRIBE c; ECHO back
SUBSCRIBE c; RESET; ECHO back
SUBSCRIBE c; QUIT
PUBLISH nobody m; PUBLISH; PUBLISH a; PUBLISH a b c
PUBSUB CHANNELS nosuch; PUBSUB NUMSUB; PUBSUB NUMSUB a b; PUBSUB NUMPAT; PUBSUB NOSUCH; PUBSUB
SSUBSCRIBE c; SUNSUBSCRIBE c; PING
SPUBLISH c m
EVALSHA e0e1f9fabfc9d4800c877a703b823ac0578ff8db 0; EVALSHA abc 0; EVALSHA; EVALSHA abc
SCRIPT EXISTS e0e1f9fabfc9d4800c877a703b823ac0578ff8db ffff; SCRIPT FLUSH; SCRIPT FLUSH SYNC; SCRIPT FLUSH FOO; SCRIPT KILL; SCRIPT NOSUCH; SCRIPT
EVAL; EVAL x
REPLICAOF a; DEBUG
"""
RESP2_ONLY = ("SUBSCRIBE c; GET x; PING; PING m; UNSUBSCRIBE; GET x", "PSUBSCRIBE c; ECHO x; INFO; MULTI; PUNSUBSCRIBE; ECHO x")
# The keys of several shards come a page from each, so that the first cursor is not the last.
ONE_SHARD_ONLY = ["SCAN 0; SCAN 0 MATCH x COUNT 10; SCAN 0 TYPE string"]
RESP3_ONLY = ("SUBSCRIBE c; GET x; PING; ECHO after; UNSUBSCRIBE", "SUBSCRIBE c; MULTI; PING; EXEC; UNSUBSCRIBE c",
              "PSUBSCRIBE c*; SUBSCRIBE c; ECHO between; PUNSUBSCRIBE; ECHO after")
END = b"the end of it"


WORD = re.compile(r'"((?:[^"\\]|\\.)*)"|(\S+)')
ESCAPE = re.compile(r"\\(?:x([0-9a-f]{2})|([rn\"\\]))")
SAME = (  # what differs without meaning anything
    (re.compile(rb"\$\d+\r\n7\.\d+\.\d+\r\n"), b"<version>"),
    (re.compile(rb"(\$2\r\nid\r\n):\d+"), rb"\1:<id>"),
)


def encoded(request):
    """One request of a conversation as RESP."""
    out = []
    for quoted, plain in WORD.findall(request):
        text = ESCAPE.sub(lambda found: chr(int(found[1], 16)) if found[1] else {"r": "\r", "n": "\n"}.get(found[2], found[2]), quoted or plain)
        raw = text.encode("latin-1")
        out.append(b"$%d\r\n%s\r\n" % (len(raw), raw))
    return b"*%d\r\n%s" % (len(out), b"".join(out))


def converse(address, conversation, version):
    """All that comes back, up to the reply to a last PING or the end of the connection."""
    requests = [encoded(request) for request in conversation.split(";")]
    hello = [encoded("HELLO 3")] if version == 3 else []
    with socket.create_connection(address, PATIENCE_SECONDS) as peer:
        peer.sendall(b"".join(hello + requests + [encoded(f'PING "{END.decode()}"')]))
        got = b""
        while END not in got:
            piece = peer.recv(65536)
            if not piece:
                got += b"<closed>"
                break
            got += piece
    for pattern, instead in SAME:
        got = pattern.sub(instead, got)
    return got


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@contextlib.contextmanager
def running(*command, port):
    """A server that answers on a port of this machine."""
    with tempfile.TemporaryFile() as output, subprocess.Popen(command, stdout=output, stderr=output) as process:
        try:
            wait_for(port, process, output)
            yield ("127.0.0.1", port)
        finally:
            process.terminate()


def wait_for(port, process, output):
    deadline = time.monotonic() + PATIENCE_SECONDS
    while process.poll() is None and time.monotonic() < deadline:
        try:
            with socket.create_connection(("127.0.0.1", port), PATIENCE_SECONDS) as peer:
                peer.sendall(encoded("PING"))
                if peer.recv(100) == b"+PONG\r\n":
                    return
        except OSError:
            pass
        select.select([], [], [], 0.02)
    output.seek(0)
    raise SystemExit(f"{process.args[0]} does not answer: {output.read()[-500:]!r}")


def compare(ours, genuine, shards, word):
    """How many conversations were the same and how many not."""
    passed = failed = 0
    lines = CONVERSATIONS.strip().splitlines() + (ONE_SHARD_ONLY if shards == 1 else [])
    both = [(line, version) for line in lines for version in (2, 3)]
    for line, version in both + [(line, 2) for line in RESP2_ONLY] + [(line, 3) for line in RESP3_ONLY]:
        if word not in line:
            continue
        expected, got = converse(genuine, line, version), converse(ours, line, version)
        passed, failed = passed + (got == expected), failed + (got != expected)
        if got != expected:
            print(f"FAIL  RESP{version} {line}\n  redis    {expected!r}\n  holdfast {got!r}", flush=True)
    return passed, failed


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--server", required=True, help="path of holdfastd")
    parser.add_argument("--redis", default="redis-server", help="a genuine Redis 7.0")
    parser.add_argument("--shards", type=int, default=1, help="of holdfastd")
    parser.add_argument("--only", default="", help="conversations with this word")
    args = parser.parse_args()
    if not shutil.which(args.redis):
        raise SystemExit(f"{args.redis} is missing: apt-get install redis-server")
    with tempfile.TemporaryDirectory(prefix="holdfast-differential-") as folder:
        ports = free_port(), free_port()
        with running(args.server, "--data-dir", f"{folder}/data", "--port", str(ports[0]), "--metrics-port", "0",
                     "--shards", str(args.shards), port=ports[0]) as ours, \
                running(args.redis, "--port", str(ports[1]), "--dir", folder, "--save", "", "--databases", "1", port=ports[1]) as genuine:
            passed, failed = compare(ours, genuine, args.shards, args.only)
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
