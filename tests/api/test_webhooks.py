"""Webhooks: events are stored once, signed, sent to public addresses, and repeated."""

import datetime as dt
import hashlib
import hmac
import json
import re
import socket
from pathlib import Path

import pytest
from django.utils import timezone
from pytest_httpserver import HTTPServer
from werkzeug import Response

from analysis.models import Export, Report
from api import webhooks
from api.models import Delivery, Webhook
from api.tasks import send_webhooks, tidy_requests
from api.webhooks import MOST, WebhookError, add_webhook, find_events, find_target, secret_of
from judging.models import Judge, JudgeRun
from studies.models import StudyLog
from tests.factories import answer_all, make_items, make_study, sign_in, walk_in

pytestmark = pytest.mark.django_db
ALL = ["run.finished", "report.ready", "export.ready", "study.complete"]


@pytest.fixture
def study(settings, tmp_path):
    settings.VAR_DIR = tmp_path
    settings.WEBHOOK_PRIVATE_ADDRESSES = True
    return make_study(slug="s", items_per_annotator=2, annotations_per_item=1)


@pytest.fixture
def webhook(study, httpserver: HTTPServer) -> Webhook:
    found, _ = add_webhook(
        study_id=study.pk, url=httpserver.url_for("/hook?a=1"), events=ALL, user=None
    )
    return found


def finished_report(study) -> Report:
    return Report.objects.create(
        study=study,
        number=1,
        seed=1,
        threshold=80,
        bootstrap=100,
        state="done",
        result={},
        finished_at=timezone.now(),
    )


def look_and_send() -> None:
    """What the schedule does every 15 seconds, and a worker after it."""
    find_events()
    for delivery_id in webhooks.due():
        webhooks.attempt(delivery_id)


def test_events_of_a_study_are_stored_once_for_each_address(study, webhook):
    now = timezone.now()
    judge = Judge.objects.create(name="j", model="m", base_url="http://127.0.0.1:9/v1")
    JudgeRun.objects.create(
        study=study, judge=judge, key="a", seed=1, state="done", ended_at=now, sentence="Done."
    )
    JudgeRun.objects.create(study=study, judge=judge, key="b", seed=1, state="running")
    finished_report(study)
    Export.objects.create(
        study=study, what="all", format="csv", state="failed", message="No.", finished_at=now
    )
    make_items(study, 2)

    assert find_events() == 3
    answer_all(walk_in(study))
    assert find_events() == 1
    assert find_events() == 0

    assert sorted(Delivery.objects.values_list("event", flat=True)) == sorted(ALL)
    complete = Delivery.objects.get(event="study.complete")
    assert complete.payload == {"answers": 2}


def test_only_chosen_events_of_later_times_and_of_the_study_itself_are_sent(study):
    finished_report(study)
    Report.objects.update(finished_at=timezone.now() - dt.timedelta(hours=1))
    add_webhook(study_id=study.pk, url="http://127.0.0.1:9/", events=["run.finished"], user=None)
    add_webhook(study_id=study.pk, url="http://127.0.0.1:9/", events=ALL, user=None)
    finished_report(make_study())

    assert find_events() == 0


def test_a_run_that_is_extended_ends_again(study, webhook):
    judge = Judge.objects.create(name="j", model="m", base_url="http://127.0.0.1:9/v1")
    now = timezone.now()
    run = JudgeRun.objects.create(
        study=study, judge=judge, key="a", seed=1, state="done", sentence="Done.", ended_at=now
    )
    assert find_events() == 1

    JudgeRun.objects.filter(pk=run.pk).update(ended_at=timezone.now() + dt.timedelta(seconds=1))

    assert find_events() == 1


def verify_as_documented():
    """The function in docs/api.md."""
    page = (Path(__file__).resolve().parents[2] / "docs/api.md").read_text("utf-8")
    code = re.search(r"```python\n(import hashlib.*?)```", page, re.DOTALL)
    names: dict = {}
    exec(code[1], names)
    return names["is_from_thirdperson"]


