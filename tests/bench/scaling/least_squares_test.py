#!/usr/bin/env python3
"""Least squares of costs: exact sums give them back, noise moves them little, none is below 0, what cannot be told is said."""
import random
import sys

sys.dont_write_bytecode = True
from least_squares import least_squares, solve


def check(condition, what, *found):
    if not condition:
        sys.exit(f"FAILED: {what}: {found}")


def rows(costs, count, noise, dice):
    for _ in range(count):
        counts = {name: dice.randrange(1, 1000) for name in costs}
        yield counts, sum(costs[name] * count for name, count in counts.items()) * (1 + dice.uniform(-noise, noise))


def refuses(what, *arguments):
    try:
        found = what(*arguments)
    except ValueError:
        return
    check(False, "it is refused", found)


def main():
    dice, costs = random.Random(1), {"a": 3.0, "b": 0.25, "c": 40.0}
    check(solve([[0.0, 2.0], [1.0, 1.0]], [4.0, 5.0]) == [3.0, 2.0], "a system whose first pivot is 0")
    refuses(solve, [[1.0, 2.0], [2.0, 4.0]], [1.0, 2.0])
    found = least_squares(costs, list(rows(costs, 10, 0, dice)))
    check(all(abs(found[name] - cost) < 1e-6 for name, cost in costs.items()), "exact sums", found)
    found = least_squares(costs, list(rows(costs, 400, 0.05, dice)))
    check(all(abs(found[name] / cost - 1) < 0.05 for name, cost in costs.items() if name != "b"), "sums with 5% of noise", found)
    wrong = [({"a": 1, "b": 0}, 2.0), ({"a": 1, "b": 1}, 1.5), ({"a": 2, "b": 1}, 3.5)]
    found = least_squares(["a", "b"], wrong)
    check(found["b"] == 0 and 1.5 < found["a"] < 2, "none below 0, the others without it", found)
    refuses(least_squares, ["a", "b"], [({"a": 1}, 1.0), ({"a": 2}, 2.0)])
    refuses(least_squares, ["a", "b"], [({"a": 1, "b": 2}, 1.0), ({"a": 2, "b": 4}, 2.0)])
    print("7 passed, 0 failed")


if __name__ == "__main__":
    main()
