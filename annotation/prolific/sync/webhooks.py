"""Webhooks: verified over the raw bytes, stored once, answered immediately, handled by Celery."""

import base64
import binascii
import contextlib
import datetime as dt
import hashlib
import hmac
import re

from django.conf import settings
from django.contrib.auth.models import User
from django.db.models import Max
from django.urls import reverse

from annotation.models import ProlificEvent, ProlificStudy, ProlificSubmission, Recruitment
from annotation.prolific.api.accounts import store_secret
from annotation.prolific.api.claims import claimed_workspace
from annotation.prolific.api.client import IN_WORKER, ProlificClient, connect, is_local
from annotation.prolific.api.credentials import recruitments_in, signing_secrets, signs_for
from annotation.prolific.api.transport import NotAllowed, NotFound, ProlificError
from annotation.prolific.launch.launch import mirror
from annotation.prolific.launch.launch_plan import workspace_of
from annotation.prolific.launch.publication import pause_full
from annotation.prolific.sync.sync import refresh_submission
from annotation.services.identities import erased_ids
from studies.models import Study
from studies.services.studies import record
from studies.statements import clock
from studies.texts.json_values import json_value

_MANY_RETURNS = "study.has_high_return_rate"
EVENTS = ("submission.status.change", "study.status.change", _MANY_RETURNS)
# Prolific repeats unanswered webhooks, and the next reading makes up for missed ones.
_REPEATED_FOR, _AHEAD = dt.timedelta(days=1), dt.timedelta(minutes=10)
_RESOURCE = re.compile(r"[A-Za-z0-9_-]{1,64}")


class BadWebhook(ValueError):
    """The webhook is not signed with our secret, or is not an event."""


def is_signed(*, secret: str, timestamp: str, body: bytes, signature: str) -> bool:
    """Whether `signature` is base64(HMAC-SHA256(secret, timestamp + body)), in constant time.

    The timestamp is part of the signed data.
    """
    expected = hmac.new(secret.encode(), timestamp.encode() + body, hashlib.sha256).digest()
    try:
        sent = base64.b64decode(signature, validate=True)
    except (binascii.Error, ValueError):
        return False
    return hmac.compare_digest(expected, sent)


def keep(*, timestamp: str, signature: str, body: bytes) -> ProlificEvent | None:
    """Verify a webhook and store its event; None if it was stored before.

    An event is identified by its signed bytes: the id in the header is not signed, so anybody who
    has seen a webhook could send it again under another id. Raises `BadWebhook`.
    """
    signers = [
        workspace
        for workspace, secret in signing_secrets()
        if is_signed(secret=secret, timestamp=timestamp, body=body, signature=signature)
    ]
    if not signers:
        raise BadWebhook("it is signed with no secret that is known here")
    if not _is_recent(timestamp):
        raise BadWebhook("its timestamp is too old, or in the future")
    event = _read(body)
    named = Recruitment.objects.filter(study=_study_of(**event)).select_related("prolific_account")
    if named:
        signers = [workspace for workspace in signers if signs_for(workspace, named[0])]
    if not signers:
        raise BadWebhook("it names a study of another workspace than the secret's")
    erased = erased_ids(event["resource_id"])
    if ProlificSubmission.objects.filter(submission_id__in=erased).exists():
        return None
    stored, created = ProlificEvent.objects.get_or_create(
        event_id=hashlib.sha256(timestamp.encode() + b"\n" + body).hexdigest(),
        defaults={
            "kind": event["event_type"][:60],
            "resource_id": event["resource_id"],
            "workspace_id": signers[0],
        },
    )
    return stored if created else None


def _study_of(event_type: str, resource_id: str) -> int | None:
    """Our study that an event is about; None if it is about none, or about a new submission."""
    if event_type.startswith("submission."):
        listed = ProlificSubmission.objects.filter(submission_id=resource_id)
        return listed.values_list("prolific_study__study", flat=True).first()
    launched = ProlificStudy.everything.filter(prolific_id=resource_id)
    return launched.values_list("study", flat=True).first()


def _is_recent(timestamp: str) -> bool:
    """Whether the timestamp of a webhook is recent, allowing for clocks and repeats."""
    try:
        sent = dt.datetime.fromtimestamp(float(timestamp), tz=dt.UTC)
    except (ValueError, OverflowError, OSError):
        return False
    return -_AHEAD <= clock.now() - sent <= _REPEATED_FOR


