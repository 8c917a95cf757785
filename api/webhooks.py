"""Outgoing webhooks: adding them, finding events, signing and sending these until they arrive.

Each search for events overlaps earlier ones by some minutes, because a transaction may commit later
than the times in its rows. A constraint prevents storing an event twice.
"""

import hashlib
import hmac
import json
import logging
import secrets
import socket
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from django.conf import settings
from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import F, Q

from analysis.models import Export, Report
from api.models import Delivery, Event, Webhook
from judging.models import JudgeRun
from studies.models import Study
from studies.network import is_public
from studies.sealing import cipher
from studies.selectors import seat_groups
from studies.services.accounts.team import GivenRight
from studies.services.studies import lock_study, record
from studies.statements import clock

if TYPE_CHECKING:
    import requests


class WebhookError(Exception):
    """A webhook cannot be stored or reached as requested; the message says what to do."""


_PURPOSE = b"thirdperson: secrets of webhooks, version 1"
_PREFIX = "whsec_"
HEADER = "Thirdperson-Signature"


def new_secret() -> tuple[str, str]:
    """A secret to show once, and its encrypted form for the database."""
    secret = _PREFIX + secrets.token_hex(32)
    return secret, cipher(_PURPOSE).encrypt(secret.encode()).decode()


def secret_of(webhook: Webhook) -> str:
    """The secret. Raises `InvalidToken` of cryptography if SECRET_KEY has changed."""
    return cipher(_PURPOSE).decrypt(webhook.sealed_secret.encode()).decode()


def has_readable_secret(webhook: Webhook) -> bool:
    """Whether this installation's SECRET_KEY decrypts the secret."""
    from cryptography.fernet import InvalidToken

    try:
        secret_of(webhook)
    except InvalidToken:
        return False
    return True


def signature(secret: str, *, timestamp: int, body: bytes) -> str:
    """The value of the header: the time, and HMAC-SHA256 of time and body."""
    signed = f"{timestamp}.".encode() + body
    digest = hmac.new(secret.encode(), signed, hashlib.sha256).hexdigest()
    return f"t={timestamp},v1={digest}"


_PORTS = {"https": 443, "http": 80}


@dataclass(frozen=True)
class WebhookTarget:
    """The target of a request: the checked IP address, and the name that it was found by."""

    scheme: str
    host: str
    ip: str
    port: int
    path: str

    @property
    def netloc(self) -> str:
        """The value of the header Host."""
        name = f"[{self.host}]" if ":" in self.host else self.host
        return name if self.port == _PORTS[self.scheme] else f"{name}:{self.port}"

    @property
    def url(self) -> str:
        """The address with the IP instead of the name, which may resolve differently next time."""
        ip = f"[{self.ip}]" if ":" in self.ip else self.ip
        return f"{self.scheme}://{ip}:{self.port}{self.path}"


def check_url(url: str) -> None:
    """Raise `WebhookError` unless `url` has the form of an allowed address."""
    _parts(url)


def find_target(url: str) -> WebhookTarget:
    """Look up an address. Raises `WebhookError` if any IP of its name is not allowed."""
    scheme, host, port, path = _parts(url)
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise WebhookError(f"The name {host} cannot be found: {error}.") from error
    ips = list(dict.fromkeys(str(address[0]) for *_, address in found))
    if not settings.WEBHOOK_PRIVATE_ADDRESSES and not all(map(is_public, ips)):
        raise WebhookError(
            f"{host} is an address of this machine or of a private network. Use a public address, "
            "or ask the administrator to set WEBHOOK_PRIVATE_ADDRESSES=1."
        )
    return WebhookTarget(scheme, host, ips[0], port, path)


def _parts(url: str) -> tuple[str, str, int, str]:
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        raise WebhookError(f"“{url}” is not an address: {error}.") from error
    schemes = ("https", "http") if settings.WEBHOOK_PRIVATE_ADDRESSES else ("https",)
    if parts.scheme not in schemes or not parts.hostname:
        raise WebhookError("Use an address that begins with https://.")
    if parts.username or parts.password or parts.fragment:
        raise WebhookError("Use an address without a user name, password and #fragment.")
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    return parts.scheme, parts.hostname, port or _PORTS[parts.scheme], path


logger = logging.getLogger(__name__)

# Waits before the second attempt, the third and so on; after the last, the delivery has failed.
WAITS = tuple(
    timedelta(seconds=seconds) for seconds in (30, 120, 600, 3_600, 6 * 3_600, 24 * 3_600)
)
# If a worker is killed while sending, another one takes the delivery after this time.
_LEASE = timedelta(minutes=2)
_TIMEOUT = (5.0, 10.0)  # seconds to connect, and for each part of the response
KEPT_FOR = timedelta(days=30)


