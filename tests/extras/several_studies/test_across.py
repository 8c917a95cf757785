"""Several studies: Tables 1 and 2 of the source article, and waves apart and pooled."""

import json
from dataclasses import replace

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone

from analysis.data.arrays import Extra
from analysis.data.dataset import load_dataset
from analysis.data.pooling import pool
from analysis.errors import BadParameters
from analysis.lifecycle.several_studies import table_1, table_2
from analysis.report.build import build_report
from analysis.report.table_files import to_tex
from studies.models import Item
from tests.analysis import latex
from tests.analysis.builders import answer, judge_item, make_rater, make_run, random_study
from tests.analysis.partial import computed
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
    assert "Over One for People (no tie), steady (no tie); over Ties for" in table.note


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
    assert " alone." not in some.note
    assert all_three.cells[1][-1].text == "62.5"
    assert "Over One and Two for People (no tie), steady (no tie) alone." in all_three.note


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


def pooled(*slugs):
    return build_report(pool([load_dataset(slug) for slug in slugs]), seed=1, bootstrap=100)


@pytest.mark.nightly
def test_waves_on_the_same_items_are_pooled_item_by_item():
    waves()

    found = pooled("pilot", "main")

    assert found["study"]["title"] == "Pooled: Pilot + Main"
    human, [judge] = found["human"], found["judges"]
    assert (found["inputs"]["items"], human["annotators"], human["answers"]) == (12, 7, 84)
    assert human["coverage"] == {"7": 12}
    # The pilot judged every item first: its answers count, and no item twice.
    assert (judge["items"], judge["n"], judge["correct"]) == (12, 12, 12)
    assert judge["cost"]["requests"] == 24


def test_waves_on_different_items_are_put_one_after_the_other():
    waves(shared_items=False)

    found = pooled("pilot", "main")

    assert found["inputs"]["items"] == 24
    assert found["human"]["coverage"] == {"3": 12, "4": 12}
    assert (found["judges"][0]["n"], found["judges"][0]["correct"]) == (24, 12)


def same_people(*studies):
    """Give the people of two studies the same platform ids, in the order of their names."""
    for study in studies:
        for number, person in enumerate(study.annotators.order_by("pseudonym")):
            person.identity_hash = f"{number:064x}"
            person.save()


def test_a_person_in_several_waves_is_one_person_with_one_answer_to_an_item():
    same_people(*waves())

    found = pooled("pilot", "main")

    human = found["human"]
    assert (human["annotators"], human["coverage"]) == (4, {"4": 12})
    people = {"in_several": 3, "unknown": 0, "repeated_answers": 36}
    assert found["study"]["source"]["pooled_people"] == people
    assert sorted(row["rater"].count(" + ") for row in human["raters"]) == [0, 1, 1, 1]
    limits = {entry["limit"]: entry["text"] for entry in found["limitations"]}
    assert "36 answers to an item that the same person had answered" in limits["pooled"]


def test_people_of_waves_on_different_items_are_resampled_as_the_people_they_are():
    pilot, main = waves(shared_items=False)
    same_people(pilot, main)
    one = main.annotators.order_by("pseudonym").first()
    one.excluded_at, one.exclusion_reason = timezone.now(), "Too fast."
    one.save()

    data = pool([load_dataset("pilot"), load_dataset("main")])

    assert (len(data.raters), len(data.set_aside_raters)) == (4, 0)
    # Excluded in one of the waves only: the answers in the other one count.
    assert set(data.set_aside.rater.tolist()) == {0}


def test_where_no_id_was_stored_a_pooled_report_says_that_nobody_knows():
    _, main = waves()
    main.annotators.update(identity_hash=None)

    found = pooled("pilot", "main")

    assert found["study"]["source"]["pooled_people"]["unknown"] == 4
    assert "pooled_unknown" in {entry["limit"] for entry in found["limitations"]}


@pytest.mark.nightly
def test_pooling_a_study_with_nothing_changes_no_number():
    slug = random_study(2, n_items=60, truths=("r1", "r2", "tie", "")).slug

    alone = build_report(load_dataset(slug), seed=1, bootstrap=100)
    found = pooled(slug)

    for part in ("majority", "individual", "agreement"):
        assert found["human"][part] == alone["human"][part], part
    for one, other in zip(found["judges"], alone["judges"], strict=True):
        assert {**one, "run": "", "record": {}} == {**other, "run": "", "record": {}}


@pytest.mark.sampled(keep=1)
@pytest.mark.parametrize("change", [{"allow_tie": True}, {"certainty_threshold": 70}])
def test_studies_that_asked_something_else_are_not_pooled(change):
    pilot, main = (load_dataset(study.slug) for study in waves(**change))

    with pytest.raises(BadParameters, match="pilot and main cannot be pooled: they differ in"):
        pool([pilot, main])


def test_items_of_one_key_with_different_questions_are_not_pooled():
    pilot, main = waves()
    Item.objects.filter(study=main, key="i03").update(question="Another question")

    with pytest.raises(BadParameters, match="Item i03 differs between the studies"):
        pool([load_dataset(study.slug) for study in (pilot, main)])


@pytest.mark.nightly
def test_the_command_shows_waves_apart_and_pooled_and_says_so(tmp_path):
    waves()

    call_command("report", "pilot", "main", "--pool", "--out", str(tmp_path), "--bootstrap", "100")

    written = {path.name for path in tmp_path.iterdir()}
    assert written == {"pilot", "main", "pooled", "tables", "report.html"}
    page = (tmp_path / "report.html").read_text("utf-8")
    assert "“Pooled: Pilot + Main” counts the people of pilot and main together." in page
    whole = (tmp_path / "pooled" / "report.html").read_text("utf-8")
    assert "python manage.py report pilot main --pool --out" in whole
    result = json.loads((tmp_path / "pooled" / "report.json").read_text("utf-8"))
    assert result["study"]["source"]["pooled_from"] == ["pilot", "main"]
    rows = (tmp_path / "tables" / "table_2.csv").read_text("utf-8").splitlines()
    assert [row.split(",")[0] for row in rows[1:]] == [
        "Pilot",
        "Main",
        "Average",
        "Pooled: Pilot + Main",
    ]


def test_waves_that_cannot_be_pooled_leave_nothing_behind(tmp_path):
    waves(allow_tie=True)

    with pytest.raises(CommandError, match="cannot be pooled") as refused:
        call_command("report", "pilot", "main", "--pool", "--out", str(tmp_path / "out"))

    assert refused.value.returncode == 2
    assert not (tmp_path / "out").exists()


def test_one_study_cannot_be_pooled(tmp_path):
    with pytest.raises(CommandError, match="needs at least two studies"):
        call_command("report", "pilot", "--pool", "--out", str(tmp_path))


class _Together(Extra):
    not_pooled = "its items hang together."


def test_studies_with_a_design_that_forbids_it_are_not_pooled():
    pilot, main = (load_dataset(study.slug) for study in waves())
    other = replace(main, extras={"together": _Together()})

    with pytest.raises(BadParameters, match="main cannot be pooled: its items hang together"):
        pool([pilot, other])


# `test_article.py` has the tables of several studies by default.
@pytest.mark.sampled(keep=0)
def test_reports_for_a_paper_have_the_articles_tables_with_a_row_for_each_study(tmp_path):
    waves()

    call_command("report", "pilot", "main", "--paper", "--out", str(tmp_path), "--bootstrap", "100")

    assert 'href="article/article.html"' in (tmp_path / "report.html").read_text("utf-8")
    table = (tmp_path / "article" / "table_2.csv").read_text("utf-8")
    assert "Pilot" in table
    assert "Main" in table