def test_an_event_is_signed_as_documented(study, webhook, httpserver):
    httpserver.expect_request("/hook").respond_with_data("", 200)
    report = finished_report(study)

    look_and_send()

    request = httpserver.log[0][0]
    body = request.get_data()
    sent = json.loads(body)
    assert (sent["event"], sent["study"]) == ("report.ready", "s")
    assert sent["data"] == {"report": report.public_id, "number": 1, "state": "done"}
    assert request.headers["Thirdperson-Delivery"] == sent["id"]
    assert request.query_string == b"a=1"
    header, secret = request.headers["Thirdperson-Signature"], secret_of(webhook)
    verify = verify_as_documented()
    assert verify(secret, header, body)
    assert not verify(secret, header, body + b" ")
    assert not verify("other", header, body)
    assert not verify(secret, header, body, within=-1)
    stamp = header.split(",")[0][2:]
    own = hmac.new(secret.encode(), f"{stamp}.".encode() + body, hashlib.sha256).hexdigest()
    assert header == f"t={stamp},v1={own}"
    delivery = Delivery.objects.get()
    assert (delivery.state, delivery.attempts) == ("delivered", 1)
    assert secret not in json.dumps(list(Webhook.objects.values()), default=str)


def test_undelivered_events_are_repeated_with_longer_waits_and_then_fail(
    study, webhook, httpserver
):
    httpserver.expect_request("/hook").respond_with_data("", 500)
    finished_report(study)
    waits = []

    look_and_send()
    for _ in range(10):
        delivery = Delivery.objects.get()
        if delivery.state != "waiting":
            break
        waits.append(round((delivery.next_attempt_at - timezone.now()).total_seconds()))
        look_and_send()  # too early: nothing is sent
        assert Delivery.objects.get().attempts == delivery.attempts
        Delivery.objects.update(next_attempt_at=timezone.now())
        look_and_send()

    assert waits == pytest.approx([30, 120, 600, 3_600, 21_600, 86_400], abs=5)
    assert (delivery.state, delivery.attempts) == ("failed", 7)
    assert delivery.message == "The address answered 500."
    assert len(httpserver.log) == 7
    assert len({entry[0].headers["Thirdperson-Delivery"] for entry in httpserver.log}) == 1


def test_of_two_workers_one_sends(study, webhook, httpserver):
    httpserver.expect_request("/hook").respond_with_data("", 200)
    finished_report(study)
    find_events()
    (delivery_id,) = webhooks.due()
    Delivery.objects.update(attempts=1, next_attempt_at=timezone.now() + dt.timedelta(minutes=1))

    webhooks.attempt(delivery_id)

    assert httpserver.log == []


def test_redirects_are_not_followed(study, webhook, httpserver):
    httpserver.expect_request("/hook").respond_with_response(
        Response("", 307, {"Location": "http://169.254.169.254/"})
    )
    finished_report(study)

    look_and_send()

    assert Delivery.objects.get().message == "The address answered 307."


@pytest.mark.parametrize(
    "ip",
    [
        "127.0.0.1",
        "10.0.0.1",
        "192.168.1.1",
        "172.16.0.1",
        "169.254.169.254",
        "100.64.0.1",
        "0.0.0.0",
        "::1",
        "fe80::1",
        "fd00::1",
        "::ffff:127.0.0.1",
        "2002:7f00:1::",
        "64:ff9b::7f00:1",
        "64:ff9b:1::7f00:1",
        "::127.0.0.1",
        "2001:0:4136:e378:8000:63bf:80ff:fffe",
        "168.63.129.16",
        "192.0.0.192",
        "100.100.100.200",
        "224.0.0.1",
    ],
)
def test_no_address_leads_into_a_private_network(study, settings, monkeypatch, ip):
    """Also not by a name, which is looked up at each attempt, and not by one of several IPs."""
    settings.WEBHOOK_PRIVATE_ADDRESSES = False
    family = socket.AF_INET6 if ":" in ip else socket.AF_INET
    found = [(socket.AF_INET, 1, 6, "", ("93.184.216.34", 443)), (family, 1, 6, "", (ip, 443))]
    monkeypatch.setattr(socket, "getaddrinfo", lambda *args, **kwargs: found)
    webhook, _ = add_webhook(
        study_id=study.pk, url="https://rebound.example.org/", events=ALL, user=None
    )
    finished_report(study)

    look_and_send()

    assert webhook.deliveries.get().message.startswith("rebound.example.org is an address of this")


