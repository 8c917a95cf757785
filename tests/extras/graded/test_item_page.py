"""Grades at the page of an item: stored with the choice, kept as a draft, revised, forgotten."""

import re

import pytest
from django.core import signing

from annotation import services
from annotation.models import Annotation, Annotator, Assignment, Draft
from annotation.services import answers
from extras.graded.asking import asked_in
from extras.graded.models import Grades
from extras.graded.setup import set_questions
from studies.models import Item, Study
from studies.services.studies import freeze
from tests.annotation.pages.test_drafts import save
from tests.annotation.pages.walking import item_page, post_answer, start
from tests.extras.graded.answering import ALL, ENTERED, NOTHING, make_graded_study
from tests.factories import make_item

pytestmark = pytest.mark.django_db


@pytest.fixture
def study():
    return make_graded_study()


@pytest.fixture
def client(study):
    return start(study)


def first_page(client, study):
    return client.get(f"/s/{study.slug}/task/1/")


def shown_as(page):
    """What the page has filled in, by field."""
    text = page.content.decode()
    radios = re.findall(r'type="radio" name="(\w+)" value="(\w+)" [^>]*checked', text)
    return dict(radios) | {"reason": re.search(r'name="reason"[^>]*value="([^"]*)"', text)[1]}


@pytest.mark.parametrize("shown_first", ["r1", "r2"])
def test_grades_are_stored_with_the_answer_in_content_terms(client, study, shown_first):
    Assignment.objects.update(shown_first=shown_first)

    answered = post_answer(client, first_page(client, study), **ENTERED)

    assert answered.status_code == 303
    answer, grades = Annotation.objects.get(), Grades.objects.get()
    assert (grades.answer, grades.revision, grades.strength) == (answer, 1, 2)
    scores = (4, 1) if shown_first == "r1" else (1, 4)
    assert (grades.score_1, grades.score_2) == scores
    assert grades.criteria == {"clear": shown_first, "kind": "tie"}
    assert shown_as(first_page(client, study)) == ENTERED | {"choice": "a"}


def test_whatever_is_missing_is_named_and_nothing_is_stored(client, study):
    page = post_answer(client, first_page(client, study), certainty="")

    text = page.content.decode()
    assert (page.status_code, Annotation.objects.count(), Grades.objects.count()) == (422, 0, 0)
    links = re.findall(r'<li><a href="#([\w-]+)">', text)
    assert links == [
        "strength-1", "score_a-1", "score_b-1", "criterion_1-a", "criterion_2-a", "reason",
        "certainty",
    ]  # fmt: skip
    assert all(f'id="{target}"' in text for target in links)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("strength", "4"), ("score_a", "6"), ("score_b", "0"), ("score_b", "1.5"),
        ("criterion_1", "r1"), ("reason", "x" * 301), ("reason", " \n "),
    ],
)  # fmt: skip
def test_what_the_page_does_not_offer_is_refused(client, study, field, value):
    page = post_answer(client, first_page(client, study), **ENTERED | {field: value})

    assert (page.status_code, Annotation.objects.count()) == (422, 0)


def test_a_tie_needs_no_strength(client):
    study = make_graded_study(allow_tie=True)
    client = start(study)

    post_answer(client, item_page(client, study), choice="tie", **ENTERED | {"strength": ""})

    assert Grades.objects.get().strength is None


def test_a_change_of_grades_is_a_revision_and_a_repeat_is_not(client, study):
    page = first_page(client, study)
    post_answer(client, page, **ENTERED)
    post_answer(client, page, **ENTERED)
    assert Annotation.objects.get().revision == 1

    post_answer(client, page, **ENTERED | {"score_a": "5"})

    answer = Annotation.objects.get()
    assert (answer.revision, answer.revisions.count()) == (2, 2)
    assert list(Grades.objects.values_list("revision", "score_1", "score_2")) in (
        [(1, 4, 1), (2, 5, 1)],
        [(1, 1, 4), (2, 1, 5)],
    )
    assert shown_as(first_page(client, study))["score_a"] == "5"


def test_an_answer_and_its_grades_are_stored_together_or_not_at_all(client, study, monkeypatch):
    monkeypatch.setattr(Grades.objects, "create", lambda **_: 1 / 0)

    with pytest.raises(ZeroDivisionError):
        post_answer(client, first_page(client, study), **ENTERED)

    assert not Annotation.objects.exists()


