"""Our state follows Prolific's, whatever becomes of the webhooks."""

import itertools
import random

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from annotation import services
from annotation.models import (
    Annotation,
    Annotator,
    ProlificEvent,
    ProlificStudy,
    ProlificSubmission,
    QuotaCell,
)
from annotation.prolific.account import connect
from annotation.prolific.demographics import read_export
from annotation.prolific.errors import ProlificError
from annotation.prolific.plan import Plan
from annotation.prolific.sync import apply, follow, follow_all
from annotation.prolific.types import RemoteSubmission
from annotation.prolific.webhooks import is_signed, subscribe
from annotation.tasks import handle_prolific_event
from demo.prolific_world import Delivery, signature
from studies.models import Item
from tests.annotation.prolific.life import (
    BALANCE,
    answer_some,
    arrive,
    finish,
    launched,
    make_recruiting,
    published,
    with_quotas,
)
from tests.factories import answer_all, make_annotator

pytestmark = pytest.mark.django_db
State = Annotator.State
SECRET = "hook-secret"


@pytest.fixture
def study():
    return make_recruiting()


@pytest.fixture
def row(study, prolific) -> ProlificStudy:
    return published(study)


def state_of(annotator: Annotator) -> str:
    return Annotator.objects.values_list("state", flat=True).get(pk=annotator.pk)


def seats_taken(study) -> int:
    return sum(Item.objects.filter(study=study).values_list("seats_taken", flat=True))


@pytest.mark.parametrize("spelling", ["TIMED-OUT", "TIMED_OUT"])
def test_who_times_out_there_gives_seats_back_here(spelling, study, row, prolific):
    prolific.world.behaviour.timed_out = spelling
    person, annotator = arrive(prolific, row)
    answer_some(annotator, 1)
    prolific.world.time_out(person["submission"])

    follow(study_id=study.pk)

    assert state_of(annotator) == State.TIMED_OUT
    assert seats_taken(study) == 0
    assert Annotation.objects.get().standing == Annotation.Standing.RELEASED


def test_who_returns_gives_seats_and_quota_place_back(prolific):
    study = with_quotas(make_recruiting(), each=1)
    row = published(study, Plan(balance=BALANCE))
    person, annotator = arrive(prolific, row)
    assert sum(QuotaCell.objects.values_list("reserved", flat=True)) == 1
    prolific.world.give_back(person["submission"])

    follow(study_id=study.pk)

    assert state_of(annotator) == State.RETURNED
    assert seats_taken(study) == sum(QuotaCell.objects.values_list("reserved", flat=True)) == 0


def test_a_rejection_gives_seats_back_and_its_reversal_takes_them_again(study, row, prolific):
    person, annotator = arrive(prolific, row)
    finish(prolific, person, annotator)
    submission = prolific.world.submissions[person["submission"]]

    submission.status = "REJECTED"
    follow(study_id=study.pk)
    assert (state_of(annotator), seats_taken(study)) == (State.REJECTED, 0)

    submission.status = "APPROVED"
    follow(study_id=study.pk)
    assert (state_of(annotator), seats_taken(study)) == (State.COMPLETED, 3)


def test_who_answered_everything_but_never_sent_the_last_page_is_completed(study, row, prolific):
    person, annotator = arrive(prolific, row)
    answer_all(annotator)
    prolific.world.finish(person["submission"], "NOCODE")

    follow(study_id=study.pk)

    assert state_of(annotator) == State.COMPLETED


def test_complete_here_and_timed_out_there_keeps_its_answers(study, row, prolific):
    person, annotator = arrive(prolific, row)
    answer_all(annotator)
    services.complete(annotator_id=annotator.pk)
    prolific.world.time_out(person["submission"])

    follow(study_id=study.pk)

    assert state_of(annotator) == State.COMPLETED
    assert ProlificSubmission.objects.get().status == "TIMED-OUT"


@pytest.mark.parametrize("status", ["UNKNOWN", "PROCESSING", "SCREENED OUT", "", "NEW THING"])
def test_a_status_that_nobody_knows_changes_nothing(status, study, row, prolific):
    person, annotator = arrive(prolific, row)
    prolific.world.submissions[person["submission"]].status = status

    follow(study_id=study.pk)

    assert (state_of(annotator), seats_taken(study)) == (State.ANNOTATING, 3)


def test_people_of_a_child_study_are_found_and_followed(prolific, study):
    prolific.world.behaviour.child_studies = True
    row = published(study)
    person, annotator = arrive(prolific, row)

    follow(study_id=study.pk)
    row.refresh_from_db()
    assert row.child_ids == [prolific.world.studies[row.prolific_id]["child"]]

    prolific.world.give_back(person["submission"])
    other = prolific.world.arrive(row.prolific_id)
    follow(study_id=study.pk)

    assert state_of(annotator) == State.RETURNED
    assert ProlificSubmission.objects.filter(submission_id=other["submission"]).exists()


