"""report.json computed again by plain Python, for three studies that have little in common."""

import json
import math
import random
from collections import defaultdict

import pytest
from django.utils import timezone

from analysis.data.dataset import load_dataset
from analysis.lifecycle.build_job import to_json
from analysis.report.build import build_report
from annotation.models import Annotation, Annotator
from demo.reference import alpha
from judging.models import Judgment
from tests.analysis import brute_force
from tests.analysis import brute_force_details as details
from tests.analysis import brute_force_groups as by_hand
from tests.analysis import brute_force_intervals as intervals
from tests.analysis import brute_force_sides as by_side
from tests.analysis.builders import make_run, random_study
from tests.analysis.test_report_numbers import (
    assert_agreement,
    assert_comparison,
    assert_judge,
    assert_people,
)

pytestmark = pytest.mark.django_db

RUNS = (
    {"judge": "steady", "setting": "certainty"},
    {"judge": "steady", "setting": "certainty", "features": "age"},
    {"judge": "both ways", "setting": "tie", "orders": "both"},
)


def with_ties():
    return random_study(11, n_items=60, n_raters=18, allow_tie=True, runs=RUNS)


def without_truth():
    return random_study(12, n_items=40, truths=("",), runs=RUNS)


def with_exclusions_and_a_missing_judge():
    """Two people are excluded, answers withdrawn and left, half of a run lost, one never begun."""
    study = random_study(13, n_items=60, n_raters=12, per_item=(3, 4, 5), runs=RUNS)
    people = Annotator.objects.filter(study=study).order_by("pseudonym")
    for rater in people[:2]:
        rater.excluded_at, rater.exclusion_reason = timezone.now(), "Failed both checks."
        rater.save()
    rng = random.Random(13)
    for row in Annotation.objects.filter(assignment__annotator__study=study).order_by("pk"):
        row.standing = rng.choice(["counted"] * 6 + ["withdrawn", "released", "surplus"])
        row.save()
    lost = study.judge_runs.get(judge__name="steady", features="all")
    for judgment in Judgment.objects.filter(run=lost).order_by("pk"):
        if rng.random() < 0.5:
            judgment.state, judgment.choice, judgment.certainty = "error", "", None
            judgment.save()
    make_run(study=study, judge="never begun")
    return study


STUDIES = (with_ties, without_truth, with_exclusions_and_a_missing_judge)


@pytest.fixture(scope="module", params=STUDIES, ids=lambda make: make.__name__)
def study(request, module_db):
    study = request.param()
    for number, rater in enumerate(Annotator.objects.filter(study=study).order_by("pseudonym")):
        rater.demographics = {"age": ("18-24", "35-44")[number % 2]}
        rater.save()
    return study


@pytest.fixture(scope="module")
def report(study):
    return json.loads(to_json(build_report(load_dataset(study.slug), seed=3, bootstrap=100)))


@pytest.fixture(scope="module")
def counted(study):
    return by_hand.Counted(study)


def same(ours, theirs):
    if ours is None or theirs is None:
        return ours is theirs
    return math.isclose(ours, theirs, rel_tol=1e-9, abs_tol=1e-12)


def pair(cell):
    return cell["n"], cell["correct"]


def test_accuracy_agreement_and_comparison(study, report):
    expected = brute_force.report(study)

    assert_people(report["human"], expected)
    assert_agreement(report["human"]["agreement"], expected["agreement"])
    begun = {run.key for run in study.judge_runs.all() if Judgment.objects.filter(run=run).exists()}
    assert {judge["run"] for judge in report["judges"]} == begun
    for judge, versus in zip(report["judges"], report["comparison"], strict=True):
        assert_judge(judge, expected["judges"][judge["run"]])
        assert_comparison(versus, expected["judges"][judge["run"]])


def test_closed_intervals(report, counted):
    """Wilson's of accuracy and agreement, and Tango's of the difference."""
    seen = 0
    for judge, versus in zip(report["judges"], report["comparison"], strict=True):
        said, own = counted.verdicts[judge["run"]], counted.judges[judge["run"]]
        right = sum(is_right for is_right, _ in own.values())
        both = [
            (said[key][0], people[0])
            for key, people in counted.majority.items()
            if people not in (None, "tied") and said[key] not in (None, "tied")
        ]
        alike = sum(one == other for one, other in both)
        assert close(versus["agreement_ci"], intervals.wilson(alike, len(both)))
        if not own:
            assert judge["ci"] is None
            continue
        assert close(judge["ci"], intervals.wilson(right, len(own)))
        common = [(own[key][0], counted.people[key][0]) for key in own if key in counted.people]
        only_judge = sum(a and not b for a, b in common)
        only_people = sum(b and not a for a, b in common)
        expected = intervals.tango(only_judge, only_people, len(common))
        assert close(versus["difference"]["ci"], expected)
        seen += 1
    assert seen == (0 if counted.study.all_items.filter(first_person="").count() == 40 else 3)


