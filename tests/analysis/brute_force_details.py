"""More of a report's numbers in plain Python: what stands behind the headline figures.

As literal as `brute_force`, which has the verdicts; reads the tables row by row.
"""

from itertools import combinations, groupby, product

from tests.analysis.brute_force import HIGH, compare, scored, truth_of


def by_band(items, said, majority, run, study):
    """b, c, n and the exact p where both are certain, and where neither is."""
    own = scored(items, said, run.setting == "tie")
    people = scored(items, majority, study.allow_tie)
    found = {}
    for band, high in (("high", True), ("low", False)):
        common = [
            key
            for key in own
            if key in people
            and None not in (own[key][1], people[key][1])
            and (own[key][1] >= HIGH) is (people[key][1] >= HIGH) is high
        ]
        found[band] = compare(
            [], {}, {}, {k: own[k] for k in common}, {k: people[k] for k in common}
        )
    return found


def verbosity(items, said):
    longer_chosen = longer_true = n = 0
    for item in items:
        one, two = len(item.r1["text"]), len(item.r2["text"])
        choice, truth = said[item.key], truth_of(item, offers_tie=False)
        if one == two or choice in (None, "tied") or choice[0] == "tie" or truth is None:
            continue
        longer = "r1" if one > two else "r2"
        n, longer_chosen = n + 1, longer_chosen + (choice[0] == longer)
        longer_true += truth == longer
    return n, longer_chosen, longer_true


def longest_run(rows):
    """Longest row of answers on one side, in the person's own order; a tie ends it."""
    ordered = sorted(rows, key=lambda row: row.assignment.position)
    side = [
        None if row.choice == "tie" else row.choice == row.assignment.shown_first for row in ordered
    ]
    runs = [len(list(same)) for value, same in groupby(side) if value is not None]
    return max(runs, default=0)


def noise(items, rows):
    """Mean share of agreeing pairs of readings, and share of items on which some pair differs."""
    shares, flips = [], []
    for item in items:
        choices = [row.choice for row in rows[item.key]]
        pairs = [a == b for a, b in combinations(choices, 2)]
        if pairs:
            shares.append(sum(pairs) / len(pairs))
            flips.append(not all(pairs))
    if not shares:
        return None, None
    return sum(shares) / len(shares), sum(flips) / len(flips)


def change(items, one, other):
    """Agreement of two readings within each run and across, on items that both read twice."""
    within, across = [], []
    for item in items:
        first = [row.choice for row in one[item.key]]
        second = [row.choice for row in other[item.key]]
        if min(len(first), len(second)) < 2:
            continue
        same = [[a == b for a, b in combinations(side, 2)] for side in (first, second)]
        within.append(sum(sum(pairs) / len(pairs) for pairs in same) / 2)
        mixed = [a == b for a, b in product(first, second)]
        across.append(sum(mixed) / len(mixed))
    if not within:
        return None
    return sum(within) / len(within), sum(across) / len(across)


def certainty_pairs(items, said, majority):
    pairs = [(majority[i.key], said[i.key]) for i in items]
    pairs = [(p, j) for p, j in pairs if not {p, j} & {None, "tied"}]
    return [(p[1], j[1]) for p, j in pairs if None not in (p[1], j[1])]
