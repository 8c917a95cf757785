"""The simulated judges read the product's own prompts, and are as good as they should be."""

from collections import defaultdict
from math import sqrt

import pytest

from demo.judges import (
    ACCURACY,
    CERTAINTY,
    MALFORMED_ALWAYS,
    MALFORMED_FIRST,
    SAYS_TIE,
    Judges,
    UnknownPrompt,
)
from demo.truth import World
from tests.demo.prompts import prompt_of
from tests.sampling import examples

THREE = ["age", "education", "politics"]


@pytest.fixture(scope="module")
def world():
    return World()


@pytest.fixture(scope="module")
def judges(world):
    return Judges(world)


def within_four_errors(hits: int, n: int, p: float) -> bool:
    return abs(hits / n - p) <= 4 * sqrt(p * (1 - p) / n) + 1 / n


@pytest.mark.parametrize(
    ("setting", "shown_first", "style"),
    [("standard", "r1", "facts"), ("certainty", "r2", "sentences"), ("tie", "r2", "facts")],
)
def test_every_prompt_is_read_in_full(world, judges, setting, shown_first, style):
    for item in [*world.items, *world.ties]:
        prompt = prompt_of(world, item, setting=setting, shown_first=shown_first, style=style)

        reading = judges.read(prompt)

        assert reading.item is item
        assert (reading.first, reading.evidence) == (shown_first, item.stratum)
        assert reading.offers_tie == (setting == "tie")
        assert reading.wants_certainty == (setting == "certainty")


def test_the_evidence_is_what_the_shown_features_say(world, judges):
    fallen = {"direct": "weak", "strong": "weak", "weak": "weak", "none": "none"}

    for item in world.items:
        found = [
            judges.read(prompt_of(world, item, features=shown)).evidence
            for shown in (THREE, [*THREE, item.topic.key], ["age"], [])
        ]
        assert found == [fallen[item.stratum], item.stratum, "none", "none"]


def test_a_prompt_about_something_else_is_refused(judges):
    with pytest.raises(UnknownPrompt, match="nothing that this simulation knows"):
        judges.read("Which is better, tea or coffee?")


@pytest.fixture(scope="module")
def verdicts():
    """(model, stratum) -> list of (right, said A, certainty), over many seeds and both orders."""
    result = defaultdict(list)
    for seed in range(examples(16, every=40)):
        world = World(seed)
        judges = Judges(world)
        for item in world.items:
            first = ("r1", "r2")[len(item.id) % 2 ^ seed % 2]
            prompt = prompt_of(world, item, shown_first=first)
            for model in ("demo-steady", "demo-boastful", "demo-lefty"):
                text = judges.reply(model, prompt, attempt=2)
                side, _, rest = text.replace("[[", "").partition("]]")
                if side not in ("A", "B"):
                    continue
                choice = first if side == "A" else {"r1": "r2", "r2": "r1"}[first]
                certainty = int(rest.strip(" ]"))
                result[model, item.stratum].append((choice == item.label, side == "A", certainty))
    return result


@pytest.mark.nightly
@pytest.mark.slow
@pytest.mark.parametrize("stratum", ACCURACY)
@pytest.mark.parametrize("model", ["demo-steady", "demo-boastful"])
def test_accuracy_by_stratum_is_as_designed(verdicts, model, stratum):
    rows = verdicts[model, stratum]

    assert within_four_errors(sum(right for right, _, _ in rows), len(rows), ACCURACY[stratum])


@pytest.mark.nightly
@pytest.mark.slow
def test_lefty_says_a_where_the_profile_tells_little(verdicts):
    for stratum, share in (("weak", 0.70), ("none", 0.70)):
        rows = verdicts["demo-lefty", stratum]
        assert within_four_errors(sum(a for _, a, _ in rows), len(rows), share)
        assert within_four_errors(sum(right for right, _, _ in rows), len(rows), 0.5)
    rows = verdicts["demo-lefty", "direct"]
    assert within_four_errors(sum(right for right, _, _ in rows), len(rows), 0.80)


@pytest.mark.nightly
def test_steady_states_what_it_knows_and_boastful_does_not(verdicts):
    for stratum, (mean, _) in CERTAINTY.items():
        steady = [certainty for _, _, certainty in verdicts["demo-steady", stratum]]
        boastful = [certainty for _, _, certainty in verdicts["demo-boastful", stratum]]

        assert sum(steady) / len(steady) == pytest.approx(mean, abs=1)
        assert (min(boastful), max(boastful)) == (85, 95)


def test_a_verdict_does_not_depend_on_the_order_unless_the_judge_leans_left(world, judges):
    flips = dict.fromkeys(("demo-steady", "demo-lefty"), 0)
    for model in flips:
        for item in world.items:
            sides = [
                judges.reply(model, prompt_of(world, item, shown_first=first), attempt=2)
                for first in ("r1", "r2")
            ]
            flips[model] += ("A]]" in sides[0]) == ("A]]" in sides[1])

    assert flips["demo-steady"] <= 3  # the malformed ones
    assert flips["demo-lefty"] > 60


def test_another_request_seed_changes_some_verdicts_and_not_the_accuracy(world, judges):
    prompts = [(item, prompt_of(world, item, setting="standard")) for item in world.items]

    runs = [
        [judges.reply("demo-steady", text, attempt=2, sample=sample)[:3] for _, text in prompts]
        for sample in range(20)
    ]

    right = sum(
        ("A" in reply) == (item.label == "r1")
        for replies in runs
        for (item, _), reply in zip(prompts, replies, strict=True)
    )
    changed = sum(a.strip("[]") != b.strip("[]") for a, b in zip(*runs[:2], strict=True))
    assert 0 < changed < 60
    assert right / 6000 == pytest.approx(0.613, abs=4 * sqrt(0.25 / 300))


@pytest.mark.nightly
def test_the_malformed_rates_are_as_designed():
    first = always = asked = 0
    for seed in range(examples(12, every=40)):
        world = World(seed)
        judges = Judges(world)
        for item in world.items:
            prompt = prompt_of(world, item)
            first += "]]" not in judges.reply("demo-steady", prompt, attempt=1)
            always += "]]" not in judges.reply("demo-steady", prompt, attempt=5)
            asked += 1

    assert within_four_errors(first, asked, MALFORMED_FIRST)
    assert within_four_errors(always, asked, MALFORMED_ALWAYS)


def test_true_ties_are_mostly_seen_as_ties():
    said = asked = 0
    for seed in range(20):
        world = World(seed)
        judges = Judges(world)
        for item in world.ties:
            text = judges.reply("demo-steady", prompt_of(world, item, setting="tie"), attempt=2)
            said += "C]]" in text
            asked += 1

    assert within_four_errors(said, asked, SAYS_TIE["tie"])
