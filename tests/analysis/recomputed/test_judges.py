"""Items, prices, sides, ties and several judges, computed again."""

import pytest

from tests.analysis import brute_force_groups as by_hand
from tests.analysis import brute_force_sides as by_side
from tests.analysis.recomputed.comparing import pair, same

pytestmark = pytest.mark.django_db


def test_prices(study, report):
    for judge in report["judges"]:
        usd = by_hand.usd(study.judge_runs.get(key=judge["run"]))
        assert same(judge["cost"]["usd"], usd)
        each = usd / judge["correct"] if judge["correct"] else None
        assert same(judge["cost"]["usd_per_correct"], each)


def test_every_item_and_its_verdicts(study, report, counted):
    for row in report["items"]:
        expected = by_side.votes(counted, row["item"])
        assert {name: n for name, n in row["votes"].items() if n} == expected
        sides = [(row["people"], counted.majority, counted.people)]
        for judge, entry in zip(report["judges"], row["judges"], strict=True):
            run = judge["run"]
            sides.append((entry, counted.verdicts[run], counted.judges[run]))
        for found, said, scored in sides:
            choice, certainty = by_side.verdict_of(said[row["item"]])
            assert (found["choice"], found["correct"]) == (
                choice,
                scored.get(row["item"], (None,))[0],
            )
            assert same(found["certainty"], certainty)


def test_sides_and_ties(report, counted):
    for judge in report["judges"]:
        expected = by_side.position(counted, judge["run"])
        found = {key: judge["position"][key] for key in ("share_a", "truth_share_a")}
        assert all(same(found[key], expected[key]) for key in found)
        assert pair(judge["position"]["right_when_a"]) == expected["right_when_a"]
        assert pair(judge["position"]["right_when_b"]) == expected["right_when_b"]
        if judge["setting"] == "tie":
            assert (judge["ties"]["n"], judge["ties"]["ties"]) == by_side.ties(
                counted.verdicts[judge["run"]]
            )
