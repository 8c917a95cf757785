"""A person on the link waits without loss, and is paid whatever the models do."""

import datetime as dt
import re

import pytest
from django.test import Client
from django.urls import reverse

from annotation import services
from annotation.models import Annotator, Assignment
from extras.arena.seats import PATIENCE, arena_of
from extras.arena.setup import pause_arena
from studies.models import Item, Study
from studies.statements import clock
from tests.extras.arena.building import make_arena, opened, refill
from tests.factories import finish

pytestmark = pytest.mark.django_db(transaction=True)


def entered(study: Study) -> tuple[Client, Annotator]:
    """A browser whose person has agreed and read the instructions."""
    client, address = Client(), reverse("annotation:entry", args=[study.slug])
    start = re.search(r'name="start" value="([^"]+)"', client.get(address).text)
    client.post(address, {"start": start[1]})
    consent = client.get(reverse("annotation:consent", args=[study.slug])).text
    version = re.search(r'name="version" value="([^"]+)"', consent)
    client.post(
        reverse("annotation:consent", args=[study.slug]),
        {"consent": "yes", "version": version[1]},
    )
    return client, Annotator.objects.latest("pk")


def read_instructions(client: Client, study: Study):
    return client.post(reverse("annotation:instructions", args=[study.slug]), follow=True)


def test_who_comes_before_the_pairs_waits_on_a_page_that_returns_by_itself(llm, engine):
    arena = opened(llm)
    study = arena.study
    client, annotator = entered(study)

    page = read_instructions(client, study)
    assert "Your items are being written" in page.text
    assert page.headers["Refresh"] == "8"
    annotator.refresh_from_db()
    assert annotator.state == "qualified"

    refill(arena)
    again = client.get(reverse("annotation:practice", args=[study.slug]), follow=True)
    assert "Supper" in again.text
    assert "By small" in again.text or "By large" in again.text
    assert not re.search(r"generated_by|arena", again.text)
    annotator.refresh_from_db()
    assert annotator.assignments.count() == 2
    assert finish(annotator).state == "completed"


def test_waiting_takes_no_time_from_the_items(llm, engine):
    arena = opened(llm)
    client, annotator = entered(arena.study)
    read_instructions(client, arena.study)
    soon = clock.now() + dt.timedelta(seconds=30)
    Annotator.objects.filter(pk=annotator.pk).update(expires_at=soon, first_answer_by=soon)

    client.get(reverse("annotation:practice", args=[arena.study.slug]))

    annotator.refresh_from_db()
    assert annotator.expires_at > soon + dt.timedelta(minutes=5)
    assert annotator.first_answer_by > soon


def waiting_for_long(annotator: Annotator) -> None:
    Annotator.objects.filter(pk=annotator.pk).update(qualified_at=clock.now() - 2 * PATIENCE)


def test_after_a_while_people_get_what_there_is(llm, engine):
    arena = opened(llm, annotations_per_item=1, stock=2, per_hour=2)
    first, other = entered(arena.study), entered(arena.study)
    refill(arena)
    read_instructions(first[0], arena.study)
    assert Item.objects.filter(seats_taken=1).count() == 2

    assert "being written" in read_instructions(other[0], arena.study).text
    waiting_for_long(other[1])
    other[0].get(reverse("annotation:practice", args=[arena.study.slug]))

    seats = Assignment.objects.filter(annotator=other[1])
    assert seats.count() == 2
    other[1].refresh_from_db()
    assert finish(other[1]).state == "completed"


def test_without_any_pair_a_stopped_arena_ends_a_part_with_its_code(llm, engine):
    arena = opened(llm)
    client, annotator = entered(arena.study)
    pause_arena(arena=arena)

    page = read_instructions(client, arena.study)

    annotator.refresh_from_db()
    assert annotator.state == "closed"
    assert services.admission.flow.completion_code(annotator) in page.text


def test_a_stopped_arena_lets_who_waits_answer_the_pairs_that_exist(llm, engine):
    arena = opened(llm, annotations_per_item=1, stock=2)
    first, other = entered(arena.study), entered(arena.study)
    refill(arena)
    read_instructions(first[0], arena.study)
    pause_arena(arena=arena_of(arena.study))

    read_instructions(other[0], arena.study)

    other[1].refresh_from_db()
    assert other[1].state == "annotating"
    assert finish(other[1]).state == "completed"


def test_a_study_with_the_extra_off_gives_items_as_always(llm, engine):
    arena = make_arena(llm)
    Study.objects.filter(pk=arena.study_id).update(extras=[])
    client, annotator = entered(arena.study)

    assert "being written" not in read_instructions(client, arena.study).text
    annotator.refresh_from_db()
    assert annotator.state != "annotating"
