"""A report's numbers in plain Python, read from the tables row by row.

Slow and literal on purpose. What is counted and paired shares no code with the product; the
coefficients of what was counted are those of `analysis.stats`, which has independent tests.
"""

from collections import defaultdict
from statistics import fmean

import numpy as np
from scipy.stats import spearmanr

from analysis import stats
from analysis.stats.comparison.paired import PairedCounts
from annotation.models import Annotation
from judging.models import Judgment
from studies.models import Item

HIGH = 80
CODES = {"r1": 0, "r2": 1, "tie": 2}


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
    """Coefficients of the choices and the certainties of each item's answers."""
    rows = [
        (item, place, CODES[choice], np.nan if certainty is None else certainty)
        for item, unit in enumerate(units)
        for place, (_, choice, certainty) in enumerate(unit)
    ]
    columns = zip(*rows, strict=True) if rows else ([], [], [], [])
    votes = stats.Votes.from_long(*columns, n_options=3 if allow_tie else 2, n_items=len(units))
    counts = votes.counts()
    percent = stats.percent_agreement(counts).value
    if percent is None:
        return None
    return {
        "percent": percent,
        "alpha": stats.krippendorff_alpha(counts).value,
        "certainty_alpha": stats.certainty_alpha(votes).value,
        "gwet_ac1": stats.gwet_ac(counts).value,
        "sheet_mean": percent,
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
    certainty, right = np.array(stated, dtype=float).T
    right = right.astype(int)
    return {
        "brier": stats.brier_score(certainty, right).value,
        "ece": stats.calibration_error(certainty, right).ece,
        "ece_distinct": stats.calibration_error(certainty, right, binning="distinct").ece,
        "ece_half_scale": stats.calibration_error(certainty, right, scale="half").ece,
        "auroc": stats.discrimination(certainty, right).auroc,
        "auprc_correct": stats.discrimination(certainty, right).auprc_correct,
        "auprc_error": stats.discrimination(certainty, right).auprc_error,
        "aurc": stats.risk_coverage(certainty, right).aurc,
    }


def compare(items, verdicts, majority, own, people):
    both = [
        (verdicts[i.key][0], majority[i.key][0])
        for i in items
        if verdicts[i.key] not in (None, "tied") and majority[i.key] not in (None, "tied")
    ]
    common = [key for key in own if key in people]
    b = sum(own[key][0] and not people[key][0] for key in common)
    c = sum(people[key][0] and not own[key][0] for key in common)
    return {
        "agreement": sum(x == y for x, y in both) / len(both) if both else None,
        "kappa": kappa([(CODES[x], CODES[y]) for x, y in both]),
        "b": b,
        "c": c,
        "p": stats.mcnemar(PairedCounts(b=b, c=c, n=len(common))).p,
        "n": len(common),
        "difference": (b - c) / len(common) if common else None,
    }


def kappa(pairs):
    one, other = zip(*pairs, strict=True) if pairs else ((), ())
    return stats.cohen_kappa(one, other, n_options=3).value


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
    sides = [*zip(*pairs, strict=True)]
    varies = all(len(set(side)) > 1 for side in sides)
    rho = float(spearmanr(*sides).statistic) if varies else None
    return {"spearman": rho, "human_mean": fmean(human), "model_mean": fmean(model)}
