import krippendorff
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.stats import Votes, certainty_alpha, krippendorff_alpha
from tests.analysis.stats.reference import count_rows, random_votes, shuffled, vector

METRICS = ["nominal", "ordinal", "interval", "ratio"]


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("name", ["krippendorff_2011_C", "krippendorff_wikipedia_3x15"])
def test_alpha_matches_the_published_values(name, metric):
    case = vector(name)
    if metric not in case["expected"]:
        metric = "nominal"
    counts, values = count_rows(case["data"])

    alpha = krippendorff_alpha(counts, metric=metric, values=values)

    assert alpha.value == pytest.approx(case["expected"][metric], abs=1e-6)


@pytest.mark.parametrize(
    ("name", "key"), [("krippendorff_2011_A_binary", "nominal"), ("binary_3x60", "alpha_nominal")]
)
def test_alpha_of_two_options_matches_the_published_values(name, key):
    counts, _ = count_rows(vector(name)["data"])

    assert krippendorff_alpha(counts).value == pytest.approx(
        vector(name)["expected"][key], abs=1e-6
    )


@pytest.mark.parametrize("metric", ["interval", "ordinal", "ratio"])
def test_alpha_of_certainties_matches_the_reference(metric):
    case = vector("certainty_3x60")
    certainty = np.array(case["data"], dtype=float).T

    alpha = certainty_alpha(
        Votes.from_matrix(np.zeros(certainty.shape, dtype=int), certainty), metric=metric
    )

    assert alpha.value == pytest.approx(case["expected"][metric], abs=1e-6)


@given(st.integers(0, 2**32 - 1), st.sampled_from(METRICS))
def test_alpha_matches_the_krippendorff_package(seed, metric):
    rng = np.random.default_rng(seed)
    table = rng.integers(1, 5, (4, 9)).astype(float)
    table[rng.random(table.shape) < 0.4] = np.nan
    counts = (table.T[:, :, None] == np.arange(1, 5)).sum(axis=1)
    pairable = counts[counts.sum(axis=1) >= 2]

    alpha = krippendorff_alpha(counts, metric=metric, values=[1, 2, 3, 4])

    if len(pairable) < 2:
        assert alpha.reason == "too_few_items"
    elif (pairable.sum(axis=0) > 0).sum() < 2:
        assert alpha.reason == "no_variation"
    else:
        expected = krippendorff.alpha(table, level_of_measurement=metric)
        assert alpha.value == pytest.approx(expected, abs=1e-9)


@given(st.integers(0, 2**32 - 1))
def test_the_closed_form_for_certainties_matches_the_coincidence_matrix(seed):
    votes = random_votes(np.random.default_rng(seed), n_items=12, answered=0.5)
    given_ = ~np.isnan(votes.certainty)
    counts = np.zeros((12, 100), dtype=int)
    np.add.at(counts, (votes.item[given_], votes.certainty[given_].astype(int) - 1), 1)

    closed = certainty_alpha(votes)
    matrix = krippendorff_alpha(counts, metric="interval", values=np.arange(1, 101))

    assert closed.reason == matrix.reason
    assert closed.value == pytest.approx(matrix.value, abs=1e-9)


@given(st.integers(0, 2**32 - 1), st.sampled_from(METRICS))
def test_codes_and_order_change_neither_the_alpha_of_certainties_nor_its_interval(seed, metric):
    rng = np.random.default_rng(seed)
    votes = random_votes(rng, n_items=12)
    other, _ = shuffled(votes, rng)

    one, two = (
        certainty_alpha(v, metric=metric, n_draws=20, rng=np.random.default_rng(1))
        for v in (votes, other)
    )

    assert one == two


@pytest.mark.parametrize("metric", METRICS)
def test_one_item_or_one_value_has_no_alpha(metric):
    assert krippendorff_alpha([[1, 1]], metric=metric).reason == "too_few_items"
    assert krippendorff_alpha([[1, 0], [0, 1]], metric=metric).reason == "too_few_items"
    assert krippendorff_alpha([[2, 0], [3, 0]], metric=metric).reason == "no_variation"
    same = Votes.from_matrix([[0, 0], [1, 1]], [[70, 70], [70, 70]])
    assert certainty_alpha(same, metric=metric).reason == "no_variation"
    none = Votes.from_matrix([[0, 0], [1, 1]])
    assert certainty_alpha(none, metric=metric).reason == "too_few_items"


