"""More of a report's numbers in plain Python: what stands behind the headline figures.

As literal as `brute_force`, which has the verdicts; reads the tables row by row.
"""

from collections import defaultdict
from itertools import combinations, groupby, product

from scipy import stats

from annotation.models import Annotation
from judging.models import Judgment
from studies.models import Item
from tests.analysis.brute_force import HIGH, compare, scored, truth_of, verdict


def sides(study):
    """Items by key, people's answers by item, people's verdicts, and each run's rows."""
    items = sorted(Item.objects.filter(study=study), key=lambda item: item.key)
    answers = defaultdict(list)
    for row in Annotation.objects.filter(assignment__item__study=study, standing="counted"):
        answers[row.assignment.item.key].append(row)
    majority = {
        item.key: verdict([(row.choice, row.certainty) for row in answers[item.key]])
        for item in items
    }
    runs = {}
    for run in study.judge_runs.all():
        rows = defaultdict(list)
        for reading in Judgment.objects.filter(run=run, state="done"):
            rows[reading.item.key].append(reading)
        runs[run.key] = (
            run,
            rows,
            {
                item.key: verdict([(row.choice, row.certainty) for row in rows[item.key]])
                for item in items
            },
        )
    return items, answers, majority, runs


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


def holm(p_values):
    """By the definition: the smallest times n, the next times n - 1, never falling."""
    made = sorted((p, place) for place, p in enumerate(p_values) if p is not None)
    out, reached = [None] * len(p_values), 0.0
    for rank, (p, place) in enumerate(made):
        reached = max(reached, min(1.0, p * (len(made) - rank)))
        out[place] = reached
    return out


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


def correlations(pairs):
    """Pearson, Kendall's tau b, Lin's concordance and the mean of the differences."""
    n = len(pairs)
    mean_x, mean_y = sum(x for x, _ in pairs) / n, sum(y for _, y in pairs) / n
    var_x = sum((x - mean_x) ** 2 for x, _ in pairs) / n
    var_y = sum((y - mean_y) ** 2 for _, y in pairs) / n
    cov = sum((x - mean_x) * (y - mean_y) for x, y in pairs) / n
    if var_x * var_y == 0:
        return None
    score = untied_x = untied_y = 0
    for (x1, y1), (x2, y2) in combinations(pairs, 2):
        score += ((x1 > x2) - (x1 < x2)) * ((y1 > y2) - (y1 < y2))
        untied_x, untied_y = untied_x + (x1 != x2), untied_y + (y1 != y2)
    return {
        "pearson": cov / (var_x * var_y) ** 0.5,
        "kendall": score / (untied_x * untied_y) ** 0.5,
        "concordance": 2 * cov / (var_x + var_y + (mean_x - mean_y) ** 2),
        "mean_difference": mean_y - mean_x,
    }


def other_bins(stated):
    """ECE with one bin per value, the half scale in ten bins, and both average precisions."""

    def gap(groups, n):
        return (
            sum(
                abs(sum(right for _, right in rows) - sum(conf for conf, _ in rows))
                for rows in groups.values()
            )
            / n
        )

    by_value, by_ten = defaultdict(list), defaultdict(list)
    for c, right in stated:
        by_value[c].append((c / 100, right))
        by_ten[max(1, -(-c // 10))].append((0.5 + c / 200, right))
    return {"ece_distinct": gap(by_value, len(stated)), "ece_half_scale": gap(by_ten, len(stated))}


def average_precision(rows):
    """Mean over the positives of the precision at their score; equal scores count together."""
    total = 0.0
    for score, positive in rows:
        if positive:
            taken = [hit for other, hit in rows if other >= score]
            total += sum(taken) / len(taken)
    return total / sum(hit for _, hit in rows)


def matched(rows, coverage):
    """Share right among the most certain, where ties at the cut count with their mean."""
    wanted, taken, right = coverage * len(rows), 0.0, 0.0
    for value in sorted({c for c, _ in rows}, reverse=True):
        group = [hit for c, hit in rows if c == value]
        part = min(len(group), wanted - taken)
        right += part * sum(group) / len(group)
        taken += part
        if taken >= wanted:
            break
    return right / wanted


def by_choice(one, others):
    """How well a choice agrees with those of others: the share who made it."""
    return sum(other[0] == one[0] for other in others) / len(others)


def by_certainty(one, others):
    """How well a certainty agrees with those of others: less its root mean squared error."""
    return -((sum((other[1] - one[1]) ** 2 for other in others) / len(others)) ** 0.5)


def alt_test(answers, said, agreement, part, *, epsilon=0.1, least=30):
    """The alternative annotator test in words; `part` of an answer (0 or 1) has to be given."""
    outcomes = defaultdict(list)
    for key, rows in answers.items():
        people = {row.assignment.annotator_id: (row.choice, row.certainty) for row in rows}
        people = {who: given for who, given in people.items() if given[part] is not None}
        model = said[key]
        if len(people) < 2 or model in (None, "tied") or model[part] is None:
            continue
        for who, own in people.items():
            others = [given for other, given in people.items() if other != who]
            gap = agreement(own, others) - agreement(model, others)
            outcomes[who].append(0 if abs(gap) < 1e-9 else 1 if gap > 0 else -1)
    tested = [row for row in outcomes.values() if len(row) >= least]
    skipped = len(outcomes) - len(tested)
    if not tested:
        return {"omega": None, "rho": None, "passed": None, "tested": 0, "skipped": skipped}
    p_values = [
        stats.ttest_1samp(row, epsilon, alternative="less").pvalue
        if len(set(row)) > 1
        else float(row[0] >= epsilon)
        for row in tested
    ]
    # Benjamini and Yekutieli: the largest rank whose p is within its share of q settles all below.
    n, harmonic = len(p_values), sum(1 / k for k in range(1, len(p_values) + 1))
    ranks = enumerate(sorted(p_values), start=1)
    rejected = max((k for k, p in ranks if p <= 0.05 * k / (n * harmonic)), default=0)
    rho = sum(sum(d <= 0 for d in row) / len(row) for row in tested) / n
    omega = rejected / n
    return {"omega": omega, "rho": rho, "passed": omega >= 0.5, "tested": n, "skipped": skipped}
