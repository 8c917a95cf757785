"""What data sets have in common: the mean of their differences, and whether these differ."""

import numpy as np
import pytest
from scipy import stats

from extras.report_readers.several.across import common_table, forest
from extras.report_readers.several.common import CommonDifference, common_runs, over_data_sets


def estimate(sample: np.ndarray) -> CommonDifference:
    return CommonDifference(float(sample.mean()), float(stats.sem(sample)), sample.size - 1)


def test_two_data_sets_differ_by_the_t_test_of_welch():
    rng = np.random.default_rng(1)
    one, other = rng.normal(0.1, 0.5, 40), rng.normal(0.3, 1.5, 90)

    found = over_data_sets([estimate(one), estimate(other)])

    assert found.p_apart == pytest.approx(stats.ttest_ind(one, other, equal_var=False).pvalue)


def test_several_data_sets_differ_by_the_analysis_of_variance_of_welch():
    rng = np.random.default_rng(2)
    samples = [
        rng.normal(mean, sd, n) for mean, sd, n in ((0, 1, 30), (0.4, 2, 50), (0.2, 0.5, 80))
    ]

    found = over_data_sets([estimate(sample) for sample in samples])

    assert found.p_apart == pytest.approx(stats.f_oneway(*samples, equal_var=False).pvalue)
    assert found.mean.value == pytest.approx(np.mean([sample.mean() for sample in samples]))


@pytest.mark.nightly
def test_intervals_cover_the_mean_of_the_data_sets_and_tests_keep_their_level():
    rng, draws = np.random.default_rng(3), 2000
    effects, sds, sizes = (0.0, 0.3, -0.1), (1.0, 0.4, 2.0), (25, 12, 60)
    covered = same = 0
    for _ in range(draws):
        noise = [rng.normal(0, sd, n) for sd, n in zip(sds, sizes, strict=True)]
        found = over_data_sets([estimate(x + mu) for x, mu in zip(noise, effects, strict=True)])
        covered += int(found.ci[0] <= np.mean(effects) <= found.ci[1])
        same += over_data_sets([estimate(x) for x in noise]).p_apart <= 0.05
    # Monte Carlo error of either share: .005.
    assert 0.935 <= covered / draws <= 0.965
    assert 0.035 <= same / draws <= 0.065


def report(title, *runs, slug=""):
    """What is read of a report: runs as (judge, setting, value, se, df)."""
    return {
        "study": {"title": title, "slug": slug or title.lower(), "simulated": False},
        "comparison": [
            {
                "judge": judge,
                "setting": setting,
                "features": "all",
                "run": f"{judge}-{setting}",
                "difference_general": {
                    "n": 100,
                    "value": value,
                    "se": se,
                    "df": df,
                    "ci": None if se is None else [value - 2 * se, value + 2 * se],
                    "p": None if se is None else 0.5,
                }
                | ({"se_reason": "too_few_annotators"} if se is None else {}),
            }
            for judge, setting, value, se, df in runs
        ],
    }


def test_a_judge_that_is_worse_everywhere_is_said_to_be_worse_on_average():
    reports = [
        report("PR", ("gpt", "certainty", -0.1, 0.02, 40)),
        report("EC", ("gpt", "certainty", -0.12, 0.03, 30)),
        report("PRISM", ("gpt", "certainty", -0.08, 0.02, 60)),
    ]

    [run] = common_runs(reports)

    assert run.combined.mean.value == pytest.approx(-0.1)
    assert run.sentence.startswith(
        "gpt. Averaged over PR, EC and PRISM, it is right less often than the majority of people, "
        "by 10.0 points (95 % interval −12."
    )
    assert "Nothing shows that its difference from people depends on the data set." in run.sentence


def test_opposite_differences_are_not_averaged_away_in_silence():
    reports = [
        report("PR", ("gpt", "certainty", 0.2, 0.02, 40)),
        report("EC", ("gpt", "certainty", -0.2, 0.02, 40)),
    ]

    [run] = common_runs(reports)

    assert "nothing shows that it is right more or less often" in run.sentence
    assert run.sentence.endswith(
        "Its difference from people is not the same on all of them: +20.0 points on PR and −20.0 "
        "points on EC."
    )
    assert common_table([run]).rows[-1][-1] == "the data sets differ"


def test_several_judges_share_the_level_and_a_judge_of_one_data_set_is_not_tested():
    one = [(f"judge {n}", "certainty", 0.05, 0.02, 50) for n in range(10)]
    reports = [report("PR", *one), report("EC", *one, ("alone", "certainty", 0.5, 0.01, 50))]

    runs = common_runs(reports)

    assert [run.name for run in runs] == [f"judge {n}" for n in range(10)]
    assert {round(run.p_holm / run.combined.p, 6) for run in runs} == {10.0}


def test_a_data_set_without_an_interval_is_shown_and_named_but_not_in_the_mean():
    reports = [
        report("PR", ("gpt", "certainty", 0.1, None, None)),
        report("EC", ("gpt", "certainty", 0.2, 0.02, 40)),
        report("PRISM", ("gpt", "certainty", 0.1, 0.02, 40)),
    ]

    [run] = common_runs(reports)
    [alone] = common_runs(reports[:2])

    assert run.tested == ["EC", "PRISM"]
    assert run.combined.mean.value == pytest.approx(0.15)
    assert common_table([run]).rows[0][-1].startswith("not in the mean: people too few")
    assert alone.combined is None
    assert "fewer than two data sets can be compared (PR: people too few" in alone.sentence


def test_two_settings_of_a_judge_are_two_runs_and_studies_of_one_title_two_data_sets():
    runs = [("gpt", "certainty", 0.1, 0.02, 40), ("gpt", "tie", 0.1, 0.02, 40)]
    reports = [report("EC", *runs, slug="ec-1"), report("EC", *runs, slug="ec-2")]

    found = common_runs(reports)

    assert [run.name for run in found] == ["gpt (certainty)", "gpt (tie)"]
    assert [*found[0].parts] == ["EC (ec-1)", "EC (ec-2)"]
    figure = forest(reports, found)
    assert [panel.title for panel in figure.panels] == ["gpt (certainty)", "gpt (tie)"]
    assert list(figure.panels[0].drawing.data[0].x) == pytest.approx([10, 10, 10])


def test_without_a_run_in_common_there_is_no_figure():
    reports = [
        report("PR", ("gpt", "certainty", 0.1, 0.02, 40)),
        report("EC", ("llama", "certainty", 0.1, 0.02, 40)),
    ]

    assert common_runs(reports) == []
    assert forest(reports, []) is None
