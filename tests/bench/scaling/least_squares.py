"""Costs from what they add up to: the best ones that are not below 0. Unit test: least_squares_test.py."""


def solve(matrix, right):
    """The solution of a square system by Gauss's elimination. ValueError: it has none, or many."""
    rows = [[*row, value] for row, value in zip(matrix, right)]
    size = len(rows)
    for column in range(size):
        pivot = max(range(column, size), key=lambda at: abs(rows[at][column]))
        if abs(rows[pivot][column]) < 1e-12:
            raise ValueError(f"unknown {column} cannot be told from the others")
        rows[column], rows[pivot] = rows[pivot], rows[column]
        for at in range(size):
            if at != column:
                factor = rows[at][column] / rows[column][column]
                rows[at] = [value - factor * other for value, other in zip(rows[at], rows[column])]
    return [rows[at][size] / rows[at][at] for at in range(size)]


def least_squares(names, rows):
    """{name: cost} for rows of ({name: count}, total), so that the sum of ((counts * costs - total) / total)^2 is least; a
    cost that would be below 0 is 0. What occurs in no row has no cost: ValueError."""
    used = list(names)
    while True:
        scaled = [([counts.get(name, 0) / total for name in used]) for counts, total in rows]
        scales = [sum(row[at] ** 2 for row in scaled) ** 0.5 for at in range(len(used))]
        if not all(scales):
            raise ValueError(f"nothing tells of {[name for name, scale in zip(used, scales) if not scale]}")
        unit = [[value / scale for value, scale in zip(row, scales)] for row in scaled]
        matrix = [[sum(row[a] * row[b] for row in unit) for b in range(len(used))] for a in range(len(used))]
        found = solve(matrix, [sum(row[a] for row in unit) for a in range(len(used))])
        costs = {name: value / scale for name, value, scale in zip(used, found, scales)}
        worst = min(used, key=lambda name: costs[name] * scales[used.index(name)])
        if costs[worst] >= 0:
            return {name: costs.get(name, 0.0) for name in names}
        used.remove(worst)