def test_what_was_read_earlier_never_replaces_what_was_read_later(study, row, prolific):
    person, annotator = arrive(prolific, row)
    earlier = timezone.now()
    active = connect().submission(person["submission"])
    prolific.world.give_back(person["submission"])
    follow(study_id=study.pk)

    apply(row, active, read_at=earlier)

    assert ProlificSubmission.objects.get().status == "RETURNED"
    assert state_of(annotator) == State.RETURNED


def test_an_earlier_submission_says_nothing_of_who_came_again(study, row, prolific):
    person, annotator = arrive(prolific, row)
    follow(study_id=study.pk)
    old = {"id": "a" * 24, "participant_id": person["participant"], "status": "RETURNED",
           "started_at": "2020-01-01T00:00:00Z"}  # fmt: skip

    apply(row, RemoteSubmission.of(old, study_id=row.prolific_id), read_at=timezone.now())

    assert state_of(annotator) == State.ANNOTATING


@pytest.mark.parametrize("fault", ["429", "500", "502_html", "dropped_before", "malformed"])
def test_a_fault_keeps_what_was_known_and_the_next_look_makes_up(fault, study, row, prolific):
    person, annotator = arrive(prolific, row)
    follow(study_id=study.pk)
    prolific.world.give_back(person["submission"])
    prolific.fault("GET", "submissions/", fault)

    with pytest.raises(ProlificError):
        follow(study_id=study.pk)
    assert state_of(annotator) == State.ANNOTATING

    follow(study_id=study.pk)
    assert state_of(annotator) == State.RETURNED


def test_one_study_that_cannot_be_read_keeps_no_other_from_being_read(prolific):
    broken, fine = make_recruiting(), make_recruiting()
    launched(broken)
    row = published(fine)
    person, annotator = arrive(prolific, row)
    prolific.world.give_back(person["submission"])
    del prolific.world.studies[ProlificStudy.objects.get(study=broken).prolific_id]

    assert follow_all() == 1
    assert state_of(annotator) == State.RETURNED


def test_without_a_token_nothing_is_followed(row, settings):
    settings.PROLIFIC_API_TOKEN = ""

    assert follow_all() == 0


# Entry


def enter(study, person, **changes):
    query = {
        "PROLIFIC_PID": person["participant"],
        "STUDY_ID": "6" * 24,
        "SESSION_ID": person["submission"],
    }
    return Client().get(reverse("annotation:entry", args=[study.slug]), query | changes)


def test_somebody_whose_submission_fits_is_let_in(study, row, prolific):
    person = prolific.world.arrive(row.prolific_id)

    assert enter(study, person).status_code == 302
    assert ProlificSubmission.objects.get().participant == person["participant"]


@pytest.mark.parametrize(
    "changes", [{"PROLIFIC_PID": "b" * 24}, {"SESSION_ID": ""}], ids=["other person", "no session"]
)
def test_an_edited_link_lets_nobody_in(changes, study, row, prolific):
    person = prolific.world.arrive(row.prolific_id)

    assert enter(study, person, **changes).status_code == 400
    assert not Annotator.objects.exists()


def test_a_submission_of_another_study_lets_nobody_in(study, row, prolific):
    other = published(make_recruiting())

    assert enter(study, prolific.world.arrive(other.prolific_id)).status_code == 400


def test_a_submission_that_is_over_lets_nobody_in(study, row, prolific):
    person = prolific.world.arrive(row.prolific_id)
    prolific.world.give_back(person["submission"])

    assert enter(study, person).status_code == 400


@pytest.mark.parametrize("fault", ["404", "500", "429", "dropped_before", "502_html"])
def test_who_cannot_be_looked_up_is_let_in_and_found_later(fault, study, row, prolific):
    person = prolific.world.arrive(row.prolific_id)
    prolific.fault("GET", f"submissions/{person['submission']}", fault)

    assert enter(study, person).status_code == 302
    follow(study_id=study.pk)

    assert ProlificSubmission.objects.get().annotator == Annotator.objects.get()


def test_prolific_is_asked_once_a_session(study, row, prolific):
    person = prolific.world.arrive(row.prolific_id)
    prolific.requests.clear()

    for _ in range(3):
        enter(study, person)

    assert len(prolific.requests) == 1


# Webhooks