def test_the_request_goes_to_the_address_that_was_checked(settings, monkeypatch):
    settings.WEBHOOK_PRIVATE_ADDRESSES = False
    found = [(socket.AF_INET, 1, 6, "", ("93.184.216.34", 443))]
    monkeypatch.setattr(socket, "getaddrinfo", lambda *args, **kwargs: found)

    target = find_target("https://lab.example.org/hook?x=1")

    assert target.url == "https://93.184.216.34:443/hook?x=1"
    assert target.netloc == "lab.example.org"
    with webhooks._session(target) as session:
        pool = session.get_adapter(target.url).poolmanager.connection_pool_kw
    assert (pool["server_hostname"], pool["assert_hostname"]) == ("lab.example.org",) * 2


@pytest.mark.parametrize(
    "url",
    [
        "",
        "lab.example.org",
        "ftp://a.org",
        "http://a.org",
        "https://u:p@a.org",
        "https://a.org/#f",
        "https://[::1",
        "https://a.org:99999/",
        "javascript:alert(1)",
    ],
)
def test_invalid_addresses(study, settings, url):
    settings.WEBHOOK_PRIVATE_ADDRESSES = False

    with pytest.raises(WebhookError):
        add_webhook(study_id=study.pk, url=url, events=ALL, user=None)


def test_owners_add_test_repeat_and_delete_webhooks_on_pages(study, httpserver):
    httpserver.expect_request("/hook").respond_with_data("", 204)
    owner, editor = sign_in(study, "owner"), sign_in(study, "editor")
    sent = {"url": httpserver.url_for("/hook"), "events": ["report.ready"]}

    assert editor.post("/studies/s/webhooks/add/", sent).status_code == 404
    added = owner.post("/studies/s/webhooks/add/", sent)
    webhook = Webhook.objects.get()
    secret = secret_of(webhook)
    assert secret in added.content.decode()
    assert secret not in owner.get("/studies/s/webhooks/").content.decode()
    assert StudyLog.objects.first().event == "webhook added"

    page = f"/studies/s/webhooks/{webhook.public_id}/"
    owner.post(f"{page}test/")
    look_and_send()
    assert "The address answered 204." in owner.get(page).content.decode()
    assert "Send again" not in editor.get(page).content.decode()
    delivery = Delivery.objects.get()
    owner.post(f"{page}again/", {"delivery": delivery.public_id})
    look_and_send()
    assert len(httpserver.log) == 2
    assert owner.post(f"{page}again/", {"delivery": "x"}).status_code == 404

    owner.post(f"{page}delete/")
    assert not Webhook.objects.exists()
    assert not Delivery.objects.exists()


def test_the_form_says_what_is_wrong(study, settings):
    settings.WEBHOOK_PRIVATE_ADDRESSES = False
    owner = sign_in(study, "owner")

    refused = owner.post("/studies/s/webhooks/add/", {"url": "http://a.org", "events": ALL})
    assert refused.status_code == 422
    assert "begins with https://" in refused.content.decode()
    assert owner.post("/studies/s/webhooks/add/", {"url": "https://a.org"}).status_code == 422
    for _ in range(MOST):
        add_webhook(study_id=study.pk, url="https://a.org/", events=ALL, user=None)
    refused = owner.post("/studies/s/webhooks/add/", {"url": "https://a.org", "events": ALL})
    assert "at most 10 webhooks" in refused.content.decode()


def test_the_schedule_sends_and_tidies(study, webhook, httpserver, monkeypatch):
    queued = []
    monkeypatch.setattr("api.tasks.queue", lambda task, pk: queued.append(pk))
    finished_report(study)

    send_webhooks()

    assert queued == [Delivery.objects.get().pk]
    old = timezone.now() - dt.timedelta(days=31)
    Delivery.objects.update(created_at=old)
    tidy_requests()
    assert Delivery.objects.count() == 1
    Delivery.objects.update(state="failed")
    tidy_requests()
    assert Delivery.objects.count() == 0
