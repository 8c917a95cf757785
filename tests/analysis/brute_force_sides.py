"""What each side chose, how certain it was and how often right, in plain Python, row by row.

Like `brute_force`: slow and literal on purpose, and it shares no code with the product.
"""

from collections import Counter

from judging.models import Judgment
from tests.analysis.brute_force import HIGH, truth_of
from tests.analysis.brute_force import calibration as ten_bins

BANDS = ((1, 20), (21, 40), (41, 60), (61, 80), (81, 100))
BINS = ((1, 9), *((low, low + 9) for low in range(10, 90, 10)), (90, 100))


def votes(counted, item):
    return dict(Counter(a.choice for a in counted.answers if a.assignment.item.key == item))


def verdict_of(said):
    return (None, None) if said in (None, "tied") else said


def singles_of_people(counted, *, offers_tie):
    """Right and certainty of every answer that can be scored."""
    truth = {item.key: truth_of(item, offers_tie) for item in counted.items}
    rows = ((a.assignment.item.key, a.choice, a.certainty) for a in counted.answers)
    return [(choice == truth[key], certainty) for key, choice, certainty in rows if truth[key]]


def all_sides(report, counted):
    """The entries of report.json that state certainty, each with (right, certainty) by hand."""
    human = report["human"]
    yield human["majority"], list(counted.people.values())
    offers_tie = counted.study.allow_tie
    yield human["individual"], singles_of_people(counted, offers_tie=offers_tie)
    for judge in report["judges"]:
        yield judge, list(counted.judges[judge["run"]].values())


def calibration(stated):
    if not stated:
        return {"brier": None, "ece": None, "aurc": None}
    return ten_bins(stated)


def within(stated, low, high):
    rows = [right for certainty, right in stated if low <= certainty < high]
    return len(rows), sum(rows)


def histogram(stated):
    return [within(stated, low, 101 if high == 100 else high + 1) for low, high in BINS]


def bands(stated):
    """Bands hold their upper end: 80 lies in 61-80, and 80.5 in the one above it."""
    return [
        (len(rows), sum(rows))
        for low, high in BANDS
        for rows in [[right for c, right in stated if low - 1 < c <= high]]
    ]


def singles(counted, run_key):
    """(certainty, right) of people's answers and of a run's, by one truth for both."""
    run = counted.study.judge_runs.get(key=run_key)
    offers_tie = counted.study.allow_tie and run.setting == "tie"
    truth = {item.key: truth_of(item, offers_tie) for item in counted.items}
    people = singles_of_people(counted, offers_tie=offers_tie)
    replies = [
        (row.certainty, row.choice == truth[row.item.key])
        for row in Judgment.objects.filter(run=run, state="done")
        if truth[row.item.key] and row.certainty is not None
    ]
    return [(c, right) for right, c in people if c is not None], replies


def high_cells(own, people):
    """n and right of both sides, by who was certain, on items where both said how much."""
    common = [k for k in own if k in people and None not in (own[k][1], people[k][1])]
    names = {
        (True, True): "both",
        (True, False): "human_only",
        (False, True): "model_only",
        (False, False): "neither",
    }
    found = {}
    for (people_high, judge_high), name in names.items():
        keys = [
            k
            for k in common
            if (people[k][1] >= HIGH, own[k][1] >= HIGH) == (people_high, judge_high)
        ]
        found[name] = tuple(
            (len(keys), sum(side[key][0] for key in keys)) for side in (people, own)
        )
    return found


def position(counted, run_key):
    """Share of side A, of answers and of truths, and how often each side was right; no ties."""
    rows = [
        row
        for row in Judgment.objects.filter(run__key=run_key, state="done", sample=1)
        if row.choice != "tie"
    ]
    truth = {item.key: item.first_person for item in counted.items}
    known = [row for row in rows if truth[row.item.key] in ("r1", "r2")]
    found = {
        "share_a": share([row.choice == row.shown_first for row in rows]),
        "truth_share_a": share([truth[row.item.key] == row.shown_first for row in known]),
    }
    for name, is_a in (("right_when_a", True), ("right_when_b", False)):
        side = [row for row in known if (truth[row.item.key] == row.shown_first) is is_a]
        found[name] = (len(side), sum(row.choice == truth[row.item.key] for row in side))
    return found


def share(hits):
    return sum(hits) / len(hits) if hits else None


def ties(said):
    decided = [verdict for verdict in said.values() if verdict not in (None, "tied")]
    return len(decided), sum(choice == "tie" for choice, _ in decided)