def due() -> list[int]:
    """The deliveries to attempt now, the longest waiting first."""
    waiting = Delivery.objects.filter(_is_due(), state=Delivery.State.WAITING)
    return list(waiting.order_by("next_attempt_at").values_list("pk", flat=True)[:200])


def _is_due() -> Q:
    return clock.has_ended("next_attempt_at", WAITS[-1])


def attempt(delivery_id: int) -> None:
    """Send a delivery that is due, and store the result. Of two workers, only one sends it."""
    now = clock.now()
    claimed = Delivery.objects.filter(
        _is_due(), pk=delivery_id, state=Delivery.State.WAITING
    ).update(next_attempt_at=now + _LEASE, attempts=F("attempts") + 1)
    if not claimed:
        return
    delivery = Delivery.objects.select_related("webhook__study").get(pk=delivery_id)
    try:
        status = _send(delivery)
    except WebhookError as error:
        _store(delivery, message=str(error))
    else:
        _store(delivery, message=f"The address answered {status}.", arrived=200 <= status < 300)


def send_again(delivery: Delivery) -> None:
    """Queue a delivery from the beginning; the caller sends its message."""
    Delivery.objects.filter(pk=delivery.pk).update(
        state=Delivery.State.WAITING, attempts=0, next_attempt_at=clock.now(), delivered_at=None
    )


def forget_old_deliveries() -> None:
    """Delete deliveries that ended a month ago. Safe to repeat."""
    ended = Delivery.objects.exclude(state=Delivery.State.WAITING)
    ended.filter(created_at__lt=clock.now() - KEPT_FOR).delete()


def _store(delivery: Delivery, *, message: str, arrived: bool = False) -> None:
    now = clock.now()
    same = Delivery.objects.filter(pk=delivery.pk, attempts=delivery.attempts)
    if arrived:
        same.update(state=Delivery.State.DELIVERED, delivered_at=now, message=message[:300])
        return
    logger.info("delivery %s, attempt %s: %s", delivery.pk, delivery.attempts, message)
    if delivery.attempts > len(WAITS):
        same.update(state=Delivery.State.FAILED, message=message[:300])
    else:
        wait = WAITS[delivery.attempts - 1]
        same.update(next_attempt_at=now + wait, message=message[:300])


def _send(delivery: Delivery) -> int:
    """The status of the response. Raises `WebhookError` if there is none."""
    import requests
    from cryptography.fernet import InvalidToken

    target = find_target(delivery.webhook.url)
    body = _body(delivery)
    timestamp = int(clock.now().timestamp())
    try:
        signed = signature(secret_of(delivery.webhook), timestamp=timestamp, body=body)
    except InvalidToken:
        raise WebhookError(
            "The secret cannot be read, because this server's SECRET_KEY has changed. Delete the "
            "webhook and add it again."
        ) from None
    headers = {
        "Content-Type": "application/json",
        "Host": target.netloc,
        "User-Agent": "Thirdperson",
        "Thirdperson-Event": delivery.event,
        "Thirdperson-Delivery": delivery.public_id,
        HEADER: signed,
    }
    try:
        with _session(target) as session:
            response = session.post(
                target.url,
                data=body,
                headers=headers,
                timeout=_TIMEOUT,
                allow_redirects=False,
                stream=True,  # the response body is not read
            )
            response.close()
            return response.status_code
    except requests.RequestException as error:
        why = "in time" if isinstance(error, requests.Timeout) else "over a connection"
        raise WebhookError(f"The address did not answer {why}.") from error


def _body(delivery: Delivery) -> bytes:
    event = {
        "id": delivery.public_id,
        "event": delivery.event,
        "study": delivery.webhook.study.slug,
        "created_at": delivery.created_at.isoformat(),
        "data": delivery.payload,
    }
    return json.dumps(event, ensure_ascii=False).encode()


def _session(target: WebhookTarget) -> "requests.Session":
    """A session that connects to the checked IP and expects the certificate of the name."""
    import requests
    from requests.adapters import HTTPAdapter

    session = requests.Session()
    session.trust_env = False  # a proxy would resolve the name again
    if target.scheme == "https":
        adapter = HTTPAdapter()
        adapter.init_poolmanager(1, 1, server_hostname=target.host, assert_hostname=target.host)
        session.mount("https://", adapter)
    return session


_OVERLAP = timedelta(minutes=10)
_ENDED = ("done", "failed")
FoundEvent = tuple[str, str, dict[str, Any]]


