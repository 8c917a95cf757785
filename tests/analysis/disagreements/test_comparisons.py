"""Which list an item belongs to, how the lists are counted, and when they are counted again."""

from datetime import timedelta

import pytest
from django.utils import timezone

from analysis.data import item_comparisons
from analysis.disagreements import comparisons
from analysis.disagreements.comparisons import comparison_for, delete_unused, stored_for
from analysis.disagreements.selection import (
    LISTINGS,
    Selection,
    cells,
    listed,
    page_of,
    rows_of,
    scatter_of,
    sizes,
)
from analysis.models import ComparedItem, Comparison
from annotation.models import Annotator
from tests.analysis.builders import answer, judge_item, make_rater, make_run
from tests.factories import make_item, make_persona, make_study, stored_at_once

pytestmark = pytest.mark.django_db


@pytest.fixture
def study():
    return make_study(slug="one", certainty_threshold=80)


@pytest.fixture
def run(study):
    return make_run(study=study)


@pytest.fixture
def raters(study):
    return [make_rater(study=study) for _ in range(3)]


@stored_at_once()
def judged(run, raters, key, given, verdict, *, certainty=60, stated=70, **item):
    """An item whose own answer is r1, answered and judged; `given` is like "112t"."""
    made = make_item(study=run.study, key=key, **{"first_person": "r1"} | item)
    choices = {"1": "r1", "2": "r2", "t": "tie"}
    for rater, choice in zip(raters, given, strict=False):
        answer(rater, made, choices[choice], certainty)
    if verdict:
        judge_item(run, made, verdict, stated)
    else:
        judge_item(run, made, state="refused")
    return made


def compared(run, **chosen):
    """The keys of a list."""
    comparison = comparison_for(run.study, run.pk)
    return [row.key for row in rows_of(comparison, Selection(**chosen))]


def test_each_list_has_its_items_and_their_number(study, run, raters):
    judged(run, raters, "agree", "111", "r1")
    judged(run, raters, "judge wrong", "112", "r2", stated=80)
    judged(run, raters, "annotators wrong", "222", "r1")
    judged(run, raters, "both wrong", "222", "r2", stated=79)
    judged(run, raters, "tied", "12", "r2")
    judged(run, raters, "refused", "111", "")
    judged(run, raters, "no truth", "111", "r2", stated=99, first_person="")
    judged(run, raters, "nobody", "", "r1")
    expected = {
        "all": {
            *("agree", "judge wrong", "annotators wrong", "both wrong"),
            *("tied", "refused", "no truth", "nobody"),
        },
        "disagree": {"judge wrong", "annotators wrong", "no truth"},
        "judge-wrong": {"judge wrong"},
        "annotators-wrong": {"annotators wrong"},
        "both-wrong": {"both wrong"},
        "certain-wrong": {"judge wrong"},
        "split": {"judge wrong", "tied"},
        "no-verdict": {"refused"},
    }

    found = {name: set(compared(run, show=name)) for name in LISTINGS}

    assert found == expected
    counted = sizes(cells(comparison_for(study, run.pk), Selection()))
    assert counted == {name: len(keys) for name, keys in expected.items()}


def test_items_are_filtered_by_topic_source_and_persona(study, run, raters):
    old = make_persona(
        study=study, features=[{"key": "age", "label": "Age", "value": "60", "text": "Old."}]
    )
    by_gpt = {"text": "x", "generated_by": {"kind": "model", "name": "gpt"}}
    judged(run, raters, "a", "1", "r2", topic="food", r2=by_gpt)
    judged(run, raters, "b", "1", "r2", topic="work", r1=by_gpt)
    judged(run, raters, "c", "1", "r2", topic="food", persona=old)

    assert compared(run, topic="food") == ["a", "c"]
    assert compared(run, source="gpt") == ["a", "b"]
    assert compared(run, feature="age=60") == ["c"]
    assert compared(run, feature="sex=Female", topic="food") == ["a"]
    assert compared(run, feature="nonsense") == []
    choices = comparison_for(study, run.pk).choices
    assert (choices["topics"], choices["sources"]) == (["food", "work"], ["gpt"])
    assert choices["features"][0] == {"key": "age", "label": "Age", "values": ["35-44", "60"]}


def test_a_range_takes_a_fraction_to_the_whole_number_above_it(study, run, raters):
    item = judged(run, [], "a", "", "r2", stated=81)
    answer(raters[0], item, "r1", 20)
    answer(raters[1], item, "r1", 21)  # 20.5 on average
    judged(run, raters, "b", "1", "r2", certainty=20, stated=None)

    assert compared(run, people_to=20) == ["b"]
    assert compared(run, people_from=21) == ["a"]
    assert compared(run, judge_from=81, judge_to=81) == ["a"]
    assert compared(run, judge_to=80) == []


def test_the_drawing_counts_items_by_steps_of_five(study, run, raters):
    for n in range(4):
        judged(run, raters, f"i{n}", "1", "r1" if n else "r2", certainty=96, stated=5)
    judged(run, raters, "none", "1", "r1", stated=None)
    chosen = Selection(show="all", people_from=81, judge_to=20)
    found = cells(comparison_for(study, run.pk), chosen)

    scatter = scatter_of(listed(found, chosen), chosen)

    (mark,) = scatter.marks
    assert (mark.people, mark.judge, mark.items, mark.wrong) == ("96–100", "1–5", 4, 1)
    assert mark.wrong_radius == pytest.approx(mark.radius / 2, abs=0.01)
    assert (scatter.items, scatter.without) == (4, 1)
    name, row = scatter.table[-1]
    assert (name, [cell.items for cell in row], row[-1].wrong) == ("1–20", [0, 0, 0, 0, 4], 1)
    assert row[-1].is_chosen
    assert scatter_of([], chosen).marks == []


