"""A dry run in the real account: create the drafts, read them back, compare, delete them.

A draft costs nothing and nobody sees it. A dry run shows fields that Prolific drops, changes or
refuses before a launch depends on them. The drafts are deleted even after an error; the next dry
run deletes drafts left by a crash.
"""

import contextlib
import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode

from django.contrib.auth.models import User
from django.utils.crypto import salted_hmac

from annotation.models import Recruitment
from annotation.prolific.api.claims import claimed
from annotation.prolific.api.client import ProlificClient, connect
from annotation.prolific.api.transport import LaunchRefused, NotFound, OutcomeUnknown, ProlificError
from annotation.prolific.api.types import UNPUBLISHED, RemoteStudy
from annotation.prolific.launch.launch import create, delete_draft, group_name, study_name
from annotation.prolific.launch.launch_plan import (
    LaunchPlan,
    Workspace,
    payload,
    with_project,
    workspace_of,
)
from annotation.prolific.launch.targeting import essence, resolve_drafts
from studies.models import Study
from studies.services.studies import record

_SHOWN = 300
_DEVICES = ["desktop", "mobile", "tablet"]


@dataclass(frozen=True)
class DraftDifference:
    """A field that came back with a different value."""

    name: str
    sent: str
    read: str


def compare(
    sent: Mapping[str, Any], read: Mapping[str, Any]
) -> tuple[list[str], list[DraftDifference], list[str]]:
    """The names of the fields that are equal, that differ, and that Prolific does not return."""
    same, differences, unseen = [], [], []
    for name, value in sent.items():
        if name not in read:
            unseen.append(name)
        elif meaning(name, value) == meaning(name, read[name]):
            same.append(name)
        else:
            differences.append(DraftDifference(name, _shown(value), _shown(read[name])))
    return same, differences, unseen


def meaning(name: str, value: Any) -> Any:
    """The meaning of a field, without differences in order, spelling or added defaults."""
    return _MEANINGS.get(name, _plain)(value)


def _plain(value: Any) -> Any:
    """Numbers by their value, text without surplus spaces, empty values as None."""
    if isinstance(value, bool):
        return value
    if isinstance(value, int | float):
        return float(value)
    if isinstance(value, str):
        return " ".join(value.split())
    if isinstance(value, list):
        return [_plain(one) for one in value]
    if isinstance(value, dict):
        return {name: _plain(one) for name, one in value.items() if one is not None}
    return value or None


def _codes(value: Any) -> Any:
    """Completion codes in any order, each with its actions in any order."""
    return sorted(
        (
            str(one.get("code")),
            str(one.get("code_type")),
            sorted(json.dumps(_plain(action), sort_keys=True) for action in one["actions"]),
        )
        for one in value or []
    )


def _devices(value: Any) -> Any:
    """The devices; an empty list means every device."""
    return sorted(value or _DEVICES)


def _config(value: Any) -> Any:
    """How often participants may take part; omitted fields have the platform's default."""
    stated = {name: one for name, one in (value or {}).items() if one not in (None, [])}
    return {"max_submissions_per_participant": 1, "max_concurrent_submissions": -1} | stated


_MEANINGS: dict[str, Callable[[Any], Any]] = {
    "completion_codes": _codes,
    "device_compatibility": _devices,
    "filters": essence,
    "submissions_config": _config,
}


