"""Invented ids hold nothing and see no code; real people lose nothing while Prolific is slow."""

import datetime as dt
from contextlib import ExitStack

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from annotation import services
from annotation.models import Annotator, ProlificIdentity, QuotaGroup
from annotation.prolific.launch.launch_plan import LaunchPlan
from annotation.prolific.sync.sync import MOST_ASKING, follow, is_due, page_client
from annotation.seats.flow import codes_of
from annotation.services.admission import PATIENCE
from tests.annotation.pages.walking import post_answer
from tests.annotation.prolific.life import (
    BALANCE,
    make_recruiting,
    published,
    seats_taken,
    with_quotas,
)
from tests.factories import answer_all

pytestmark = pytest.mark.django_db
INVENTED = {"participant": "a" * 24, "submission": "b" * 24}


def enter(study, person, **more) -> tuple[Client, Annotator | None]:
    client = Client()
    query = {
        "PROLIFIC_PID": person["participant"],
        "STUDY_ID": "6" * 24,
        "SESSION_ID": person["submission"],
        **more,
    }
    client.get(reverse("annotation:entry", args=[study.slug]), query)
    return client, Annotator.objects.order_by("pk").last()


def walk(annotator: Annotator, gender: str = "") -> Annotator:
    annotator = services.consent(annotator_id=annotator.pk, version="v1")
    if gender:
        services.record_demographics(
            annotator_id=annotator.pk, demographics={"gender": gender, "politics": "democrat"}
        )
    return services.finish_instructions(annotator_id=annotator.pk)


def complete(annotator: Annotator) -> Annotator:
    answer_all(annotator)
    return services.complete(annotator_id=annotator.pk)


def end_page(client: Client, study) -> str:
    return client.get(reverse("annotation:done", args=[study.slug])).content.decode()


def code_on(html: str, study) -> bool:
    return any(code in html for code in codes_of(study.pk).values())


def later(minutes: float) -> None:
    """Let time pass for those who are looked up."""
    for identity in ProlificIdentity.objects.all():
        for name in ("unknown_since", "looked_at"):
            if moment := getattr(identity, name):
                setattr(identity, name, moment - dt.timedelta(minutes=minutes))
        identity.save()


def counted(annotator: Annotator) -> int:
    return annotator.assignments.filter(annotation__standing="counted").count()


def test_an_invented_id_gets_through_without_a_seat_and_sees_no_code(study, row, prolific):
    client, annotator = enter(study, INVENTED)
    assert client.post(f"/s/{study.slug}/consent/", {"consent": "yes"}).status_code == 303
    client.post(f"/s/{study.slug}/instructions/")
    page = client.get(f"/s/{study.slug}/task/", follow=True)
    while "/task/" in page.request["PATH_INFO"]:
        post_answer(client, page)
        page = client.get(f"/s/{study.slug}/task/", follow=True)
    client.post(f"/s/{study.slug}/feedback/", {"comments": ""})

    annotator.refresh_from_db()
    html = end_page(client, study)
    assert annotator.state == Annotator.State.COMPLETED
    assert "Prolific has not confirmed your place yet" in html
    assert not code_on(html, study)
    assert "submissions/complete" not in html
    assert "You can close this page" not in html
    assert (seats_taken(study), counted(annotator)) == (0, 0)


def test_every_ending_hides_its_code_from_an_invented_id(study, row):
    client, annotator = enter(study, INVENTED)
    other_client, _ = enter(study, {"participant": "c" * 24, "submission": "d" * 24})

    services.decline(annotator_id=annotator.pk)
    declined = end_page(client, study)
    study.state = "closed"
    study.save()
    closed = other_client.get(f"/s/{study.slug}/consent/").content.decode()

    assert not code_on(declined, study)
    assert "The study is closed" in closed
    assert not code_on(closed, study)


def test_an_invented_id_takes_no_place_of_a_group(prolific):
    study = with_quotas(make_recruiting(), each=1)
    published(study, LaunchPlan(balance=BALANCE))
    _, annotator = enter(study, INVENTED)

    annotator = complete(walk(annotator, "man"))

    assert annotator.works_surplus
    assert not QuotaGroup.objects.exclude(reserved=0, completed=0).exists()
    assert seats_taken(study) == 0


def test_somebody_real_whom_prolific_knows_a_moment_later_gets_seats_and_code(prolific):
    study = with_quotas(make_recruiting(), each=1)
    row = published(study, LaunchPlan(balance=BALANCE))
    person = prolific.world.arrive(row.prolific_id)
    prolific.fault("GET", f"submissions/{person['submission']}", "404")
    client, annotator = enter(study, person)
    walk(annotator, {"Male": "man", "Female": "woman"}[person["sex"]])
    assert seats_taken(study) == 0

    follow(study_id=study.pk)

    annotator.refresh_from_db()
    assert (seats_taken(study), annotator.works_surplus, annotator.quota) == (3, False, "reserved")
    complete(annotator)
    assert counted(annotator) == 3
    assert code_on(end_page(client, study), study)


