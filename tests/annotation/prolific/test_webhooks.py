"""Webhooks: lost, twice, shuffled, late, forged or of others, our state ends as Prolific says."""

from typing import Any

import pytest
from django.test import Client
from django.urls import URLResolver, get_resolver
from django.utils import timezone

from annotation.models import (
    Annotator,
    ProlificEvent,
    ProlificSubmission,
)
from annotation.prolific.api.client import ProlificClient as Client_
from annotation.prolific.api.transport import NotAllowed, ProlificError
from annotation.prolific.launch.launch_plan import LaunchPlan
from annotation.prolific.sync.webhooks import EVENTS, is_signed, subscribe
from annotation.tasks import handle_prolific_event
from demo.prolific.records import WORKSPACE, Delivery, signature
from tests.annotation.prolific.life import (
    SECRET,
    arrive,
    finish,
    launched,
    make_recruiting,
    post,
    state_of,
)

pytestmark = pytest.mark.django_db
State = Annotator.State


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


def test_the_signature_is_the_documented_one():
    assert is_signed(secret="s", timestamp="1", body=b"{}", signature=signature("s", "1", b"{}"))
    assert signature("s", "1", b"{}") == "CiV1TD0Yu7cq2KGtsIxzYnuIl8N8IS89HrZiz9VpEGE="


@pytest.mark.parametrize(
    "broken", ["", "!!", "AAAA", signature("other", "1", b"{}"), signature("s", "2", b"{}"), "é"]
)
def test_another_signature_is_refused(broken):
    assert not is_signed(secret="s", timestamp="1", body=b"{}", signature=broken)


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


def test_a_late_event_is_accepted_and_only_triggers_a_reading(study, row, prolific, hooked):
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


@pytest.mark.parametrize(
    "body",
    [
        "[]",
        '{"event_type": 1, "resource_id": "x"}',
        "no json",
        '{"event_type": "x", "resource_id": "../../users"}',
    ],
)
def test_a_signed_body_without_an_event_stores_nothing(body, prolific, hooked):
    signed = prolific.world.signed("https://x", {})
    raw = body.encode()
    timestamp = signed.headers["X-Prolific-Request-Timestamp"]
    headers = {
        **signed.headers,
        "X-Prolific-Request-Signature": signature(SECRET, timestamp, raw),
    }

    assert hooked(Delivery("", raw, headers)).status_code == 403
    assert not ProlificEvent.objects.exists()


def test_without_a_secret_no_webhook_is_accepted(row, prolific, hooked, settings):
    settings.PROLIFIC_WEBHOOK_SECRET = ""

    delivery = prolific.world.signed("https://x", {"event_type": "e", "resource_id": "1"})
    assert hooked(delivery).status_code == 403


@pytest.mark.parametrize("resource", ["f" * 24, "unknown"])
def test_events_of_other_studies_change_nothing(resource, study, row, prolific, hooked):
    for kind in ("submission.status.change", "study.status.change", "study.progress.change"):
        body = {"event_type": kind, "resource_id": resource, "status": "RETURNED"}
        assert hooked(prolific.world.signed("https://x", body)).status_code == 204

    assert not ProlificSubmission.objects.exists()


def test_only_a_webhook_and_the_api_need_no_csrf_token(row, prolific, hooked):
    delivery = prolific.world.signed("https://x", {"event_type": "e", "resource_id": "1"})

    assert post(Client(enforce_csrf_checks=True), delivery).status_code == 204
    assert exempt_from_csrf(get_resolver()) == {"prolific/webhook/", "api/v1/"}


def exempt_from_csrf(resolver: URLResolver, before: str = "") -> set[str]:
    found = set()
    for entry in resolver.url_patterns:
        route = before + str(entry.pattern)
        if isinstance(entry, URLResolver):
            found |= exempt_from_csrf(entry, route)
        elif getattr(entry.callback, "csrf_exempt", False):
            found.add(route.partition("<")[0])
    return found


