"""What the simulated people do agrees with the closed forms of their model."""

import json
from collections import Counter, defaultdict
from math import isclose, sqrt

import pytest

from demo import reference
from demo.expected import expected, expected_ties
from demo.known_truth import PATH, known_truth, realised, rows
from demo.planted import BEHAVIOURS, EXCLUDED, planted_answers, seats
from demo.truth import STRATA, World
from tests.sampling import examples

SIZES = {"direct": 45, "strong": 75, "weak": 105, "none": 75}
SEEDS = range(examples(60, every=200))


@pytest.fixture(scope="module")
def many():
    """Realised (accuracy, agreement, majority) by stratum over many seeds."""
    sums = defaultdict(list)
    for seed in SEEDS:
        world = World(seed)
        answers = rows(world.answers())
        truth = {item.id: item.label for item in world.items}
        stratum = {item.id: item.stratum for item in world.items}
        for name in STRATA:
            own = [row for row in answers if stratum[row.item] == name]
            majority = reference.score(reference.verdicts(own).items(), truth)
            sums[name, "accuracy"].append(reference.individual(own, truth)["accuracy"])
            sums[name, "agreement"].append(reference.percent_agreement(own))
            sums[name, "majority"].append(majority["accuracy"])
    return sums


@pytest.mark.sampled(keep=4)
@pytest.mark.slow
@pytest.mark.parametrize("name", STRATA)
@pytest.mark.parametrize("statistic", ["accuracy", "agreement", "majority"])
def test_random_draws_agree_with_the_closed_forms(many, name, statistic):
    values = many[name, statistic]

    mean = sum(values) / len(values)
    variance = sum((value - mean) ** 2 for value in values) / (len(values) - 1)
    assert abs(mean - getattr(STRATA[name], statistic)) < 4 * sqrt(variance / len(values))


def test_the_item_weighted_truths_are_those_of_the_paper_design():
    truth = expected(SIZES)

    assert truth["individual"]["accuracy"] == pytest.approx(0.6246, abs=5e-5)
    assert truth["agreement"]["percent"] == pytest.approx(0.6239, abs=5e-5)
    assert truth["majority"]["accuracy"] == pytest.approx(0.6547, abs=5e-5)
    # Monte Carlo over 4,000 replications, at threshold 80.
    assert truth["individual"]["high_accuracy"] == pytest.approx(0.799, abs=0.002)
    assert truth["individual"]["high_n"] == pytest.approx(175, abs=1)
    assert truth["individual"]["low_accuracy"] == pytest.approx(0.582, abs=0.002)
    assert truth["majority"]["high_accuracy"] == pytest.approx(0.879, abs=0.002)
    assert truth["majority"]["high_n"] == pytest.approx(51, abs=1)
    assert truth["majority"]["low_accuracy"] == pytest.approx(0.608, abs=0.002)


def test_the_seed_of_the_demo_lies_within_four_standard_errors():
    world = World()
    result = realised(world, world.answers())
    truth = expected(SIZES)

    for name in ("individual", "majority"):
        a = truth[name]["accuracy"]
        assert abs(result[name]["accuracy"] - a) < 4 * sqrt(a * (1 - a) / 300)
    g = truth["agreement"]["percent"]
    assert abs(result["agreement"]["percent"] - g) < 4 * sqrt(g * (1 - g) / 300)


def test_exact_mode_fixes_the_counts_of_every_stratum():
    for seed in (20240701, 3):
        world = World(seed, "exact")
        truth = {item.id: item for item in world.items}
        right = Counter(i.stratum for i in world.items if i.guess == i.label)
        follows = Counter(
            truth[a.item].stratum for a in world.answers() if a.choice == truth[a.item].guess
        )

        assert right == {"direct": 41, "strong": 60, "weak": 74, "none": 41}
        for name, size in SIZES.items():
            assert abs(follows[name] - 3 * size * STRATA[name].c) <= 3


def test_exact_mode_realises_the_same_accuracy_and_agreement_for_every_seed():
    results = [realised(world, world.answers()) for world in (World(s, "exact") for s in (1, 2))]

    first, second = results
    assert first["individual"]["correct"] == second["individual"]["correct"] == 562
    assert first["majority"]["correct"] == second["majority"]["correct"] == 196
    assert first["agreement"]["percent"] == second["agreement"]["percent"]
    assert first["individual"]["high"]["n"] == second["individual"]["high"]["n"]


