"""Prolific's researcher API, version 1: typed calls, and clients with a study's own account.

Only calls that may be done twice are repeated: reading, writing an absolute value, and the
transitions that Prolific documents as idempotent. Creating a study and paying a bonus are sent
once.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings

from annotation.prolific.api.credentials import Credentials, credentials_of
from annotation.prolific.api.transport import Transport, shaped
from annotation.prolific.api.types import (
    BonusSetup,
    Filter,
    FilterSet,
    RemoteStudy,
    RemoteSubmission,
    StudyCost,
    minor,
)

_RECOMMENDED = "recommended_reward_per_hour"
MAX_BULK_APPROVE = 1000
MAX_BULK_BONUS = 200


class ProlificClient(Transport):
    """One method for each request to Prolific."""

    # The account whose token was entered on a page, and the only workspace that it is used for.
    account_id: int | None = None
    workspace = ""

    # Account

    def me(self) -> dict[str, Any]:
        return self.ask("GET", "users/me/")

    def workspaces(self) -> dict[str, str]:
        """The usable workspaces: all that the token can access, or its only one; title by id."""
        rows = list(self._slices("workspaces/", {}))
        known = shaped(lambda: {str(row["id"]): str(row.get("title") or "") for row in rows})
        return {one: title for one, title in known.items() if self.workspace in ("", one)}

    def projects(self, workspace: str, **wanted: Any) -> dict[str, str]:
        """A workspace's projects in the platform's order, title by id; with these values."""
        rows = list(self._slices(f"workspaces/{workspace}/projects/", {}))
        return shaped(
            lambda: {
                str(row["id"]): str(row.get("title") or "")
                for row in rows
                if wanted.items() <= row.items()
            }
        )

    def create_project(self, workspace: str, title: str, **fields: Any) -> str:
        """Create a project and return its id. Sent once: look for the title first."""
        path = f"workspaces/{workspace}/projects/"
        body = self.ask("POST", path, json={"title": title, **fields})
        return shaped(lambda: str(body["id"]))

    def balance(self, workspace: str) -> tuple[int | None, str]:
        """The available balance of the workspace's wallet, in minor units, and its currency."""
        body = self.ask("GET", f"workspaces/{workspace}/balance/")
        amount = body.get("available_balance")
        return shaped(
            lambda: (
                None if amount is None else minor(amount),
                str(body.get("currency_code") or "").upper(),
            )
        )

    def filters(self, *, workspace: str = "") -> list[Filter]:
        """The live list; in a workspace also with its studies and participant groups."""
        params = {"detailed": "true", **({"workspace_id": workspace} if workspace else {})}
        rows = list(self._pages("filters/", params))
        return shaped(lambda: [Filter.of(row) for row in rows])

    def eligible(self, filters: list[dict[str, Any]], *, workspace: str = "") -> int:
        """How many participants match the filters; 0 means fewer than 25."""
        body: dict[str, Any] = {"filters": filters}
        if workspace:
            body["workspace_id"] = workspace
        answer = self.ask("POST", "eligibility-count/", json=body, again=True)
        return shaped(lambda: int(answer["count"]))

    def distribution(
        self, group: str, filters: Sequence[str], *, workspace: str
    ) -> dict[str, dict[str, int]]:
        """How the people of a custom group are distributed: by filter, the number of each choice.

        Only for filters of the live list that have the right tags.
        """
        params = {"workspace_id": workspace, "distribution_filters": ",".join(filters)}
        body = self.ask("GET", f"filters/{group}/distribution/", params=params)
        return shaped(
            lambda: {
                str(name): {str(choice): int(people) for choice, people in counts.items()}
                for name, counts in body["distribution"].items()
            }
        )

    def filter_sets(self, *, workspace: str) -> list[FilterSet]:
        """The workspace's filter sets in their newest version, without deleted ones."""
        body = self.ask("GET", "filter-sets/", params={"workspace_id": workspace})
        return shaped(
            lambda: [FilterSet.of(row) for row in body["results"] if not row.get("is_deleted")]
        )

    def filter_set(self, set_id: str) -> FilterSet:
        body = self.ask("GET", f"filter-sets/{set_id}/")
        return shaped(lambda: FilterSet.of(body))

    def calculate_cost(self, *, reward: int, places: int) -> int:
        """The total cost of a study, with fees and tax; minor units."""
        body = {"reward": reward, "total_available_places": places}
        answer = self.ask("POST", "study-cost-calculator/", json=body, again=True)
        return shaped(lambda: minor(answer["total_cost"]))

    def least_pay(self, currency: str, *, workspace: str) -> tuple[int, int] | None:
        """Least and recommended hourly pay in `currency`, or None where Prolific states none.

        The first entry in the currency is the current one.
        """
        params = {"workspace_id": workspace, "currency": currency}
        rows = self._json("GET", "reward-recommendations/", params=params)

        def read() -> tuple[int, int] | None:
            for row in rows if isinstance(rows, list) else rows["results"]:
                if str(row["currency"]).upper() == currency:
                    least, recommended = row["min_reward_per_hour"], row[_RECOMMENDED]
                    return minor(least), minor(recommended)
            return None

        return shaped(read)

    # Studies

    def studies(self, project: str = "") -> Iterator[RemoteStudy]:
        """The studies of a project, or all that the token can access."""
        for row in self._pages(f"projects/{project}/studies/" if project else "studies/", {}):
            yield _study(row)

    def study(self, study_id: str) -> RemoteStudy:
        return _study(self.ask("GET", f"studies/{study_id}/"))

    def create_study(self, payload: dict[str, Any]) -> RemoteStudy:
        """Create a draft. Never repeated: after `OutcomeUnknown`, look for the internal name."""
        return _study(self.ask("POST", "studies/", json=payload))

    def set_places(self, study_id: str, places: int) -> RemoteStudy:
        """Set the number of places; an absolute value, so a repeat changes nothing."""
        body = {"total_available_places": places}
        return _study(self.ask("PATCH", f"studies/{study_id}/", json=body, again=True))

    def transition_study(self, study_id: str, action: str, *, at: str = "") -> RemoteStudy:
        """PUBLISH, PAUSE, START, STOP and others. Sent once: if in doubt, read the status.

        `at` is the time of SCHEDULE_PUBLISH.
        """
        body = {"action": action} | ({"publish_at": at} if at else {})
        return _study(self.ask("POST", f"studies/{study_id}/transition/", json=body))

    def cost(self, study_id: str) -> StudyCost:
        """The total cost of the study once every place is filled, without bonuses."""
        path = f"studies/{study_id}/cost/"
        body = self.ask("GET", path, params={"is_projected": "true"})
        return shaped(lambda: StudyCost.of(body["rewards"]))

    def delete_study(self, study_id: str) -> None:
        """Delete a draft; other studies cannot be deleted."""
        self.send("DELETE", f"studies/{study_id}/", again=True)

    def groups(self, *, workspace: str) -> dict[str, str]:
        """The participant groups of a workspace: id by name."""
        rows = list(self._slices("participant-groups/", {"workspace_id": workspace}))
        return shaped(lambda: {str(row.get("name")): str(row["id"]) for row in rows})

    def create_group(self, name: str, *, workspace: str) -> str:
        """Create a participant group and return its id. Sent once: look for the name first."""
        sent = {"name": name, "workspace_id": workspace}
        body = self.ask("POST", "participant-groups/", json=sent)
        return shaped(lambda: str(body["id"]))

    # Submissions

    def submissions(self, study_id: str) -> Iterator[RemoteSubmission]:
        """Every submission of one study; without an id, Prolific lists the whole account."""
        if not study_id:
            raise ValueError("a study id is needed")
        params = {"study": study_id, "ordering": "started_at"}
        for row in self._pages("submissions/", params):
            yield _submission(row, study_id)

    def submission(self, submission_id: str) -> RemoteSubmission:
        return _submission(self.ask("GET", f"submissions/{submission_id}/"))

    def approve(self, submission_ids: Sequence[str]) -> None:
        """Approve up to 1,000 submissions. Prolific does it later, so read them again."""
        if not 0 < len(submission_ids) <= MAX_BULK_APPROVE:
            raise ValueError(f"from 1 to {MAX_BULK_APPROVE} ids")
        body = {"submission_ids": list(submission_ids)}
        self.send("POST", "submissions/bulk-approve/", json=body, again=True)

    def reject(self, submission_id: str, *, category: str, message: str) -> RemoteSubmission:
        body = {"action": "REJECT", "rejection_category": category, "message": message}
        path = f"submissions/{submission_id}/transition/"
        return _submission(self.ask("POST", path, json=body, again=True))

    def request_return(self, submission_id: str, reasons: Sequence[str]) -> None:
        """Ask a participant to return. Sent once, because each request sends them a message."""
        body = {"request_return_reasons": list(reasons)}
        self.send("POST", f"submissions/{submission_id}/request-return/", json=body)

    def set_up_bonuses(self, study_id: str, lines: Iterable[tuple[str, str]]) -> BonusSetup:
        """Set up bonuses; a line has a submission or participant id, and major units as text."""
        csv = "".join(f"{person},{amount}\n" for person, amount in lines)
        body = {"study_id": study_id, "csv_bonuses": csv}
        answer = self.ask("POST", "submissions/bonus-payments/", json=body)
        return shaped(lambda: BonusSetup.of(answer))

    def pay_bonuses(self, bulk_id: str) -> None:
        """Pay a set-up payment. A repeat pays twice, so never repeat it without reading first."""
        self.send("POST", f"bulk-bonus-payments/{bulk_id}/pay/")

    # Webhooks

    def secrets(self, workspace: str) -> list[dict[str, Any]]:
        return list(self._slices("hooks/secrets/", {"workspace_id": workspace}))

    def create_secret(self, workspace: str) -> str:
        """Create the workspace's signing secret. It replaces the previous one: list them first."""
        body = {"workspace_id": workspace}
        answer = self.ask("POST", "hooks/secrets/", json=body)
        return shaped(lambda: str(answer["value"]))

    def subscriptions(self, workspace: str) -> list[dict[str, Any]]:
        return list(self._slices("hooks/subscriptions/", {"workspace_id": workspace}))

    def subscribe(self, *, workspace: str, event: str, url: str) -> str:
        """Subscribe to an event and confirm it; returns the subscription's id."""
        body = {"workspace_id": workspace, "event_type": event, "target_url": url}
        response = self.send("POST", "hooks/subscriptions/", json=body)
        answer = self._read(response)
        subscription = shaped(
            lambda: str((answer["results"][0] if "results" in answer else answer)["id"])
        )
        secret = response.headers.get("X-Hook-Secret", "")
        self.send("POST", f"hooks/subscriptions/{subscription}/", json={"secret": secret})
        return subscription

    def unsubscribe(self, subscription: str) -> None:
        self.send("DELETE", f"hooks/subscriptions/{subscription}/", again=True)


