"""The sentence that is quoted follows its rule, whatever the numbers."""

from typing import Any

import pytest

from analysis.data.dataset import load_dataset
from analysis.report.build import all_figures, all_tables, build_report
from analysis.report.verdict.first_screen import verdict_of
from analysis.report.words import run_names
from studies.models import Study
from tests.analysis.builders import answer, judge_item, make_rater, make_run, random_study
from tests.analysis.partial import computed
from tests.factories import make_item, make_items, make_persona, make_study, stored_at_once

pytestmark = pytest.mark.django_db


def right(n: int, wrong: int, *, first_wrong: int = 0) -> list[bool]:
    return [False] * first_wrong + [True] * n + [False] * (wrong - first_wrong)


@stored_at_once()
def study_of(
    people_right: list[bool], *judges_right: list[bool], people: int = 12, **study: Any
) -> Study:
    """A study whose majority and judges are right on exactly these items.

    Every item has an answer of one of `people`, who take turns.
    """
    made = make_study(**study)
    items = make_items(made, len(people_right), first_person="r1")
    raters = [make_rater(study=made) for _ in range(people)]
    for number, (item, is_right) in enumerate(zip(items, people_right, strict=True)):
        answer(raters[number % people], item, "r1" if is_right else "r2", 90)
    for number, judge in enumerate(judges_right):
        run = make_run(study=made, judge=f"judge {number}")
        for item, is_right in zip(items, judge, strict=True):
            judge_item(run, item, "r1" if is_right else "r2", 90)
    return made


def headline_of(study: Study) -> dict[str, Any]:
    return computed(study, "headline", bootstrap=100)["headline"]


def built(study: Study, draws: int = 100) -> dict[str, Any]:
    return build_report(load_dataset(study.slug), seed=7, bootstrap=draws)


MORE, SOME = right(120, 40), right(116, 44, first_wrong=10)


@pytest.mark.parametrize(
    ("people", "judge", "options", "state", "words"),
    [
        (right(30, 10), right(10, 30), {}, "worse", "−50.0 points"),
        (right(10, 30), right(30, 10), {}, "better", "+50.0 points"),
        (right(30, 10), right(29, 11, first_wrong=5), {}, "cannot_tell", "We cannot tell"),
        (MORE, MORE, {"equivalence_margin": 0.05}, "equivalent", "points (95 % CI −"),
        (MORE, MORE, {"equivalence_margin": 0.01}, "cannot_tell", "We cannot tell"),
        (MORE, SOME, {}, "cannot_tell", "goes beyond the margin of ±5 points"),
        (SOME, MORE, {}, "cannot_tell", "goes beyond the margin of ±5 points"),
        (right(30, 10), right(10, 30), {"people": 3}, "cannot_tell", "without an interval ("),
        (right(29, 0), right(0, 29), {}, "too_few", "29 items in common: too few"),
    ],
)
def test_the_state_and_its_numbers_follow_from_the_items(people, judge, options, state, words):
    found = headline_of(study_of(people, judge, **options))

    assert found["state"] == state
    assert any(words in sentence for sentence in found["sentences"])


@pytest.mark.nightly
def test_the_best_of_several_must_survive_the_correction():
    people, lucky = right(24, 16), right(33, 7)
    others = [right(25, 15) for _ in range(7)]

    alone = headline_of(study_of(people, lucky))
    among_eight = headline_of(study_of(people, lucky, *others))

    assert alone["state"] == "better"
    assert (among_eight["state"], among_eight["judge"]) == ("cannot_tell", "judge 0")
    assert any("by chance (Holm-adjusted" in s for s in among_eight["sentences"])


def test_deciding_only_the_easy_items_is_no_merit():
    study = make_study()
    items = make_items(study, 40, first_person="r1")
    rater = make_rater(study=study)
    both = make_run(study=study, judge="picky", orders="both")
    plain = make_run(study=study, judge="plain")
    with stored_at_once():
        for number, item in enumerate(items):
            answer(rater, item, "r1", 60)
            # Decides ten items, all rightly; contradicts itself on the others.
            judge_item(both, item, "r1", 60, shown_first="r1")
            judge_item(both, item, "r1" if number < 10 else "r2", 60, shown_first="r2")
            judge_item(plain, item, "r1" if number < 30 else "r2", 60)

    assert headline_of(study)["judge"] == "plain"


def test_intervals_and_numbers_of_items_stand_in_the_sentences():
    found = headline_of(study_of(right(30, 10), right(20, 20)))

    people, judge, verdict, certain, _ = found["sentences"]
    assert "correct on 75.0 % of 40 items (95 % CI " in people
    assert "judge 0: correct on 50.0 % of the 40 items it decided (95 % CI " in judge
    assert "the difference is −25.0 points (95 % CI −" in verdict
    assert "(≥ 80), judge 0 is correct on 50.0 % (95 % CI " in certain


def test_everybody_right_on_everything_has_intervals_with_width():
    found = headline_of(study_of(right(40, 0), right(40, 0)))

    people, judge, verdict, *_ = found["sentences"]
    assert "100.0 % of 40 items (95 % CI 9" in people
    assert "CI 100.0" not in judge
    assert "points (95 % CI −" in verdict
    assert found["state"] == "cannot_tell"


