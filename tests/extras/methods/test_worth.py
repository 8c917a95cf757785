from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import integrate, stats

from analysis.report.build import all_tables
from analysis.stats import Votes
from extras.methods.stats import crowd_equivalence, majority_of_some, price_mixes
from extras.methods.stats.crowd_equivalence import _ceiling, _predicted
from tests.analysis.builders import answer, judge_item, make_rater, make_run, random_study
from tests.analysis.stats.reference import crowd, majority_of
from tests.analysis.test_report_checks import built, page_of
from tests.factories import make_item, make_study, stored_at_once
from tests.sampling import examples

pytestmark = pytest.mark.computed


def credit(right, k):
    """1 for a majority of right answers among k, one half for a tie."""
    return 1.0 if 2 * right > k else 0.5 if 2 * right == k else 0.0


@given(st.lists(st.integers(0, 1), min_size=1, max_size=7), st.data())
def test_the_majority_of_some_is_the_mean_over_all_choices_of_people(answers, data):
    k = data.draw(st.integers(1, len(answers)))

    value = majority_of_some([sum(answers)], [len(answers)], k)[0]

    expected = np.mean([credit(sum(chosen), k) for chosen in combinations(answers, k)])
    assert value == pytest.approx(expected)


@pytest.mark.parametrize(("a", "b"), [(4, 2), (0.5, 0.4), (30, 12)])
def test_predictions_are_the_integral_over_the_beta_distribution(a, b):
    beta = stats.beta(a, b)
    mean, square = np.array([beta.mean()]), np.array([beta.mean() ** 2 + beta.var()])
    steps = [1, 3, 9, 25]

    predicted = _predicted(mean, square, steps)[0]

    for k, value in zip(steps, predicted, strict=True):
        expected, _ = integrate.quad(
            lambda p, k=k: stats.binom.sf(k // 2, k, p) * beta.pdf(p), 0, 1, limit=200
        )
        assert value == pytest.approx(expected, abs=1e-6)
    assert _ceiling(mean, square)[0] == pytest.approx(beta.sf(0.5))


@pytest.mark.parametrize("k", [1, 3, 7])
def test_a_judge_that_is_a_majority_of_k_other_people_is_worth_k(k):
    """With three answers per item, so that seven people come from the fitted model."""
    rng = np.random.default_rng(k)
    people, ease = crowd(rng, 20_000, 3)
    truth = np.zeros(20_000, dtype=int)

    result = crowd_equivalence(Votes.from_matrix(people), majority_of(rng, ease, k), truth, rng=rng)

    # A judge as good as one person falls below one person half of the time.
    low, high = result.low or 0.0, result.high
    assert low <= k <= high
    assert high - low < 3
    assert [point.n_items for point in result.curve[:3]] == [20_000, 20_000, 0]
    assert result.ceiling == pytest.approx(stats.beta(4, 2).sf(0.5), abs=0.02)


def test_a_judge_that_knows_what_people_mistake_is_above_any_crowd():
    rng = np.random.default_rng(1)
    people, _ = crowd(rng, 500, 3)

    result = crowd_equivalence(
        Votes.from_matrix(people), np.zeros(500, dtype=int), np.zeros(500, dtype=int), rng=rng
    )

    assert (result.people, result.place, result.reason) == (None, "above any", "not_identified")
    assert (result.low, result.high, result.interval) == (None, None, None)
    assert result.judge_accuracy == 1 > result.ceiling


def test_too_few_items_say_so_and_bad_input_is_refused():
    one = Votes.from_matrix([[0, 1, 0]])
    rng = np.random.default_rng(0)

    assert crowd_equivalence(one, [0], [0], rng=rng).reason == "too_few_items"
    assert crowd_equivalence(one, [-1], [0], rng=rng).n_items == 0
    with pytest.raises(ValueError, match="one value per item"):
        crowd_equivalence(one, [0, 1], [0], rng=rng)
    with pytest.raises(ValueError, match="two options"):
        crowd_equivalence(Votes.from_matrix([[0]], n_options=3), [0], [0], rng=rng)
    with pytest.raises(ValueError, match=r"must lie in 1\.\.`n`"):
        majority_of_some([1], [2], 3)


def mixes_by_hand(people, judge, certainty, k, threshold=None):
    """Accuracy of k people, with the judge as one more, and after the judge."""
    alone, joined, handed = [], [], []
    for answers, choice, stated in zip(people, judge, certainty, strict=True):
        picks = [[a == 0 for a in chosen] for chosen in combinations(answers, k)]
        alone.append(np.mean([credit(sum(pick), k) for pick in picks]))
        with_judge = [credit(sum(pick) + (choice == 0), k + 1) for pick in picks]
        joined.append(np.mean(with_judge))
        handed.append(float(choice == 0) if stated >= (threshold or 0) else alone[-1])
    return np.mean(alone), np.mean(joined), np.mean(handed)


def test_every_mix_has_the_accuracy_and_price_of_doing_it_by_hand():
    rng = np.random.default_rng(5)
    people, judge = rng.integers(0, 2, (25, 3)), rng.integers(0, 2, 25)
    certainty = rng.integers(40, 100, 25).astype(float)
    certainty[3] = np.nan

    mixes = price_mixes(
        Votes.from_matrix(people),
        judge,
        certainty,
        np.zeros(25, dtype=int),
        price_person=0.3,
        price_judge=0.02,
        thresholds=[70],
    )

    found = {(mix.policy, mix.people): mix for mix in mixes}
    asked = np.mean(~(certainty >= 70))
    for k in (1, 2, 3):
        alone, joined, handed = mixes_by_hand(people, judge, certainty, k, threshold=70)
        assert found["people", k].accuracy == pytest.approx(alone)
        assert found["judge and people", k].accuracy == pytest.approx(joined)
        assert found["judge, then people", k].accuracy == pytest.approx(handed)
        assert found["judge, then people", k].price == pytest.approx(0.02 + asked * 0.3 * k)
    assert found["judge", 0].accuracy == np.mean(judge == 0)
    assert len(mixes) == 10


def test_the_best_mixes_are_those_that_nothing_cheaper_reaches():
    rng = np.random.default_rng(6)
    people, ease = crowd(rng, 200, 5)

    mixes = price_mixes(
        Votes.from_matrix(people),
        majority_of(rng, ease, 3),
        rng.integers(30, 100, 200),
        np.zeros(200, dtype=int),
        price_person=0.2,
        price_judge=0.01,
    )

    for mix in mixes:
        reached = [other for other in mixes if other.price <= mix.price + 1e-12]
        top = max(other.accuracy for other in reached)
        if mix.best:
            assert mix.accuracy == pytest.approx(top)
    assert max(mix.accuracy for mix in mixes if mix.best) == max(mix.accuracy for mix in mixes)


def test_without_usable_items_there_is_nothing_to_mix_and_prices_are_not_negative():
    votes = Votes.from_matrix([[0, -1]])
    kwargs = {"price_person": 1.0, "price_judge": 0.0}

    assert price_mixes(votes, [0], [50], [0], **kwargs) == ()
    with pytest.raises(ValueError, match="not be negative"):
        price_mixes(votes, [0], [50], [0], price_person=-1, price_judge=0)
    with pytest.raises(ValueError, match="`certainty` has 2 items"):
        price_mixes(votes, [0], [50, 60], [0], **kwargs)


def test_the_intervals_of_mixes_are_those_of_resampling_items_and_luck_is_told():
    rng = np.random.default_rng(7)
    people, ease = crowd(rng, 200, 3)
    judge, certainty = majority_of(rng, ease, 3), rng.integers(30, 100, 200)
    kwargs = {"price_person": 1.0, "price_judge": 0.1, "thresholds": [70]}
    votes, truth = Votes.from_matrix(people), np.zeros(200, dtype=int)

    mixes = price_mixes(
        votes, judge, certainty, truth, rng=np.random.default_rng(1), n_draws=3000, **kwargs
    )

    names = [(mix.policy, mix.people) for mix in mixes]
    draws: dict[tuple[str, int], list[float]] = {name: [] for name in names}
    won = dict.fromkeys(names, 0)
    n_resamples = examples(150, every=400)
    for _ in range(n_resamples):
        rows = rng.integers(0, 200, 200)
        for mix in price_mixes(
            Votes.from_matrix(people[rows]), judge[rows], certainty[rows], truth, **kwargs
        ):
            draws[mix.policy, mix.people].append(mix.accuracy)
            won[mix.policy, mix.people] += mix.best
    for mix in mixes:
        name = (mix.policy, mix.people)
        width = np.quantile(draws[name], 0.975) - np.quantile(draws[name], 0.025)
        assert mix.interval.high - mix.interval.low == pytest.approx(width, rel=0.2)
        assert mix.interval.low <= mix.accuracy <= mix.interval.high
        assert mix.often_best == pytest.approx(won[name] / n_resamples, abs=0.1)
        assert (mix.interval.seed, mix.interval.n_draws) == (1, 3000)
    alone = price_mixes(votes, judge, certainty, truth, **kwargs)
    assert {(mix.interval, mix.often_best) for mix in alone} == {(None, None)}


@pytest.mark.django_db
def test_a_judge_that_never_errs_is_worth_more_than_any_number_of_people():
    study = make_study()
    raters = [make_rater(study=study) for _ in range(3)]
    run = make_run(study=study)
    with stored_at_once():
        for number in range(40):
            item = make_item(study=study, first_person="r1")
            for index, rater in enumerate(raters):
                answer(rater, item, "r2" if (number + index) % 4 < 2 else "r1", 60)
            judge_item(run, item, "r1", 90)

    report = built(study)

    worth = report["comparison"][0]["worth"]
    assert (worth["place"], worth["people"], worth["high"]) == ("above any", None, None)
    assert worth["people_reason"] == "not_identified"
    assert all_tables(report)["worth"].rows[0][3] == "more than any number"
    mixes = report["comparison"][0]["mixes"]
    assert [mix["policy"] for mix in mixes] == ["judge"]


@pytest.mark.nightly
@pytest.mark.django_db
def test_worth_is_not_defined_where_a_tie_can_be_said():
    report = built(random_study(9, allow_tie=True))

    worth = report["comparison"][0]["worth"]
    assert (worth["people"], worth["people_reason"], worth["n"]) == (None, "not_offered", 0)
    assert 'id="table-worth"' not in page_of(report)