def belongings(counted, keys):
    """Of every item its people, its persona and its question."""
    items = {item.key: item for item in counted.items}
    people = defaultdict(set)
    for row in counted.answers:
        people[row.assignment.item.key].add(row.assignment.annotator.pseudonym)
    return [
        [people[key] for key in keys],
        [{items[key].persona.key} for key in keys],
        [{items[key].question} for key in keys],
    ]


def test_the_difference_in_general_and_its_verdict(report, counted):
    """Mean, interval, p values, Holm over the runs that compete, and the headline from them."""
    seen = {}
    for versus in report["comparison"]:
        own = counted.judges[versus["run"]]
        keys = sorted(key for key in own if key in counted.people)
        found = versus["difference_general"]
        if not keys:
            assert found["value"] is None
            continue
        gaps = [own[key][0] - counted.people[key][0] for key in keys]
        people = {name for row in belongings(counted, keys)[0] for name in row}
        answers = sum(len(row) for row in belongings(counted, keys)[0])
        if len(people) < max(8, 4 * answers / len(keys)):
            assert found["too_few"] == ["people"]
            assert (found["ci"], found["p"], found["state"]) == (None, None, None)
            continue
        expected = intervals.General(gaps, belongings(counted, keys))
        assert same(found["value"], expected.mean)
        assert close(found["ci"], expected.interval())
        assert close(found["equivalence_ci"], expected.interval(0.9))
        p_equivalence = expected.p_equivalence(report["parameters"]["margin"])
        assert close((found["p"], found["equivalence_p"]), (expected.p(), p_equivalence))
        seen[versus["run"]] = (expected.p(), p_equivalence, found)
    whole = [v["run"] for v in report["comparison"] if v["features"] == "all" and v["run"] in seen]
    for place, key in ((0, "p_holm"), (1, "equivalence_p_holm")):
        adjusted = details.holm([seen[run][place] for run in whole])
        assert close([seen[run][2][key] for run in whole], adjusted)
    if report["headline"]["state"] not in ("no_truth",):
        chosen = seen.get(report["headline"]["run"])
        few = report["headline"]["state"] == "too_few"
        versus = next(v for v in report["comparison"] if v["run"] == report["headline"]["run"])
        assert few == (versus["mcnemar"]["n"] < 30)
        assert few or report["headline"]["state"] == verdict_of(chosen and chosen[2])


def verdict_of(found):
    if found is None:
        return "cannot_tell"
    if found["p_holm"] <= 0.05:
        return "better" if found["value"] > 0 else "worse"
    return "equivalent" if found["equivalence_p_holm"] <= 0.05 else "cannot_tell"


def test_accuracies_of_the_headline_allow_for_all_that_items_share(report, counted):
    sides = [(report["human"]["majority"], counted.people, True)]
    sides += [(judge, counted.judges[judge["run"]], False) for judge in report["judges"]]
    checked = 0
    for side, own, by_people in sides:
        keys = sorted(own)
        found = side["clusters"]
        if not keys or found["ci"] is None:
            continue
        kinds = belongings(counted, keys)[0 if by_people else 1 :]
        right = [float(own[key][0]) for key in keys]
        assert close(found["ci"], intervals.General(right, kinds).wilson())
        checked += 1
    assert checked >= (0 if report["headline"]["state"] == "no_truth" else 2)


def close(found, expected):
    return all(math.isclose(*pair, abs_tol=1e-6) for pair in zip(found, expected, strict=True))


def test_resampled_intervals_within_what_chance_allows(study, counted):
    report = build_report(load_dataset(study.slug), seed=3, bootstrap=1000)
    votes = defaultdict(list)
    for row in counted.answers:
        votes[row.assignment.item.key].append(row.choice)
    units = [unit for unit in votes.values() if len(unit) >= 2]
    agreement = report["human"]["agreement"]

    for found, statistic in (
        (agreement["percent_ci"], intervals.percent),
        (agreement["krippendorff_alpha"]["ci"], alpha),
    ):
        low, high, spread = intervals.resampled(units, statistic)
        # Two ends of 1,000 draws each lie .12 of the spread apart by chance alone.
        assert abs(found[0] - low) < 0.5 * spread
        assert abs(found[1] - high) < 0.5 * spread


