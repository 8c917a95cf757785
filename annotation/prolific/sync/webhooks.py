"""Webhooks: verified over the raw bytes, stored once, answered immediately, handled in Celery."""

import base64
import binascii
import contextlib
import hashlib
import hmac
import json
import re
from typing import Any

from django.conf import settings
from django.contrib.auth.models import User
from django.urls import reverse

from annotation.models import ProlificEvent, ProlificStudy, Recruitment
from annotation.prolific.api.account import IN_WORKER, alone, connect, is_local
from annotation.prolific.api.client import Client
from annotation.prolific.api.errors import NotAllowed, NotFound
from annotation.prolific.launch.launch import mirror
from annotation.prolific.launch.workspace import workspace_of
from annotation.prolific.sync.sync import refresh_submission
from studies.models import Study
from studies.services.studies import record
from studies.statements import clock

EVENTS = ("submission.status.change", "study.status.change")
_RESOURCE = re.compile(r"[A-Za-z0-9_-]{1,64}")


class BadWebhook(ValueError):
    """The webhook is not signed with our secret, or is no event."""


def is_signed(*, secret: str, timestamp: str, body: bytes, signature: str) -> bool:
    """Whether `signature` is base64(HMAC-SHA256(secret, timestamp + body)), in constant time.

    The timestamp is part of the signed data and has no other use: repeats may carry an old one, and
    are recognised by their event id.
    """
    expected = hmac.new(secret.encode(), timestamp.encode() + body, hashlib.sha256).digest()
    try:
        given = base64.b64decode(signature, validate=True)
    except (binascii.Error, ValueError):
        return False
    return hmac.compare_digest(expected, given)


def keep(*, event_id: str, timestamp: str, signature: str, body: bytes) -> ProlificEvent | None:
    """Verify a webhook and store its event; None when it was stored before.

    Raises `BadWebhook`.
    """
    secret = settings.PROLIFIC_WEBHOOK_SECRET
    if not secret:
        raise BadWebhook("no secret is set: PROLIFIC_WEBHOOK_SECRET")
    if not is_signed(secret=secret, timestamp=timestamp, body=body, signature=signature):
        raise BadWebhook("the signature is not ours")
    event = _read(body)
    # An event without an id is identified by its content.
    event_id = event_id or hashlib.sha256(timestamp.encode() + body).hexdigest()
    stored, created = ProlificEvent.objects.get_or_create(
        event_id=event_id[:100],
        defaults={"kind": event["event_type"][:60], "resource_id": event["resource_id"]},
    )
    return stored if created else None


def _read(body: bytes) -> dict[str, Any]:
    try:
        event = json.loads(body)
        kind, resource = event["event_type"], event["resource_id"]
    except (ValueError, KeyError, TypeError):
        raise BadWebhook("it holds no event") from None
    if not isinstance(kind, str) or not isinstance(resource, str) or not kind.isprintable():
        raise BadWebhook("it holds no event")
    if not _RESOURCE.fullmatch(resource):
        raise BadWebhook("its resource id is malformed")
    return {"event_type": kind, "resource_id": resource}


def handle(*, event_id: int) -> bool:
    """Read again the data that an event is about; False when it is not ours. Safe to run twice.

    Raises `ProlificError`: the event stays unhandled, and the next reading of the study makes up
    for it.
    """
    event = ProlificEvent.objects.get(pk=event_id)
    if event.handled_at is not None:
        return True
    ours = False
    if event.kind.startswith("submission."):
        ours = refresh_submission(event.resource_id)
    elif event.kind.startswith("study."):
        row = ProlificStudy.objects.filter(prolific_id=event.resource_id).first()
        if row is not None:
            mirror(row, connect(patience=IN_WORKER).study(event.resource_id))
            ours = True
    event.handled_at = clock.now()
    event.save(update_fields=["handled_at"])
    return ours


def subscribe(*, study_id: int, user: User | None = None) -> str:
    """Subscribe the workspace's events to this installation and return its signing secret.

    An existing secret of the workspace is kept: a new one would break other installations that use
    it. Existing subscriptions stay as they are. Raises `NotAllowed`, `ProlificError`.
    """
    study = Study.objects.get(pk=study_id)
    if not settings.PUBLIC_BASE_URL.startswith("https://") and not is_local():
        raise NotAllowed("Prolific calls public https addresses alone. Set PUBLIC_BASE_URL.")
    client = connect()
    with alone(study_id, client) as recruitment:
        workspace = workspace_of(recruitment, client).id
        kept = client.secrets(workspace)
        secret = str(kept[0].get("value") or "") if kept else client.create_secret(workspace)
        _subscribe_events(client, workspace)
        recruitment.webhooks_at = clock.now()
        recruitment.save(update_fields=["webhooks_at"])
    record(study, "webhooks subscribed", user=user)
    return secret


def _subscribe_events(client: Client, workspace: str) -> None:
    """Ensure one confirmed subscription for each event.

    A subscription whose answer was lost can never be confirmed: until subscribing has succeeded
    once here, existing subscriptions are deleted and created again.
    """
    address = f"{settings.PUBLIC_BASE_URL}{reverse('prolific-webhook')}"
    ours = [row for row in client.subscriptions(workspace) if row.get("target_url") == address]
    if not Recruitment.objects.filter(webhooks_at__isnull=False).exists():
        for row in ours:
            with contextlib.suppress(NotFound):
                client.unsubscribe(str(row["id"]))
        ours = []
    known = {row.get("event_type") for row in ours}
    for event in EVENTS:
        if event not in known:
            client.subscribe(workspace=workspace, event=event, url=address)
