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


def test_there_are_twenty_people_fifteen_topics_and_three_hundred_items(world):
    assert (len(BANK.people), len(BANK.topics), len(world.items)) == (20, 15, 300)
    assert len({item.id for item in world.items}) == 300


def test_strata_have_the_same_sizes_in_every_topic(world):
    for topic in BANK.topics:
        strata = Counter(item.stratum for item in world.items if item.topic is topic)

        assert strata == {"direct": 3, "strong": 5, "weak": 7, "none": 5}, topic.key


def test_each_reply_has_25_to_60_words_and_every_text_is_its_own():
    replies = [reply for topic in BANK.topics for reply in topic.replies]

    assert all(25 <= len(reply.split()) <= 60 for reply in replies)
    assert len(set(replies)) == 30
    assert len({topic.question for topic in BANK.topics}) == 15


def test_a_weak_item_leans_by_a_feature_and_an_empty_one_by_none():
    topics = {topic.key: topic for topic in BANK.topics}

    for person in BANK.people:
        for key, stratum in person.strata.items():
            if stratum == "weak":
                assert BANK.lean(person, topics[key]) in ("r1", "r2"), (person.id, key)
            if stratum == "none":
                assert BANK.lean(person, topics[key]) is None, (person.id, key)


def test_every_profile_has_eight_demographic_features_and_the_facts_of_its_strata(world):
    for person in BANK.people:
        profile = world.profile(person)
        facts = {feature["key"] for feature in profile[8:]}

        assert [feature["key"] for feature in profile[:8]] == [f.key for f in BANK.features]
        assert facts == {k for k, s in person.strata.items() if s in ("direct", "strong")}


def test_the_fact_in_a_profile_speaks_for_the_guess(world):
    for item in world.items:
        facts = {f["key"]: f["text"] for f in world.profile(item.person)}
        if item.stratum in ("direct", "strong"):
            words = item.topic.direct if item.stratum == "direct" else item.topic.hint
            assert facts[item.topic.key] == f"The person {words[item.guess == 'r2']}."
        elif item.stratum == "weak":
            assert item.guess == BANK.lean(item.person, item.topic)


def test_three_features_tell_every_person_apart():
    triples = {
        (person.values["age"], person.values["education"], person.values["politics"])
        for person in (*BANK.people, *BANK.torn)
    }

    assert len(triples) == 28


@pytest.mark.parametrize("mode", ["random", "exact"])
@pytest.mark.parametrize("seed", [20240701, 1, 2])
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