@pytest.mark.parametrize("shape", ["object", "results"])
def test_subscribing_keeps_the_workspaces_secret_and_repeats_nothing(shape, prolific, settings):
    prolific.world.behaviour.hooks = shape
    study = make_recruiting()
    launched(study, LaunchPlan(workspace=WORKSPACE))
    settings.PUBLIC_BASE_URL = "https://study.example.org"

    first = subscribe(study_id=study.pk)
    second = subscribe(study_id=study.pk)

    assert first == second == prolific.world.hook_secret
    assert sorted(h.event for h in prolific.world.hooks.values()) == sorted(EVENTS)
    assert all(hook.confirmed for hook in prolific.world.hooks.values())


def test_two_studies_of_an_account_subscribe_one_after_the_other(prolific, settings, monkeypatch):
    """While one asks for the secret, the other would ask too, and replace it."""
    studies = [make_recruiting(), make_recruiting()]
    for study in studies:
        launched(study)
    settings.PUBLIC_BASE_URL = "https://study.example.org"
    create = Client_.create_secret
    refused: list[Any] = []

    def create_meanwhile(self, workspace):
        with pytest.raises(NotAllowed, match="for this workspace is in progress"):
            subscribe(study_id=studies[1 - len(refused)].pk)
        refused.append(workspace)
        return create(self, workspace)

    monkeypatch.setattr(Client_, "create_secret", create_meanwhile)

    secrets = [subscribe(study_id=study.pk) for study in studies]

    assert len(refused) == 1
    assert set(secrets) == {prolific.world.hook_secret}
    assert len(prolific.world.hooks) == len(EVENTS)


@pytest.mark.parametrize(
    ("path", "fault"),
    [("hooks/subscriptions/", "dropped_after"), ("hooks/secrets/", "malformed")],
)
def test_a_subscription_with_a_lost_answer_is_created_again(path, fault, prolific, settings):
    study = make_recruiting()
    launched(study)
    settings.PUBLIC_BASE_URL = "https://study.example.org"
    prolific.fault("POST", path, fault)

    with pytest.raises(ProlificError):
        subscribe(study_id=study.pk)
    secret = subscribe(study_id=study.pk)

    assert secret == prolific.world.hook_secret
    found = sorted((h.event, h.confirmed) for h in prolific.world.hooks.values())
    assert found == [(event, True) for event in sorted(EVENTS)]


def test_webhooks_need_an_address_that_prolific_can_call(prolific, settings):
    study = make_recruiting()
    launched(study)
    settings.PROLIFIC_BASE_URL = settings.PROLIFIC_BASE_URL.replace("127.0.0.1", "127.0.0.2")

    with pytest.raises(NotAllowed, match="PUBLIC_BASE_URL"):
        subscribe(study_id=study.pk)


def test_the_same_signed_bytes_are_one_event_whatever_their_id_says(client, settings, now):
    for number in range(4):
        assert post_signed(client, str(now), f"id-{number}") == 204

    assert ProlificEvent.objects.count() == 1


@pytest.mark.parametrize("age", [25 * 3600, -3600, 10**9, None])
def test_a_webhook_of_another_time_is_refused(client, settings, now, age):
    assert post_signed(client, "soon" if age is None else str(now - age)) == 403
    assert not ProlificEvent.objects.exists()


@pytest.fixture
def now(settings, monkeypatch):
    settings.PROLIFIC_WEBHOOK_SECRET = SECRET
    monkeypatch.setattr(handle_prolific_event, "delay_on_commit", lambda pk: None)
    return int(timezone.now().timestamp())


def post_signed(client, timestamp, event_id="one"):
    body = b'{"event_type": "submission.status.change", "resource_id": "abc"}'
    headers = {
        "X-Event-ID": event_id,
        "X-Prolific-Request-Timestamp": timestamp,
        "X-Prolific-Request-Signature": signature(SECRET, timestamp, body),
    }
    return post(client, Delivery("", body, headers)).status_code
