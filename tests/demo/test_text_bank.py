"""The words of the demo study hold what its truth model assumes."""

import json
from collections import Counter

import pytest

from demo.bundle import item_row, write_bundles
from demo.text_bank import BANK
from demo.truth import World


@pytest.fixture(scope="module")
def world():
    return World()


def test_a_weak_item_leans_by_a_feature_and_an_empty_one_by_none():
    topics = {topic.key: topic for topic in BANK.topics}

    for person in BANK.people:
        for key, stratum in person.strata.items():
            if stratum == "weak":
                assert BANK.lean(person, topics[key]) in ("r1", "r2"), (person.id, key)
            if stratum == "none":
                assert BANK.lean(person, topics[key]) is None, (person.id, key)


def test_the_fact_in_a_profile_speaks_for_the_guess(world):
    for item in world.items:
        facts = {f["key"]: f["text"] for f in world.profile(item.person)}
        if item.stratum in ("direct", "strong"):
            words = item.topic.direct if item.stratum == "direct" else item.topic.hint
            assert facts[item.topic.key] == f"The person {words[item.guess == 'r2']}."
        elif item.stratum == "weak":
            assert item.guess == BANK.lean(item.person, item.topic)


@pytest.mark.parametrize(("seed", "mode"), [(20240701, "random"), (1, "exact")])
def test_each_reply_is_the_right_one_for_half_of_the_people(seed, mode):
    labels = Counter((item.topic.key, item.label) for item in World(seed, mode).items)

    assert set(labels.values()) == {10}
    assert len(labels) == 30


def test_true_ties_show_a_hint_for_both_replies(world):
    assert len(world.ties) == 24
    for item in world.ties:
        texts = {feature["text"] for feature in world.profile(item.person)}
        assert {f"The person {words}." for words in item.topic.hint} <= texts
        assert len({f["key"] for f in world.profile(item.person)}) == 8 + 6


def test_scores_and_margins_agree_with_the_labels(world):
    for item in [*world.items, *world.ties]:
        row = item_row(world, item)
        r1, r2 = (response["score"] for response in row["responses"])

        assert row["first_person"]["margin"] == abs(r1 - r2)
        assert row["first_person"]["source"] == "simulated"
        if item.label == "tie":
            assert abs(r1 - r2) <= 10
        else:
            assert (r1 > r2) == (item.label == "r1")
            assert abs(r1 - r2) >= 20


def test_the_same_seed_writes_the_same_bytes_and_another_seed_others(tmp_path):
    first, _ = write_bundles(tmp_path / "a", World())
    again, _ = write_bundles(tmp_path / "b", World())
    changed, _ = write_bundles(tmp_path / "c", World(seed=5))

    text = (first / "items.jsonl").read_bytes()
    assert (again / "items.jsonl").read_bytes() == text
    assert (changed / "items.jsonl").read_bytes() != text
    assert json.loads((first / "dataset.json").read_text("utf-8"))["counts"] == {"items": 300}
