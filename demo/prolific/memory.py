"""The state of the simulated Prolific, in memory and, if it has a path, in a file."""

import json
import os
import random
import threading
from collections.abc import Mapping
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from demo.prolific.links import LinkKeys
from demo.prolific.records import (
    FUNDS,
    WORKSPACE,
    Behaviour,
    Delivery,
    Hook,
    Refusal,
    Submission,
    new_id,
    signature,
    stamp,
)


class Memory:
    """The whole state; the caller of a method holds `lock`.

    With a `path` the state is written there by `save` and read again at the start.
    """

    def __init__(
        self, *, seed: int = 1, currency: str = "USD", path: Path | None = None, secret: str = ""
    ) -> None:
        self.behaviour = Behaviour()
        self.currency = currency
        self.workspaces = [{"id": WORKSPACE, "title": "Simulated workspace"}]
        # The balance of each workspace's wallet, and its projects; each begins with one.
        self.wallets: dict[str, int] = {}
        self.projects: dict[str, dict[str, Any]] = {}
        self.lock = threading.RLock()
        self.studies: dict[str, dict[str, Any]] = {}
        self.submissions: dict[str, Submission] = {}
        self.bonuses: dict[str, dict[str, Any]] = {}
        self.groups: dict[str, set[str]] = {}
        self.group_names: dict[str, str] = {}
        self.group_workspaces: dict[str, str] = {}
        self.filter_sets: dict[str, dict[str, Any]] = {}
        self.test_participants: list[str] = []
        self.messages: list[dict[str, Any]] = []
        self.blocking: set[str] = set()  # participants who get no messages
        self.hooks: dict[str, Hook] = {}
        # The signing secret of each workspace, and the workspace of each subscription.
        self.hook_secrets = {WORKSPACE: secret} if secret else {}
        self.hook_workspaces: dict[str, str] = {}
        self.outbox: list[Delivery] = []
        self.legacy: list[str] = []
        self.approvals: set[str] = set()
        self.keys = LinkKeys()
        self.random = random.Random(seed)  # noqa: S311  a simulation
        self._path = path
        if path is not None and path.is_file():
            self._load(json.loads(path.read_text("utf-8")))

    # Workspaces

    @property
    def balance(self) -> int:
        """The balance of the first workspace's wallet."""
        return self.wallet(self.workspaces[0]["id"])

    @balance.setter
    def balance(self, amount: int) -> None:
        self.wallets[self.workspaces[0]["id"]] = amount

    def wallet(self, workspace: str) -> int:
        return self.wallets.setdefault(workspace, FUNDS)

    @property
    def hook_secret(self) -> str:
        """The signing secret of the first workspace."""
        return self.hook_secrets.get(self.workspaces[0]["id"], "")

    @hook_secret.setter
    def hook_secret(self, secret: str) -> None:
        self.hook_secrets[self.workspaces[0]["id"]] = secret

    def workspaces_of(self, path: str, values: Mapping[str, Any]) -> set[str]:
        """The workspaces that a request is about: those of the ids in its path and its values."""
        workspaces = {row["id"] for row in self.workspaces}
        projects, hooks, groups = self.projects, self.hook_workspaces, self.group_workspaces
        named = {*path.split("/"), *(v for v in values.values() if isinstance(v, str))}
        named |= {*values.get("submission_ids", ())}
        named |= {self.submissions[one].study for one in named & self.submissions.keys()}
        named |= {bulk["study"] for one, bulk in self.bonuses.items() if one in named}
        named |= {
            study["project"]
            for study in self.studies.values()
            if named & {study["id"], study["child"]}
        }
        named |= {projects[one]["workspace"] for one in named & projects.keys()}
        named |= {hooks[one] for one in named & hooks.keys()}
        named |= {groups[one] for one in named & groups.keys()}
        return named & workspaces

    def check_workspace(self, values: Mapping[str, Any]) -> None:
        """Refuse a workspace or project that the token cannot access."""
        known = {row["id"] for row in self.workspaces}
        if values.get("workspace_id") and values["workspace_id"] not in known:
            raise Refusal(400, {"workspace_id": ["You have no access to this workspace."]})
        for name in ("project", "project_id"):
            if values.get(name) and values[name] not in self.all_projects():
                raise Refusal(400, {name: ["You have no access to this project."]})

    def projects_of(self, workspace: str) -> list[dict[str, Any]]:
        """A workspace's projects, in the order of their creation."""
        if workspace not in {row["id"] for row in self.workspaces}:
            raise Refusal(404, "Not found.")
        if not any(row["workspace"] == workspace for row in self.projects.values()):
            self.add_project(workspace, "Project")
        return [row for row in self.projects.values() if row["workspace"] == workspace]

    def all_projects(self) -> dict[str, dict[str, Any]]:
        for row in self.workspaces:
            self.projects_of(row["id"])
        return self.projects

    def add_project(
        self, workspace: str, title: str, longitudinal: dict[str, Any] | None = None
    ) -> dict[str, Any]:
        """Create a project; one of several waves has a configuration, and figures of returns."""
        row: dict[str, Any] = {"id": new_id(), "title": title, "type": "PRIVATE"}
        row |= {"workspace": workspace, "is_longitudinal": longitudinal is not None}
        row["longitudinal"] = longitudinal and {**longitudinal, "retention": {}}
        self.projects[row["id"]] = row
        return row

    def add_filter_set(self, name: str, filters: list[dict[str, Any]], workspace: str) -> str:
        set_id = new_id()
        self.filter_sets[set_id] = {
            "id": set_id,
            "name": name,
            "version": 1,
            "is_deleted": False,
            "is_locked": False,
            "workspace_id": workspace,
            "filters": filters,
        }
        return set_id

    def save(self) -> None:
        """Write the state to its file, completely or not at all, without waiting webhooks."""
        if self._path is None:
            return
        state = {
            "workspaces": self.workspaces,
            "wallets": self.wallets,
            "projects": self.projects,
            "studies": self.studies,
            "submissions": [
                {**asdict(s), **{name: stamp(getattr(s, name)) for name in _TIMES}}
                for s in self.submissions.values()
            ],
            "bonuses": self.bonuses,
            "groups": {group: sorted(people) for group, people in self.groups.items()},
            "group_names": self.group_names,
            "group_workspaces": self.group_workspaces,
            "filter_sets": self.filter_sets,
            "test_participants": self.test_participants,
            "messages": self.messages,
            "hooks": [asdict(hook) for hook in self.hooks.values()],
            "hook_secrets": self.hook_secrets,
            "hook_workspaces": self.hook_workspaces,
            "approvals": sorted(self.approvals),
        }
        waiting = self._path.with_suffix(".new")
        waiting.write_text(json.dumps(state), "utf-8")
        os.replace(waiting, self._path)

    def _load(self, state: dict[str, Any]) -> None:
        self.workspaces, self.wallets = state["workspaces"], state["wallets"]
        self.projects, self.studies = state["projects"], state["studies"]
        for row in state["submissions"]:
            times = {name: row[name] and datetime.fromisoformat(row[name]) for name in _TIMES}
            submission = Submission(**row | times | {"stratum": tuple(row["stratum"])})
            self.submissions[submission.id] = submission
        self.bonuses = state["bonuses"]
        self.groups = {group: set(people) for group, people in state["groups"].items()}
        self.group_names = state["group_names"]
        self.group_workspaces = state["group_workspaces"]
        self.filter_sets = state.get("filter_sets", {})
        self.test_participants = state.get("test_participants", [])
        self.messages = state.get("messages", [])
        self.hooks = {row["id"]: Hook(**row) for row in state["hooks"]}
        self.hook_secrets = state["hook_secrets"] | self.hook_secrets
        self.hook_workspaces = state["hook_workspaces"]
        self.approvals = set(state["approvals"])

    # Webhooks

    def subscribe(self, body: dict[str, Any]) -> Hook:
        workspace = body.get("workspace_id", WORKSPACE)
        if not self.hook_secrets.get(workspace):
            raise Refusal(400, "Make a secret first.")
        hook = Hook(new_id(), body["event_type"], body["target_url"], new_id())
        self.hooks[hook.id] = hook
        self.hook_workspaces[hook.id] = workspace
        return hook

    def hook_of(self, hook_id: str) -> Hook:
        if hook_id not in self.hooks:
            raise Refusal(404, "Not found.")
        return self.hooks[hook_id]

    def confirm(self, hook_id: str, secret: str) -> Hook:
        hook = self.hook_of(hook_id)
        if hook.secret != secret:
            raise Refusal(400, "Wrong secret.")
        hook.confirmed = True
        return hook

    def notify(self, event: str, resource: str, **more: Any) -> None:
        about = self.workspaces_of(resource, {})
        for hook in self.hooks.values():
            workspace = self.hook_workspaces[hook.id]
            if hook.confirmed and hook.enabled and hook.event == event and workspace in about:
                body = {"event_type": event, "resource_id": resource, **more}
                self.outbox.append(self.signed(hook.url, body, workspace))

    def signed(self, url: str, body: dict[str, Any], workspace: str = WORKSPACE) -> Delivery:
        raw = json.dumps(body, indent=1).encode()
        timestamp = str(int(datetime.now(UTC).timestamp()))
        headers = {
            "Content-Type": "application/json",
            "X-Prolific-Request-Timestamp": timestamp,
            "X-Prolific-Request-Signature": signature(self.hook_secrets[workspace], timestamp, raw),
            "X-Event-ID": new_id(),
            "X-Timestamp": stamp(datetime.now(UTC)) or "",
        }
        return Delivery(url, raw, headers)


_TIMES = ("started_at", "completed_at", "return_requested")
