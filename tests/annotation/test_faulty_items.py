"""A faulty item leaves the analysis: answers, seats and pay stay right, and it can return."""

import json

import pytest
from django.core.management import CommandError, call_command
from django.urls import reverse

from analysis.data.dataset import load_dataset
from annotation import services
from annotation.content.consent_versions import promised
from annotation.errors import ItemError
from annotation.models import Annotation, Annotator, Assignment
from annotation.seats.capacity import forecast_of
from annotation.seats.quotas import Quota, QuotaQuestion, set_quotas
from annotation.services.faulty_items import put_back, take_out
from studies.models import Item, Study
from tests.factories import (
    answer_all,
    answer_item,
    finish,
    make_items,
    make_study,
    sign_in,
    walk_in,
)
from tests.invariants import broken_invariants

pytestmark = pytest.mark.django_db


@pytest.fixture
def study() -> Study:
    study = make_study(items_per_annotator=4, annotations_per_item=2, reward=450)
    make_items(study, 4)
    return study


def faults() -> list[str]:
    """What doctor finds wrong with seats, answers and groups."""
    return broken_invariants("item-counters", "seats", "seat-holders", "group-counters", "answers")


def out(study: Study, item: Item, reason: str = "Both responses are equal.") -> Item:
    return take_out(study_id=study.pk, key=item.key, reason=reason)


def answer_one(annotator: Annotator, item: Item) -> Annotation:
    seat = annotator.assignments.get(item=item)
    return answer_item(seat)


def test_people_in_mid_work_are_not_asked_and_are_paid_in_full(study):
    first, second = walk_in(study), walk_in(study)
    item = first.assignments.get(position=2).item
    answer_one(first, item)

    out(study, item)

    answer_all(first)
    for assignment in second.assignments.exclude(item=item):
        answer_one(second, assignment.item)
    assert services.complete(annotator_id=first.pk).state == "completed"
    assert services.complete(annotator_id=second.pk).quota == second.quota
    ((pay, people),) = promised([study])[study.pk].items()
    assert (pay.reward, people) == (450, 2)
    item.refresh_from_db()
    assert (item.seats_taken, item.answered) == (1, 1)
    assert Annotation.objects.get(assignment__item=item).standing == "counted"
    data = load_dataset(study.slug)
    assert len(data.items) == 3
    assert len(data.answers) == 6
    assert [(each.item, each.answers) for each in data.left_out] == [(item.key, 1)]
    assert faults() == []


def test_a_page_that_was_open_still_stores_its_answer(study):
    """As surplus, which takes the seat when the item returns."""
    annotator = walk_in(study)
    item = annotator.assignments.get(position=1).item
    answer_one(annotator, annotator.assignments.get(position=2).item)
    out(study, item)

    assert answer_one(annotator, item).standing == "surplus"
    assert faults() == []

    finish(annotator)
    put_back(study_id=study.pk, key=item.key)
    assert Annotation.objects.get(assignment__item=item).standing == "counted"
    assert faults() == []


def test_an_item_that_returns_is_asked_again_and_a_second_press_changes_nothing(study):
    here, gone = walk_in(study), walk_in(study)
    item = here.assignments.get(position=4).item
    answer_one(here, here.assignments.get(position=1).item)
    services.mark_returned(annotator_id=gone.pk)
    out(study, item)
    services.resume(annotator_id=gone.pk)
    assert not gone.assignments.filter(item=item, state="reserved").exists()
    out(study, item, "A second press.")
    before = forecast_of(study).open

    put_back(study_id=study.pk, key=item.key)
    put_back(study_id=study.pk, key=item.key)

    assert here.assignments.get(item=item).state == Assignment.State.RESERVED
    assert gone.assignments.get(item=item).state == Assignment.State.RESERVED
    item.refresh_from_db()
    assert (item.split, item.left_out_reason, item.seats_taken) == ("main", "", 2)
    assert forecast_of(study).open == before == 0
    assert study.log.filter(event="item taken out").count() == 1
    assert study.log.filter(event="item put back").count() == 1
    assert faults() == []


def test_who_withdraws_meanwhile_gives_back_the_seat_of_their_answer(study):
    annotator = walk_in(study)
    item = annotator.assignments.get(position=1).item
    answer_one(annotator, item)
    out(study, item)

    services.withdraw(annotator_id=annotator.pk)

    item.refresh_from_db()
    assert (item.seats_taken, item.answered) == (0, 0)
    put_back(study_id=study.pk, key=item.key)
    assert walk_in(study).assignments.filter(item=item, is_surplus=False).exists()
    assert faults() == []


def test_newcomers_do_not_get_it_and_a_sample_keeps_its_size():
    study = make_study(items_per_annotator=3, annotations_per_item=1, human_sample=3)
    items = make_items(study, 8, seats_needed=0)
    for item in items[:3]:
        Item.objects.filter(pk=item.pk).update(seats_needed=1)
    annotator = walk_in(study)
    item = annotator.assignments.get(position=1).item
    answer_one(annotator, item)

    out(study, item)

    assert Item.objects.filter(study=study, seats_needed=1).count() == 3
    newcomer = walk_in(study)
    assert not newcomer.assignments.filter(item=item).exists()
    assert newcomer.assignments.filter(is_surplus=False).count() == 1
    assert faults() == []


