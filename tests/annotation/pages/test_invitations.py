"""A study that is entered by a list: editors fill it, who is on it walks the whole path."""

import pytest
from django.test import Client

from annotation.models import Annotator, Invitation
from studies.models import Study, StudyLog
from tests.factories import make_items, make_study, sign_in

pytestmark = pytest.mark.django_db


@pytest.fixture
def study() -> Study:
    study = make_study(entry=Study.Entry.LIST, items_per_annotator=2)
    make_items(study, 2)
    return study


def address(study) -> str:
    return f"/studies/{study.slug}/people/invitations/"


def test_only_people_on_the_list_can_enter(study):
    sign_in(study).post(address(study), {"ids": "anna-1, berta_2\n\nanna-1;carl"})

    invited = Client().get(f"/s/{study.slug}/?PROLIFIC_PID=berta_2")
    stranger = Client().get(f"/s/{study.slug}/?PROLIFIC_PID=dora")

    assert Invitation.objects.count() == 3
    assert (invited.status_code, stranger.status_code) == (302, 400)
    assert Annotator.objects.count() == 1


def test_the_same_ids_again_change_nothing_and_no_id_is_in_log_or_page(study):
    client = sign_in(study)
    for _ in range(2):
        client.post(address(study), {"ids": "secret-id"})

    page = client.get(address(study)).content.decode()

    assert Invitation.objects.count() == 1
    (row,) = StudyLog.objects.filter(event="people invited")
    assert "secret-id" not in f"{row.detail}{page}"


@pytest.mark.parametrize(
    ("ids", "message"),
    [("", "at least one"), ("good <script>", "number 2"), ("x" * 65, "number 1")],
)
def test_a_list_with_one_fault_is_refused_entirely(study, ids, message):
    response = sign_in(study).post(address(study), {"ids": ids})

    assert response.status_code == 422
    assert message in response.content.decode()
    assert "<script>" not in response.content.decode().split("<textarea")[1].split("</textarea")[0]
    assert Invitation.objects.count() == 0


def test_only_a_study_with_a_list_has_the_page(study):
    editor = sign_in(study)

    people = editor.get(f"/studies/{study.slug}/people/").content.decode()
    Study.objects.update(entry=Study.Entry.PROLIFIC)

    assert address(study) in people
    assert editor.get(address(study)).status_code == 404


def test_the_page_takes_few_queries_however_long_the_list(study, django_assert_max_num_queries):
    client = sign_in(study)
    client.post(address(study), {"ids": " ".join(f"id{n}" for n in range(50))})

    with django_assert_max_num_queries(12):
        client.get(address(study))
