"""The researcher's page of one annotator, exclusion from the analysis, and flags in the list."""

import csv
import io

import pytest
from django.test import Client
from django.urls import reverse

from annotation import services
from annotation.models import Annotation, Annotator
from studies.models import Membership, Study
from tests.factories import (
    answer_all,
    answer_item,
    make_item,
    make_items,
    make_study,
    sign_in,
    take_part,
    walk_in,
)

pytestmark = pytest.mark.django_db

ATTACK = "<script>alert(1)</script>"


@pytest.fixture
def study() -> Study:
    study = make_study(items_per_annotator=10, annotations_per_item=2, reward=450)
    make_items(study, 10)
    return study


@pytest.fixture
def done(study) -> Annotator:
    return take_part(study)


@pytest.fixture
def editor(study) -> Client:
    return sign_in(study)


def address(annotator) -> str:
    return f"{reverse('people:person', args=[annotator.study.slug])}?rater={annotator.pseudonym}"


def seats_taken(study) -> int:
    return sum(study.all_items.values_list("seats_taken", flat=True))


def test_only_people_of_the_study_are_seen_and_only_by_its_members(study, done, editor, client):
    other = sign_in(make_study(), "owner")

    assert client.get(address(done)).status_code == 302
    assert other.get(address(done)).status_code == 404
    assert editor.get(reverse("people:person", args=[study.slug])).status_code == 404
    assert editor.get(address(done)).status_code == 200


def test_viewers_read_and_change_nothing(study, done):
    viewer = sign_in(study, "viewer")

    page = viewer.get(address(done)).content.decode()

    assert "Exclude from analysis" not in page
    assert viewer.post(address(done), {"reason": "x", "exclude": ""}).status_code == 404
    done.refresh_from_db()
    assert done.excluded_at is None


def test_an_exclusion_needs_a_reason(done, editor):
    response = editor.post(address(done), {"reason": "  ", "exclude": ""})

    assert response.status_code == 422
    assert "Enter the reason" in response.content.decode()
    done.refresh_from_db()
    assert done.excluded_at is None


def test_seats_stay_filled_unless_the_box_is_ticked(study, done, editor):
    page = editor.get(address(done)).content.decode()
    assert "Reopen their 10 seats" in page
    assert "about 1 more annotator and costs $4.50" in page

    editor.post(address(done), {"reason": "slept", "exclude": ""})
    kept = seats_taken(study)
    excluded = editor.get(address(done)).content.decode()
    editor.post(address(done), {"include": ""})
    editor.post(address(done), {"reason": "slept", "reopen": "on", "exclude": ""})

    done.refresh_from_db()
    assert (kept, seats_taken(study)) == (10, 0)
    assert "Reason: slept" in excluded
    assert done.exclusion_reason == "slept"
    events = list(
        done.events.filter(event__in=["excluded", "included"]).values_list("user", "event")
    )
    user = Membership.objects.get(study=study).user_id
    assert events == [(user, "excluded"), (user, "included"), (user, "excluded")]


def test_seats_of_somebody_at_work_are_neither_offered_nor_reopened(study, editor):
    working = walk_in(study)

    page = editor.get(address(working)).content.decode()
    response = editor.post(address(working), {"reason": "x", "reopen": "on", "exclude": ""})

    assert "Reopen their" not in page
    assert response.status_code == 422
    assert "while this annotator is working" in response.content.decode()
    assert seats_taken(study) == 10


def test_the_table_shows_each_answer_against_those_of_the_others(study, done, editor):
    other = walk_in(study)
    answer_all(other, choice="r2", certainty=33)
    make_item(study=study, split="attention_check", check_answer="r2")

    page = editor.get(address(done)).content.decode()

    assert page.count("r2: 1") == 10
    assert page.count(">70</td>") == 10
    assert "Counted" in page


def test_answers_of_people_who_withdrew_are_not_shown(study, done, editor):
    services.withdraw(annotator_id=done.pk)

    page = editor.get(address(done)).content.decode()

    assert ">r1</td>" not in page
    assert ">70</td>" not in page


def test_imported_raters_with_any_name_have_a_page(study, editor):
    rater = f"a/b?c=ä&{ATTACK} 100%"
    Annotator.objects.create(study=study, pseudonym=rater, is_imported=True, state="completed")

    people = editor.get(reverse("people:list", args=[study.slug])).content.decode()
    link = people.split('<th scope="row"><a href="')[1].split('"')[0]
    page = editor.get(link).content.decode()

    assert ATTACK not in people + page
    assert "a/b?c=ä&amp;&lt;script&gt;" in page


def test_what_people_wrote_is_shown_as_text(study, done, editor):
    Annotator.objects.filter(pk=done.pk).update(feedback=ATTACK, exclusion_reason=ATTACK)

    page = editor.get(address(done)).content.decode()

    assert ATTACK not in page
    assert "&lt;script&gt;" in page


def test_the_page_costs_the_same_queries_however_many_answers(
    study, done, editor, django_assert_max_num_queries
):
    other = walk_in(study)
    answer_all(other)

    with django_assert_max_num_queries(23):
        editor.get(address(done))


def test_the_list_can_be_narrowed_to_flags(study, done, editor):
    careful = walk_in(study)
    for number, assignment in enumerate(careful.assignments.all()):
        answer_item(
            assignment,
            choice=assignment.as_content("ab"[number % 2]),
            certainty=10 + 7 * number,
        )
    for number, answer in enumerate(Annotation.objects.all()):
        answer.elapsed_ms = answer.active_ms = 60_000 + 20_000 * (number % 4)
        answer.save(update_fields=["elapsed_ms", "active_ms"])
    url = reverse("people:list", args=[study.slug])

    def found(**query):
        text = editor.get(url, query | {"format": "csv"}).content.decode()
        return {row["rater_id"]: row["flags"] for row in csv.DictReader(io.StringIO(text))}

    assert found(flag="flat_certainty") == {done.pseudonym: "flat_certainty"}
    assert found(flag="any", state="completed") == {done.pseudonym: "flat_certainty"}
    assert found(flag="speed") == {}
    assert found(flag="unknown") == {done.pseudonym: "flat_certainty", careful.pseudonym: ""}
    html = editor.get(url, {"flag": "flat_certainty"}).content.decode()
    assert "Always the same certainty</td>" in html
    assert 'href="?flag=flat_certainty&amp;format=csv"' in html
