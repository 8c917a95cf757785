"""What a study can show: simulated power, and effects from a pilot."""

import numpy as np
import pytest
from scipy import special

from analysis.report.rules import LEVEL, MIN_COMPARED
from analysis.stats import adjusted_states, general_difference, general_differences
from extras.planning.stats import power, variance_components
from extras.planning.stats.power import STATES, Chance, simulate_power
from extras.planning.stats.simulated_studies import Effects, Layout, StudyModel, random_layout
from extras.planning.stats.variance_components import PilotAnswers
from tests.sampling import examples


def small_layout(n_items=60, answers=3, per_annotator=15, seed=1) -> Layout:
    persona, question = np.arange(n_items) % 12, np.arange(n_items) // 12
    return random_layout(
        persona,
        question,
        n_items=n_items,
        answers=answers,
        per_annotator=per_annotator,
        rng=np.random.default_rng(seed),
    )


@pytest.mark.parametrize(("n_items", "answers", "per"), [(60, 3, 15), (50, 4, 15), (40, 5, 40)])
def test_nobody_answers_an_item_twice_and_all_but_one_are_full(n_items, answers, per):
    layout = small_layout(n_items, answers, per)

    ordered = np.sort(layout.seats, axis=1)
    sizes = np.bincount(layout.seats.ravel())
    assert (np.diff(ordered, axis=1) > 0).all()
    assert (sizes[:-1] == per).all()
    assert sizes.sum() == n_items * answers


def test_more_items_bring_personas_of_their_own_but_a_single_question_stays_one():
    persona, question = np.arange(60) % 12, np.zeros(60, dtype=np.int64)
    rng = np.random.default_rng(1)

    layout = random_layout(persona, question, n_items=150, answers=3, per_annotator=15, rng=rng)

    assert np.unique(layout.persona).size == 36
    assert np.unique(layout.question).size == 1


def test_a_layout_that_would_ask_twice_is_refused():
    with pytest.raises(ValueError, match="cannot answer 70 of 60 items"):
        small_layout(per_annotator=70)


def test_accuracies_of_the_model_are_those_of_simulated_answers():
    model = StudyModel(0.65, 4, Effects(persona=0.4, question=0.3, overlap=0.7))
    ease = model.judge_ease(0.06)
    rng, n = np.random.default_rng(4), 400_000

    hard = model.effects.of_items * rng.standard_normal(n)
    skill = model.effects.annotator * rng.standard_normal((4, n))
    right = (rng.random((4, n)) < special.expit(model.ease + hard + skill)).sum(axis=0)
    own = model.effects.of_items * rng.standard_normal(n)
    judge = rng.random(n) < special.expit(ease + 0.7 * hard + np.sqrt(0.51) * own)

    decided = right != 2
    majority = (right > 2)[decided].mean()
    assert right.mean() / 4 == pytest.approx(0.65, abs=0.003)
    assert majority == pytest.approx(model.majority, abs=0.004)
    assert judge[decided].mean() - majority == pytest.approx(0.06, abs=0.005)


def test_no_judge_is_more_than_always_right():
    assert StudyModel(0.9, 3).judge_ease(0.2) is None


@pytest.mark.parametrize("judges", [1, 3])
@pytest.mark.parametrize("sd", [0.0, 1.0])
def test_the_fast_verdicts_are_those_of_the_reports_functions(judges, sd):
    layout, rng = small_layout(), np.random.default_rng(judges)
    # Some studies are nearly tied everywhere, so that they need the score method.
    chance = special.expit(rng.choice([-4.0, 0.0, 3.0], (20, 1, 1)) + sd * layout.persona / 6)
    right = (rng.random((20, judges, 60)) < chance).astype(float)
    majority = (rng.random((20, 60)) < chance[:, 0]).astype(float)
    gaps = right - majority[:, None]

    fast = power.verdicts(gaps, right.sum(axis=2), layout.sharing, margin=0.1)

    methods = set()
    for study in range(20):
        found = [
            general_difference(gap, layout.sharing, margin=0.1, among=judges) for gap in gaps[study]
        ]
        best = int(right[study].sum(axis=1).argmax())
        state = adjusted_states(found)[best].state
        value, one = found[best].value, found[best]
        expected = {"inconclusive": "cannot_tell", "equivalent": "equivalent"}.get(
            state, "better" if value > 0 else "worse"
        )
        lower = one.narrow.low if judges == 1 else one.as_best.low
        methods.add(one.interval.method)
        assert STATES[fast.state[study]] == expected
        assert bool(fast.not_worse[study]) == (lower > -0.1)
        if -1 < one.interval.low and one.interval.high < 1:
            half = (one.interval.high - one.interval.low) / 2
            assert fast.half_width[study] == pytest.approx(half, rel=1e-6)
    assert methods == {"general t", "general score"}


