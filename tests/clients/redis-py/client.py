"""A client of redis-py under the runner: a command a line on stdin, an answer a line on stdout (tests/clients/README.md)."""
import sys
import threading

import redis

host, port = sys.argv[1:3]
client = redis.Redis(host=host, port=int(port), decode_responses=True)
closing = threading.Event()


def say(kind, text=""):
    sys.stdout.write(f"{kind} {text}\n")  # whole lines, whichever thread says them
    sys.stdout.flush()


def listen(pubsub):
    """A lost connection raises once; the next read connects and subscribes again."""
    while not closing.is_set():
        try:
            message = pubsub.get_message(timeout=0.1)
            if message and message["type"] == "message":
                say("notice", message["data"])
        except redis.ConnectionError as error:
            say("event", error)
            closing.wait(0.1)
    pubsub.close()


def subscribe(channel):
    pubsub = client.pubsub()
    pubsub.subscribe(channel)
    threading.Thread(target=listen, args=[pubsub], daemon=True).start()
    return "subscribed"


def pipeline(count, command, item):
    commands = client.pipeline(transaction=False)
    for user in range(int(count)):
        commands.execute_command(command, item, user)
    return " ".join(map(str, commands.execute()))


def follow(last, count):
    told = []
    while len(told) < int(count):
        streams = client.xread({"log": last}, block=0)
        for entry, fields in dict(streams)["log"] if isinstance(streams, list) else streams["log"][0]:
            last = entry
            told.append(f"{entry}:{fields['event']}:{fields['user']}")
    return " ".join(told)


def close():
    closing.set()
    client.close()
    return "closed"


own = {"subscribe": subscribe, "pipeline": pipeline, "follow": follow, "close": close}
client.ping()
say("ready")
for line in sys.stdin:
    name, *words = line.split()
    try:
        say("reply", own[name](*words) if name in own else client.execute_command(name, *words))
    except redis.RedisError as failure:
        say("error", failure)
    if name == "close":
        break
