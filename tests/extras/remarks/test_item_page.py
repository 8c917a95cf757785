"""Remarks at the page of an item: kept, stored with the choice, never needed, never a way round."""

import re

import pytest

from annotation import services
from annotation.models import Annotation, Annotator, Draft
from extras.remarks.models import Remarks
from extras.remarks.setup import set_questions
from studies.errors import FrozenStudy
from tests.annotation.pages.test_drafts import save
from tests.annotation.pages.walking import item_page, post_answer, start
from tests.extras.remarks.remarking import ALL, ENTERED, make_remarking_study

pytestmark = pytest.mark.django_db


@pytest.fixture
def study():
    return make_remarking_study()


@pytest.fixture
def client(study):
    return start(study)


def entered_on(page):
    text = page.content.decode()
    flag = re.search(r'<option value="(\w*)" selected', text)
    others = re.search(r'name="others"[^>]*value="([^"]*)"', text)
    either = re.search(r'name="either"[^>]*checked', text)
    return {
        "flag": flag[1] if flag else "",
        "either": "yes" if either else "",
        "others": others[1],
    }


def first_page(client, study):
    return client.get(f"/s/{study.slug}/task/1/")


def test_remarks_are_stored_with_the_choice_and_shown_again(client, study):
    answered = post_answer(client, first_page(client, study), **ENTERED)

    assert answered.status_code == 303
    remarks = Remarks.objects.get()
    assert (remarks.flag, remarks.either, remarks.others) == ("same", True, 70)
    assert entered_on(first_page(client, study)) == ENTERED


def test_nothing_has_to_be_remarked_and_a_flag_is_no_answer(client, study):
    page = first_page(client, study)

    flagged_only = post_answer(client, page, choice="", **ENTERED)
    assert (flagged_only.status_code, Annotation.objects.count()) == (422, 0)
    assert entered_on(flagged_only) == ENTERED
    assert post_answer(client, page).status_code == 303
    remarks = Remarks.objects.get()
    assert (remarks.flag, remarks.either, remarks.others) == ("", False, None)


@pytest.mark.parametrize(
    ("field", "value"),
    [("flag", "broken"), ("others", "101"), ("others", "-1"), ("others", "2.5"), ("others", "x")],
)
def test_what_the_page_does_not_offer_is_refused_at_its_control(client, study, field, value):
    page = post_answer(client, first_page(client, study), **ENTERED | {field: value})

    assert (page.status_code, Remarks.objects.count()) == (422, 0)
    assert f'<li><a href="#{field}">' in page.content.decode()


def test_a_tie_already_accepts_both():
    study = make_remarking_study(allow_tie=True)
    client = start(study)

    post_answer(client, item_page(client, study), choice="tie", **ENTERED)

    assert Remarks.objects.get().either is None


def test_other_remarks_are_a_revision_and_the_same_are_not(client, study):
    page = first_page(client, study)
    for entered in (ENTERED, ENTERED, ENTERED | {"flag": ""}):
        post_answer(client, page, **entered)

    assert list(Remarks.objects.values_list("revision", "flag")) == [(1, "same"), (2, "")]


def test_remarks_are_kept_as_a_draft_until_the_answer(client, study):
    page = first_page(client, study)

    assert save(client, page, **ENTERED).status_code == 200

    assert entered_on(first_page(client, study)) == ENTERED
    post_answer(client, page, **ENTERED)
    assert not Draft.objects.exists()


def test_drafts_of_somebody_who_withdraws_are_deleted(client, study):
    save(client, first_page(client, study), **ENTERED)

    services.withdraw(annotator_id=Annotator.objects.get().pk)

    assert not Draft.objects.exists()


def test_a_study_asks_only_what_it_wants_and_not_otherwise_after_an_answer():
    study = make_remarking_study(asked={"either": False, "others": False})
    client = start(study)
    page = item_page(client, study)
    assert 'name="flag"' in page.content.decode()
    assert 'name="either"' not in page.content.decode()
    assert 'name="others"' not in page.content.decode()
    post_answer(client, page, flag="sense")

    with pytest.raises(FrozenStudy, match="has answers or judgments"):
        set_questions(study_id=study.pk, wanted=ALL, user=None)