def _shown(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"


_SALT = "annotation.prolific.dry-run"


@dataclass(frozen=True)
class ApiRequest:
    """A request as it was sent; `body` is JSON text, empty if there is none."""

    method: str
    path: str
    body: str

    @classmethod
    def of(cls, method: str, path: str, options: Mapping[str, Any]) -> "ApiRequest":
        """From the options of the request: `params` and `json`."""
        query, body = urlencode(options.get("params") or {}), options.get("json")
        sent = "" if body is None else json.dumps(body, ensure_ascii=False, indent=1)
        return cls(method, f"{path}?{query}" if query else path, sent)


@dataclass(frozen=True)
class Tried:
    """A draft as returned: the fields that are as sent, and those that are not."""

    label: str
    same: list[str]
    differences: list[DraftDifference]
    unseen: list[str]
    cost: int | None
    is_ready: bool | None


@dataclass
class DryRun:
    """The result of a dry run: everything that was sent, and what came back.

    `left_behind` names drafts that could not be deleted.
    """

    workspace: Workspace
    currency: str
    drafts: list[Tried] = field(default_factory=list)
    requests: list[ApiRequest] = field(default_factory=list)
    left_behind: list[str] = field(default_factory=list)

    @property
    def is_clean(self) -> bool:
        return not self.left_behind and not any(draft.differences for draft in self.drafts)


def dry_run(*, study_id: int, user: User | None = None) -> DryRun:
    """Try the launch of a study. Publishes nothing, and deletes what it created.

    Raises `LaunchRefused` if filters of the plan are not found, `NotAllowed` without a workspace,
    and any `ProlificError`; drafts created by then are deleted first.
    """
    study = Study.objects.get(pk=study_id)
    client = connect(study_id)
    sent: list[ApiRequest] = []
    client.on_request = lambda *request: sent.append(ApiRequest.of(*request))
    with claimed(study_id, client) as recruitment:
        workspace = with_project(client, workspace_of(recruitment, client))
        dry_run = DryRun(workspace, study.currency, requests=sent)
        with _cleaned_up(client, study, recruitment, dry_run) as group_id:
            for label, body in _bodies(client, study, recruitment, workspace, group_id):
                dry_run.drafts.append(_try(client, label, body))
    record(
        study,
        "dry run on Prolific",
        user=user,
        drafts=len(dry_run.drafts),
        differences=sum(len(draft.differences) for draft in dry_run.drafts),
    )
    return dry_run


def _bodies(
    client: ProlificClient,
    study: Study,
    recruitment: Recruitment,
    workspace: Workspace,
    group_id: str,
) -> Iterator[tuple[str, dict[str, Any]]]:
    """The requests of a launch, under dry-run names."""
    plan = LaunchPlan.of(recruitment.plan)
    drafts = resolve_drafts(study, plan, client, workspace.id, group_id=group_id)
    if problems := list(dict.fromkeys(p for _, _, resolved in drafts for p in resolved.problems)):
        raise LaunchRefused(problems)
    for number, (label, places, resolved) in enumerate(drafts, start=1):
        body = payload(
            study,
            plan,
            name=f"{_name(study.pk)}-{number}",
            places=places,
            filters=resolved.filters,
            filter_set=resolved.filter_set,
            group_id=group_id,
            project=workspace.project,
        )
        yield label, body | {"name": study_name(study, label)}


def _try(client: ProlificClient, label: str, body: Mapping[str, Any]) -> Tried:
    draft = create(client, dict(body), is_new=True)
    read = client.study(draft.id)
    cost = client.cost(draft.id).total
    same, differences, unseen = compare(body, read.payload)
    return Tried(label, same, differences, unseen, cost, read.payload.get("is_ready_to_publish"))


def _name(study_id: int) -> str:
    """The prefix of the names of a study's dry-run drafts, by which they are found again."""
    key = salted_hmac(_SALT, str(study_id), algorithm="sha256").hexdigest()
    return f"thirdperson-dry-run-{key[:16]}"


@contextmanager
def _cleaned_up(
    client: ProlificClient, study: Study, recruitment: Recruitment, dry_run: DryRun
) -> Iterator[str]:
    """Delete leftovers of earlier dry runs, and what this one creates, however it ends.

    Yields the id of the participant group of the drafts; empty if they need none.
    """
    left = _delete_drafts(client, study, dry_run.workspace)
    if left:
        raise OutcomeUnknown(
            f"Drafts of an earlier dry run could not be deleted: {', '.join(left)}. "
            "Delete them on Prolific, then try again."
        )
    is_apart = LaunchPlan.of(recruitment.plan).apart
    is_there = recruitment.workspace.get("id") == dry_run.workspace.id
    kept = recruitment.group_id if is_there else ""
    try:
        group = is_apart and not kept and _find_group(client, study, dry_run.workspace, make=True)
        yield kept or group or ""
    except ProlificError as error:
        _clean(client, study, dry_run, with_group=is_apart and not kept)
        if dry_run.left_behind:
            names = ", ".join(dry_run.left_behind)
            raise ProlificError(
                f"{error} Still on Prolific: {names}. The next dry run deletes it."
            ) from error
        raise
    except BaseException:
        _clean(client, study, dry_run, with_group=is_apart and not kept)
        raise
    _clean(client, study, dry_run, with_group=is_apart and not kept)


def _clean(client: ProlificClient, study: Study, dry_run: DryRun, *, with_group: bool) -> None:
    """Delete everything by name, to include objects whose creation was never confirmed."""
    dry_run.left_behind += _delete_drafts(client, study, dry_run.workspace)
    if with_group and not dry_run.left_behind:
        _forget_group(client, study, dry_run)


def _find_group(client: ProlificClient, study: Study, workspace: Workspace, *, make: bool) -> str:
    name = group_name(study.pk)
    known = client.groups(workspace=workspace.id)
    if name in known or not make:
        return known.get(name, "")
    try:
        return client.create_group(name, workspace=workspace.id)
    except OutcomeUnknown:
        if group := client.groups(workspace=workspace.id).get(name):
            return group
        raise


def _forget_group(client: ProlificClient, study: Study, dry_run: DryRun) -> None:
    """Delete the participant group that was created only for the dry run."""
    name = group_name(study.pk)
    try:
        if group := _find_group(client, study, dry_run.workspace, make=False):
            client.send("DELETE", f"participant-groups/{group}/", again=True)
    except NotFound:
        # It may be gone or temporarily hidden: the list shows which.
        with contextlib.suppress(ProlificError):
            if not _find_group(client, study, dry_run.workspace, make=False):
                return
        dry_run.left_behind.append(f"participant group {name}")
    except ProlificError:
        dry_run.left_behind.append(f"participant group {name}")


def _delete_drafts(client: ProlificClient, study: Study, workspace: Workspace) -> list[str]:
    """Delete the study's dry-run drafts; return the names of those that are still there."""
    beginning = _name(study.pk)
    try:
        ours = [s for s in client.studies(workspace.project) if _is_ours(s, beginning)]
    except ProlificError:
        return [f"every draft whose internal name begins with {beginning}"]
    left = []
    for draft in ours:
        try:
            delete_draft(client, draft.id)
        except ProlificError:
            left.append(draft.internal_name)
    return left


def _is_ours(study: RemoteStudy, beginning: str) -> bool:
    return study.status == UNPUBLISHED and study.internal_name.startswith(beginning)