def test_people_unknown_until_the_end_count_once_prolific_knows_them(study, row, prolific):
    person = prolific.world.arrive(row.prolific_id)
    prolific.fault("GET", f"submissions/{person['submission']}", "404", times=2)
    client, annotator = enter(study, person)
    complete(walk(annotator))
    later(1)
    assert not code_on(end_page(client, study), study)

    later(1)

    # The page itself looks again.
    assert code_on(end_page(client, study), study)
    assert (counted(annotator), seats_taken(study)) == (3, 3)


def test_who_finishes_while_others_are_looked_up_sees_the_code_on_looking_again(
    study, row, prolific
):
    person = prolific.world.arrive(row.prolific_id)
    prolific.fault("GET", f"submissions/{person['submission']}", "404")
    client, annotator = enter(study, person)
    complete(walk(annotator))
    later(1)

    with ExitStack() as others:
        for _ in range(MOST_ASKING):
            others.enter_context(page_client(study.pk))
        assert not code_on(end_page(client, study), study)

    assert code_on(end_page(client, study), study)


@pytest.mark.parametrize("fault", ["500", "dropped_before"])
def test_an_outage_of_prolific_takes_neither_seat_nor_code_from_anybody(
    fault, study, row, prolific
):
    person = prolific.world.arrive(row.prolific_id)
    prolific.fault("*", "", fault, times=50)
    client, annotator = enter(study, person)

    complete(walk(annotator))
    later(60)

    assert code_on(end_page(client, study), study)
    assert counted(annotator) == 3


@pytest.mark.sampled(keep=1)
@pytest.mark.parametrize("finished", [False, True])
def test_people_who_entered_during_an_outage_lose_seats_if_prolific_does_not_know_them(
    finished, study, row, prolific
):
    prolific.fault("*", "", "500", times=3)
    client, annotator = enter(study, INVENTED)
    prolific.faults.clear()
    walk(annotator)
    if finished:
        complete(annotator)
    assert seats_taken(study) == 3

    follow(study_id=study.pk)
    assert seats_taken(study) == 3
    later(PATIENCE.total_seconds() / 60)
    follow(study_id=study.pk)

    annotator.refresh_from_db()
    assert annotator.state == ("completed" if finished else "annotating")
    assert (seats_taken(study), counted(annotator)) == (0, 0)
    if not finished:
        complete(annotator)
    assert not code_on(end_page(client, study), study)
    assert (seats_taken(study), counted(annotator)) == (0, 0)


def test_an_unknown_session_is_looked_up_less_and_less_often():
    start = timezone.now()
    identity = ProlificIdentity(looked_at=start, looks=1)
    looks = []

    for minute in range(2 * 24 * 60):
        now = start + dt.timedelta(minutes=minute)
        if is_due(identity, now):
            identity.looked_at, identity.looks = now, identity.looks + 1
            looks.append(minute)

    assert looks[:5] == [1, 3, 7, 15, 31]
    assert len(looks) < 25


def test_a_signed_link_is_believed_though_prolific_does_not_know_the_session_yet(prolific):
    study = make_recruiting()
    row = published(study, LaunchPlan(signed_links=True))
    person = prolific.world.arrive(row.prolific_id)
    client = Client()
    client.get(f"/s/{study.slug}/?{person['url'].partition('?')[2]}")
    annotator = complete(walk(Annotator.objects.get()))
    prolific.fault("GET", f"submissions/{person['submission']}", "404", times=9)
    prolific.fault("GET", "submissions/", "500", times=9)

    services.doubt(annotator_id=annotator.pk)

    assert code_on(end_page(client, study), study)
    assert counted(annotator) == 3


def test_released_seats_are_retaken_once_prolific_knows_the_person(study, row, prolific):
    person = prolific.world.arrive(row.prolific_id)
    prolific.fault("*", "", "500", times=1)
    client, annotator = enter(study, person)
    complete(walk(annotator))
    services.doubt(annotator_id=annotator.pk)
    later(PATIENCE.total_seconds() / 60)
    services.doubt(annotator_id=annotator.pk)
    assert (seats_taken(study), counted(annotator)) == (0, 0)

    follow(study_id=study.pk)

    assert (seats_taken(study), counted(annotator)) == (3, 3)
    assert code_on(end_page(client, study), study)


def test_with_signed_links_no_other_link_is_accepted(prolific):
    study = make_recruiting()
    row = published(study, LaunchPlan(signed_links=True))
    person = prolific.world.arrive(row.prolific_id)

    _, nobody = enter(study, person)
    assert nobody is None
    query = person["url"].partition("?")[2]
    assert Client().get(f"/s/{study.slug}/?{query}").status_code == 302

    assert ProlificIdentity.objects.get().is_signed