def _read(body: bytes) -> dict[str, str]:
    try:
        event = json_value(body)
        kind, resource = event["event_type"], event["resource_id"]
    except (ValueError, KeyError, TypeError):
        raise BadWebhook("it contains no event") from None
    if not isinstance(kind, str) or not isinstance(resource, str) or not kind.isprintable():
        raise BadWebhook("it contains no event")
    if not _RESOURCE.fullmatch(resource):
        raise BadWebhook("its resource id is malformed")
    return {"event_type": kind, "resource_id": resource}


def handle(*, event_id: int) -> bool:
    """Read the data that an event is about; False if it is not ours. Safe to repeat.

    Raises `ProlificError`; the event then stays unhandled, and the next reading makes up for it.
    """
    event = ProlificEvent.objects.get(pk=event_id)
    if event.handled_at is not None:
        return True
    study_id = _study_of(event.kind, event.resource_id)
    ours = study_id is not None
    if event.kind.startswith("submission."):
        ours = _refresh(event, study_id)
        if study := _study_of(event.kind, event.resource_id):
            pause_full(study_id=study)
    elif study_id is not None:
        row = ProlificStudy.everything.get(prolific_id=event.resource_id)
        mirror(row, connect(study_id, patience=IN_WORKER).study(event.resource_id))
        if event.kind == _MANY_RETURNS:
            row.many_returns_at = clock.now()
            row.save(update_fields=["many_returns_at"])
    event.handled_at = clock.now()
    event.save(update_fields=["handled_at"])
    return ours


def _refresh(event: ProlificEvent, study_id: int | None) -> bool:
    """Read a submission with its study's account; a new one with any account of the workspace."""
    if study_id is not None:
        client = connect(study_id, patience=IN_WORKER)
        return refresh_submission(event.resource_id, client=client)
    launched = recruitments_in(event.workspace_id).filter(
        study__prolific_studies__prolific_id__isnull=False
    )
    failure: ProlificError | None = None
    for one in launched.values("prolific_account").annotate(any_study=Max("study")):
        try:
            client = connect(one["any_study"], patience=IN_WORKER)
            if refresh_submission(event.resource_id, client=client):
                return True
        except ProlificError as error:
            failure = error
    if failure is not None:
        raise failure
    return False


def subscribe(*, study_id: int, user: User | None = None) -> str:
    """Subscribe the workspace's events to this installation and return its signing secret.

    An existing secret of the workspace is kept: a new one would break other installations that use
    it. Existing subscriptions stay as they are. For an entered account the secret is stored.
    Raises `NotAllowed`, `ProlificError`.

    Secret and subscriptions belong to the workspace, so its studies change them one at a time.
    """
    study = Study.objects.get(pk=study_id)
    if not settings.PUBLIC_BASE_URL.startswith("https://") and not is_local():
        raise NotAllowed("Prolific calls only public https addresses. Set PUBLIC_BASE_URL to one.")
    client = connect(study_id)
    recruitment, _ = Recruitment.objects.get_or_create(study_id=study_id)
    workspace = workspace_of(recruitment, client).id
    with claimed_workspace(workspace, client) as claim:
        kept = client.secrets(workspace)
        secret = str(kept[0].get("value") or "") if kept else client.create_secret(workspace)
        if secret and client.account_id is not None:
            store_secret(account_id=client.account_id, secret=secret)
        _subscribe_events(client, workspace, is_first=claim.subscribed_at is None)
        claim.subscribed_at = recruitment.webhooks_at = clock.now()
        claim.save(update_fields=["subscribed_at"])
        recruitment.save(update_fields=["webhooks_at"])
    record(study, "webhooks subscribed", user=user)
    return secret


def _subscribe_events(client: ProlificClient, workspace: str, *, is_first: bool) -> None:
    """Ensure one confirmed subscription for each event.

    A subscription whose answer was lost can never be confirmed. So until subscribing succeeds once
    for the workspace, existing subscriptions are deleted and created again.
    """
    address = f"{settings.PUBLIC_BASE_URL}{reverse('prolific-webhook')}"
    ours = [row for row in client.subscriptions(workspace) if row.get("target_url") == address]
    if is_first:
        for row in ours:
            with contextlib.suppress(NotFound):
                client.unsubscribe(str(row["id"]))
        ours = []
    known = {row.get("event_type") for row in ours}
    for event in EVENTS:
        if event not in known:
            client.subscribe(workspace=workspace, event=event, url=address)