def _study(body: dict[str, Any]) -> RemoteStudy:
    return shaped(lambda: RemoteStudy.of(body))


def _submission(body: dict[str, Any], study_id: str = "") -> RemoteSubmission:
    return shaped(lambda: RemoteSubmission.of(body, study_id=study_id))


IN_WORKER = 60.0
_LOOPBACK = {"localhost", "127.0.0.1", "::1"}


def connect(
    study_id: int, *, patience: float | None = None, timeout: float | None = None
) -> ProlificClient:
    """A client with the study's own account. Raises `NotConfigured` if it has no usable token."""
    return client_with(credentials_of(study_id), patience=patience, timeout=timeout)


def client_with(
    credentials: Credentials, *, patience: float | None = None, timeout: float | None = None
) -> ProlificClient:
    client = ProlificClient(
        base_url=settings.PROLIFIC_BASE_URL,
        token=credentials.token,
        source=credentials.source,
        patience=settings.PROLIFIC_PATIENCE if patience is None else patience,
        timeout=settings.PROLIFIC_TIMEOUT if timeout is None else timeout,
        referer=settings.PUBLIC_BASE_URL,
    )
    client.account_id, client.workspace = credentials.account_id, credentials.workspace
    return client


def is_local() -> bool:
    """Whether our Prolific server is on this machine, and therefore simulated."""
    return urlsplit(settings.PROLIFIC_BASE_URL).hostname in _LOOPBACK
