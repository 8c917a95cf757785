"""Several studies: Tables 1 and 2 of the source article, and waves apart and pooled."""

import io
import json

import pytest
from django.core.management import CommandError, call_command

from analysis.report.table_files import to_tex
from analysis.report.words import run_name
from analysis.stats.core.multiplicity import holm
from extras.report_readers.several.across import data_table, table_1, table_2, tables_across
from extras.report_readers.several.pooling import plan_pools
from studies.models import Item
from tests.analysis import latex
from tests.analysis.builders import (
    answer,
    judge_item,
    little_study,
    make_rater,
    make_run,
    random_study,
)
from tests.analysis.partial import computed
from tests.analysis.recomputed.comparing import same
from tests.analysis.test_report_details import RUNS, SIZE
from tests.analysis.test_report_numbers import built
from tests.factories import make_item, make_persona, make_study, stored_at_once

pytestmark = pytest.mark.django_db


@stored_at_once()
def study_with(*, right, of=40, judge_right=20, certainty=90, **overrides):
    """A study whose majority is right on `right` of its items, and whose judge on `judge_right`."""
    study = make_study(**overrides)
    rater = make_rater(study=study)
    setting = "tie" if study.allow_tie else "certainty"
    run = make_run(study=study, judge="steady", setting=setting)
    for number in range(of):
        item = make_item(study=study, key=f"{study.slug}-{number:03}", first_person="r1")
        answer(rater, item, "r1" if number < right else "r2", certainty)
        stated = None if study.allow_tie else certainty
        judge_item(run, item, "r1" if number < judge_right else "r2", stated)
    return study


def cells_of(study):
    """What Tables 1 and 2 read of a report."""
    return computed(study, "accuracies")


def by_rater(table):
    return {row[0]: [cell["accuracy"] for cell in row[1:]] for row in table.rows}


def test_table_1_has_raters_by_data_sets_an_unweighted_average_and_chance():
    reports = [
        cells_of(study_with(right=30, of=40, title="One")),
        cells_of(study_with(right=50, of=100, judge_right=90, title="Two")),
    ]

    table = table_1(reports)

    assert [(column.group, column.heading) for column in table.columns[1:]] == [
        ("One", "No tie"),
        ("Two", "No tie"),
        ("Average", "No tie"),
    ]
    latex.check(to_tex(table))
    assert latex.rows(to_tex(table))
    # The average of .75 and .5 is .625, though 80 of all 140 answers are right.
    assert by_rater(table) == {
        "Random": [0.5, 0.5, 0.5],
        "People": [0.75, 0.5, 0.625],
        "steady": [0.5, 0.9, 0.7],
    }


def test_table_1_keeps_answers_with_a_tie_on_offer_apart_and_chance_is_a_third():
    reports = [
        cells_of(study_with(right=30, title="One")),
        cells_of(study_with(right=20, title="Ties", allow_tie=True)),
    ]

    table = table_1(reports)

    assert by_rater(table)["Random"] == pytest.approx([1 / 2, 1 / 3] * 3)
    # Each average is over the one data set that has such an answer, and the note says so.
    assert by_rater(table)["People"] == [0.75, None, None, 0.5, 0.75, 0.5]
    assert "Over One for People (no tie), steady (no tie); over Ties for" in str(table.note)


def test_table_2_has_data_sets_by_raters_at_high_and_low_certainty():
    reports = [
        cells_of(study_with(right=30, title="One")),
        cells_of(study_with(right=10, title="Two", judge_right=40)),
    ]

    table = table_2(reports)

    assert [(column.group, column.heading) for column in table.columns[1:]] == [
        ("People", "High"),
        ("People", "Low"),
        ("steady", "High"),
        ("steady", "Low"),
    ]
    assert by_rater(table) == {
        "One": [0.75, None, 0.5, None],
        "Two": [0.25, None, 1.0, None],
        "Average": [0.5, None, 0.75, None],
    }


@pytest.mark.nightly
def test_an_average_of_small_cells_is_in_italics_and_leaves_tiny_ones_out_and_says_so():
    reports = [
        cells_of(study_with(right=6, of=12, judge_right=6, title="One")),
        cells_of(study_with(right=30, title="Two")),
        cells_of(study_with(right=8, of=8, judge_right=8, title="Tiny")),
    ]

    some, all_three = table_1(reports[:2]), table_1(reports)

    assert (some.cells[1][-1].text, some.cells[1][-1].small) == ("62.5", True)
    assert " alone." not in str(some.note)
    assert all_three.cells[1][-1].text == "62.5"
    assert "Over One and Two for People (no tie), steady (no tie) alone." in str(all_three.note)


@stored_at_once()
def waves(*, shared_items=True, **second):
    """A pilot of three people and a main study of four, on the same items."""
    studies = []
    for slug, people, overrides in (("pilot", 3, {}), ("main", 4, second)):
        study = make_study(slug=slug, title=slug.title(), **overrides)
        persona = make_persona(study=study, key="p1")
        run = make_run(study=study, judge="steady", prompt_hash="0" * 64)
        raters = [make_rater(study=study, pseudonym=f"P-{n}") for n in range(people)]
        for number in range(12):
            key = f"i{number:02}" if shared_items else f"{slug}{number:02}"
            item = make_item(
                study=study,
                key=key,
                persona=persona,
                question=f"Question {number}",
                r1={"text": "One"},
                r2={"text": "Another"},
            )
            for rater in raters:
                answer(rater, item, "r1", 60)
            judge_item(run, item, "r1" if slug == "pilot" else "r2", 70)
        studies.append(study)
    return studies


