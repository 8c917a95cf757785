"""Sending events: one attempt at a time, with longer and longer waits between them."""

import json
import logging
from datetime import timedelta
from typing import TYPE_CHECKING

from django.db.models import F, Q

from api.errors import WebhookError
from api.models import Delivery
from api.webhooks.addresses import WebhookTarget, find_target
from api.webhooks.signing import HEADER, secret_of, signature
from studies.statements import clock

if TYPE_CHECKING:
    import requests

logger = logging.getLogger(__name__)

# Before the second attempt, the third and so on; after the last the delivery has failed.
WAITS = tuple(
    timedelta(seconds=seconds) for seconds in (30, 120, 600, 3_600, 6 * 3_600, 24 * 3_600)
)
# A worker that is killed while it sends leaves the delivery to another one after this.
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
    """Send a delivery that is due, and store what came back. Of two workers, one sends it."""
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
    """The status that the address answers. Raises `WebhookError` if there is no answer."""
    import requests
    from cryptography.fernet import InvalidToken

    target = find_target(delivery.webhook.url)
    body = _body(delivery)
    timestamp = int(clock.now().timestamp())
    try:
        signed = signature(secret_of(delivery.webhook), timestamp=timestamp, body=body)
    except InvalidToken:
        raise WebhookError(
            "The secret cannot be read, because the SECRET_KEY of this server has changed. Delete "
            "the webhook and add it again."
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
                stream=True,  # nothing of the response is read
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
    session.trust_env = False  # a proxy would look the name up again
    if target.scheme == "https":
        adapter = HTTPAdapter()
        adapter.init_poolmanager(1, 1, server_hostname=target.host, assert_hostname=target.host)
        session.mount("https://", adapter)
    return session
