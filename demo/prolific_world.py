"""The simulated Prolific's memory: studies, submissions, money, hooks. Nothing here is real.

`Behaviour` switches between the behaviours that public sources report differently.
"""

import base64
import hashlib
import hmac
import itertools
import json
import math
import random
import re
import secrets
import threading
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any
from urllib.parse import quote

from demo.prolific_links import LinkKeys

FEE, VAT = Decimal(1) / 3, Decimal("0.2")
_REQUIRED = {
    "name", "description", "external_study_url", "prolific_id_option", "completion_codes",
    "total_available_places", "estimated_completion_time", "reward",
}  # fmt: skip
_KNOWN = _REQUIRED | {
    "internal_name", "maximum_allowed_time", "device_compatibility", "peripheral_requirements",
    "filters", "filter_set_id", "naivety_distribution_rate", "study_labels", "submissions_config",
    "metadata", "project", "content_warnings", "access_details", "is_external_study_url_secure",
    "publish_at", "study_type",
}  # fmt: skip
_CATEGORIES = {
    "TOO_QUICKLY", "TOO_SLOWLY", "FAILED_INSTRUCTIONS", "INCOMP_LONGITUDINAL", "FAILED_CHECK",
    "LOW_EFFORT", "MALINGERING", "NO_CODE", "BAD_CODE", "NO_DATA", "UNSUPP_DEVICE", "OTHER",
}  # fmt: skip
FILTERS: list[dict[str, Any]] = [
    {"filter_id": "current-country-of-residence", "title": "Current country of residence",
     "type": "select", "data_type": "ChoiceID",
     "choices": {"0": "United Kingdom", "1": "United States", "45": "Canada"}},
    {"filter_id": "sex", "title": "Sex", "type": "select", "data_type": "ChoiceID",
     "choices": {"0": "Male", "1": "Female"}},
    {"filter_id": "us-political-affiliation", "title": "U.S. Political Affiliation",
     "type": "select", "data_type": "ChoiceID",
     "choices": {"0": "Democrat", "1": "Republican", "2": "Independent", "3": "Other"}},
    {"filter_id": "fluent-languages", "title": "Fluent languages", "type": "select",
     "data_type": "ChoiceID", "choices": {"19": "English", "27": "German"}},
    {"filter_id": "age", "title": "Age", "type": "range", "data_type": "integer",
     "min": 18, "max": 100},
    {"filter_id": "approval_rate", "title": "Approval rate", "type": "range",
     "data_type": "integer", "min": 0, "max": 100},
    {"filter_id": "approval_numbers", "title": "Number of previous submissions", "type": "range",
     "data_type": "integer", "min": 0, "max": 10000},
    {"filter_id": "participant_group_blocklist", "title": "Exclude groups", "type": "select",
     "data_type": "ParticipantGroupID", "choices": {}},
    {"filter_id": "previous_studies_blocklist", "title": "Exclude studies", "type": "select",
     "data_type": "StudyID", "choices": {}},
]  # fmt: skip
# What holds a place; the rest gave it back.
_HOLDING = {"RESERVED", "ACTIVE", "AWAITING REVIEW", "APPROVED", "PARTIALLY APPROVED", "REJECTED"}


class Problem(Exception):
    """An answer that is an error."""

    def __init__(self, status: int, detail: Any) -> None:
        super().__init__(str(detail))
        self.status = status
        self.detail = detail


@dataclass
class Behaviour:
    """Where sources conflict: which of the reported behaviours this Prolific shows."""

    errors: str = "wrapped"  # wrapped, flat or simple
    hooks: str = "object"  # or "results"
    stop: str = "COMPLETED"  # or "AWAITING REVIEW"
    timed_out: str = "TIMED-OUT"  # or "TIMED_OUT"
    child_studies: bool = False
    study_type: str = "any"  # "required" with weightings, or "refused"
    reopens_itself: bool = False  # after a rejection in AWAITING REVIEW
    strict: bool = True


@dataclass
class Submission:
    id: str
    study: str
    participant: str
    stratum: tuple[int, ...]
    status: str = "ACTIVE"
    started_at: datetime = field(default_factory=lambda: datetime.now(UTC))
    completed_at: datetime | None = None
    code: str = ""
    bonuses: list[int] = field(default_factory=list)
    return_requested: datetime | None = None