def test_an_answer_depends_on_seed_annotator_and_item_alone():
    one, two, elsewhere = World(), World(), World(seed=9)
    plan = one.seating()

    forwards = [one.answer(*seat) for seat in plan]
    backwards = [two.answer(*seat) for seat in reversed(plan)]

    assert forwards == backwards[::-1]
    assert [elsewhere.answer(*seat) for seat in plan] != forwards


def test_the_seating_gives_everybody_thirty_items_and_every_item_three_people():
    plan = World().seating()

    assert len(set(plan)) == 900
    assert set(Counter(annotator for annotator, _ in plan).values()) == {30}
    assert set(Counter(item for _, item in plan).values()) == {3}


def test_swapping_the_names_of_the_replies_changes_no_score():
    world = World()
    truth = {item.id: item.label for item in world.items}
    table = rows(world.answers())
    swap = {"r1": "r2", "r2": "r1"}
    swapped = [
        reference.ReferenceAnswer(r.item, r.rater, swap[r.choice], r.certainty) for r in table
    ]
    swapped_truth = {item: swap[label] for item, label in truth.items()}

    assert reference.individual(table, truth) == reference.individual(swapped, swapped_truth)
    assert reference.krippendorff_alpha(table) == reference.krippendorff_alpha(swapped)


def test_the_brute_force_reference_reproduces_published_agreement():
    # Krippendorff 2011, example A: two observers, ten binary items.
    first, second = "0100000010", "1110010000"
    table = [
        reference.ReferenceAnswer(str(i), rater, value, None)
        for rater, values in (("a", first), ("b", second))
        for i, value in enumerate(values)
    ]

    assert reference.krippendorff_alpha(table) == pytest.approx(0.095238, abs=1e-6)
    assert reference.percent_agreement(table) == pytest.approx(0.6)


def test_true_ties_have_the_expected_majorities():
    shared = right = total = 0
    for seed in SEEDS:
        world = World(seed)
        table = rows([world.answer(a, item.id) for a in (1, 2, 3) for item in world.ties])
        result = reference.score(
            reference.verdicts(table).items(), {item.id: "tie" for item in world.ties}
        )
        shared, right = shared + result["ties"], right + result["correct"]
        total += len(world.ties)
    truth = expected_ties()

    assert isclose(shared / total, truth["majority_shared"], abs_tol=4 * sqrt(0.144 / total))
    accuracy = right / (total - shared)
    assert isclose(accuracy, truth["majority_accuracy"], abs_tol=4 * sqrt(0.19 / total))


def test_planted_annotators_behave_as_they_should():
    world = World()
    plan = {(seat.annotator, seat.item): seat for seat in seats(world)}
    answers = planted_answers(world)
    careful = {a.item: a for a in answers}

    line = [a for a in answers if a.annotator == 27]
    assert all(a.choice == plan[27, a.item].shown_first for a in line)
    bold = [a for a in answers if a.annotator in (25, 26)]
    assert all(
        a.certainty == min(100, world.answer(a.annotator, a.item).certainty + 25) for a in bold
    )
    assert Counter(a.annotator for a in answers)[30] == 0
    assert Counter(a.annotator for a in answers)[31] == 30
    assert len(careful) == 300
    assert set(EXCLUDED) == {
        n for n, b in BEHAVIOURS.items() if b in ("straight_liner", "speeder", "inattentive")
    }


def test_removing_the_planted_annotators_raises_accuracy():
    planted = known_truth()["planted"]

    before = planted["before_exclusions"]["individual"]
    after = planted["after_exclusions"]["individual"]
    assert (before["n"], after["n"]) == (900, 810)
    assert after["accuracy"] > before["accuracy"]


def test_the_stored_truth_is_what_the_model_says_today():
    stored = json.loads(PATH.read_text("utf-8"))

    assert _rounded(stored) == _rounded(json.loads(json.dumps(known_truth())))


def _rounded(value):
    if isinstance(value, dict):
        return {key: _rounded(inner) for key, inner in value.items()}
    return round(value, 9) if isinstance(value, float) else value