def test_pages_follow_the_keys_in_both_directions(study, run, raters):
    for n in range(7):
        judged(run, raters, f"i{n}", "1", "r2")
    rows = rows_of(comparison_for(study, run.pk), Selection())

    def page(**at):
        found, before, after = page_of(rows, **{"after": "", "before": "", "size": 3} | at)
        return [row.key for row in found], before, after

    assert page() == (["i0", "i1", "i2"], False, True)
    assert page(after="i2") == (["i3", "i4", "i5"], True, True)
    assert page(after="i5") == (["i6"], True, False)
    assert page(before="i3") == (["i0", "i1", "i2"], False, True)
    assert page(before="i6") == (["i3", "i4", "i5"], True, True)


def test_a_small_study_is_compared_again_only_after_a_change(study, run, raters):
    item = judged(run, raters, "a", "11", "r2")
    first = comparison_for(study, run.pk)

    assert comparison_for(study, run.pk).edition == first.edition == 1
    answer(raters[2], item, "r2")
    assert compared(run, show="split") == ["a"]
    Annotator.objects.filter(pk=raters[2].pk).update(
        excluded_at=timezone.now(), exclusion_reason="bot"
    )
    assert compared(run, show="split") == []
    run.judgments.update(state="refused", choice="", certainty=None)
    assert compared(run, show="no-verdict") == ["a"]
    study.certainty_threshold = 70
    study.save()
    comparison = comparison_for(study, run.pk)
    assert comparison.edition == 5
    # The edition before stays for whoever is reading it.
    assert set(ComparedItem.objects.values_list("edition", flat=True)) == {4, 5}


def test_a_large_study_is_compared_by_a_worker_which_looks_again_after_a_minute(
    study, run, raters, monkeypatch
):
    queued = []
    monkeypatch.setattr(item_comparisons, "SMALL", 0)
    monkeypatch.setattr(item_comparisons, "_CHUNK", 2)
    monkeypatch.setattr(comparisons, "queue", lambda task, pk: queued.append(pk))
    for n in range(5):
        judged(run, raters, f"i{n}", "11", "r2")

    waiting = comparison_for(study, run.pk)
    assert (waiting.edition, waiting.state, queued) == (0, "queued", [waiting.pk])
    assert comparison_for(study, run.pk).state == "queued"
    assert len(queued) == 1
    comparisons.compare_queued(comparison_id=waiting.pk)
    assert compared(run) == [f"i{n}" for n in range(5)]

    answer(raters[2], judged(run, [], "i9", "", "r2"), "r1")
    assert "i9" not in compared(run)
    Comparison.objects.update(heartbeat_at=timezone.now() - timedelta(seconds=61))
    assert "i9" not in compared(run)
    assert len(queued) == 2
    comparisons.compare_queued(comparison_id=waiting.pk)
    assert "i9" in compared(run)

    Comparison.objects.update(heartbeat_at=timezone.now() - timedelta(seconds=61))
    comparison_for(study, run.pk)
    again = comparisons.compare_queued(comparison_id=waiting.pk)
    assert (again.state, again.edition) == ("done", 2)


def test_rows_of_a_killed_worker_are_never_shown(study, run, raters, monkeypatch):
    judged(run, raters, "a", "1", "r2")
    judged(run, raters, "b", "1", "r2")
    monkeypatch.setattr(item_comparisons, "_CHUNK", 1)
    monkeypatch.setattr(comparisons, "_choices", lambda found: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        comparison_for(study, run.pk)
    assert ComparedItem.objects.count() == 2
    assert stored_for(study, run.pk).edition == 0
    monkeypatch.undo()

    assert compared(run) == ["a", "b"]
    assert ComparedItem.objects.count() == 2


def test_comparisons_that_nobody_opens_are_deleted(study, run, raters):
    judged(run, raters, "a", "1", "r2")
    compared(run)
    delete_unused()
    assert stored_for(study, run.pk)

    Comparison.objects.update(heartbeat_at=timezone.now() - timedelta(days=15))
    delete_unused()

    assert not ComparedItem.objects.exists()
    assert compared(run) == ["a"]


def test_without_a_judge_annotators_are_listed(study, raters):
    item = make_item(study=study, key="a", first_person="r1")
    with stored_at_once():
        for rater, choice in zip(raters, ("r1", "r2", "r2"), strict=True):
            answer(rater, item, choice)

    comparison = comparison_for(study, None)

    assert [row.people for row in rows_of(comparison, Selection(show="split"))] == ["r2"]


def test_what_an_address_means():
    read = Selection.read

    assert read({}) == Selection()
    assert read({"show": "split", "people_from": "20", "judge_to": "101", "topic": " a\0 "}) == (
        Selection(show="split", people_from=20, topic="a")
    )
    assert read({"show": "nothing", "people_from": "x", "judge_from": "²"}) == Selection()
    chosen = Selection(show="all", feature="a=b & c", judge_from=7)
    assert chosen.query() == "show=all&feature=a%3Db+%26+c&judge_from=7"
    assert Selection(show="all").query(show="disagree") == ""
