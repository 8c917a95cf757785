"""Groups, thresholds, ablations and prices of a report in plain Python, row by row.

Like `brute_force`: slow and literal on purpose, and it shares no code with the product.
"""

from collections import defaultdict
from math import comb
from typing import Any

from annotation.models import Annotation
from judging.models import Attempt, Judgment
from studies.models import Item
from tests.analysis.brute_force import scored, truth_of, verdict


class Counted:
    """The verdicts of people and of every run, and who said what."""

    def __init__(self, study):
        self.study = study
        self.items = sorted(Item.objects.filter(study=study), key=lambda item: item.key)
        self.answers = [
            row
            for row in Annotation.objects.filter(assignment__item__study=study)
            if row.standing in ("counted", "imported")
            and row.assignment.annotator.excluded_at is None
        ]
        votes = defaultdict(list)
        for row in self.answers:
            votes[row.assignment.item.key].append((row.choice, row.certainty))
        self.majority = {item.key: verdict(votes[item.key]) for item in self.items}
        self.people = scored(self.items, self.majority, study.allow_tie)
        self.verdicts, self.judges = {}, {}
        self.rows: dict[str, dict[str, list[Any]]] = {}
        for run in study.judge_runs.all():
            rows = self.rows[run.key] = defaultdict(list)
            for judgment in Judgment.objects.filter(run=run, state="done"):
                rows[judgment.item.key].append(judgment)
            self.verdicts[run.key] = {
                item.key: verdict([(row.choice, row.certainty) for row in rows[item.key]])
                for item in self.items
            }
            self.judges[run.key] = scored(self.items, self.verdicts[run.key], run.setting == "tie")


def count(side, keys, threshold=None, *, high=True):
    """How many of the items are scored, and right; of high or low certainty where asked."""
    found = [side[key] for key in keys if key in side]
    if threshold is not None:
        found = [(right, c) for right, c in found if c is not None and (c >= threshold) == high]
    return len(found), sum(right for right, _ in found)


def groups(counted, value_of):
    """n and right of people and every run, by the value that each item has."""
    members = defaultdict(list)
    for item in counted.items:
        members[value_of(item)].append(item.key)
    return {
        value: {
            "people": count(counted.people, keys),
            "judges": {run: count(side, keys) for run, side in counted.judges.items()},
        }
        for value, keys in members.items()
    }


def feature_of(label):
    def value(item):
        return {f["label"]: str(f["value"]) for f in item.persona.features}.get(label, "")

    return value


def at_threshold(counted, threshold):
    """n and right at high and at low certainty, of everybody."""
    keys = [item.key for item in counted.items]
    sides = {"majority": counted.people, **counted.judges}
    out = {
        name: tuple(count(side, keys, threshold, high=high) for high in (True, False))
        for name, side in sides.items()
    }
    single = {
        index: (row.choice == truth, row.certainty)
        for index, row in enumerate(counted.answers)
        if (truth := truth_of(row.assignment.item, counted.study.allow_tie)) is not None
    }
    out["individual"] = tuple(
        count(single, single.keys(), threshold, high=high) for high in (True, False)
    )
    return out


def ablations(counted):
    """Every run with less of the persona beside the run of the same judge with all of it."""
    runs = list(counted.study.judge_runs.select_related("judge"))
    out = {}
    for run in runs:
        whole = [
            other
            for other in runs
            if (other.judge_id, other.setting) == (run.judge_id, run.setting)
            and other.features == "all"
        ]
        if run.features == "all" or not whole:
            continue
        full, less = counted.judges[whole[0].key], counted.judges[run.key]
        common = [key for key in full if key in less]
        b = sum(full[key][0] and not less[key][0] for key in common)
        c = sum(less[key][0] and not full[key][0] for key in common)
        tail = sum(comb(b + c, k) for k in range(min(b, c) + 1)) / 2 ** (b + c)
        one, other = counted.verdicts[whole[0].key], counted.verdicts[run.key]
        both = [k for k in one if one[k] not in (None, "tied") and other[k] not in (None, "tied")]
        drops = [one[k][1] - other[k][1] for k in both if None not in (one[k][1], other[k][1])]
        out[run.key] = {
            "n": len(common),
            "accuracy_lost": (b - c) / len(common) if common else None,
            "p": min(1.0, 2 * tail) if b + c else None,
            "same_choice": sum(one[k][0] == other[k][0] for k in both) / len(both)
            if both
            else None,
            "certainty_drop": sum(drops) / len(drops) if drops else None,
        }
    return out


def matrix(counted):
    """Agreement of each pair of sides: people, runs in the order of their keys, truth."""
    truth = {i.key: (i.first_person, None) if i.first_person else None for i in counted.items}
    sides = {"people": counted.majority, **counted.verdicts, "truth": truth}

    def agree(one, other):
        both = [k for k in one if one[k] not in (None, "tied") and other[k] not in (None, "tied")]
        same = sum(one[k][0] == other[k][0] for k in both)
        return len(both), same / len(both) if both else None

    return {(a, b): agree(sides[a], sides[b]) for a in sides for b in sides}


def usd(run):
    """The sum of what the ledger of a run says, in US dollars."""
    costs = [row.cost_nano for row in Attempt.objects.filter(judgment__run=run)]
    return None if None in costs else sum(costs) / 10**9
