"""What the simulated people do agrees with the closed forms of their model."""

import json
from collections import Counter, defaultdict
from math import isclose, sqrt

import pytest

from demo import reference
from demo.expected import expected, expected_ties
from demo.known_truth import PATH, known_truth, rows
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


@pytest.mark.nightly
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


def test_the_stored_truth_is_what_the_model_says_today():
    stored = json.loads(PATH.read_text("utf-8"))

    assert _rounded(stored) == _rounded(json.loads(json.dumps(known_truth())))


def _rounded(value):
    if isinstance(value, dict):
        return {key: _rounded(inner) for key, inner in value.items()}
    return round(value, 9) if isinstance(value, float) else value