def test_half_of_the_input_is_kept_as_a_draft_for_another_tab_and_device(client, study):
    page = first_page(client, study)

    saved = save(client, page, choice="b", score_a="3", criterion_2="b", reason="Half a sen")
    late = save(client, page, choice="a", score_a="1")

    assert (saved.status_code, late.status_code) == (200, 409)
    entered = {"score_a": "3", "criterion_2": "b", "reason": "Half a sen"}
    assert late.json().items() >= (entered | {"choice": "b", "strength": ""}).items()
    assert shown_as(first_page(client, study)) == entered | {"choice": "b"}
    post_answer(client, page, **ENTERED)
    assert not Draft.objects.exists()
    assert shown_as(first_page(client, study))["reason"] == ENTERED["reason"]


def test_a_draft_of_an_item_that_was_skipped_is_not_shown_later(client, study):
    page = first_page(client, study)
    save(client, page, reason="Half a sen")
    services.skip_item(
        annotator_id=Annotator.objects.get().pk, assignment_id=Assignment.objects.first().pk
    )

    save(client, first_page(client, study), choice="a", reason="")

    assert shown_as(first_page(client, study))["reason"] == ""


def test_items_with_advice_are_graded_after_it(client):
    study = make_graded_study(items=1)
    Item.objects.filter(study=study).delete()
    advice = {"kind": "debate", "title": "", "text": "Take the second.", "favors": "r2"}
    make_item(study=study, advice=advice)
    client = start(study)
    before = item_page(client, study)

    first = post_answer(client, before)
    after = item_page(client, study)
    missing = post_answer(client, after, after_advice="yes")
    done = post_answer(client, after, after_advice="yes", **ENTERED)

    assert "data-added" not in before.content.decode()
    assert "data-added" in after.content.decode()
    assert [each.status_code for each in (first, missing, done)] == [303, 422, 303]
    assert Grades.objects.count() == 1


def test_the_reason_of_somebody_who_withdraws_is_deleted(client, study):
    post_answer(client, first_page(client, study), **ENTERED)
    page = client.get(f"/s/{study.slug}/task/2/")
    save(client, page, reason="Half a sen")

    services.withdraw(annotator_id=Annotator.objects.get().pk)

    assert (Grades.objects.get().reason, Draft.objects.count()) == ("", 0)
    assert Annotation.objects.get().standing == "withdrawn"


def test_what_a_study_asks_is_read_once(study, django_assert_num_queries):
    nothing = make_graded_study(asked=NOTHING)
    first = [bool(asked_in(each)) for each in (study, nothing)]

    with django_assert_num_queries(0):
        again = [bool(asked_in(each)) for each in (study, nothing)]

    assert first == again == [True, False]


def test_questions_that_appear_while_somebody_answers_are_asked(client):
    study = make_graded_study(asked=NOTHING)
    client = start(study)
    page = item_page(client, study)
    assert "data-added" not in page.content.decode()
    set_questions(study_id=study.pk, wanted=ALL, user=None)

    refused = post_answer(client, page)

    assert (refused.status_code, Annotation.objects.count()) == (422, 0)
    assert "data-added" in refused.content.decode()


def test_questions_that_appear_while_the_first_answer_is_stored_are_asked(client, monkeypatch):
    study = make_graded_study(asked=NOTHING)
    client = start(study)
    page = item_page(client, study)

    def late(study_id):
        set_questions(study_id=study_id, wanted=ALL, user=None)
        freeze(study_id)

    monkeypatch.setattr(answers, "freeze", late)
    again = post_answer(client, page)
    monkeypatch.undo()

    assert (again.status_code, Annotation.objects.count()) == (303, 0)
    # Here the change was a part of the refused transaction.
    set_questions(study_id=study.pk, wanted=ALL, user=None)
    assert "data-added" in client.get(again["Location"], follow=True).content.decode()
    assert Study.objects.get(pk=study.pk).frozen_at is None
    assert post_answer(client, item_page(client, study), **ENTERED).status_code == 303
    assert Grades.objects.count() == 1


def test_somebody_elses_item_is_not_graded(client, study):
    page = first_page(client, study)
    other = start(study, "somebody-else")

    assert post_answer(other, page, **ENTERED).status_code == 404
    assert (
        post_answer(client, page, **ENTERED | {"assignment": signing.dumps("x")}).status_code == 404
    )
    assert not Grades.objects.exists()
