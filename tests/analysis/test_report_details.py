"""What stands behind the headline figures, against the same numbers counted by hand."""

import pytest

from analysis.report.render import tables_across
from tests.analysis import brute_force_details as by_hand
from tests.analysis.brute_force import scored
from tests.analysis.builders import answer, make_rater, make_run, random_study
from tests.analysis.partial import computed
from tests.analysis.test_report_numbers import built, same
from tests.factories import make_item, make_study, stored_at_once

pytestmark = pytest.mark.django_db

RUNS = (
    {"judge": "steady", "setting": "certainty", "samples": 3},
    {"judge": "steady", "setting": "certainty", "samples": 3, "features": "none"},
    {"judge": "steady", "setting": "certainty", "samples": 3, "features": "age"},
    {"judge": "other", "setting": "certainty"},
)
SIZE = {"n_items": 60, "n_raters": 9, "truths": ("r1", "r2", "r1", "r2", "")}


# The second one only with --all.
@pytest.fixture(scope="module", params=[1, pytest.param(2, marks=pytest.mark.sampled(keep=0))])
def study(request, module_db):
    return random_study(request.param, runs=RUNS, **SIZE)


@pytest.fixture(scope="module")
def report(study):
    return built(study)


def test_bands_are_compared_on_common_items_and_adjusted_over_judges_and_bands(study, report):
    items, _, majority, runs = by_hand.sides(study)

    whole = [versus for versus in report["comparison"] if versus["features"] == "all"]
    expected = [
        by_hand.by_band(items, runs[versus["run"]][2], majority, runs[versus["run"]][0], study)
        for versus in whole
    ]
    adjusted = iter(by_hand.holm([bands[b]["p"] for bands in expected for b in ("high", "low")]))
    assert sum(bands["high"]["n"] for bands in expected) > 5
    for versus, bands in zip(whole, expected, strict=True):
        for band in ("high", "low"):
            ours, theirs = versus["by_band"][band], bands[band]
            assert {key: ours[key] for key in "nbc"} == {key: theirs[key] for key in "nbc"}
            assert same(ours["p"], theirs["p"])
            assert same(ours["difference"], theirs["difference"])
            assert same(ours["p_holm"], next(adjusted))
            assert ours["family"] == 4


def test_longer_responses_are_counted_item_by_item(study, report):
    items, _, majority, runs = by_hand.sides(study)

    entries = [(report["human"], majority)]
    entries += [(judge, runs[judge["run"]][2]) for judge in report["judges"]]
    for side, said in entries:
        n, chosen, true = by_hand.verbosity(items, said)
        found = side["verbosity"]
        assert found["n"] == n > 0
        assert same(found["longer_chosen"], chosen / n)
        assert same(found["longer_true"], true / n)
        assert same(found["difference"]["value"], (chosen - true) / n)


def test_each_persons_longest_run_is_in_the_order_of_their_items(study, report):
    _, answers, _, _ = by_hand.sides(study)

    rows = [row for found in answers.values() for row in found]
    for rater in report["human"]["raters"]:
        own = [row for row in rows if row.assignment.annotator.pseudonym == rater["rater"]]
        assert rater["longest_run"] == by_hand.longest_run(own)
        assert rater["checks"] == {"seen": 0, "failed": 0}


def test_noise_and_what_goes_beyond_it_are_those_of_all_pairs_of_readings(study, report):
    items, _, _, runs = by_hand.sides(study)

    for judge in report["judges"]:
        run, rows, _ = runs[judge["run"]]
        share, flipped = by_hand.noise(items, rows)
        if run.samples < 2:
            assert judge["noise"]["same_choice_reason"] == "one_sample"
            continue
        assert same(judge["noise"]["same_choice"], share)
        assert same(judge["noise"]["flipped"], flipped)
    assert len(report["ablations"]) == 2
    for entry in report["ablations"]:
        within, across = by_hand.change(
            items, runs[entry["compared_with"]][1], runs[entry["run"]][1]
        )
        assert same(entry["beyond_noise"]["within"], within)
        assert same(entry["beyond_noise"]["across"], across)
        assert same(entry["beyond_noise"]["excess"], within - across)
    adjusted = by_hand.holm([entry["p"] for entry in report["ablations"]])
    assert all(
        same(entry["p_holm"], p) for entry, p in zip(report["ablations"], adjusted, strict=True)
    )


def test_a_change_between_runs_that_asked_once_is_not_told_from_noise():
    runs = [RUNS[3] | {"features": features} for features in ("all", "none")]
    study = random_study(3, runs=runs, **SIZE)

    (entry,) = computed(study, "ablations")["ablations"]

    assert entry["same_choice"] is not None
    assert (entry["beyond_noise"]["excess"], entry["beyond_noise"]["excess_reason"]) == (
        *(None, "one_sample"),
    )


