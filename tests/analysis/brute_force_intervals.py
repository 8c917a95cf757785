"""Intervals of a report in plain Python: closed forms, a score test solved by halving, resamples.

Shares no code with the product; draws of its own, so resampled ends agree within chance only.
"""

from math import sqrt
from random import Random

from scipy import stats

Z = 1.959963984540054


def wilson(right, n):
    centre = right / n + Z * Z / (2 * n)
    half = Z * sqrt(right * (n - right) / n**3 + Z * Z / (4 * n * n))
    return (centre - half) / (1 + Z * Z / n), (centre + half) / (1 + Z * Z / n)


def tango(b, c, n, z=Z):
    """Both ends of the score interval of (b - c) / n, found by halving."""

    def end(wanted, low, high):
        for _ in range(200):
            middle = (low + high) / 2
            low, high = (middle, high) if score(b, c, n, middle) > wanted else (low, middle)
        return middle

    estimate = (b - c) / n
    return end(z, -1 + 1e-12, estimate), end(-z, estimate, 1 - 1e-12)


def score(b, c, n, delta):
    """How far the data lie above a difference of delta, in standard errors under it."""
    # The share of pairs that only the second gets right, at its most likely under delta.
    linear = -b - c + (2 * n - b + c) * delta
    least = (sqrt(linear**2 + 8 * n * c * delta * (1 - delta)) - linear) / (4 * n)
    variance = n * (2 * least + delta * (1 - delta))
    return (b - c - n * delta) / sqrt(variance) if variance > 0 else float("inf")


class General:
    """Mean and spread of values whose rows belong to sets of things, pair of rows by pair of rows.

    `belongs` has, for every kind of thing, the set of things that each row belongs to.
    """

    def __init__(self, values, belongs):
        n = self.n = len(values)
        self.values, self.mean = values, sum(values) / n
        self.kinds = [kind for kind in belongs if any(map(len, shared_pairs(kind).values()))]
        links = [[[float(i == j) for j in range(n)] for i in range(n)]]
        links += [
            [[float(i != j) * len(kind[i] & kind[j]) for j in range(n)] for i in range(n)]
            for kind in self.kinds
        ]
        e = [value - self.mean for value in values]
        sums = [sum(e[i] * link[i][j] * e[j] for i in range(n) for j in range(n)) for link in links]
        centred = [centre(link) for link in links]
        expected = [
            [sum(a[i][j] * b[j][i] for i in range(n) for j in range(n)) for b in centred]
            for a in centred
        ]
        totals = [sum(map(sum, link)) for link in links]
        kept = list(range(len(links)))
        while True:
            found = gauss([[expected[a][b] for b in kept] for a in kept], [sums[a] for a in kept])
            parts = {k: s * totals[k] / n**2 for k, s in zip(kept, found, strict=True)}
            below = [k for k in kept[1:] if parts[k] < 0]
            if not below:
                break
            kept.remove(min(below, key=lambda k: parts[k]))
        self.variance = sum(parts.values())
        noise = parts[0] ** 2 / (n - 1)
        for k, kind in enumerate(self.kinds, start=1):
            part, freedom = parts.get(k, 0.0), self.freedom(kind)
            noise += (part**2 + 2 * part * parts[0]) / freedom
            if k == 1 and belongs[0] is kind and any(len(row) > 1 for row in kind):
                noise += parts[0] ** 2 / 2 / freedom
        self.df = self.variance**2 / noise if noise else n - 1

    def freedom(self, kind):
        """(tr K)^2 / tr K^2 with K the square of the centred table of things by things."""
        things = sorted(set().union(*kind))
        size = [sum(t in row for row in kind) for t in things]
        g = [
            [
                sum(a in row and b in row for row in kind) - size[i] * size[j] / self.n
                for j, b in enumerate(things)
            ]
            for i, a in enumerate(things)
        ]
        k = [[sum(x * y for x, y in zip(row, other, strict=True)) for other in g] for row in g]
        return sum(k[i][i] for i in range(len(k))) ** 2 / sum(x * x for row in k for x in row)

    def counts(self):
        """Items worth as much as those that only one side got right, and of all; None for many."""
        n, b = self.n, sum(value for value in self.values if value > 0)
        c = -sum(value for value in self.values if value < 0)
        independent = sum((value - self.mean) ** 2 for value in self.values) / n**2
        share = min(1.0, independent / self.variance)
        if (n - max(b, c, n - b - c)) * share >= 10:
            return None
        return b * share, c * share, n * share

    def interval(self, level=0.95):
        quantile = stats.t.ppf((1 + level) / 2, self.df)
        if counts := self.counts():
            b, c, n = counts
            return tango(b, c, n, quantile)
        half = quantile * sqrt(self.variance)
        return max(self.mean - half, -1.0), min(self.mean + half, 1.0)

    def distance(self, delta):
        if counts := self.counts():
            b, c, n = counts
            return score(b, c, n, delta)
        return (self.mean - delta) / sqrt(self.variance)

    def p(self):
        return 2 * stats.t.sf(abs(self.distance(0.0)), self.df)

    def p_equivalence(self, margin):
        below, above = self.distance(-margin), self.distance(margin)
        return max(stats.t.sf(below, self.df), stats.t.cdf(above, self.df))

    def wilson(self):
        p, z = self.mean, stats.t.ppf(0.975, self.df)
        n = min(self.n, p * (1 - p) / self.variance)
        centre_of, half = p + z * z / 2 / n, z * sqrt(p * (1 - p) / n + z * z / 4 / n / n)
        return (centre_of - half) / (1 + z * z / n), (centre_of + half) / (1 + z * z / n)


def shared_pairs(kind):
    """Things of a kind that several rows belong to, unless every row belongs to the same."""
    rows = {
        thing: [i for i, row in enumerate(kind) if thing in row] for thing in set().union(*kind)
    }
    if len(rows) < 2:
        return {}
    return {thing: members for thing, members in rows.items() if len(members) > 1}


def centre(matrix):
    """The matrix with the mean of every column taken off."""
    n = len(matrix)
    means = [sum(row[j] for row in matrix) / n for j in range(n)]
    return [[row[j] - means[j] for j in range(n)] for row in matrix]


def gauss(matrix, right):
    """The solution of a few linear equations."""
    rows = [[*row, value] for row, value in zip(matrix, right, strict=True)]
    for k in range(len(rows)):
        best = max(range(k, len(rows)), key=lambda i: abs(rows[i][k]))
        rows[k], rows[best] = rows[best], rows[k]
        rows[k] = [x / rows[k][k] for x in rows[k]]
        for i in range(len(rows)):
            if i != k:
                rows[i] = [x - rows[i][k] * y for x, y in zip(rows[i], rows[k], strict=True)]
    return [row[-1] for row in rows]


def resampled(units, statistic, *, draws=1000):
    """2.5 and 97.5 percentiles of a statistic over items drawn again, and its spread."""
    random = Random(5)
    found = sorted(
        value
        for _ in range(draws)
        if (value := statistic(random.choices(units, k=len(units)))) is not None
    )
    mean = sum(found) / len(found)
    spread = sqrt(sum((value - mean) ** 2 for value in found) / (len(found) - 1))
    return found[round(0.025 * len(found))], found[round(0.975 * len(found))], spread


def percent(units):
    """Mean over items of the share of pairs that agree."""
    return sum(1 - disagreement(unit) / (len(unit) - 1) for unit in units) / len(units)


def disagreement(unit):
    """How many of the others a vote of the unit differs from, on average."""
    return sum(len(unit) - unit.count(vote) for vote in unit) / len(unit)


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