def test_the_planner_uses_the_rules_of_the_report():
    assert power.FEWEST_ITEMS == MIN_COMPARED
    assert power.ALPHA == LEVEL


def test_studies_without_a_verdict_cannot_tell():
    few_people = small_layout(n_items=30, answers=3, per_annotator=15)

    found = simulate_power(StudyModel(0.6), few_people, (0.2,), rng=np.random.default_rng(1))

    assert "annotator" in found.too_few
    assert found.outcomes[0].chances["cannot_tell"].value == 1
    assert found.outcomes[0].half_width is None
    assert found.detectable.value is None


def brute_force(model: StudyModel, difference: float, n: int, *, n_items: int, people: int):
    """Share called better by the report's functions, with an own model, seats and code.

    Hundred studies at a time have the same seats.
    """
    rng, hits = np.random.default_rng(77), 0
    ease, effects, questions = model.judge_ease(difference), model.effects, n_items // 20
    for _ in range(n // 100):
        seats = np.argsort(rng.random((n_items, people)), axis=1)[:, : model.answers]
        order = rng.permutation(n_items)
        persona, question = order % 20, order // 20

        def hard(persona=persona, question=question):
            found = rng.normal(0, effects.item, (100, n_items))
            found += rng.normal(0, effects.persona, (100, 20))[:, persona]
            return found + rng.normal(0, effects.question, (100, questions))[:, question]

        shared, own = hard(), hard()
        skill = rng.normal(0, effects.annotator, (100, people))
        chance = special.expit(model.ease + shared[:, :, None] + skill[:, seats])
        majority = (rng.random(chance.shape) < chance).sum(axis=2) > model.answers / 2
        mixed = effects.overlap * shared + np.sqrt(1 - effects.overlap**2) * own
        judge = rng.random(mixed.shape) < special.expit(ease + mixed)
        gaps = judge.astype(float) - majority
        for found in general_differences(gaps, Layout(seats, persona, question).sharing):
            state = adjusted_states([found])[0].state
            hits += state.startswith("different") and found.value > 0
    return hits / n


# Difference, items, people, answers, and the standard deviation of personas and questions.
DESIGNS = [
    (0.05, 300, 30, 3, 0.3),
    (0.12, 300, 30, 3, 0.3),
    (0.15, 160, 16, 3, 0.0),
    (0.1, 300, 50, 5, 0.5),
    (0.08, 600, 60, 3, 0.25),
]


@pytest.mark.nightly
@pytest.mark.parametrize(("difference", "n_items", "people", "answers", "sd"), DESIGNS)
def test_the_planned_power_is_the_simulated_one_within_two_points(
    difference, n_items, people, answers, sd
):
    model = StudyModel(0.61, answers, Effects(persona=sd, question=sd))
    n = examples(200, every=12_000)
    rng = np.random.default_rng(5)
    each = np.arange(n_items)
    layout = random_layout(
        each % 20, each // 20, n_items=n_items, answers=answers, per_annotator=30, rng=rng
    )

    drawn = max(n, power.FEWEST_DRAWS)
    planned = simulate_power(model, layout, (difference,), n_draws=drawn, rng=rng)
    value = planned.outcomes[0].chances["better"].value
    simulated = brute_force(model, difference, n, n_items=n_items, people=people)

    error = 3 * np.sqrt(value * (1 - value) * (1 / n + 1 / drawn))
    assert n < power.FEWEST_DRAWS or error < 0.02
    assert abs(value - simulated) < max(0.02, error)


def test_the_papers_size_rarely_finds_five_points_and_never_shows_equivalence():
    rng = np.random.default_rng(6)
    each = np.arange(300)
    layout = random_layout(each, each, n_items=300, answers=3, per_annotator=30, rng=rng)
    effects = Effects(persona=0, question=0)

    found = simulate_power(StudyModel(0.7, 3, effects), layout, (0.0, 0.05), rng=rng)

    equal, better = found.outcomes
    assert better.chances["better"].value == pytest.approx(0.2, abs=0.04)
    assert equal.chances["equivalent"].value < 0.01
    assert sum(better.chances[state].value for state in STATES) == pytest.approx(1)
    assert found.detectable.low < found.detectable.value < found.detectable.high


def test_the_detectable_difference_has_the_power_that_it_states():
    rng = np.random.default_rng(8)
    model, layout = StudyModel(0.6), small_layout(150, 3, 15)

    gap = simulate_power(model, layout, (), rng=rng).detectable.value
    again = simulate_power(model, layout, (gap,), rng=np.random.default_rng(9))

    assert again.outcomes[0].chances["better"].value == pytest.approx(power.POWER, abs=0.04)


def test_even_numbers_of_answers_leave_ties_out(monkeypatch):
    monkeypatch.setattr(power, "FEWEST_DRAWS", 40)
    layout = small_layout(60, 2, 10)

    found = simulate_power(
        StudyModel(0.7, 2), layout, (0.0,), n_draws=40, rng=np.random.default_rng(2)
    )

    # About a third of the items are tied, so that the interval is wider than that of all items.
    every = simulate_power(
        StudyModel(0.7, 3),
        small_layout(60, 3, 15),
        (0.0,),
        n_draws=40,
        rng=np.random.default_rng(2),
    )
    assert found.outcomes[0].half_width > every.outcomes[0].half_width
    assert found.majority > 0.7


def test_the_same_seed_gives_the_same_power_and_more_judges_find_less(monkeypatch):
    monkeypatch.setattr(power, "FEWEST_DRAWS", 100)
    model, layout = StudyModel(0.6), small_layout(60, 3, 15)

    def better(judges):
        rng = np.random.default_rng(3)
        found = simulate_power(model, layout, (-0.2,), judges=judges, n_draws=100, rng=rng)
        return found.outcomes[0].chances["worse"]

    assert better(1) == better(1)
    assert better(3).value < better(1).value


def test_monte_carlo_intervals_are_exact_at_the_edges():
    assert Chance.of(0, 2000).low == 0
    assert Chance.of(0, 2000).high == pytest.approx(1 - 0.025 ** (1 / 2000))
    assert Chance.of(2000, 2000).high == 1


def pilot(effects: Effects, *, accuracy=0.62, seed=1, n_items=400) -> PilotAnswers:
    """Answers that are drawn from known effects."""
    rng = np.random.default_rng(seed)
    layout = random_layout(
        np.arange(n_items) % 40,
        np.arange(n_items) // 20,
        n_items=n_items,
        answers=3,
        per_annotator=20,
        rng=rng,
    )
    item, annotator = np.repeat(np.arange(n_items), 3), layout.seats.ravel()

    def hard():
        found = rng.normal(0, effects.item, n_items)
        found += rng.normal(0, effects.persona, 40)[layout.persona]
        return found + rng.normal(0, effects.question, 20)[layout.question]

    shared, own = hard(), hard()
    model = StudyModel(accuracy, 3, effects)
    skill = rng.normal(0, effects.annotator, layout.n_annotators)[annotator]
    right = rng.random(item.size) < special.expit(model.ease + shared[item] + skill)
    mixed = effects.overlap * shared + np.sqrt(1 - effects.overlap**2) * own
    judge = rng.random(n_items) < special.expit(model.judge_ease(0.0) + mixed)
    return PilotAnswers(
        right.astype(np.int64),
        item,
        annotator,
        layout.persona,
        layout.question,
        judge.astype(np.int64),
    )


def test_a_pilot_gives_back_the_effects_that_it_was_made_from():
    truth = Effects(1.0, 0.6, 0.5, 0.4, 0.5)

    found = [
        variance_components(
            pilot(truth, seed=seed), n_draws=2, rng=np.random.default_rng(seed)
        ).effects(Effects())
        for seed in range(6)
    ]

    for name in ("item", "annotator", "persona", "question", "overlap"):
        mean = np.mean([getattr(one, name) for one in found])
        assert mean == pytest.approx(getattr(truth, name), abs=0.2), name


def test_intervals_of_effects_contain_the_truth():
    truth, n = Effects(1.0, 0.6, 0.4, 0.3, 0.5), examples(3, every=100)

    inside = 0
    for seed in range(n):
        rng = np.random.default_rng(seed)
        made = variance_components(pilot(truth, seed=seed), n_draws=50, rng=rng)
        inside += sum(
            one.low <= getattr(truth, name) <= one.high for name, one in made.components.items()
        )

    assert inside / (5 * n) > 0.7 + 0.18 * (n > 3)


def test_effects_that_a_pilot_cannot_tell_apart_keep_their_defaults():
    made = pilot(Effects(), n_items=60)
    each = np.arange(60)
    alone = PilotAnswers(made.correct, made.item, made.annotator, each, each % 2)

    found = variance_components(alone, n_draws=5, rng=np.random.default_rng(1))

    reasons = {name: one.reason for name, one in found.components.items()}
    assert reasons["persona"] == reasons["overlap"] == "not_identified"
    assert reasons["question"] == "too_few_clusters"
    assert found.effects(Effects(persona=0.3)).persona == 0.3
    assert found.judge is None


def test_a_pilot_without_wrong_answers_gives_nothing():
    made = pilot(Effects(), n_items=60)
    perfect = PilotAnswers(
        np.ones_like(made.correct), made.item, made.annotator, made.persona, made.question
    )

    assert variance_components(perfect, rng=np.random.default_rng(1)) is None