@pytest.mark.nightly
def test_the_command_shows_waves_apart_and_pooled_and_says_so(tmp_path):
    waves()

    words = ("--pool", "--paper", "--out", str(tmp_path), "--bootstrap", "100")
    call_command("report", "pilot", "main", *words)

    written = {path.name for path in tmp_path.iterdir()}
    assert written == {"pilot", "main", "pooled", "tables", "figures", "article", "report.html"}
    page = (tmp_path / "report.html").read_text("utf-8")
    assert "“Pooled: Pilot + Main” counts the people of pilot and main together." in page
    whole = (tmp_path / "pooled" / "report.html").read_text("utf-8")
    assert "python manage.py report pilot main --pool --out" in whole
    result = json.loads((tmp_path / "pooled" / "report.json").read_text("utf-8"))
    assert result["study"]["source"]["pooled_from"] == ["pilot", "main"]
    assert 'href="article/article.html"' in page
    article = (tmp_path / "article" / "table_2.csv").read_text("utf-8")
    assert "Pilot" in article
    assert "Main" in article
    first = (tmp_path / "tables" / "data_1.csv").read_text("utf-8").splitlines()
    assert first[0].startswith("Who,All accuracy")
    rows = (tmp_path / "tables" / "table_2.csv").read_text("utf-8").splitlines()
    assert [row.split(",")[0] for row in rows[1:]] == [
        "Pilot",
        "Main",
        "Average",
        "Pooled: Pilot + Main",
    ]


def test_waves_whose_items_contradict_each_other_leave_nothing_behind(tmp_path):
    waves()
    Item.objects.filter(study__slug="pilot").update(question="Another question")

    with pytest.raises(CommandError, match="cannot be pooled") as refused:
        call_command("report", "pilot", "main", "--pool", "--out", str(tmp_path / "out"))

    assert refused.value.returncode == 2
    assert not (tmp_path / "out").exists()


@pytest.mark.nightly
def test_data_sets_with_another_question_are_reported_together_and_never_pooled(tmp_path):
    waves()
    study_with(right=30, slug="other", title="Other", task="authorship")
    notes = io.StringIO()

    words = ("--pool", "--out", str(tmp_path), "--bootstrap", "100")
    call_command("report", "other", "pilot", "main", *words, stderr=notes, stdout=io.StringIO())

    said = "other is not pooled with pilot: they differ in the task and the question."
    assert said in notes.getvalue()
    page = (tmp_path / "report.html").read_text("utf-8")
    assert said in page
    assert "“Pooled: Pilot + Main” counts the people" in page
    pooled = json.loads((tmp_path / "pooled" / "report.json").read_text("utf-8"))
    assert pooled["study"]["source"]["pooled_from"] == ["pilot", "main"]
    written = {path.name for path in tmp_path.iterdir()}
    assert written == {"other", "pilot", "main", "pooled", "tables", "figures", "report.html"}
    tables = {path.stem for path in (tmp_path / "tables").glob("*.csv")}
    assert tables == {"common", "data_1", "data_2", "data_3", "table_1", "table_2", "by_band"}


def test_studies_that_asked_the_same_are_one_group_and_each_other_stays_apart():
    waves()
    study_with(right=30, slug="other", task="authorship")
    study_with(right=30, slug="ties", allow_tie=True)

    plan = plan_pools(["other", "pilot", "ties", "main"])

    assert plan.groups == [["pilot", "main"]]
    assert [sentence.partition(":")[0] for sentence in plan.not_pooled] == [
        "other is not pooled with pilot",
        "ties is not pooled with pilot",
    ]
    assert "they differ in whether a tie can be chosen" in plan.not_pooled[1]


@pytest.mark.nightly
def test_a_data_set_has_one_table_with_everybody_overall_and_by_certainty():
    report = built(random_study(1, runs=RUNS, **SIZE))

    table = data_table(report, 0)

    rows = {row[0]: row for row in table.rows}
    assert [*rows][:2] == ["People, majority", "One person"]
    for judge, versus in zip(report["judges"], report["comparison"], strict=True):
        if judge["features"] == "all":
            row = rows[run_name(judge, [j for j in report["judges"] if j["features"] == "all"])]
            assert row[1]["correct"] == judge["correct"]
            assert row[2]["n"] == judge["high"]["n"]
            assert row[4] == versus["difference_general"]["value"]
    latex.check(to_tex(table))


def test_one_study_cannot_be_pooled(tmp_path):
    with pytest.raises(CommandError, match="needs at least two studies"):
        call_command("report", "pilot", "--pool", "--out", str(tmp_path))


@pytest.mark.nightly
def test_the_tables_of_somebody_else_are_not_replaced_by_those_across_studies(tmp_path):
    slugs = [little_study(seed).slug for seed in (4, 5)]
    (tmp_path / "tables").mkdir()

    for _ in range(2):  # also not beside a report of one of the studies
        with pytest.raises(
            CommandError, match="contains tables, which this command did not create"
        ):
            call_command("report", *slugs, out=str(tmp_path), bootstrap=100)
        call_command("report", slugs[0], out=str(tmp_path / slugs[0]), bootstrap=100)


@pytest.mark.nightly
def test_of_several_studies_bands_are_adjusted_over_all_of_them():
    reports = [built(random_study(seed, runs=RUNS, **SIZE)) for seed in (1, 3)]

    (table,) = (table for table in tables_across(reports) if table.name == "by_band")

    tests = [
        versus["by_band"][band]
        for report in reports
        for versus in report["comparison"]
        if versus["features"] == "all"
        for band in ("high", "low")
    ]
    adjusted = holm([test["p"] for test in tests])
    expected = [(test["n"], p) for test, p in zip(tests, adjusted, strict=True) if test["n"]]
    assert len(expected) > 4
    assert [row[3] for row in table.rows] == [n for n, _ in expected]
    assert all(same(row[-1], p) for row, (_, p) in zip(table.rows, expected, strict=True))