def test_squared_gaps_of_certainty_and_their_intervals(report, counted):
    """By pairs of answers of different items; the certainty of a majority is its voters' mean."""
    truth = {item.key: item.first_person for item in counted.items}
    alone = [
        (row.assignment.item.key, row.certainty, row.choice == truth[row.assignment.item.key])
        for row in counted.answers
        if row.certainty is not None and scorable(counted.study, truth[row.assignment.item.key])
    ]
    sides = [(report["human"]["individual"], alone)]
    sides.append((report["human"]["majority"], stated(counted.people)))
    for judge in report["judges"]:
        sides.append((judge, stated(counted.judges[judge["run"]])))

    for side, answers in sides:
        found, expected = side["certainty"]["measures"], intervals.squared_gap(answers)
        assert (found["ece"]["ci"], found["ece"]["value"] is None) == (None, not answers)
        if expected is None:
            assert found["squared_error"]["value"] is None
            continue
        value, ends = expected
        assert same(found["squared_error"]["value"], value)
        assert close(found["squared_error"]["ci"], ends)


def scorable(study, truth):
    return truth in ("r1", "r2") or (truth == "tie" and study.allow_tie)


def stated(side):
    """Item, certainty and whether it is right, of every scored answer with a certainty."""
    return [
        (key, certainty, right) for key, (right, certainty) in side.items() if certainty is not None
    ]


def test_groups_of_topics_and_personas(report, counted):
    readers = {
        "topic": lambda table: lambda item: item.topic,
        "feature": lambda table: by_hand.feature_of(table["label"]),
    }

    for table in report["groups"]:
        expected = by_hand.groups(counted, readers[table["by"]](table))
        assert [row["value"] for row in table["rows"]] == sorted(expected)
        for row in table["rows"]:
            assert pair(row["people"]) == expected[row["value"]]["people"]
            for judge, cell in zip(report["judges"], row["judges"], strict=True):
                assert pair(cell) == expected[row["value"]]["judges"][judge["run"]]


@pytest.mark.parametrize("threshold", [50, 60, 79, 80, 81, 95])
def test_high_and_low_at_every_threshold(report, counted, threshold):
    expected = by_hand.at_threshold(counted, threshold)
    steps = report["by_threshold"]
    sides = {"majority": steps["majority"], "individual": steps["individual"]}
    sides |= {j["run"]: s for j, s in zip(report["judges"], steps["judges"], strict=True)}

    for name, found in sides.items():
        step = next(step for step in reversed(found) if step["from"] <= threshold)
        assert (pair(step["high"]), pair(step["low"])) == expected[name], name


def test_ablations(report, counted):
    expected = by_hand.ablations(counted)

    assert {entry["run"] for entry in report["ablations"]} == set(expected)
    for entry in report["ablations"]:
        assert entry["n"] == expected[entry["run"]]["n"]
        for key in ("accuracy_lost", "p", "same_choice", "certainty_drop"):
            assert same(entry[key], expected[entry["run"]][key]), key


def test_agreement_of_everybody_with_everybody(report, counted):
    expected = by_hand.matrix(counted)
    names = ["people", *(judge["run"] for judge in report["judges"]), "truth"]

    for one, row in zip(names, report["matrix"], strict=True):
        for other, cell in zip(names, row, strict=True):
            n, agreement = expected[one, other]
            assert cell["n"] == n
            assert same(cell["agreement"], agreement), (one, other)


def test_who_judges_whom(report, counted):
    expected = by_hand.whom(counted, "age", "Age")

    for found in report["who_judges_whom"]:
        for row in found["rows"]:
            for value, cell in zip(found["columns"], row["cells"], strict=True):
                assert pair(cell) == expected.get((row["value"], value), (0, 0))
    shown = sum(len(found["rows"]) for found in report["who_judges_whom"])
    # Eight people are four and four: too few of either to be shown.
    assert shown == (2 if len(report["human"]["raters"]) >= 10 else 0)


def test_prices(study, report):
    for judge in report["judges"]:
        usd = by_hand.usd(study.judge_runs.get(key=judge["run"]))
        assert same(judge["cost"]["usd"], usd)
        each = usd / judge["correct"] if judge["correct"] else None
        assert same(judge["cost"]["usd_per_correct"], each)


def test_what_was_left_out_is_counted(study, report):
    rows = Annotation.objects.filter(assignment__annotator__study=study)
    left_out = report["human"]["not_counted"]

    for standing in ("withdrawn", "released", "surplus"):
        assert left_out[standing] == sum(row.standing == standing for row in rows)
    excluded = [
        row
        for row in rows
        if row.standing == "counted" and row.assignment.annotator.excluded_at is not None
    ]
    assert left_out["excluded"] == len(excluded)
    assert report["human"]["answers"] + sum(
        left_out[key] for key in ("withdrawn", "released", "surplus", "excluded")
    ) == len(rows)


def test_accuracy_before_exclusions_is_that_of_everybody(study, report):
    people = Annotator.objects.filter(study=study)
    were_excluded = people.filter(excluded_at__isnull=False).exists()
    before = report["human"]["before_exclusions"]

    people.update(excluded_at=None)
    everybody = brute_force.report(study)

    for side in ("majority", "individual"):
        if were_excluded:
            expected = everybody[side]
            assert pair(before[side]) == pair(expected), side
        else:
            assert before[side] is None
            assert before[f"{side}_reason"] == "no_exclusions"


