"""Items, answers, annotators, quota groups and places are one sum, on every page of it."""

import pytest

from annotation.models import QuotaGroup
from annotation.seats.quotas import Quota, QuotaQuestion, set_quotas
from studies.models import Membership, Study
from studies.services.items import seat_items
from tests.factories import make_items, make_study, sign_in, walk_in

pytestmark = pytest.mark.django_db
PLACES = "/studies/one/people/places/"
GENDER = QuotaQuestion("gender", "Gender?", {"woman": "Woman", "man": "Man"})
SUM = {"items": 30, "annotations_per_item": 2, "items_per_annotator": 15, "people": 4, "do": "sum"}


@pytest.fixture
def study():
    study = make_study(slug="one", state="draft", items_per_annotator=15, annotations_per_item=2)
    make_items(study, 30)
    seat_items(study)
    groups = [Quota(1, {"gender": "woman"}), Quota(3, {"gender": "man"})]
    set_quotas(study_id=study.pk, questions=[GENDER], groups=groups)
    return study


def save(editor, study, **numbers) -> str:
    study.refresh_from_db()
    page = editor.post(PLACES, {**SUM, "version": study.version, **numbers}, follow=True)
    return page.text


def targets() -> list[int]:
    return sorted(QuotaGroup.objects.values_list("target", flat=True))


def test_one_number_changes_the_others_and_the_quota_follows(study):
    editor = sign_in(study, role=Membership.Role.EDITOR)

    page = save(editor, study, annotations_per_item=4)
    assert "30 items × 4 answers = 120 answers, from 8 annotators" in page
    assert targets() == [2, 6]

    page = save(editor, study, annotations_per_item=4, people=4)
    assert "15 items × 4 answers = 60 answers, from 4 annotators" in page
    assert targets() == [1, 3]
    assert Study.objects.get().human_sample == 15

    page = save(editor, study, items=30, annotations_per_item=2, people=400)
    assert "4 annotators" in page  # items were typed, so annotators follow


def test_impossible_numbers_are_refused_with_what_was_typed(study):
    editor = sign_in(study, role=Membership.Role.EDITOR)

    page = save(editor, study, people=400)

    assert "These numbers need 3,000 items, and the study has 30" in page
    assert 'value="400"' in page
    assert targets() == [1, 3]
    assert "Enter whole numbers" in save(editor, study, items="many")


def test_a_quota_of_another_size_and_one_that_people_have_entered_stay(study):
    QuotaGroup.objects.filter(target=3).update(target=5)
    editor = sign_in(study, role=Membership.Role.EDITOR)

    page = save(editor, study, annotations_per_item=4)

    assert targets() == [1, 5]
    assert "The quota groups have 6 places" in page
    Study.objects.update(state="open")
    walk_in(Study.objects.get(), gender="woman")
    assert "Save numbers" not in editor.get(PLACES).text


def test_of_a_study_under_way_the_launch_page_counts_what_nobody_has_taken(study):
    editor = sign_in(study, role=Membership.Role.EDITOR)
    before = " ".join(editor.get("/studies/one/launch/").text.split())
    Study.objects.update(state="open")
    walk_in(Study.objects.get(), gender="woman")

    page = " ".join(editor.get("/studies/one/launch/").text.split())

    assert "this takes <strong>4 annotators</strong>; the quota groups have 4 places" in before
    assert (
        "the 45 that nobody has taken need <strong>3 annotators</strong>; the quota groups have 3 "
        "open places"
    ) in page
