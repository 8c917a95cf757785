"""The simulated Prolific's participants and money: they take places, return, and are paid."""

import itertools
import math
import re
from collections import Counter
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any
from urllib.parse import quote

from demo.prolific.records import (
    FEE,
    FILTERS,
    HOLDING,
    REJECTION_CATEGORIES,
    RESEARCHER,
    VAT,
    Refusal,
    Submission,
    named_id,
    new_id,
    stamp,
)
from demo.prolific.studies import EXPORTS, Studies
from studies.money import decimals

_SEX = "sex"  # in every export


class ProlificWorld(Studies):
    """The whole of the simulated Prolific; the caller of a method holds `lock`."""

    # People

    def arrive(
        self, study_id: str, participant: str = "", about: dict[str, str] | None = None
    ) -> dict[str, str]:
        """Give a new participant a place of a published study and its link.

        `about` is Prolific's data about them, by filter id, where the study does not balance it.
        """
        study = self.study(study_id)
        self.show_study(study_id)
        if study["status"] != "ACTIVE":
            raise Refusal(409, f"The study is {study['status']}.")
        if any(s.participant == participant for s in self.people(study)):
            raise Refusal(409, "This participant has taken part.")
        if not all(self._admits(one, participant) for one in study.get("filters") or []):
            raise Refusal(409, "The filters exclude this participant.")
        config = study.get("submissions_config") or {}
        under_way = sum(s.status in ("ACTIVE", "RESERVED") for s in self.people(study))
        if 0 < (config.get("max_concurrent_submissions") or -1) <= under_way:
            raise Refusal(409, "As many people as the study admits are taking part.")
        stratum = self._open_stratum(study)
        submission = Submission(
            new_id(), study["id"], participant or new_id(), stratum, about=about or {}
        )
        self.submissions[submission.id] = submission
        self._changed(submission)
        return self.card(submission)

    def _admits(self, chosen: dict[str, Any], participant: str) -> bool:
        """Whether a list of studies, groups or ids lets a participant in; others always do."""
        if "selected_filters" in chosen:
            admits = [self._admits(one, participant) for one in chosen["selected_filters"]]
            return any(admits) if chosen["filter_id"] == "or" else all(admits)
        kind, _, side = chosen["filter_id"].rpartition("_")
        values = chosen.get("selected_values") or []
        listed = (
            {
                "custom": participant in values,
                "participant_group": any(participant in self.groups.get(one, ()) for one in values),
                "previous_studies": any(
                    s.participant == participant and s.study in values
                    for s in self.submissions.values()
                ),
            }
            if side in ("allowlist", "blocklist")
            else {}
        )
        return listed.get(kind, True) if side == "allowlist" else not listed.get(kind, False)

    def visit(self, study_id: str, person: str = "") -> str:
        """The link of a new participant who only looks; every visit is another participant's.

        With the name of a `person` it is always the same participant's. They take no place, so it
        does not matter whether one is open.
        """
        study = self.study(study_id)
        participant = named_id(study["id"], person) if person else new_id()
        for known in self.submissions.values():
            if known.visits and known.participant == participant:
                return self._link(study, known)
        stratum = next((indices for indices, _ in self._strata(study)), ())
        submission = Submission(new_id(), study["id"], participant, stratum, visits=True)
        self.submissions[submission.id] = submission
        return self._link(study, submission)

    def people(self, study: dict[str, Any]) -> list[Submission]:
        return [s for s in self.submissions.values() if s.study == study["id"] and not s.visits]

    def card(self, submission: Submission) -> dict[str, str]:
        """The participant's ids, the link, and Prolific's data about them."""
        study = self.studies[submission.study]
        labels = self._labels(study, submission)
        return {
            "submission": submission.id,
            "participant": submission.participant,
            "status": submission.status,
            "url": self._link(study, submission),
            **{key.replace("-", "_"): value for key, value in labels.items()},
        }

    def _link(self, study: dict[str, Any], submission: Submission) -> str:
        """The link that the participant opens; signed if the study requires that."""
        seen = study["child"] if self.behaviour.child_studies else study["id"]
        values = {
            "PROLIFIC_PID": submission.participant,
            "STUDY_ID": seen,
            "SESSION_ID": submission.id,
        }
        url = re.sub(
            r"\{\{%(\w+)%\}\}",
            lambda match: quote(values[match[1]]),
            study["external_study_url"],
        )
        if not study.get("is_external_study_url_secure"):
            return url
        claims = self.keys.claims(url, submission.id, values)
        return f"{url}&prolific_token={self.keys.sign(claims)}"

    def _strata(self, study: dict[str, Any]) -> list[tuple[tuple[int, ...], int]]:
        """Places of each combination of the weighted filters' values."""
        weighted = [f for f in study.get("filters") or [] if f.get("weightings")]
        shares = [
            [one["weighting"] if isinstance(one, dict) else one for one in f["weightings"].values()]
            for f in weighted
        ]
        total = math.prod(sum(weights) for weights in shares)
        cells = []
        for indices in itertools.product(*(range(len(weights)) for weights in shares)):
            weight = math.prod(weights[i] for weights, i in zip(shares, indices, strict=True))
            cells.append((indices, round(study["total_available_places"] * weight / total)))
        return cells

    def _open_stratum(self, study: dict[str, Any]) -> tuple[int, ...]:
        taken = Counter(s.stratum for s in self.people(study) if s.status in HOLDING - {"REJECTED"})
        if sum(taken.values()) >= study["total_available_places"]:
            raise Refusal(409, "No place is open.")
        free = [indices for indices, places in self._strata(study) if taken[indices] < places]
        if not free:
            raise Refusal(409, "No place is open in any group.")
        return self.random.choice(free)

    def _labels(self, study: dict[str, Any], submission: Submission) -> dict[str, str]:
        """The data about a participant: from the study's filters and their statements."""
        choices = {row["filter_id"]: row.get("choices", {}) for row in FILTERS}
        weighted = [f for f in study.get("filters") or [] if f.get("weightings")]
        labels = dict(submission.about)
        for chosen, index in zip(weighted, submission.stratum, strict=True):
            value, part = list(chosen["weightings"].items())[index]
            labels[chosen["filter_id"]] = (
                str(part["selected_range"]["lower"])
                if isinstance(part, dict)
                else choices[chosen["filter_id"]][value]
            )
        for chosen in study.get("filters") or []:
            values = chosen.get("selected_values") or []
            if len(values) == 1 and values[0] in choices[chosen["filter_id"]]:
                labels.setdefault(chosen["filter_id"], choices[chosen["filter_id"]][values[0]])
        return labels

    def submission_of(self, submission_id: str) -> Submission:
        try:
            return self.submissions[submission_id]
        except KeyError:
            raise Refusal(404, "Not found.") from None

    def finish(self, submission_id: str, code: str, *, seconds: float = 0.0) -> Submission:
        """Bring the participant back with a code, or with NOCODE.

        Simulated participants are quick: `seconds` is the working time that they claim.
        """
        submission = self._under_way(submission_id)
        study = self.studies[submission.study]
        if seconds:
            submission.started_at = datetime.now(UTC) - timedelta(seconds=seconds)
        submission.code, submission.completed_at = code, datetime.now(UTC)
        actions: list[dict[str, Any]] = next(
            (row["actions"] for row in study["completion_codes"] if row["code"] == code), []
        )
        names = {action["action"] for action in actions}
        submission.status = "AWAITING REVIEW"
        if "AUTOMATICALLY_APPROVE" in names:
            submission.status = "APPROVED"
        for action in actions:
            if action["action"] == "FIXED_SCREEN_OUT_PAYMENT":
                self._screen_out(submission, study, action["slots"])
        if "REQUEST_RETURN" in names:
            submission.return_requested = datetime.now(UTC)
        for action in actions:
            if action["action"] == "ADD_TO_PARTICIPANT_GROUP":
                self.groups[action["participant_group"]].add(submission.participant)
        self._changed(submission)
        return submission

    def _screen_out(self, submission: Submission, study: dict[str, Any], slots: int) -> None:
        """Pay somebody who was screened out; the study pauses when every slot is used."""
        used = sum(s.status == "SCREENED OUT" for s in self.people(study))
        if used < slots:
            submission.status = "SCREENED OUT"
        if used + 1 >= slots and study["status"] == "ACTIVE":
            self.set_status(study, "PAUSED")

    def give_back(self, submission_id: str) -> Submission:
        submission = self.submission_of(submission_id)
        if submission.status not in ("ACTIVE", "RESERVED", "AWAITING REVIEW"):
            raise Refusal(409, f"The submission is {submission.status}.")
        self._leave(submission, "RETURNED")
        self._changed(submission)
        return submission

    def _leave(self, submission: Submission, status: str) -> None:
        """End with this status; a full study is paused when somebody awaiting review leaves it."""
        study = self.studies[submission.study]
        held = sum(s.status in HOLDING - {"REJECTED"} for s in self.people(study))
        is_full = held >= study["total_available_places"]
        pauses = self.behaviour.pauses and is_full and submission.status == "AWAITING REVIEW"
        submission.status = status
        if pauses and study["status"] in ("ACTIVE", "AWAITING REVIEW"):
            self.set_status(study, "PAUSED")

    def report_many_returns(self, study_id: str) -> None:
        self.notify("study.has_high_return_rate", study_id, metadata={})

    def time_out(self, submission_id: str) -> Submission:
        submission = self._under_way(submission_id)
        submission.status = "TIMED-OUT"
        self._changed(submission)
        return submission

    def _under_way(self, submission_id: str) -> Submission:
        submission = self.submission_of(submission_id)
        if submission.status not in ("ACTIVE", "RESERVED"):
            raise Refusal(409, f"The submission is {submission.status}.")
        return submission

    # Decisions

    def reject(self, submission_id: str, body: dict[str, Any]) -> Submission:
        submission = self.submission_of(submission_id)
        if body.get("rejection_category") not in REJECTION_CATEGORIES:
            raise Refusal(400, {"rejection_category": ["Unknown."]})
        if len(body.get("message") or "") < 100:
            raise Refusal(400, {"message": ["At least 100 characters."]})
        if submission.status == "REJECTED":
            return submission
        if submission.status != "AWAITING REVIEW":
            raise Refusal(400, f"The submission is {submission.status}.")
        study = self.studies[submission.study]
        if not self.behaviour.reopens_itself:
            self._leave(submission, "REJECTED")
        submission.status = "REJECTED"
        if self.behaviour.reopens_itself and study["status"] == "AWAITING REVIEW":
            self.set_status(study, "ACTIVE")
        self._changed(submission)
        return submission

    def approve(self, submission_ids: list[str]) -> None:
        """Accept approvals; they are carried out with the next read, or immediately."""
        for submission_id in submission_ids:
            self.submission_of(submission_id)
        self.approvals.update(submission_ids)
        if self.behaviour.approves == "at once":
            self.settle_approvals()

    def settle_approvals(self) -> None:
        for submission_id in sorted(self.approvals):
            submission = self.submissions[submission_id]
            if submission.status == "AWAITING REVIEW":
                submission.status = "APPROVED"
                self._changed(submission)
        self.approvals.clear()

    def request_return(self, submission_id: str, body: dict[str, Any]) -> Submission:
        if not body.get("request_return_reasons"):
            raise Refusal(400, {"request_return_reasons": ["This field is required."]})
        submission = self.submission_of(submission_id)
        submission.return_requested = datetime.now(UTC)
        submission.messages += 1
        return submission

    # Messages

    def message(self, recipients: list[str], body: dict[str, Any]) -> None:
        """Send a message to participants of a study: to all of them or, with an error, to none."""
        study = self.study(body["study_id"])
        people = {s.participant for s in self.people(study)}
        if not body["body"].strip() or not recipients:
            raise Refusal(400, {"body": ["A text and a recipient are needed."]})
        for one in recipients:
            if one not in people or one in self.blocking:
                raise Refusal(400, {"ids": [f"{one} cannot be messaged."]})
        for one in recipients:
            self.write(RESEARCHER, one, body["body"], study["id"])

    def write(self, sender: str, to: str, text: str, study_id: str) -> None:
        """Store a message; one from a participant stays unread."""
        stored = re.sub(r"<[^>]*>", "", text)  # sanitised, as the platform does
        row = {"id": new_id(), "sender_id": sender, "body": stored, "to": to}
        known = {"type": "message", "channel_id": named_id(*sorted((sender, to)))}
        times = {"sent_at": stamp(datetime.now(UTC)), "study_id": study_id}
        self.messages.append({**row, **known, **times})

    def _changed(self, submission: Submission) -> None:
        self.notify(
            "submission.status.change",
            submission.id,
            participant_id=submission.participant,
            status=self.spelled(submission.status),
        )
        study = self.studies[submission.study]
        held = [s for s in self.people(study) if s.status in HOLDING - {"REJECTED"}]
        full = len(held) >= study["total_available_places"]
        if not full or any(s.status in ("ACTIVE", "RESERVED") for s in held):
            return
        if study["status"] == "ACTIVE":
            self.set_status(study, "AWAITING REVIEW")
        if study["status"] == "AWAITING REVIEW" and all(s.status == "APPROVED" for s in held):
            self.set_status(study, "COMPLETED")

    # As Prolific shows them

    def spelled(self, status: str) -> str:
        names = {
            "TIMED-OUT": self.behaviour.timed_out,
            "AWAITING REVIEW": self.behaviour.awaiting,
        }
        return names.get(status, status)

    def list_row(self, submission: Submission) -> dict[str, Any]:
        bonuses = {"bonus_payments": list(submission.bonuses)}
        return {
            "id": submission.id,
            "participant_id": submission.participant,
            "status": self.spelled(submission.status),
            "started_at": stamp(submission.started_at),
            "completed_at": stamp(submission.completed_at),
            "has_siblings": False,
            "study_code": submission.code,
            "return_requested": stamp(submission.return_requested),
            **(bonuses if self.behaviour.lists_bonuses else {}),
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

    def note_export(self, study_id: str, filters: list[dict[str, Any]]) -> None:
        """Count the combinations of filters; the last one used is the last of the list."""
        study = self.study(study_id)
        used = study.setdefault("exports", [])
        if not filters:
            return
        if filters in used:
            used.remove(filters)
        elif len(used) >= EXPORTS:
            raise Refusal(400, {"filters": ["Two combinations were exported already."]})
        used.append(filters)

    def demographics(self, study_id: str, filters: list[str]) -> str:
        """The export: columns for every participant, those of the requested filters, and gaps."""
        study = self.study(study_id)
        titles = {row["filter_id"]: row["title"] for row in FILTERS}
        asked = [name for name in filters if name != _SEX]
        if unknown := [name for name in asked if name not in titles]:
            raise Refusal(400, {"filters": [f"{name} does not exist." for name in unknown]})
        head = ["Submission id", "Participant id", "Status", "Completion code", "Age", "Sex"]
        rows = [",".join([*head, *(titles[name] for name in asked)])]
        for s in self.people(study):
            labels = self._labels(study, s)
            known = [labels.get(name, "DATA_EXPIRED") for name in (_SEX, *asked)]
            status = self.spelled(s.status)
            rows.append(",".join([s.id, s.participant, status, s.code, "34", *known]))
        return "\n".join(rows) + "\n"

    # Money

    def set_up_bonuses(self, body: dict[str, Any]) -> dict[str, Any]:
        study = self.study(body["study_id"])
        lines = [line.split(",") for line in body["csv_bonuses"].split()]
        if not 0 < len(lines) <= 200:
            raise Refusal(400, "From 1 to 200 lines.")
        people = {key: s for s in self.people(study) for key in (s.id, s.participant)}
        if strangers := [person for person, _ in lines if person not in people]:
            raise Refusal(400, [f"{person} did not take part." for person in strangers])
        unit = 10 ** decimals(self.currency)
        amounts = [(people[person].id, round(Decimal(text) * unit)) for person, text in lines]
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
        """Pay the bonuses. A repeat pays twice, as in reality."""
        if bulk_id not in self.bonuses:
            raise Refusal(404, "Not found.")
        bulk = self.bonuses[bulk_id]
        amount = sum(amount for _, amount in bulk["lines"])
        fees = round(amount * FEE)
        self.take(self.study(bulk["study"]), amount + fees + round(fees * VAT))
        bulk["paid"] += 1
        for submission_id, amount in bulk["lines"]:
            self.submissions[submission_id].bonuses.append(amount)