def find_events() -> int:
    """Store new events for every subscribed webhook; return how many. Safe to repeat."""
    stored = 0
    for webhook in Webhook.objects.select_related("study"):
        now = clock.now()
        since = max(webhook.created_at, min(webhook.seen_until, now) - _OVERLAP)
        found = [each for each in _events(webhook, since) if each[0] in webhook.events]
        stored += store(webhook, found)
        Webhook.objects.filter(pk=webhook.pk).update(
            seen_until=now, seen_seats=complete_seats(webhook.study)
        )
    return stored


def store(webhook: Webhook, found: list[FoundEvent]) -> int:
    """Store events that are not stored yet; return how many."""
    known = set(
        Delivery.objects.filter(
            webhook=webhook, subject__in=[subject for _, subject, _ in found]
        ).values_list("event", "subject")
    )
    new = [each for each in found if each[:2] not in known]
    Delivery.objects.bulk_create(
        [
            Delivery(webhook=webhook, event=event, subject=subject, payload=data)
            for event, subject, data in new
        ],
        ignore_conflicts=True,
    )
    return len(new)


def complete_seats(study: Study) -> int:
    """The number of answers needed if all of them exist, else 0."""
    groups = [group for group in seat_groups(study) if group.needed]
    is_complete = all(group.answered >= group.needed for group in groups)
    return sum(group.needed * group.items for group in groups) if is_complete else 0


def _events(webhook: Webhook, since: datetime) -> Iterator[FoundEvent]:
    study = webhook.study
    data: dict[str, Any]
    runs = JudgeRun.objects.filter(study=study, ended_at__gte=since, is_imported=False)
    under_way = (*JudgeRun.ACTIVE, JudgeRun.State.PAUSED)
    for run in runs.exclude(state__in=under_way).select_related("judge"):
        assert run.ended_at is not None  # noqa: S101
        data = {"run": run.public_id, "judge": run.judge.name, "state": run.state}
        # An extended run ends again.
        yield Event.RUN_FINISHED, f"{run.public_id} {run.ended_at.timestamp():.3f}", data
    for report in Report.own.filter(study=study, finished_at__gte=since, state__in=_ENDED):
        data = {"report": report.public_id, "number": report.number, "state": report.state}
        yield Event.REPORT_READY, report.public_id, data
    for export in Export.objects.filter(study=study, finished_at__gte=since, state__in=_ENDED):
        data = {"export": export.public_id, "what": export.what, "state": export.state}
        yield Event.EXPORT_READY, export.public_id, data
    seats = complete_seats(study)
    if seats and seats != webhook.seen_seats:
        yield Event.STUDY_COMPLETE, f"{seats} answers", {"answers": seats}


MOST = 10


@transaction.atomic
def add_webhook(
    *, study_id: int, url: str, events: Sequence[str], user: User
) -> tuple[Webhook, str]:
    """Store a webhook; return it with its secret, which is not shown again.

    Raises `WebhookError`. The name in the address is resolved at every delivery.
    """
    check_url(url)
    study = lock_study(study_id)
    if study.webhooks.count() >= MOST:
        raise WebhookError(f"A study has at most {MOST} webhooks. Delete one first.")
    secret, sealed = new_secret()
    webhook = Webhook.objects.create(
        study=study,
        url=url,
        events=[event for event in Event.values if event in events],
        sealed_secret=sealed,
        seen_seats=complete_seats(study),
        created_by=user,
    )
    record(study, "webhook added", user=user, webhook=webhook.public_id)
    return webhook, secret


@transaction.atomic
def delete_webhook(*, webhook: Webhook, user: User) -> None:
    record(webhook.study, "webhook deleted", user=user, webhook=webhook.public_id)
    webhook.delete()


def send_test(*, webhook: Webhook) -> None:
    """Store an empty test event, and send it."""
    moment = f"{clock.now().timestamp():.3f}"
    delivery = Delivery.objects.create(webhook=webhook, event=Event.TEST, subject=moment)
    _queue(delivery)


def deliver_again(*, delivery: Delivery) -> None:
    """Send an event once more, whatever its state."""
    send_again(delivery)
    _queue(delivery)


def webhooks_of_an_owner(study: Study, user_id: int) -> list[GivenRight]:
    """The webhooks of a study that this user added."""

    def grant(webhook: Webhook) -> GivenRight:
        return GivenRight(
            key=f"webhook {webhook.public_id}",
            label=f"webhook to {webhook.url}",
            end=lambda by: delete_webhook(webhook=webhook, user=by),
            hand_to=lambda heir: Webhook.objects.filter(pk=webhook.pk).update(created_by=heir),
        )

    return [grant(webhook) for webhook in study.webhooks.filter(created_by=user_id)]


def webhooks_of(study: Study) -> list[Webhook]:
    return list(study.webhooks.all())


def _queue(delivery: Delivery) -> None:
    from api.tasks import send_delivery

    send_delivery.delay_on_commit(delivery.pk)  # type: ignore[attr-defined]
