"""The headline under other choices: what is counted, what is left out, and what is said."""

from typing import Any

import numpy as np
import pytest
from django.utils import timezone

from analysis.data.arrays import Answers
from analysis.report.build import all_figures, all_tables
from annotation.models import Annotator
from extras.choices.multiverse import hasty_or_one_sided
from tests.analysis.builders import answer, judge_item, make_rater, make_run, random_study
from tests.analysis.partial import computed, report_of
from tests.factories import make_item, make_study, stored_at_once

pytestmark = [pytest.mark.django_db, pytest.mark.computed]


def claims(report):
    return {claim["claim"]: claim for claim in report["multiverse"]["claims"]}


@stored_at_once()
def close_study(n=60):
    """People are right on all items; a judge fails on every third and is right on the others."""
    study = make_study()
    raters = [make_rater(study=study) for _ in range(13)]
    run = make_run(study=study)
    for number in range(n):
        item = make_item(study=study, seats_needed=9)
        answer(raters[number % 13], item, "r1", 90, shown_first=("r1", "r2")[number % 2])
        if number % 3:
            judge_item(run, item, "r1", 90)
        else:
            judge_item(run, item, state="unparseable")
    return study


RICH: list[dict[str, Any]] = []


@pytest.fixture
def rich():
    """A report with ties, failures and certainties; built once, for nobody changes it."""
    if not RICH:
        study = random_study(81, n_items=150, n_raters=20, truths=("r1", "r2"), per_item=(2, 3, 4))
        RICH.append(report_of(study, seed=7))
    return RICH[0]


@pytest.mark.nightly
def test_the_specification_of_the_report_says_what_the_headline_says(rich):
    report = rich
    whole = claims(report)["all"]
    reported = [row for row in whole["specifications"] if row["reported"]]

    run = report["headline"]["run"]
    entry = next(entry for entry in report["comparison"] if entry["run"] == run)
    assert len(reported) == 1
    assert reported[0]["state"] == report["headline"]["state"] == whole["state"]
    assert reported[0]["unit"] == "general"
    assert reported[0]["difference"] == pytest.approx(entry["difference_general"]["value"])
    assert reported[0]["ci"] == pytest.approx(entry["difference_general"]["ci"])


def test_every_combination_stands_there_once_and_is_counted(rich):
    report = rich

    for claim in claims(report).values():
        axes = claim["axes"]
        rows = [tuple(row[axis] for axis in axes) for row in claim["specifications"]]
        assert len(set(rows)) == len(rows) == np.prod([len(values) for values in axes.values()])
        decided = [row for row in claim["specifications"] if row["holds"] is not None]
        assert (claim["of"], claim["undecided"]) == (len(decided), len(rows) - len(decided))
        assert claim["holds"] == sum(row["state"] == claim["state"] for row in decided)
        assert f"{claim['holds']} of {claim['of']}" in report["multiverse"]["sentence"]


def test_options_that_change_nothing_are_left_out_and_named(rich):
    report = rich
    whole = claims(report)["all"]

    named = {entry["option"]: entry["because"] for entry in whole["left_out"]}
    assert named["with_excluded"] == "changes nothing here"
    assert named["persona"] == "too few"
    assert "half" in whole["axes"]["ties"]
    assert all(not set(values) & named.keys() for values in whole["axes"].values() if values)


@pytest.mark.nightly
def test_missing_answers_that_count_as_wrong_turn_the_headline():
    report = report_of(close_study(), seed=7)

    whole = claims(report)["all"]
    states = {(row["unit"], row["exclusions"]): row["state"] for row in whole["specifications"]}
    assert report["headline"]["state"] == "cannot_tell"
    for unit in ("general", "item"):
        assert states[unit, "as_reported"] == "cannot_tell"
        assert states[unit, "missing_wrong"] == "worse"
    texts = [limit["text"] for limit in report["limitations"]]
    of = f"depends on choices: it has the same result in {whole['holds']} of {whole['of']}"
    assert whole["holds"] < whole["of"]
    assert any(of in text for text in texts)
    assert any("Some runs lack answers to many items" in text for text in texts)


@pytest.mark.nightly
def test_people_who_were_excluded_are_counted_in_one_option_alone():
    study = random_study(82, n_items=80, n_raters=16, truths=("r1", "r2"), per_item=(3,))
    before = computed(study, "choices", seed=7, bootstrap=100)
    person = Annotator.objects.filter(study=study).order_by("pseudonym").last()
    person.excluded_at, person.exclusion_reason = timezone.now(), "hasty"
    person.save()

    after = computed(study, "choices", seed=7, bootstrap=100)

    whole = claims(after)["all"]
    with_them = [row for row in whole["specifications"] if row["exclusions"] == "with_excluded"]
    first = next(row for row in with_them if row["ties"] == "exclude" and row["unit"] == "item")
    same = next(entry for entry in before["comparison"] if entry["run"] == whole["run"])
    assert first["difference"] == pytest.approx(same["difference_general"]["value"])
    assert after["inputs"]["annotations"] < before["inputs"]["annotations"]


def test_the_hasty_and_the_one_sided_are_known_by_pace_and_side():
    n = 12
    rater = np.repeat([0, 1, 2, 3], n)
    seconds = np.repeat([20.0, 21.0, 5.0, 19.0], n)
    choice = np.tile([0, 1], 2 * n).astype(np.int8)
    # The last person always takes the response that is shown first.
    shown_first = np.concatenate([np.tile([0, 0, 1, 1], 9), choice[36:]]).astype(np.int8)
    unknown = np.full(4 * n, 50.0)
    answers = Answers(np.arange(4 * n), rater, choice, unknown, shown_first, seconds, unknown)

    assert hasty_or_one_sided(answers, 4).tolist() == [False, False, True, True]


def test_without_a_comparison_there_is_nothing_to_try():
    study = make_study()
    answer(make_rater(study=study), make_item(study=study), "r1")

    report = report_of(study, seed=7)

    assert report["multiverse"]["claims"] == []
    assert report["multiverse"]["sentence_reason"] == "nothing_compared"
    assert "multiverse" not in all_tables(report)
    assert "multiverse" not in all_figures(report)


def test_table_and_figure_show_every_specification(rich):
    report = rich
    n = sum(len(claim["specifications"]) for claim in report["multiverse"]["claims"])

    table, figure = all_tables(report)["multiverse"], all_figures(report)["multiverse"]

    assert len(table.rows) == n
    _, _, left_out = table.note.partition("Left out for all items: ")
    assert "with excluded people" in left_out
    for panel, claim in zip(figure.panels, report["multiverse"]["claims"], strict=True):
        curve = panel.drawing["data"][:2]
        assert sum(len(trace["x"]) for trace in curve) == claim["of"]
        assert f"{claim['holds']} agree with the headline" in panel.alt
