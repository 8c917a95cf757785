"""Groups of items, and what a judge loses without a part of the profile."""

import pytest

from tests.analysis import brute_force_groups as by_hand
from tests.analysis.recomputed.comparing import pair, same

pytestmark = pytest.mark.django_db


def test_groups_of_topics_and_personas(report, counted):
    readers = {
        "topic": lambda table: lambda item: item.topic,
        "feature": lambda table: by_hand.feature_of(table["label"]),
    }

    for table in report["groups"]:
        expected = by_hand.groups(counted, readers[table["by"]](table))
        assert [row["value"] for row in table["rows"]] == sorted(expected)
        for row in table["rows"]:
            assert pair(row["people"]) == expected[row["value"]]["people"]
            for judge, cell in zip(report["judges"], row["judges"], strict=True):
                assert pair(cell) == expected[row["value"]]["judges"][judge["run"]]


def test_ablations(report, counted):
    expected = by_hand.ablations(counted)

    assert {entry["run"] for entry in report["ablations"]} == set(expected)
    for entry in report["ablations"]:
        assert entry["n"] == expected[entry["run"]]["n"]
        for key in ("accuracy_lost", "p", "same_choice", "certainty_drop"):
            assert same(entry[key], expected[entry["run"]][key]), key


def test_agreement_of_everybody_with_everybody(report, counted):
    expected = by_hand.matrix(counted)
    names = ["people", *(judge["run"] for judge in report["judges"]), "truth"]

    for one, row in zip(names, report["matrix"], strict=True):
        for other, cell in zip(names, row, strict=True):
            n, agreement = expected[one, other]
            assert cell["n"] == n
            assert same(cell["agreement"], agreement), (one, other)