@dataclass
class Hook:
    id: str
    event: str
    url: str
    secret: str
    confirmed: bool = False
    enabled: bool = True


@dataclass(frozen=True)
class Delivery:
    """One webhook, signed and ready to be posted."""

    url: str
    body: bytes
    headers: dict[str, str]


def new_id() -> str:
    return secrets.token_hex(12)


def stamp(moment: datetime | None) -> str | None:
    return moment.isoformat().replace("+00:00", "Z") if moment else None


def signature(secret: str, timestamp: str, body: bytes) -> str:
    digest = hmac.new(secret.encode(), timestamp.encode() + body, hashlib.sha256).digest()
    return base64.b64encode(digest).decode()


class World:
    """Everything that the simulated Prolific remembers; every method holds its lock."""

    def __init__(self, *, seed: int = 1, currency: str = "USD") -> None:
        self.behaviour = Behaviour()
        self.currency = currency
        self.balance = 10_000_000
        self.lock = threading.RLock()
        self.studies: dict[str, dict[str, Any]] = {}
        self.submissions: dict[str, Submission] = {}
        self.bonuses: dict[str, dict[str, Any]] = {}
        self.groups: dict[str, set[str]] = {}
        self.hooks: dict[str, Hook] = {}
        self.hook_secret = ""
        self.outbox: list[Delivery] = []
        self.legacy: list[str] = []
        self._approvals: set[str] = set()
        self.keys = LinkKeys()
        self._random = random.Random(seed)  # noqa: S311  a simulation

    # Studies

    def create_study(self, body: dict[str, Any]) -> dict[str, Any]:
        missing = sorted(_REQUIRED - body.keys())
        if missing:
            raise Problem(400, {name: ["This field is required."] for name in missing})
        if self.behaviour.strict and (unknown := sorted(body.keys() - _KNOWN)):
            raise Problem(400, {name: ["Unknown field."] for name in unknown})
        self._check_codes(body)
        self._check_times(body)
        weighted = self._check_filters(body.get("filters") or [])
        if "study_type" in body:
            self.legacy.append("study_type")
            if self.behaviour.study_type == "refused":
                raise Problem(400, {"study_type": ["This field is not allowed."]})
        elif weighted and self.behaviour.study_type == "required":
            raise Problem(400, {"study_type": ["Weighted filters need QUOTA."]})
        for placeholder in ("PROLIFIC_PID", "STUDY_ID", "SESSION_ID"):
            if f"{{{{%{placeholder}%}}}}" not in body["external_study_url"]:
                raise Problem(400, {"external_study_url": [f"{placeholder} is missing."]})
        study_id = new_id()
        self.studies[study_id] = {
            **body,
            "id": study_id,
            "status": "UNPUBLISHED",
            "date_created": stamp(datetime.now(UTC)),
            "published_at": None,
            "currency_code": self.currency,
            "is_ready_to_publish": True,
            "child": new_id(),
            "ever_full": False,
        }
        return self.show_study(study_id)

    def _check_codes(self, body: dict[str, Any]) -> None:
        codes = [row["code"] for row in body["completion_codes"]]
        if not codes or len(set(codes)) != len(codes):
            raise Problem(400, {"completion_codes": ["At least one, and each only once."]})
        for row in body["completion_codes"]:
            actions = {action["action"] for action in row["actions"]}
            if {"AUTOMATICALLY_APPROVE", "MANUALLY_REVIEW"} <= actions:
                raise Problem(400, {"completion_codes": ["Approve or review, not both."]})
            for action in row["actions"]:
                if action["action"] == "REQUEST_RETURN" and not action.get("return_reason"):
                    raise Problem(400, {"completion_codes": ["return_reason is required."]})

    def _check_times(self, body: dict[str, Any]) -> None:
        minutes, limit = body["estimated_completion_time"], body.get("maximum_allowed_time")
        if limit is not None and not 2 + 2 * minutes + 2 * math.sqrt(minutes) <= limit < 1440:
            raise Problem(400, {"maximum_allowed_time": ["Out of range."]})
        if not isinstance(body["reward"], int) or body["reward"] <= 0:
            raise Problem(400, {"reward": ["A whole number of minor units."]})
        if body["reward"] * 60 < 800 * minutes:
            raise Problem(400, {"reward": ["Below the minimum pay."]})

    def _check_filters(self, filters: list[dict[str, Any]]) -> bool:
        known = {row["filter_id"]: row for row in FILTERS}
        for chosen in filters:
            live = known.get(chosen["filter_id"])
            if live is None:
                raise Problem(400, {"filters": [f"{chosen['filter_id']} does not exist."]})
            values = chosen.get("selected_values")
            if live["type"] == "range":
                selected = chosen["selected_range"]
                if not live["min"] <= selected["lower"] <= selected["upper"] <= live["max"]:
                    raise Problem(400, {"filters": [f"{live['filter_id']} is out of range."]})
            elif live["choices"] and not set(values or []) <= live["choices"].keys():
                raise Problem(400, {"filters": [f"{live['filter_id']}: unknown choice."]})
            if chosen.get("weightings") and set(chosen["weightings"]) != set(values or []):
                raise Problem(400, {"filters": ["weightings need a number for each value."]})
        return any(chosen.get("weightings") for chosen in filters)

    def study(self, study_id: str) -> dict[str, Any]:
        for study in self.studies.values():
            if study_id in (study["id"], study["child"]):
                return study
        raise Problem(404, "Not found.")

    def show_study(self, study_id: str) -> dict[str, Any]:
        """The study as Prolific shows it; what was asynchronous has happened by now."""
        study = self.study(study_id)
        shown = {name: value for name, value in study.items() if name not in ("child", "ever_full")}
        if study["status"] == "PUBLISHING":
            self._set_status(study, "ACTIVE")
        people = [s for s in self.submissions.values() if s.study == study["id"]]
        shown["places_taken"] = sum(s.status in _HOLDING for s in people)
        shown["number_of_submissions"] = len(people)
        shown["total_cost"] = self.total_cost(study["reward"], study["total_available_places"])
        return shown

    def total_cost(self, reward: int, places: int) -> int:
        rewards = reward * places
        fees = round(rewards * FEE)
        return rewards + fees + round(fees * VAT)

    def cost(self, study_id: str) -> dict[str, Any]:
        study = self.study(study_id)
        rewards = study["reward"] * study["total_available_places"]
        fees = round(rewards * FEE)
        parts = {"rewards": rewards, "fees": fees, "tax": round(fees * VAT)}
        named = {n: {"amount": a, "currency": self.currency} for n, a in parts.items()}
        return {"rewards": named, "bonuses": {}}

    def patch_study(self, study_id: str, body: dict[str, Any]) -> dict[str, Any]:
        study = self.study(study_id)
        if study["status"] != "UNPUBLISHED":
            if set(body) - {"internal_name", "total_available_places"}:
                raise Problem(400, "A published study keeps this.")
            places = body.get("total_available_places", study["total_available_places"])
            if places < study["total_available_places"]:
                raise Problem(400, {"total_available_places": ["Can only be increased."]})
            if places > study["total_available_places"] and study["status"] in (
                "COMPLETED",
                "AWAITING REVIEW",
            ):
                self._set_status(study, "ACTIVE")
        study.update(body)
        return self.show_study(study_id)

    def transition_study(self, study_id: str, action: str) -> dict[str, Any]:
        study = self.study(study_id)
        ways = {
            ("UNPUBLISHED", "PUBLISH"): "PUBLISHING",
            ("ACTIVE", "PAUSE"): "PAUSED",
            ("PAUSED", "START"): "ACTIVE",
            ("ACTIVE", "STOP"): self.behaviour.stop,
            ("PAUSED", "STOP"): self.behaviour.stop,
            ("AWAITING REVIEW", "START"): "ACTIVE",
        }
        target = ways.get((study["status"], action))
        if target is None:
            raise Problem(400, f"{action} is not possible while {study['status']}.")
        if action == "PUBLISH":
            cost = self.total_cost(study["reward"], study["total_available_places"])
            if cost > self.balance:
                raise Problem(400, "Insufficient funds.")
            self.balance -= cost
            study["published_at"] = stamp(datetime.now(UTC))
        self._set_status(study, target)
        return self.show_study(study_id)

    def _set_status(self, study: dict[str, Any], status: str) -> None:
        study["status"] = status
        self._notify("study.status.change", study["id"], status=status, metadata={})

    # Submissions

    def arrive(self, study_id: str, participant: str = "") -> dict[str, str]:
        """Somebody takes a place of a published study and opens its link."""
        study = self.study(study_id)
        self.show_study(study_id)
        if study["status"] != "ACTIVE":
            raise Problem(409, f"The study is {study['status']}.")
        stratum = self._open_stratum(study)
        submission = Submission(new_id(), study["id"], participant or new_id(), stratum)
        if any(
            s.study == study["id"] and s.participant == submission.participant
            for s in self.submissions.values()
        ):
            raise Problem(409, "This participant has taken part.")
        self.submissions[submission.id] = submission
        self._submission_changed(submission)
        return {
            "submission": submission.id,
            "participant": submission.participant,
            "url": self._link(study, submission),
            **{key.replace("-", "_"): value for key, value in self._labels(study, stratum).items()},
        }

    def _link(self, study: dict[str, Any], submission: Submission) -> str:
        """The link that the participant opens; signed where the study asks for that."""
        seen = study["child"] if self.behaviour.child_studies else study["id"]
        values = {
            "PROLIFIC_PID": submission.participant,
            "STUDY_ID": seen,
            "SESSION_ID": submission.id,
        }
        url = re.sub(
            r"\{\{%(\w+)%\}\}",
            lambda found: quote(values[found[1]]),
            study["external_study_url"],
        )
        if not study.get("is_external_study_url_secure"):
            return url
        return f"{url}&prolific_token={self.keys.token(url, submission.id, values)}"

    def _strata(self, study: dict[str, Any]) -> list[tuple[tuple[int, ...], int]]:
        """Places of each combination of the weighted filters' values."""
        weighted = [f for f in study.get("filters") or [] if f.get("weightings")]
        shares = [list(f["weightings"].values()) for f in weighted]
        total = math.prod(sum(weights) for weights in shares)
        cells = []
        for indices in itertools.product(*(range(len(weights)) for weights in shares)):
            weight = math.prod(weights[i] for weights, i in zip(shares, indices, strict=True))
            cells.append((indices, round(study["total_available_places"] * weight / total)))
        return cells

    def _open_stratum(self, study: dict[str, Any]) -> tuple[int, ...]:
        taken = Counter(
            s.stratum
            for s in self.submissions.values()
            if s.study == study["id"] and s.status in _HOLDING - {"REJECTED"}
        )
        if sum(taken.values()) >= study["total_available_places"]:
            raise Problem(409, "No place is open.")
        found = [indices for indices, places in self._strata(study) if taken[indices] < places]
        if not found:
            raise Problem(409, "No place is open in any group.")
        return self._random.choice(found)

    def _labels(self, study: dict[str, Any], stratum: tuple[int, ...]) -> dict[str, str]:
        """What the platform knows of somebody in this stratum."""
        choices = {row["filter_id"]: row.get("choices", {}) for row in FILTERS}
        weighted = [f for f in study.get("filters") or [] if f.get("weightings")]
        labels = {}
        for chosen, index in zip(weighted, stratum, strict=True):
            value = list(chosen["weightings"])[index]
            labels[chosen["filter_id"]] = choices[chosen["filter_id"]][value]
        for chosen in study.get("filters") or []:
            values = chosen.get("selected_values") or []
            if len(values) == 1 and values[0] in choices[chosen["filter_id"]]:
                labels.setdefault(chosen["filter_id"], choices[chosen["filter_id"]][values[0]])
        return labels

    def submission_of(self, submission_id: str) -> Submission:
        try:
            return self.submissions[submission_id]
        except KeyError:
            raise Problem(404, "Not found.") from None

    def finish(self, submission_id: str, code: str) -> Submission:
        """The participant comes back with a code, or with NOCODE."""
        submission = self.submission_of(submission_id)
        if submission.status not in ("ACTIVE", "RESERVED"):
            raise Problem(409, f"The submission is {submission.status}.")
        study = self.studies[submission.study]
        submission.code, submission.completed_at = code, datetime.now(UTC)
        actions: list[dict[str, Any]] = next(
            (row["actions"] for row in study["completion_codes"] if row["code"] == code), []
        )
        names = {action["action"] for action in actions}
        submission.status = "AWAITING REVIEW"
        if "AUTOMATICALLY_APPROVE" in names:
            submission.status = "APPROVED"
        if "REQUEST_RETURN" in names:
            submission.return_requested = datetime.now(UTC)
        for action in actions:
            if action["action"] == "ADD_TO_PARTICIPANT_GROUP":
                self.groups[action["participant_group"]].add(submission.participant)
        self._submission_changed(submission)
        return submission

    def give_back(self, submission_id: str) -> Submission:
        submission = self.submission_of(submission_id)
        if submission.status not in ("ACTIVE", "RESERVED", "AWAITING REVIEW"):
            raise Problem(409, f"The submission is {submission.status}.")
        submission.status = "RETURNED"
        self._submission_changed(submission)
        return submission

    def time_out(self, submission_id: str) -> Submission:
        submission = self.submission_of(submission_id)
        if submission.status not in ("ACTIVE", "RESERVED"):
            raise Problem(409, f"The submission is {submission.status}.")
        submission.status = "TIMED-OUT"
        self._submission_changed(submission)
        return submission

    def reject(self, submission_id: str, body: dict[str, Any]) -> Submission:
        submission = self.submission_of(submission_id)
        if body.get("rejection_category") not in _CATEGORIES:
            raise Problem(400, {"rejection_category": ["Unknown."]})
        if len(body.get("message") or "") < 100:
            raise Problem(400, {"message": ["At least 100 characters."]})
        if submission.status == "REJECTED":
            return submission
        if submission.status != "AWAITING REVIEW":
            raise Problem(400, f"The submission is {submission.status}.")
        submission.status = "REJECTED"
        study = self.studies[submission.study]
        if self.behaviour.reopens_itself and study["status"] == "AWAITING REVIEW":
            self._set_status(study, "ACTIVE")
        self._submission_changed(submission)
        return submission

    def approve(self, submission_ids: list[str]) -> None:
        """Take approvals in; they are carried out with the next read."""
        for submission_id in submission_ids:
            self.submission_of(submission_id)
        self._approvals.update(submission_ids)

    def settle_approvals(self) -> None:
        for submission_id in sorted(self._approvals):
            submission = self.submissions[submission_id]
            if submission.status == "AWAITING REVIEW":
                submission.status = "APPROVED"
                self._submission_changed(submission)
        self._approvals.clear()

    def request_return(self, submission_id: str, body: dict[str, Any]) -> Submission:
        if not body.get("request_return_reasons"):
            raise Problem(400, {"request_return_reasons": ["This field is required."]})
        submission = self.submission_of(submission_id)
        submission.return_requested = datetime.now(UTC)
        return submission

    def _submission_changed(self, submission: Submission) -> None:
        self._notify(
            "submission.status.change",
            submission.id,
            participant_id=submission.participant,
            status=self.spelled(submission.status),
        )
        study = self.studies[submission.study]
        people = [s for s in self.submissions.values() if s.study == study["id"]]
        held = [s for s in people if s.status in _HOLDING and s.status != "REJECTED"]
        full = len(held) >= study["total_available_places"]
        if not full or any(s.status in ("ACTIVE", "RESERVED") for s in held):
            return
        if study["status"] == "ACTIVE":
            self._set_status(study, "AWAITING REVIEW")
        if study["status"] == "AWAITING REVIEW" and all(s.status == "APPROVED" for s in held):
            self._set_status(study, "COMPLETED")

    def spelled(self, status: str) -> str:
        return self.behaviour.timed_out if status == "TIMED-OUT" else status

    def list_row(self, submission: Submission) -> dict[str, Any]:
        return {
            "id": submission.id,
            "participant_id": submission.participant,
            "status": self.spelled(submission.status),
            "started_at": stamp(submission.started_at),
            "completed_at": stamp(submission.completed_at),
            "has_siblings": False,
            "study_code": submission.code,
            "return_requested": stamp(submission.return_requested),
            "bonus_payments": list(submission.bonuses),
        }

    def detail(self, submission: Submission) -> dict[str, Any]:
        child = self.studies[submission.study]["child"]
        own = (child, submission.study) if self.behaviour.child_studies else (submission.study, "")
        return {
            "id": submission.id,
            "participant": submission.participant,
            "study_id": own[0],
            "parent_study_id": own[1] or None,
            "status": self.spelled(submission.status),
            "started_at": stamp(submission.started_at),
            "completed_at": stamp(submission.completed_at),
            "entered_code": submission.code,
            "bonus_payments": list(submission.bonuses),
            "return_requested": stamp(submission.return_requested),
        }

    # Money

    def set_up_bonuses(self, body: dict[str, Any]) -> dict[str, Any]:
        study = self.study(body["study_id"])
        lines = [line.split(",") for line in body["csv_bonuses"].split()]
        if not 0 < len(lines) <= 200:
            raise Problem(400, "From 1 to 200 lines.")
        people = {
            key: s
            for s in self.submissions.values()
            if s.study == study["id"]
            for key in (s.id, s.participant)
        }
        if strangers := [person for person, _ in lines if person not in people]:
            raise Problem(400, [f"{person} did not take part." for person in strangers])
        amounts = [(people[person].id, round(Decimal(text) * 100)) for person, text in lines]
        amount = sum(amount for _, amount in amounts)
        fees = round(amount * FEE)
        bulk = {"id": new_id(), "study": study["id"], "lines": amounts, "paid": 0}
        self.bonuses[bulk["id"]] = bulk
        vat = round(fees * VAT)
        return {
            "id": bulk["id"],
            "study": study["id"],
            "amount": float(amount),
            "fees": float(fees),
            "vat": float(vat),
            "total_amount": float(amount + fees + vat),
        }

    def pay_bonuses(self, bulk_id: str) -> None:
        """Pay. Twice is paid twice, as in reality."""
        if bulk_id not in self.bonuses:
            raise Problem(404, "Not found.")
        bulk = self.bonuses[bulk_id]
        bulk["paid"] += 1
        for submission_id, amount in bulk["lines"]:
            self.submissions[submission_id].bonuses.append(amount)

    def demographics(self, study_id: str) -> str:
        study = self.study(study_id)
        rows = ["Submission id,Participant id,Status,Completion code,Age,Sex,Political affiliation"]
        for s in self.submissions.values():
            if s.study == study["id"]:
                labels = self._labels(study, s.stratum)
                sex = labels.get("sex", "DATA_EXPIRED")
                politics = labels.get("us-political-affiliation", "DATA_EXPIRED")
                status = self.spelled(s.status)
                rows.append(f"{s.id},{s.participant},{status},{s.code},34,{sex},{politics}")
        return "\n".join(rows) + "\n"

    # Hooks

    def subscribe(self, body: dict[str, Any]) -> Hook:
        if not self.hook_secret:
            raise Problem(400, "Make a secret first.")
        hook = Hook(new_id(), body["event_type"], body["target_url"], secrets.token_hex(16))
        self.hooks[hook.id] = hook
        return hook

    def confirm(self, hook_id: str, secret: str) -> Hook:
        hook = self.hooks.get(hook_id)
        if hook is None:
            raise Problem(404, "Not found.")
        if hook.secret != secret:
            raise Problem(400, "Wrong secret.")
        hook.confirmed = True
        return hook

    def _notify(self, event: str, resource: str, **more: Any) -> None:
        for hook in self.hooks.values():
            if hook.confirmed and hook.enabled and hook.event == event:
                body = {"event_type": event, "resource_id": resource, **more}
                self.outbox.append(self.signed(hook.url, body))

    def signed(self, url: str, body: dict[str, Any]) -> Delivery:
        raw = json.dumps(body, indent=1).encode()
        timestamp = str(int(datetime.now(UTC).timestamp()))
        headers = {
            "Content-Type": "application/json",
            "X-Prolific-Request-Timestamp": timestamp,
            "X-Prolific-Request-Signature": signature(self.hook_secret, timestamp, raw),
            "X-Event-ID": new_id(),
            "X-Timestamp": stamp(datetime.now(UTC)) or "",
        }
        return Delivery(url, raw, headers)

    def take_outbox(self, arrange: Callable[[list[Delivery]], list[Delivery]]) -> list[Delivery]:
        """What is to be delivered, arranged by the caller: twice, shuffled."""
        waiting, self.outbox = self.outbox, []
        return arrange(waiting)