def test_it_supersedes_reports(study, tmp_path):
    for _ in range(2):
        answer_all(annotator := walk_in(study))
        services.complete(annotator_id=annotator.pk)
    call_command("report", study.slug, out=str(tmp_path), bootstrap=100)
    asked_at = study.log.get(event="report written").created_at
    assert asked_at.timestamp() < (tmp_path / "report.json").stat().st_mtime
    item = Item.objects.filter(study=study).first()

    out(study, item)

    call_command("report", study.slug, out=str(tmp_path), bootstrap=100)
    found = json.loads((tmp_path / "report.json").read_text())
    ((left_out),) = found["items_left_out"]
    assert left_out["reason"] == "Both responses are equal."
    assert left_out["after_report"]
    assert "Both responses are equal." in (tmp_path / "report.html").read_text()


@pytest.mark.parametrize(
    ("key", "reason", "words"),
    [("item", " ", "State the reason"), ("nope", "Faulty.", "has no item “nope”")],
)
def test_what_cannot_be_done_is_refused_with_what_and_how(study, key, reason, words):
    answer_all(walk_in(study))
    key = Item.objects.first().key if key == "item" else key

    with pytest.raises(ItemError, match=words):
        take_out(study_id=study.pk, key=key, reason=reason)


def test_before_anybody_has_it_an_item_is_corrected_in_place(study):
    with pytest.raises(ItemError, match="Nobody has this item yet"):
        out(study, Item.objects.first())


def test_a_corrected_item_follows_the_faulty_one_by_reference(study, tmp_path):
    answer_all(walk_in(study))
    item = Item.objects.filter(study=study).first()
    row = {
        "id": "corrected-1",
        "persona": {"id": "p", "text": "Somebody who cycles."},
        "question": "A corrected question?",
        "responses": [{"key": "r1", "text": "Yes"}, {"key": "r2", "text": "No"}],
        "replaces": item.key,
    }
    path = tmp_path / "corrected.jsonl"
    path.write_text(json.dumps(row))
    client = sign_in(study)
    page = f"{reverse('people:faulty-items', args=[study.slug])}?item={item.key}"

    with pytest.raises(Exception, match="still counts"):
        call_command("import_items", study.slug, str(path))
    assert client.post(page, {"reason": ""}).status_code == 422
    assert client.post(page, {"reason": "A typing error."}).status_code == 302
    call_command("import_items", study.slug, str(path))

    shown = client.get(page).content.decode()
    assert "corrected-1" in shown
    refused = client.post(page, {"back": ""})
    assert refused.status_code == 422
    assert "corrected item “corrected-1” counts" in refused.content.decode()
    call_command("export", study.slug, what="items", format="jsonl", out=tmp_path / "x.jsonl")
    rows = [json.loads(line) for line in (tmp_path / "x.jsonl").read_text().splitlines()]
    by_id = {each["id"]: each for each in rows}
    assert by_id["corrected-1"]["replaces"] == item.key
    assert by_id[item.key]["split"] == "left_out"
    call_command("export", study.slug, what="annotations", format="csv", out=tmp_path / "a.csv")
    answers = (tmp_path / "a.csv").read_text().splitlines()
    assert sum(item.key in line and ",true," in line for line in answers) == 1


def test_full_groups_stay_full_and_people_beyond_them_take_what_opens():
    study = make_study(items_per_annotator=4, annotations_per_item=2)
    items = make_items(study, 4)
    gender = QuotaQuestion("gender", "Gender?", {"woman": "Woman", "man": "Man"})
    groups = [Quota(1, {"gender": "woman"}), Quota(1, {"gender": "man"})]
    set_quotas(study_id=study.pk, questions=[gender], groups=groups)
    man, woman = walk_in(study, gender="man"), walk_in(study, gender="woman")
    beyond = walk_in(study, gender="woman")
    finish(man)

    out(study, items[0])
    answer_all(woman)
    answer_all(beyond)
    services.complete(annotator_id=woman.pk)
    services.complete(annotator_id=beyond.pk)

    assert forecast_of(study).open == 0
    assert [(g.reserved, g.completed) for g in study.quota_groups.all()] == [(0, 1), (0, 1)]
    assert faults() == []
    put_back(study_id=study.pk, key=items[0].key)
    services.withdraw(annotator_id=woman.pk)
    assert forecast_of(study).open == 0
    assert Annotation.objects.filter(standing="counted").count() == 8
    assert [(g.reserved, g.completed) for g in study.quota_groups.all()] == [(0, 1), (0, 1)]
    assert faults() == []


def test_the_command_takes_an_item_out_and_puts_it_back(study, capsys):
    person = walk_in(study)
    key = person.assignments.first().item.key

    call_command("leave_out", study.slug, item=key, reason="Equal responses.")
    assert "is out of the analysis. It has 0 answers." in capsys.readouterr().out
    item = Item.everything.get(study=study, key=key)
    assert (item.split, item.left_out_reason) == ("left_out", "Equal responses.")
    call_command("leave_out", study.slug, item=key, undo=True)

    assert Item.objects.filter(study=study, key=key).exists()
    with pytest.raises(CommandError, match="has no item “nope”") as refused:
        call_command("leave_out", study.slug, item="nope", reason="x")
    assert refused.value.returncode == 2
    with pytest.raises(CommandError, match="Give --reason"):
        call_command("leave_out", study.slug, item=key)