@pytest.mark.nightly
def test_agreement_without_right_answers_allows_for_people_and_personas_in_common():
    study = make_study()
    people = [make_rater(study=study) for _ in range(12)]
    personas = [make_persona(study=study) for _ in range(10)]
    run = make_run(study=study, judge="steady")
    with stored_at_once():
        for number in range(60):
            persona = number % 10
            item = make_item(study=study, first_person="", persona=personas[persona])
            # People agree, with each other and with the judge, about half of the personas only.
            for place in range(2):
                alike = persona < 5 or place == 0
                answer(people[(number + place) % 12], item, "r1" if alike else "r2", 80)
            judge_item(run, item, "r1" if persona % 2 else "r2", 80)

    report = built(study, 200)

    agreement, versus = report["human"]["agreement"], report["comparison"][0]
    sentences = report["headline"]["sentences"]
    for found, general, items in (
        (agreement, "percent_general_ci", "percent_ci"),
        (versus, "agreement_as_best_ci", "agreement_ci"),
    ):
        low, high = found[general]
        assert high - low > 1.5 * (found[items][1] - found[items][0])
        assert any(f"(95 % CI {low * 100:.1f}–{high * 100:.1f} %)" in text for text in sentences)


@pytest.mark.nightly
def test_judges_that_were_asked_different_items_are_compared_on_those_that_all_were_asked():
    """The first judge has 30 easy items of its own, and the second 30 that it fails on."""
    study = make_study()
    items = make_items(study, 120, first_person="r1")
    raters = [make_rater(study=study) for _ in range(12)]
    easy, better = (make_run(study=study, judge=name) for name in ("easy", "better"))
    with stored_at_once():
        for number, item in enumerate(items):
            answer(raters[number % 12], item, "r1" if number % 4 else "r2", 90)
            if number < 90:
                judge_item(easy, item, "r2" if number >= 30 and number % 2 else "r1", 90)
            if number >= 30:
                judge_item(better, item, "r2" if number >= 90 or not number % 5 else "r1", 90)

    report = built(study)

    by_name = {judge["judge"]: judge for judge in report["judges"]}
    assert by_name["easy"]["accuracy"] > by_name["better"]["accuracy"]
    assert by_name["better"]["asked_of_all"] == {"items": 60, "correct": 48}
    # Each on its own items, the one with easy items would be the best.
    assert report["headline"]["judge"] == "better"
    differences = [each["difference_general"] for each in report["comparison"]]
    assert [each["n"] for each in differences] == [60, 60]
    found = differences[0]
    assert found["value"] == pytest.approx(found["judge_accuracy"] - found["people_accuracy"])
    assert found["judge_accuracy"] == pytest.approx(48 / 60)
    words = "n the 60 items (of 120) that every competing judge was asked and both decided"
    assert any(words in sentence for sentence in report["headline"]["sentences"])
    assert words in verdict_of(report).answer.sentence


@pytest.mark.nightly
def test_a_difference_has_one_interval_wherever_it_stands():
    report = built(random_study(82, n_items=80, n_raters=16, truths=("r1", "r2"), per_item=(3,)))

    tables = all_tables(report)
    for name in ("at_a_glance", "comparison"):
        shown = {row[0]: row[3] for row in tables[name].rows}
        for who, entry in zip(run_names(report), report["comparison"], strict=True):
            assert shown[who] == entry["difference_general"]["ci_as_best"]


@pytest.mark.nightly
def test_the_dots_of_the_sides_are_about_the_items_of_their_bars():
    study = make_study()
    # Only of the first 40 is a right answer known; side A is chosen in half of these.
    items = [make_item(study=study, first_person="r1" if n < 40 else "") for n in range(60)]
    raters = [make_rater(study=study) for _ in range(12)]
    with stored_at_once():
        for number, item in enumerate(items):
            choice = "r1" if number >= 40 or number % 2 else "r2"
            answer(raters[number % 12], item, choice, 90, shown_first="r1")
    report = built(study)

    found = report["human"]["position"]
    drawn = all_figures(report)["position"].panels[0].drawing.to_plotly_json()["data"]

    assert (found["n"], found["n_truth"]) == (60, 40)
    assert found["share_a"] == pytest.approx(40 / 60)
    assert found["share_a_scored"] == 0.5
    assert drawn[0]["x"] == [0.5]
    low, high = found["share_a_scored_ci"]
    assert drawn[0]["error_x"]["array"] == [pytest.approx(high - 0.5)]
    assert drawn[0]["error_x"]["arrayminus"] == [pytest.approx(0.5 - low)]


def test_what_anybody_can_build_stands_next_to_the_accuracy_of_judges():
    study = make_study()
    items = [make_item(study=study, first_person="r1" if n % 4 else "r2") for n in range(40)]
    run = make_run(study=study)
    with stored_at_once():
        for item in items:
            judge_item(run, item, "r1", 80)

    report = built(study)

    assert report["human"]["reference_accuracy"] == [
        {"reference": "commonest label", "accuracy": 0.75},
        {"reference": "coin", "accuracy": 0.5},
    ]
    rows = {row[0]: row[1]["accuracy"] for row in all_tables(report)["at_a_glance"].rows}
    assert rows["Reference: commonest label"] == rows[run_names(report)[0]] == 0.75
    assert rows["Reference: coin"] == 0.5
