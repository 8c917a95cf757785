"""The squared gap of certainty and accuracy with its interval, in plain Python, pair by pair."""

Z = 1.959963984540054


def squared_gap(answers):
    """Mean squared gap of (unit, certainty, is right) and its interval, pair by pair.

    The interval by halving: the estimates that the observed one is 1.96 standard errors from.
    """
    by_value: dict[float, list[tuple[object, float]]] = {}
    for unit, certainty, right in answers:
        by_value.setdefault(certainty, []).append((unit, right - certainty / 100))
    pairs = {
        value: [
            (i, j) for i in range(len(rows)) for j in range(len(rows)) if rows[i][0] != rows[j][0]
        ]
        for value, rows in by_value.items()
    }
    used = {value: rows for value, rows in by_value.items() if pairs[value]}
    n = sum(len(rows) for rows in used.values())
    if not n:
        return None
    weight = {value: len(rows) / n for value, rows in used.items()}
    estimate = sum(
        weight[v] * sum(rows[i][1] * rows[j][1] for i, j in pairs[v]) / len(pairs[v])
        for v, rows in used.items()
    )

    sums: dict[object, dict[float, float]] = {}
    for value, rows in used.items():
        for unit, error in rows:
            own = sums.setdefault(unit, {})
            own[value] = own.get(value, 0) + error
    fixed = 2 * sum(
        sum(weight[v] / len(pairs[v]) * e * other[v] for v, e in one.items() if v in other) ** 2
        for a, one in sums.items()
        for b, other in sums.items()
        if a != b
    )
    perfect = 2 * sum(weight[v] ** 2 / len(pairs[v]) * (v / 100 * (1 - v / 100)) ** 2 for v in used)
    fixed, slope = max(fixed, perfect), _slope(used, weight, n)

    def off(theta):
        return (estimate - theta) ** 2 - Z * Z * (fixed + slope * max(theta, 0))

    low = 0.0 if off(0) <= 0 or estimate < 0 else _root(off, 0, estimate)
    return estimate, (min(low, estimate), _root(off, max(estimate, 0) + 10, max(estimate, 0)))


def _slope(used, weight, n):
    """How fast the variance of the squared gap grows with it."""
    accuracy = {v: sum(e + v / 100 for _, e in rows) / len(rows) for v, rows in used.items()}
    spread = {
        v: sum((e + v / 100 - accuracy[v]) ** 2 for _, e in rows) / (len(rows) - 1)
        for v, rows in used.items()
    }
    gap = {v: (accuracy[v] - v / 100) ** 2 for v in used}
    steep = sum(weight[v] * gap[v] for v in used)
    unseen = 2 / (n + 4)
    variance = max(sum(weight[v] * spread[v] for v in used), unseen * (1 - unseen))
    drawn = 0.0
    if steep:
        variance = max(variance, sum(weight[v] * gap[v] * spread[v] for v in used) / steep)
        drawn = sum(weight[v] * gap[v] ** 2 for v in used) / steep
    rest: dict[object, list[float]] = {}
    for v, rows in used.items():
        for unit, error in rows:
            rest.setdefault(unit, []).append(error + v / 100 - accuracy[v])
    squares = sum(r * r for own in rest.values() for r in own)
    design = max(1.0, sum(sum(own) ** 2 for own in rest.values()) / squares) if squares else 1.0
    return (4 * variance * design + drawn * n / len(rest)) / n


def _root(function, above, below):
    """Where a function that is positive at `above` and not at `below` changes its sign."""
    for _ in range(200):
        middle = (above + below) / 2
        above, below = (middle, below) if function(middle) > 0 else (above, middle)
    return (above + below) / 2