def test_a_rare_option_leaves_many_resamples_without_variation_and_so_no_interval():
    counts = [[2, 0]] * 40 + [[1, 1]]

    alpha = krippendorff_alpha(counts, rng=np.random.default_rng(0))

    assert alpha.value == pytest.approx(0, abs=0.02)
    assert (alpha.interval, alpha.interval_reason) == (None, "no_variation")


def papers_counts():
    """300 items with 3 votes, 119 of them unanimous, as balanced as that allows."""
    return np.array([[3, 0]] * 60 + [[0, 3]] * 59 + [[2, 1]] * 90 + [[1, 2]] * 91)


def test_item_and_pair_resampling_differ_as_measured_on_the_papers_size():
    item = krippendorff_alpha(papers_counts(), n_draws=20_000, rng=np.random.default_rng(42))
    pair = krippendorff_alpha(
        papers_counts(), resample="pairs", n_draws=20_000, rng=np.random.default_rng(42)
    )

    assert item.value == pair.value == pytest.approx(0.1964, abs=2e-4)
    assert item.interval.low == pytest.approx(0.121, abs=0.003)
    assert item.interval.high == pytest.approx(0.269, abs=0.003)
    assert pair.interval.low == pytest.approx(0.132, abs=0.003)
    assert pair.interval.high == pytest.approx(0.261, abs=0.003)
    assert "too narrow" in pair.interval.note


@pytest.mark.sampled(keep=2)
@pytest.mark.parametrize("metric", METRICS)
def test_the_item_bootstrap_equals_resampling_items_one_by_one(metric):
    rng = np.random.default_rng(9)
    counts = rng.multinomial(3, [0.4, 0.3, 0.2, 0.1], 40)

    interval = krippendorff_alpha(
        counts, metric=metric, values=[1, 2, 3, 4], n_draws=4000, rng=rng
    ).interval

    loop = [
        krippendorff_alpha(
            counts[rng.integers(0, 40, 40)], metric=metric, values=[1, 2, 3, 4]
        ).value
        for _ in range(2000)
    ]
    low, high = np.quantile(np.array(loop, dtype=float), [0.025, 0.975])
    assert interval.high - interval.low == pytest.approx(high - low, rel=0.08)
    assert interval.low == pytest.approx(low, abs=0.03)


def test_the_interval_names_its_seed_and_repeats_with_it():
    one, two = (
        krippendorff_alpha(papers_counts(), rng=np.random.default_rng(20240701)).interval
        for _ in range(2)
    )

    assert one == two
    assert (one.seed, one.n_draws, one.n_items, one.method) == (
        *(20240701, 1000, 300, "item bootstrap"),
    )


def test_options_that_do_not_exist_are_refused():
    with pytest.raises(ValueError, match="must be one of nominal, ordinal, interval, ratio"):
        krippendorff_alpha([[1, 1]], metric="circular")
    with pytest.raises(ValueError, match="`resample` must be items or pairs"):
        krippendorff_alpha([[1, 1]], resample="annotators")
    with pytest.raises(ValueError, match="`values` must have length 2"):
        krippendorff_alpha([[1, 1], [2, 0]], metric="interval", values=[1, 2, 3])


def test_the_item_bootstrap_is_that_of_the_reference_program_resample_by_resample():
    """The reference: whole columns drawn again and handed to the krippendorff package."""
    case = vector("alpha_boot_equivalence")
    rng = np.random.default_rng(11)
    ease = rng.beta(2.5, 1.7, 10_000)
    labels = (rng.random((10_000, 3)) > ease[:, None]).astype(int)
    counts = Votes.from_matrix(labels).counts()

    ours = krippendorff_alpha(counts, n_draws=2000, level=0.6827, rng=rng)
    theirs = [
        krippendorff.alpha(
            labels[rng.integers(0, 10_000, 10_000)].T.astype(float), level_of_measurement="nominal"
        )
        for _ in range(200)
    ]

    point = krippendorff.alpha(labels.T.astype(float), level_of_measurement="nominal")
    assert ours.value - point == pytest.approx(case["point_diff"], abs=1e-12)
    sd, noise = np.std(theirs, ddof=1), 4 / (2 * 199) ** 0.5
    assert (ours.interval.high - ours.interval.low) / 2 == pytest.approx(sd, rel=noise + 0.03)
    assert case["own_sd"] == pytest.approx(case["pkg_sd_200reps"], rel=noise)
    assert sd == pytest.approx(case["own_sd"], rel=0.3)  # both of 10,000 items with three answers