@pytest.fixture
def hooked(settings, prolific, row, monkeypatch, client):
    """Subscribed, and a way to deliver what waits; tasks are done at once."""
    settings.PROLIFIC_WEBHOOK_SECRET = SECRET
    settings.PUBLIC_BASE_URL = "https://study.example.org"
    world = prolific.world
    world.hook_secret = SECRET
    for event in ("submission.status.change", "study.status.change"):
        hook = world.subscribe({"event_type": event, "target_url": "https://x/prolific/webhook/"})
        world.confirm(hook.id, hook.secret)
    monkeypatch.setattr(
        handle_prolific_event, "delay_on_commit", lambda pk: handle_prolific_event(pk)
    )
    return lambda delivery: post(client, delivery)


def post(client, delivery: Delivery, **changes):
    headers = {**delivery.headers, **changes}
    return client.post(
        reverse("prolific-webhook"), delivery.body, content_type="application/json",
        headers={k: v for k, v in headers.items() if k != "Content-Type"},
    )  # fmt: skip


def test_the_signature_is_the_documented_one():
    assert is_signed(secret="s", timestamp="1", body=b"{}", signature=signature("s", "1", b"{}"))
    assert signature("s", "1", b"{}") == "CiV1TD0Yu7cq2KGtsIxzYnuIl8N8IS89HrZiz9VpEGE="


@pytest.mark.parametrize(
    "broken", ["", "!!", "AAAA", signature("other", "1", b"{}"), signature("s", "2", b"{}"), "é"]
)
def test_another_signature_is_refused(broken):
    assert not is_signed(secret="s", timestamp="1", body=b"{}", signature=broken)


def test_a_webhook_moves_the_person_within_one_request(study, row, prolific, hooked):
    person, annotator = arrive(prolific, row)
    prolific.world.give_back(person["submission"])

    assert prolific.deliver(post=lambda d: hooked(d)) > 0

    assert state_of(annotator) == State.RETURNED


def test_webhooks_twice_and_shuffled_end_in_the_right_state(study, row, prolific, hooked):
    person, annotator = arrive(prolific, row)
    finish(prolific, person, annotator)
    other, returning = arrive(prolific, row)
    prolific.world.give_back(other["submission"])

    statuses = []
    prolific.deliver(
        twice=True, shuffle=True, post=lambda d: statuses.append(hooked(d).status_code)
    )

    assert set(statuses) == {204}
    assert ProlificEvent.objects.count() == len(statuses) / 2
    assert state_of(annotator) == State.COMPLETED
    assert state_of(returning) == State.RETURNED


def test_the_same_event_is_read_once(study, row, prolific, hooked):
    person, _ = arrive(prolific, row)
    prolific.world.give_back(person["submission"])
    (delivery,) = prolific.world.outbox[-1:]
    hooked(delivery)
    prolific.requests.clear()

    assert hooked(delivery).status_code == 204
    assert prolific.requests == []


def test_a_late_event_is_taken_and_tells_only_to_read(study, row, prolific, hooked):
    """Its body says RETURNED; what counts is what Prolific says now."""
    person, annotator = arrive(prolific, row)
    body = {
        "event_type": "submission.status.change",
        "resource_id": person["submission"],
        "status": "RETURNED",
    }

    assert hooked(prolific.world.signed("https://x", body)).status_code == 204
    assert state_of(annotator) == State.ANNOTATING


@pytest.mark.parametrize(
    "changes",
    [
        {"X-Prolific-Request-Signature": ""},
        {"X-Prolific-Request-Signature": "AAAA"},
        {"X-Prolific-Request-Timestamp": "1"},
    ],
)
def test_a_webhook_with_a_bad_signature_stores_nothing(changes, row, prolific, hooked, client):
    delivery = prolific.world.signed("https://x", {"event_type": "e", "resource_id": "1"})

    assert post(client, delivery, **changes).status_code == 403
    assert not ProlificEvent.objects.exists()


def test_the_raw_bytes_are_what_is_signed(row, prolific, hooked, client):
    delivery = prolific.world.signed("https://x", {"event_type": "e", "resource_id": "1"})
    dumped_again = Delivery(delivery.url, delivery.body.replace(b"\n", b""), delivery.headers)

    assert hooked(delivery).status_code == 204
    assert post(client, dumped_again).status_code == 403


@pytest.mark.parametrize("body", ["[]", "{}", '{"event_type": 1, "resource_id": "x"}', "no json",
                                  '{"event_type": "x", "resource_id": "../../users"}'])  # fmt: skip
def test_a_signed_body_that_is_no_event_stores_nothing(body, prolific, hooked):
    signed = prolific.world.signed("https://x", {})
    raw = body.encode()
    timestamp = signed.headers["X-Prolific-Request-Timestamp"]
    headers = {
        **signed.headers,
        "X-Prolific-Request-Signature": signature(SECRET, timestamp, raw),
    }

    assert hooked(Delivery("", raw, headers)).status_code == 403
    assert not ProlificEvent.objects.exists()


