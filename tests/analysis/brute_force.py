"""A report's numbers in plain Python, read from the tables row by row.

Slow and literal on purpose; shares no code with the product, so that a mistake would have to be
made twice.
"""

from collections import defaultdict
from fractions import Fraction
from itertools import combinations
from math import comb

from annotation.models import Annotation
from demo.reference import alpha
from judging.models import Judgment
from studies.models import Item

HIGH = 80


def report(study):
    items = sorted(Item.objects.filter(study=study), key=lambda item: item.key)
    answers = defaultdict(list)
    for row in Annotation.objects.filter(assignment__item__study=study):
        rater = row.assignment.annotator
        if row.standing in ("counted", "imported") and rater.excluded_at is None:
            answers[row.assignment.item.key].append((rater.pseudonym, row.choice, row.certainty))
    majority = {
        item.key: verdict([(choice, certainty) for _, choice, certainty in answers[item.key]])
        for item in items
    }
    return {
        "majority": majority_accuracy(items, majority, offers_tie=study.allow_tie),
        "individual": individual_accuracy(items, answers, offers_tie=study.allow_tie),
        "agreement": agreement([answers[item.key] for item in items], study.allow_tie),
        "judges": {
            run.key: judge(study, run, items, majority, answers) for run in study.judge_runs.all()
        },
    }


def verdict(votes):
    """None without votes, "tied" for a shared maximum, else the choice and its mean certainty."""
    if not votes:
        return None
    counts: dict[str, int] = defaultdict(int)
    for choice, _ in votes:
        counts[choice] += 1
    most = max(counts.values())
    winners = [choice for choice, n in counts.items() if n == most]
    if len(winners) > 1:
        return "tied"
    stated = [c for choice, c in votes if choice == winners[0] and c is not None]
    return winners[0], (sum(stated) / len(stated) if stated else None)


def truth_of(item, offers_tie):
    if item.first_person == "tie" and not offers_tie:
        return None
    return item.first_person or None


def tally(pairs):
    """Accuracy overall, high and low of (right, certainty) pairs."""

    def cell(chosen):
        chosen = list(chosen)
        right = sum(1 for is_right, _ in chosen if is_right)
        return {
            "n": len(chosen),
            "correct": right,
            "accuracy": right / len(chosen) if chosen else None,
        }

    return cell(pairs) | {
        "high": cell(p for p in pairs if p[1] is not None and p[1] >= HIGH),
        "low": cell(p for p in pairs if p[1] is not None and p[1] < HIGH),
        "paper_compat": {"low": cell(p for p in pairs if (p[1] or 0) < HIGH)},
        "no_certainty": sum(1 for p in pairs if p[1] is None),
    }


def scored(items, verdicts, offers_tie):
    """Right and certainty of every item with a verdict and a truth, by item key."""
    found = {}
    for item in items:
        truth, said = truth_of(item, offers_tie), verdicts[item.key]
        if truth is not None and said not in (None, "tied"):
            found[item.key] = (said[0] == truth, said[1])
    return found


def majority_accuracy(items, majority, offers_tie):
    result = tally(list(scored(items, majority, offers_tie).values()))
    result["ties"] = sum(1 for said in majority.values() if said == "tied")
    return result


def individual_accuracy(items, answers, offers_tie):
    pairs = []
    for item in items:
        truth = truth_of(item, offers_tie)
        if truth is not None:
            pairs += [(choice == truth, certainty) for _, choice, certainty in answers[item.key]]
    return tally(pairs)


def agreement(units, allow_tie):
    """Coefficients over pairs of votes, literally pair by pair."""
    choices = [[choice for _, choice, _ in unit] for unit in units]
    pairable = [unit for unit in choices if len(unit) >= 2]
    shares = []
    for unit in pairable:
        pairs = list(combinations(unit, 2))
        shares.append(Fraction(sum(a == b for a, b in pairs), len(pairs)))
    if not shares:
        return None
    percent = sum(shares) / len(shares)
    options = ["r1", "r2", "tie"] if allow_tie else ["r1", "r2"]
    # Mean share of each option over the items that have a vote at all.
    rated = [unit for unit in choices if unit]
    prevalence = {
        option: sum(Fraction(unit.count(option), len(unit)) for unit in rated) / len(rated)
        for option in options
    }
    chance = sum(p * (1 - p) for p in prevalence.values()) / (len(options) - 1)
    certainties = [[c for _, _, c in unit if c is not None] for unit in units]
    return {
        "percent": float(percent),
        "alpha": alpha(pairable),
        "certainty_alpha": alpha(certainties, "interval"),
        "gwet_ac1": float((percent - chance) / (1 - chance)),
        "sheet_mean": float(percent),
    }


def judge(study, run, items, majority, answers):
    offers_tie = run.setting == "tie"
    rows = defaultdict(list)
    for row in Judgment.objects.filter(run=run):
        rows[row.item.key].append(row)
    verdicts = {
        item.key: verdict([(r.choice, r.certainty) for r in rows[item.key] if r.state == "done"])
        for item in items
    }
    own = scored(items, verdicts, offers_tie)
    people = scored(items, majority, study.allow_tie)
    stated = [(c, right) for right, c in own.values() if c is not None]
    return tally(list(own.values())) | {
        "excluded": excluded(items, rows, verdicts, offers_tie),
        "bounds": bounds(items, rows, own, offers_tie),
        "calibration": calibration(stated),
        "comparison": compare(items, verdicts, majority, own, people),
        "share_a": share_a(rows),
        "certainty": certainty_beside(items, verdicts, majority, rows, answers),
    }