def test_every_item_and_its_verdicts(study, report, counted):
    for row in report["items"]:
        expected = by_side.votes(counted, row["item"])
        assert {name: n for name, n in row["votes"].items() if n} == expected
        sides = [(row["people"], counted.majority, counted.people)]
        for judge, entry in zip(report["judges"], row["judges"], strict=True):
            run = judge["run"]
            sides.append((entry, counted.verdicts[run], counted.judges[run]))
        for found, said, scored in sides:
            choice, certainty = by_side.verdict_of(said[row["item"]])
            assert (found["choice"], found["correct"]) == (
                choice,
                scored.get(row["item"], (None,))[0],
            )
            assert same(found["certainty"], certainty)


def test_use_of_certainty(report, counted):
    for found, rows in by_side.all_sides(report, counted):
        stated = [(certainty, right) for right, certainty in rows if certainty is not None]
        for key, value in by_side.calibration(stated).items():
            assert same(found["calibration"][key], value), key
        certainty = found["certainty"]
        assert [pair(bar) for bar in certainty["histogram"]] == by_side.histogram(stated)
        assert [pair(band) for band in certainty["bands"]] == by_side.bands(stated)
        assert [
            (step["threshold"], step["at"], *pair(step)) for step in certainty["sweep"]
        ] == by_side.sweep(stated)


def test_all_sides_at_the_coverage_of_single_people(report, counted):
    seen = 0
    for versus in report["comparison"]:
        panel = versus["certainty"]["like_for_like"]
        people, replies = by_side.singles(counted, versus["run"])
        if not people:
            assert panel["coverage"] is None
            assert panel["human_single"]["matched_accuracy"] is None
            continue
        coverage = sum(certainty >= brute_force.HIGH for certainty, _ in people) / len(people)
        assert same(panel["coverage"], coverage)
        for side, rows in (("human_single", people), ("model_single", replies)):
            expected = details.matched(rows, coverage) if rows else None
            assert same(panel[side]["matched_accuracy"], expected), side
            seen += expected is not None
    assert seen == (0 if report["headline"]["state"] == "no_truth" else 6)


def test_who_is_certain_where_and_the_same_mistakes(report, counted):
    for versus in report["comparison"]:
        own = counted.judges[versus["run"]]
        cells = versus["certainty"]["high_sets"]["cells"]
        for name, (people, judge) in by_side.high_cells(own, counted.people).items():
            assert (pair(cells[name]["people"]), pair(cells[name]["judge"])) == (people, judge)
        found, expected = versus["same_mistakes"], by_side.mistakes(own, counted.people)
        assert {key: found[key] for key in expected} == expected


def test_certainties_item_by_item(report, counted):
    for versus in report["comparison"]:
        said = counted.verdicts[versus["run"]]
        pairs = details.certainty_pairs(counted.items, said, counted.majority)
        assert versus["certainty"]["items"] == len(pairs)
        if len(pairs) >= 3:
            for key, value in details.correlations(pairs).items():
                assert same(versus["certainty"][key], value), key


def test_bands_on_common_items(study, report, counted):
    whole = [versus for versus in report["comparison"] if versus["features"] == "all"]
    runs = {run.key: run for run in study.judge_runs.all()}
    expected = [
        details.by_band(
            counted.items, counted.verdicts[v["run"]], counted.majority, runs[v["run"]], study
        )
        for v in whole
    ]
    adjusted = iter(details.holm([b[band]["p"] for b in expected for band in ("high", "low")]))
    for versus, bands in zip(whole, expected, strict=True):
        for band in ("high", "low"):
            found, theirs = versus["by_band"][band], bands[band]
            assert {key: found[key] for key in "nbc"} == {key: theirs[key] for key in "nbc"}
            assert same(found["p"], theirs["p"])
            assert same(found["p_holm"], next(adjusted))


def test_sides_ties_and_several_judges(report, counted):
    for judge in report["judges"]:
        expected = by_side.position(counted, judge["run"])
        found = {key: judge["position"][key] for key in ("share_a", "truth_share_a")}
        assert all(same(found[key], expected[key]) for key in found)
        assert pair(judge["position"]["right_when_a"]) == expected["right_when_a"]
        assert pair(judge["position"]["right_when_b"]) == expected["right_when_b"]
        if judge["setting"] == "tie":
            assert (judge["ties"]["n"], judge["ties"]["ties"]) == by_side.ties(
                counted.verdicts[judge["run"]]
            )
    several = report["several_judges"]
    runs = [entry["run"] for entry in several["runs"]]
    if runs:
        n, q = by_side.cochran([counted.judges[run] for run in runs])
        assert several["n"] == n
        assert same(several["q"], q)
