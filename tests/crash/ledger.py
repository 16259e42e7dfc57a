"""Load whose acknowledgements are remembered, and the judgement after a crash."""
import threading

from machine import Broken
from resp import Connection, Lost, Refusal, as_map

STOCK, RACE_STOCK = 10**6, 200
DAY_MS = 86_400_000
LIVES = (("RESERVE",), ("RESERVE", "CONFIRM"), ("RESERVE", "RELEASE"))
AFTER = {"RESERVE": "RESERVED", "CONFIRM": "CONFIRMED", "RELEASE": "RELEASED"}
REPLAYS = {"RESERVED": (), "CONFIRMED": (("CONFIRM", 1),), "RELEASED": (("RELEASE", -3),)}
LIVES_AT_ONCE = 8
REPLAYS_OF_OLD = 300  # reservations settled after earlier crashes that are asked again after each


class Life:
    """One reservation: what was sent, and what was acknowledged of it."""

    def __init__(self, item, user, verbs, id, quantity):
        self.item, self.user, self.verbs, self.id, self.quantity = item, user, verbs, id, quantity
        self.states = [None, *(AFTER[verb] for verb in verbs)]
        self.sent, self.acknowledged, self.refused = len(verbs), 0, False

    def request(self, verb):
        quantity = ("QTY", self.quantity) if verb == "RESERVE" else ()
        return (verb, self.item, self.user, *quantity, "ID", self.id)

    def possible(self):
        """The states it may be in: from what was acknowledged up to what was sent."""
        return [None] if self.refused else self.states[self.acknowledged:self.sent + 1]

    def __repr__(self):
        return f"{self.verbs} {self.item} {self.user} {self.id}, {self.acknowledged} of {self.sent} acknowledged"


class Item:
    """What must be there of an item: sums over its settled lives, and the highest sequence that anybody was shown."""

    def __init__(self, name, stock):
        self.name, self.stock, self.sold_out, self.shown, self.changes = name, stock, False, 0, 0
        self.units = {"RESERVED": 0, "CONFIRMED": 0, "RELEASED": 0}


def item_map(connection, name):
    reply = connection.ask("ITEM", "GET", name)
    if not isinstance(reply, list):
        raise Broken(f"ITEM GET {name} answered {reply!r}")
    return as_map(reply)


class Worker(threading.Thread):
    """Sends lives over one connection until it ends. `wrong`: the first reply that should not have come."""

    def __init__(self, address, dice, items, race, name):
        super().__init__(daemon=True)
        self.address, self.dice, self.items, self.race, self.prefix = address, dice, items, race, name
        self.lives, self.wrong = [], None

    def run(self):
        try:
            with Connection(self.address) as connection:
                while not self.wrong:
                    self.batch(connection)
        except Lost:
            pass

    def begin(self, item, verbs):
        digits = f"{self.dice.getrandbits(128):032x}"
        id = f"{digits[:8]}-{digits[8:12]}-4{digits[13:16]}-8{digits[17:20]}-{digits[20:]}"
        return Life(item.name, f"{self.prefix}.{self.dice.randrange(50)}", verbs, id, self.dice.choice((1, 1, 2)))

    def batch(self, connection):
        lives = [self.begin(self.dice.choice(self.items), self.dice.choice(LIVES)) for _ in range(LIVES_AT_ONCE - 1)]
        race = self.begin(self.race, ("RESERVE",))
        race.quantity = 1
        watched = self.dice.choice(self.items)
        self.lives += [*lives, race]
        steps = [(life, step) for step in range(2) for life in lives if step < len(life.verbs)] + [(race, 0)]
        connection.send([life.request(life.verbs[step]) for life, step in steps] + [("ITEM", "GET", watched.name)])
        for life, step in steps:
            self.note(life, step, connection.read())
        self.note_shown(watched, connection.read())

    def note_shown(self, item, reply):
        if isinstance(reply, list):
            item.shown = max(item.shown, as_map(reply)["sequence"])
        else:
            self.wrong = self.wrong or f"ITEM GET {item.name} answered {reply!r}"

    def note(self, life, step, reply):
        if life.refused:
            return  # what came after a refused RESERVE had nothing to work on
        if life.item == self.race.name and reply == -1:
            self.race.sold_out = life.refused = True
        elif isinstance(reply, int) and (reply == 1 if life.verbs[step] == "CONFIRM" else reply >= 0):
            life.acknowledged = step + 1
        elif isinstance(reply, Refusal) and reply.text.startswith("OVERLOADED"):
            life.refused = True
        else:
            self.wrong = self.wrong or f"{life.request(life.verbs[step])} answered {reply!r}"