def test_certainties_of_judge_and_people_are_paired_item_by_item(study, report):
    items, _, majority, runs = by_hand.sides(study)

    for versus in report["comparison"]:
        pairs = by_hand.certainty_pairs(items, runs[versus["run"]][2], majority)
        expected = by_hand.correlations(pairs)
        assert versus["certainty"]["items"] == len(pairs)
        for key, value in expected.items():
            assert same(versus["certainty"][key], value), key


@pytest.mark.sampled(keep=1)
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_replacing_a_person_by_choice_and_by_certainty_is_the_procedure_in_words(seed):
    runs = (RUNS[0], RUNS[3])
    study = random_study(seed, n_items=90, n_raters=5, per_item=(2, 3, 4), runs=runs)
    _, answers, _, runs = by_hand.sides(study)

    report = computed(study, "paired_difference", "replacement")

    for versus in report["comparison"]:
        said = runs[versus["run"]][2]
        found = versus["alt_test"]
        of_choice = by_hand.alt_test(answers, said, by_hand.by_choice, 0)
        of_certainty = by_hand.alt_test(answers, said, by_hand.by_certainty, 1)
        assert of_certainty["tested"] > 0
        for ours, theirs in ((found, of_choice), (found["certainty"], of_certainty)):
            for key, value in theirs.items():
                assert same(ours[key], value), key


def test_further_measures_of_certainty_are_those_of_their_definitions(study, report):
    items, _, _, runs = by_hand.sides(study)

    for judge in report["judges"]:
        run, _, said = runs[judge["run"]]
        own = scored(items, said, run.setting == "tie").values()
        stated = [(c, right) for right, c in own if c is not None]
        found = judge["calibration"]
        for key, value in by_hand.other_bins(stated).items():
            assert same(found[key], value), key
        if found["auprc_correct"] is not None:
            right = by_hand.average_precision(stated)
            wrong = by_hand.average_precision([(-c, not hit) for c, hit in stated])
            assert same(found["auprc_correct"], right)
            assert same(found["auprc_error"], wrong)
            assert same(found["base_rate"], sum(hit for _, hit in stated) / len(stated))


def test_all_sides_are_matched_at_the_coverage_of_single_people(study, report):
    items, answers, _, runs = by_hand.sides(study)
    truth = {item.key: item.first_person for item in items if item.first_person in ("r1", "r2")}

    def singles(rows_of):
        rows = [(key, row) for key in truth for row in rows_of[key]]
        stated = [(row.certainty, row.choice == truth[key]) for key, row in rows]
        return [(certainty, right) for certainty, right in stated if certainty is not None]

    people = singles(answers)
    coverage = sum(certainty >= by_hand.HIGH for certainty, _ in people) / len(people)
    for versus in report["comparison"]:
        panel = versus["certainty"]["like_for_like"]
        replies = singles(runs[versus["run"]][1])
        assert same(panel["coverage"], coverage)
        for side, rows in (("human_single", people), ("model_single", replies)):
            expected = by_hand.matched(rows, coverage)
            assert same(panel[side]["matched_accuracy"], expected)
            low, high = panel[side]["matched_accuracy_ci"]
            assert low <= expected <= high


def test_annotators_are_grouped_by_what_they_say_and_nobody_can_be_made_out():
    study = make_study()
    items = [make_item(study=study, first_person="r1") for _ in range(30)]
    said = ["rural"] * 5 + ["urban"] * 6 + ["island"]
    with stored_at_once():
        for number, region in enumerate(said):
            rater = make_rater(study=study, demographics={"region": region})
            for place, item in enumerate(items):
                answer(rater, item, "r1" if (place + number) % 3 else "r2", 60)
    make_run(study=study)

    (table,) = computed(study, "annotator_groups")["annotator_groups"]

    rows = {row["value"]: (row["people"], row["answers"]["n"]) for row in table["rows"]}
    assert table["label"] == "region"
    assert (rows, table["left_out"]) == ({"rural": (5, 150), "urban": (6, 180)}, 1)
    assert all(row["answers"]["accuracy"] == pytest.approx(2 / 3) for row in table["rows"])
    (pair,) = table["differences"]
    assert (pair["first"], pair["second"]) == ("rural", "urban")
    assert pair["difference"] == pytest.approx(0)


def test_of_several_studies_bands_are_adjusted_over_all_of_them(report):
    reports = [report, built(random_study(3, runs=RUNS, **SIZE))]

    (table,) = (table for table in tables_across(reports) if table.name == "by_band")

    tests = [
        versus["by_band"][band]
        for report in reports
        for versus in report["comparison"]
        if versus["features"] == "all"
        for band in ("high", "low")
    ]
    adjusted = by_hand.holm([test["p"] for test in tests])
    expected = [(test["n"], p) for test, p in zip(tests, adjusted, strict=True) if test["n"]]
    assert len(expected) > 4
    assert [row[3] for row in table.rows] == [n for n, _ in expected]
    assert all(same(row[-1], p) for row, (_, p) in zip(table.rows, expected, strict=True))