def test_without_a_secret_no_webhook_is_taken(row, prolific, hooked, settings):
    settings.PROLIFIC_WEBHOOK_SECRET = ""

    delivery = prolific.world.signed("https://x", {"event_type": "e", "resource_id": "1"})
    assert hooked(delivery).status_code == 403


@pytest.mark.parametrize("resource", ["f" * 24, "unknown"])
def test_events_of_other_studies_change_nothing(resource, study, row, prolific, hooked):
    for kind in ("submission.status.change", "study.status.change", "study.progress.change"):
        body = {"event_type": kind, "resource_id": resource, "status": "RETURNED"}
        assert hooked(prolific.world.signed("https://x", body)).status_code == 204

    assert not ProlificSubmission.objects.exists()


def test_webhooks_are_posted_and_nothing_else(client):
    assert client.get(reverse("prolific-webhook")).status_code == 405


def test_a_webhook_needs_no_csrf_token(row, prolific, hooked):
    delivery = prolific.world.signed("https://x", {"event_type": "e", "resource_id": "1"})

    assert post(Client(enforce_csrf_checks=True), delivery).status_code == 204


@pytest.mark.parametrize("shape", ["object", "results"])
def test_subscribing_keeps_the_workspaces_secret_and_repeats_nothing(shape, prolific, settings):
    prolific.world.behaviour.hooks = shape
    study = make_recruiting()
    launched(study, Plan(workspace="w1"))
    settings.PUBLIC_BASE_URL = "https://study.example.org"

    first = subscribe(study_id=study.pk)
    second = subscribe(study_id=study.pk)

    assert first == second == prolific.world.hook_secret
    assert sorted(h.event for h in prolific.world.hooks.values()) == [
        "study.status.change",
        "submission.status.change",
    ]
    assert all(hook.confirmed for hook in prolific.world.hooks.values())


def test_the_export_is_read_by_its_header():
    text = "Age,Submission id,Sex,Nonsense\n34,s1,Female,\nDATA_EXPIRED,s2,CONSENT_REVOKED,x\n"

    assert read_export(text) == {
        "s1": {"age": "34", "sex": "Female"},
        "s2": {"nonsense": "x"},
    }
    assert read_export("") == read_export("no,known,header\n1,2,3\n") == {}


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(8))
def test_random_histories_end_as_prolific_says(seed, prolific, study, row, hooked):
    """People come, work, return, time out; webhooks get lost, come twice and out of order."""
    rng = random.Random(seed)
    people: list[tuple[dict[str, str], Annotator]] = []
    for _ in itertools.repeat(None, 40):
        action = rng.choice(["arrive", "answer", "finish", "return", "time out", "deliver"])
        alive = [p for p in people if prolific.world.submissions[p[0]["submission"]].status
                 == "ACTIVE"]  # fmt: skip
        if (
            action == "arrive"
            and prolific.world.show_study(row.prolific_id)["status"] == "ACTIVE"
            and len(alive) < 3
        ):
            people.append(arrive(prolific, row))
        elif action == "deliver":
            if rng.random() < 0.5:
                prolific.world.outbox.clear()
            prolific.deliver(twice=rng.random() < 0.5, shuffle=True, post=lambda d: hooked(d))
        elif alive:
            person, annotator = rng.choice(alive)
            if action == "answer" and state_of(annotator) == State.ANNOTATING:
                answer_some(annotator, rng.randint(1, 3))
            elif action == "finish" and state_of(annotator) == State.ANNOTATING:
                finish(prolific, person, annotator)
            elif action == "return":
                prolific.world.give_back(person["submission"])
            elif action == "time out":
                prolific.world.time_out(person["submission"])
    follow(study_id=study.pk)

    expected = {"RETURNED": {State.RETURNED}, "TIMED-OUT": {State.TIMED_OUT},
                "AWAITING REVIEW": {State.COMPLETED}, "ACTIVE": {State.ANNOTATING}}  # fmt: skip
    for person, annotator in people:
        status = prolific.world.submissions[person["submission"]].status
        assert state_of(annotator) in expected[status], status
    holding = [a for _, a in people if state_of(a) in (State.ANNOTATING, State.COMPLETED)]
    held = sum(a.assignments.filter(is_surplus=False).exclude(state="released").count()
               for a in holding)  # fmt: skip
    assert seats_taken(study) == held


def test_imported_raters_are_nobody_to_look_up(study, row, prolific):
    make_annotator(study=study, is_imported=True, identity_hash=None)

    assert follow(study_id=study.pk) == 0