class Ledger:
    """All that was ever acknowledged on one data directory."""

    def __init__(self, dice):
        self.dice, self.items, self.settled = dice, [], []

    def create(self, connection, name, stock):
        reply = connection.ask("ITEM", "CREATE", name, "STOCK", stock, "LIMIT", 0, "TTL", DAY_MS, "MAX-HOLD", 3 * DAY_MS)
        if reply != "OK":
            raise Broken(f"ITEM CREATE {name} answered {reply!r}")
        item = Item(name, stock)
        item.changes = item_map(connection, name)["sequence"]
        self.items.append(item)
        return item

    def judge(self, connection, lives):
        """After a restart: everything acknowledged is there, and stays as it is now. Empties `lives` once they are settled."""
        fresh = list(lives)
        self.settle(connection, fresh)
        self.settled += fresh
        lives.clear()
        self.replay(connection, fresh + self.dice.sample(self.settled, min(len(self.settled), REPLAYS_OF_OLD)))
        for item in self.items:
            self.check_item(item, item_map(connection, item.name))
        broken = connection.ask("ITEM", "VERIFY", "*")
        if broken != []:
            raise Broken(f"ITEM VERIFY * answered {broken!r}")

    def settle(self, connection, lives):
        of_name = {item.name: item for item in self.items}
        replies = connection.ask_all([("RESERVATION", "GET", life.item, "ID", life.id) for life in lives])
        for life, reply in zip(lives, replies):
            found = as_map(reply) if isinstance(reply, list) else None
            state = found["state"].decode() if found else None
            if reply is not None and not found or state not in life.possible():
                raise Broken(f"{life}: RESERVATION GET answered {reply!r}, possible are {life.possible()}")
            if found and (found["user"].decode(), found["quantity"]) != (life.user, life.quantity):
                raise Broken(f"{life}: RESERVATION GET answered {found}")
            life.sent = life.acknowledged = life.states.index(state)
            item = of_name[life.item]
            item.changes += life.acknowledged
            if state:
                item.units[state] += life.quantity

    def replay(self, connection, lives):
        """The same id gets the same answer; what never happened is not asked."""
        asked = []
        for life in lives:
            state = life.states[life.acknowledged]
            if state:
                asked.append((life, "RESERVE", -8 if state == "RELEASED" else "success"))
                asked += [(life, verb, want) for verb, want in REPLAYS[state]]
        for (life, verb, want), reply in zip(asked, connection.ask_all([life.request(verb) for life, verb, _ in asked])):
            good = isinstance(reply, int) and (reply >= 0 if want == "success" else reply == want)
            if not good:
                raise Broken(f"{life}: {verb} again answered {reply!r}, not {want}")

    def check_item(self, item, found):
        reserved, confirmed = item.units["RESERVED"], item.units["CONFIRMED"]
        want = {"total": item.stock, "reserved": reserved, "confirmed": confirmed, "held": 0,
                "available": item.stock - reserved - confirmed, "sequence": item.changes}
        got = {name: found[name] for name in want}
        if got != want:
            raise Broken(f"ITEM GET {item.name} answered {got}, wanted {want}")
        if found["sequence"] < item.shown:
            raise Broken(f"{item.name}: sequence {item.shown} was shown before the crash, now {found['sequence']}")
        if item.sold_out and found["available"] > 0:
            raise Broken(f"{item.name} was sold out before the crash, now {found['available']} are available")