def excluded(items, rows, verdicts, offers_tie):
    out: dict[str, int] = defaultdict(int)
    for item in items:
        said = verdicts[item.key]
        states = {row.state for row in rows[item.key]}
        if said == "tied":
            out["tie"] += 1
        elif said is not None and truth_of(item, offers_tie) is None:
            out["no_truth"] += 1
        elif said is None:
            for state in ("refused", "unparseable", "skipped", "error"):
                if state in states:
                    out[state] += 1
                    break
    return dict(out)


def bounds(items, rows, own, offers_tie):
    """Accuracy if what was asked, has a truth and is not scored were wrong, or right."""
    could = [i for i in items if rows[i.key] and truth_of(i, offers_tie) is not None]
    correct = sum(right for right, _ in own.values())
    if not could:
        return None, None
    return correct / len(could), (correct + len(could) - len(own)) / len(could)


def calibration(stated):
    if not stated:
        return None
    n = len(stated)
    brier = sum((c / 100 - right) ** 2 for c, right in stated) / n
    bins = defaultdict(list)
    for c, right in stated:
        bins[max(1, -(-c // 10))].append((c / 100, right))
    ece = 0.0
    for members in bins.values():
        confidence = sum(c for c, _ in members) / len(members)
        accuracy = sum(right for _, right in members) / len(members)
        ece += len(members) / n * abs(accuracy - confidence)
    right = [c for c, is_right in stated if is_right]
    wrong = [c for c, is_right in stated if not is_right]
    auroc = None
    if min(len(right), len(wrong)) >= 10:
        wins = sum((a > b) + 0.5 * (a == b) for a in right for b in wrong)
        auroc = wins / (len(right) * len(wrong))
    return {"brier": brier, "ece": ece, "auroc": auroc, "aurc": aurc(stated)}


def aurc(stated):
    """Mean risk over all coverages; equally certain answers share their mean error."""
    groups = defaultdict(list)
    for c, right in stated:
        groups[c].append(1 - right)
    errors = []
    for c in sorted(groups, reverse=True):
        errors += [sum(groups[c]) / len(groups[c])] * len(groups[c])
    return sum(sum(errors[: k + 1]) / (k + 1) for k in range(len(errors))) / len(errors)


def compare(items, verdicts, majority, own, people):
    both = [
        (verdicts[i.key][0], majority[i.key][0])
        for i in items
        if verdicts[i.key] not in (None, "tied") and majority[i.key] not in (None, "tied")
    ]
    common = [key for key in own if key in people]
    b = sum(own[key][0] and not people[key][0] for key in common)
    c = sum(people[key][0] and not own[key][0] for key in common)
    p = None
    if b + c:
        tail = sum(comb(b + c, k) for k in range(min(b, c) + 1)) / 2 ** (b + c)
        p = min(1.0, 2 * tail)
    return {
        "agreement": sum(x == y for x, y in both) / len(both) if both else None,
        "kappa": kappa(both),
        "same_mistakes": kappa([(own[key][0], people[key][0]) for key in common], (True, False)),
        "b": b,
        "c": c,
        "p": p,
        "n": len(common),
        "difference": (b - c) / len(common) if common else None,
    }


def kappa(pairs, options=("r1", "r2", "tie")):
    n = len(pairs)
    if n < 2:
        return None
    observed = sum(x == y for x, y in pairs) / n
    chance = sum(
        sum(x == o for x, _ in pairs) * sum(y == o for _, y in pairs) / n**2 for o in options
    )
    return None if chance == 1 else (observed - chance) / (1 - chance)


def share_a(rows):
    placed = [
        row.choice == row.shown_first
        for judgments in rows.values()
        for row in judgments
        if row.state == "done" and row.choice != "tie" and row.sample == 1
    ]
    return sum(placed) / len(placed) if placed else None


def certainty_beside(items, verdicts, majority, rows, answers):
    pairs = [
        (majority[i.key][1], verdicts[i.key][1])
        for i in items
        if verdicts[i.key] not in (None, "tied")
        and majority[i.key] not in (None, "tied")
        and verdicts[i.key][1] is not None
        and majority[i.key][1] is not None
    ]
    human = [c for unit in answers.values() for _, _, c in unit if c is not None]
    model = [row.certainty for unit in rows.values() for row in unit if row.certainty is not None]
    if len(pairs) < 3 or min(len(human), len(model)) < 3:
        return None
    grid = sorted({*human, *model})
    gaps = [
        abs(sum(c <= x for c in human) / len(human) - sum(c <= x for c in model) / len(model))
        for x in grid
    ]
    distance = sum(gap * (b - a) for gap, a, b in zip(gaps, grid, grid[1:], strict=False))
    return {"spearman": spearman(pairs), "ks": max(gaps), "wasserstein": distance}


def spearman(pairs):
    def ranks(values):
        return [
            sum(other < value for other in values)
            + (sum(other == value for other in values) + 1) / 2
            for value in values
        ]

    xs, ys = ranks([x for x, _ in pairs]), ranks([y for _, y in pairs])
    mean_x, mean_y = sum(xs) / len(xs), sum(ys) / len(ys)
    cov = sum((x - mean_x) * (y - mean_y) for x, y in zip(xs, ys, strict=True))
    var_x = sum((x - mean_x) ** 2 for x in xs)
    var_y = sum((y - mean_y) ** 2 for y in ys)
    return None if var_x * var_y == 0 else cov / (var_x * var_y) ** 0.5
