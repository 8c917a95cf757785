"""Studies of the simulated Prolific: drafts are checked strictly, and publishing costs money."""

import math
from datetime import UTC, datetime
from typing import Any

from demo.prolific.memory import Memory
from demo.prolific.records import FEE, FILTERS, HOLDING, VAT, Problem, new_id, stamp

_HIDDEN = {"child", "exports"}
EXPORTS = 2  # different combinations of filters, for a study


class Studies(Memory):
    def create_study(self, body: dict[str, Any]) -> dict[str, Any]:
        self._check_groups(body)
        _check_codes(body)
        _check_times(body)
        self._check_type(body, is_weighted=_check_filters(body.get("filters") or []))
        for placeholder in ("PROLIFIC_PID", "STUDY_ID", "SESSION_ID"):
            if f"{{{{%{placeholder}%}}}}" not in body["external_study_url"]:
                raise Problem(400, {"external_study_url": [f"{placeholder} is missing."]})
        study_id = new_id()
        self.studies[study_id] = {
            **body,
            # Without a project the first one is used, even if another workspace was meant.
            "project": body.get("project") or self.projects_of(self.workspaces[0]["id"])[0]["id"],
            "id": study_id,
            "status": "UNPUBLISHED",
            "date_created": stamp(datetime.now(UTC)),
            "published_at": None,
            "currency_code": self.currency,
            "is_ready_to_publish": True,
            "child": new_id(),
        }
        return self.show_study(study_id)

    def _check_groups(self, body: dict[str, Any]) -> None:
        """Check that the groups that codes or filters name exist."""
        named = [
            action["participant_group"]
            for code in body["completion_codes"]
            for action in code["actions"]
            if "participant_group" in action
        ]
        for chosen in body.get("filters") or []:
            if "group" in chosen["filter_id"]:
                named += chosen["selected_values"]
        if unknown := sorted(set(named) - self.groups.keys()):
            raise Problem(400, {"participant_group": [f"{unknown[0]} does not exist."]})

    def _check_type(self, body: dict[str, Any], *, is_weighted: bool) -> None:
        if "study_type" in body:
            self.legacy.append("study_type")
            if self.behaviour.study_type == "refused":
                raise Problem(400, {"study_type": ["This field is not allowed."]})
        elif is_weighted and self.behaviour.study_type == "required":
            raise Problem(400, {"study_type": ["Weighted filters need QUOTA."]})

    def study(self, study_id: str) -> dict[str, Any]:
        for study in self.studies.values():
            if study_id in (study["id"], study["child"]):
                return study
        raise Problem(404, "Not found.")

    def show_study(self, study_id: str) -> dict[str, Any]:
        """The study as Prolific shows it, after its asynchronous actions."""
        study = self.study(study_id)
        shown = {name: value for name, value in study.items() if name not in _HIDDEN}
        if study["status"] == "PUBLISHING":
            self.set_status(study, "ACTIVE")
        people = [s for s in self.submissions.values() if s.study == study["id"]]
        shown["places_taken"] = sum(s.status in HOLDING for s in people)
        shown["number_of_submissions"] = len(people)
        shown["total_cost"] = self.total_cost(study["reward"], study["total_available_places"])
        return shown

    def total_cost(self, reward: int, places: int) -> int:
        rewards = reward * places
        fees = round(rewards * FEE)
        return rewards + fees + round(fees * VAT)

    def cost(self, study_id: str, *, is_projected: bool) -> dict[str, Any]:
        """The cost of the study once it is filled, or so far; bonuses are separate."""
        study = self.study(study_id)
        places = study["total_available_places"]
        people = [s for s in self.submissions.values() if s.study == study["id"]]
        if not is_projected:
            places = sum(s.status == "APPROVED" for s in people)
        bonuses = sum(sum(s.bonuses) for s in people)
        return {
            "rewards": self._parts(study["reward"] * places),
            "bonuses": self._parts(bonuses),
        }

    def _parts(self, amount: int) -> dict[str, Any]:
        """An amount with its fees and tax, as numbers with decimals."""
        fees = round(amount * FEE)
        parts = {"rewards": amount, "fees": fees, "tax": round(fees * VAT)}
        return {n: {"amount": float(a), "currency": self.currency} for n, a in parts.items()}

    def patch_study(self, study_id: str, body: dict[str, Any]) -> dict[str, Any]:
        study = self.study(study_id)
        if study["status"] != "UNPUBLISHED":
            if set(body) - {"internal_name", "total_available_places"}:
                raise Problem(400, "A published study keeps this.")
            before = study["total_available_places"]
            places = body.get("total_available_places", before)
            if places < before:
                raise Problem(400, {"total_available_places": ["Can only be increased."]})
            self._spend(study, places - before)
            if places > before and study["status"] in ("COMPLETED", "AWAITING REVIEW"):
                self.set_status(study, "ACTIVE")
        study.update(body)
        return self.show_study(study_id)

    def _spend(self, study: dict[str, Any], places: int) -> None:
        """Take the cost out of the wallet of the workspace that the study's project is in."""
        cost = self.total_cost(study["reward"], places)
        workspace = self.projects[study["project"]]["workspace"]
        if cost > self.wallet(workspace):
            raise Problem(400, "Insufficient funds.")
        self.wallets[workspace] -= cost

    def delete_study(self, study_id: str) -> None:
        study = self.study(study_id)
        if study["status"] != "UNPUBLISHED":
            raise Problem(400, "Only a draft can be deleted.")
        del self.studies[study["id"]]

    def transition_study(self, study_id: str, action: str) -> dict[str, Any]:
        study = self.study(study_id)
        ways = {
            ("UNPUBLISHED", "PUBLISH"): self.behaviour.publishes,
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
            self._spend(study, study["total_available_places"])
            study["published_at"] = stamp(datetime.now(UTC))
        self.set_status(study, target)
        return self.show_study(study_id)

    def set_status(self, study: dict[str, Any], status: str) -> None:
        study["status"] = status
        self.notify("study.status.change", study["id"], status=status, metadata={})


def _check_codes(body: dict[str, Any]) -> None:
    codes = [row["code"] for row in body["completion_codes"]]
    if not codes or len(set(codes)) != len(codes):
        raise Problem(400, {"completion_codes": ["At least one, and each only once."]})
    screened_out: list[int] = []
    for row in body["completion_codes"]:
        actions = {action["action"] for action in row["actions"]}
        if {"AUTOMATICALLY_APPROVE", "MANUALLY_REVIEW"} <= actions:
            raise Problem(400, {"completion_codes": ["Approve or review, not both."]})
        for action in row["actions"]:
            if action["action"] == "REQUEST_RETURN" and not action.get("return_reason"):
                raise Problem(400, {"completion_codes": ["return_reason is required."]})
            if action["action"] == "FIXED_SCREEN_OUT_PAYMENT":
                screened_out.append(action["fixed_screen_out_reward"])
    if len(screened_out) > 1 or any(reward >= body["reward"] for reward in screened_out):
        raise Problem(400, {"completion_codes": ["One screen-out, below the reward."]})


def _check_times(body: dict[str, Any]) -> None:
    minutes, limit = body["estimated_completion_time"], body.get("maximum_allowed_time")
    if limit is not None and not 2 + 2 * minutes + 2 * math.sqrt(minutes) <= limit < 1440:
        raise Problem(400, {"maximum_allowed_time": ["Out of range."]})
    if not isinstance(body["reward"], int) or body["reward"] <= 0:
        raise Problem(400, {"reward": ["A whole number of minor units."]})
    if body["reward"] * 60 < 800 * minutes:
        raise Problem(400, {"reward": ["Below the minimum pay."]})


def _check_filters(filters: list[dict[str, Any]]) -> bool:
    """Check filters against the live list and say whether any of them is weighted."""
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
