"""Studies of the simulated Prolific: drafts are checked strictly, and publishing costs money."""

import math
from datetime import UTC, datetime
from typing import Any

from demo.prolific.memory import Memory
from demo.prolific.records import FEE, FILTERS, HOLDING, VAT, Refusal, new_id, stamp

_HIDDEN = {"child", "exports"}
EXPORTS = 2  # different combinations of filters, for a study


class Studies(Memory):
    def create_study(self, body: dict[str, Any]) -> dict[str, Any]:
        if body.get("filter_set_id"):
            if body.get("filters"):
                raise Refusal(400, {"filters": ["Not in combination with a filter set."]})
            body = {**body, "filters": self.filter_set(body["filter_set_id"])["filters"]}
        self._check_groups(body)
        _check_codes(body, has_screen_outs=self.behaviour.screen_outs)
        _check_times(body)
        self._check_type(body, is_weighted=_check_filters(body.get("filters") or []))
        for placeholder in ("PROLIFIC_PID", "STUDY_ID", "SESSION_ID"):
            if f"{{{{%{placeholder}%}}}}" not in body["external_study_url"]:
                raise Refusal(400, {"external_study_url": [f"{placeholder} is missing."]})
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
        for chosen in leaves(body.get("filters") or []):
            if chosen["filter_id"].startswith("participant_group"):
                named += chosen["selected_values"]
        if unknown := sorted(set(named) - self.groups.keys()):
            raise Refusal(400, {"participant_group": [f"{unknown[0]} does not exist."]})

    def _check_type(self, body: dict[str, Any], *, is_weighted: bool) -> None:
        if "study_type" in body:
            self.legacy.append("study_type")
            if self.behaviour.study_type == "refused":
                raise Refusal(400, {"study_type": ["This field is not allowed."]})
        elif is_weighted and self.behaviour.study_type == "required":
            raise Refusal(400, {"study_type": ["Weighted filters need QUOTA."]})

    def filter_set(self, set_id: str) -> dict[str, Any]:
        if set_id not in self.filter_sets:
            raise Refusal(404, "Not found.")
        return self.filter_sets[set_id]

    def add_test_participant(self, body: dict[str, Any]) -> str:
        if not self.behaviour.test_studies:
            raise Refusal(404, "Not found.")
        if "@" not in body["email"]:
            raise Refusal(400, {"email": ["Enter a valid email address."]})
        self.test_participants.append(new_id())
        return self.test_participants[-1]

    def test_study(self, study_id: str) -> str:
        """Publish a copy of a draft to the test participants."""
        study = self.study(study_id)
        if not self.behaviour.test_studies:
            raise Refusal(404, "Not found.")
        if study["status"] != "UNPUBLISHED" or not self.test_participants:
            raise Refusal(400, "Needs a draft and a test participant.")
        copy = new_id()
        fields = {"id": copy, "child": new_id(), "status": "ACTIVE", "total_available_places": 1}
        allowed = [{"filter_id": "custom_allowlist", "selected_values": self.test_participants}]
        self.studies[copy] = {**study, **fields, "internal_name": "", "filters": allowed}
        return copy

    def study(self, study_id: str) -> dict[str, Any]:
        for study in self.studies.values():
            if study_id in (study["id"], study["child"]):
                return study
        raise Refusal(404, "Not found.")

    def show_study(self, study_id: str) -> dict[str, Any]:
        """The study as Prolific shows it, after its asynchronous actions."""
        study = self.study(study_id)
        fields = {name: value for name, value in study.items() if name not in _HIDDEN}
        if study["status"] == "PUBLISHING":
            self.set_status(study, "ACTIVE")
        if study["status"] == "SCHEDULED" and study["publish_at"] <= stamp(datetime.now(UTC)):
            self._publish(study)
        fields["status"], fields["published_at"] = study["status"], study["published_at"]
        people = [s for s in self.submissions.values() if s.study == study["id"]]
        fields["places_taken"] = sum(s.status in HOLDING for s in people)
        fields["number_of_submissions"] = len(people)
        fields["total_cost"] = self.total_cost(study["reward"], study["total_available_places"])
        return fields

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
        rewards = study["reward"] * places
        if not is_projected:
            rewards += sum(s.status == "SCREENED OUT" for s in people) * _screen_out_pay(study)
        bonuses = sum(sum(s.bonuses) for s in people)
        return {
            "rewards": self._parts(rewards),
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
                raise Refusal(400, "A published study keeps this.")
            before = study["total_available_places"]
            places = body.get("total_available_places", before)
            if places < before:
                raise Refusal(400, {"total_available_places": ["Can only be increased."]})
            self._spend(study, places - before)
            if places > before and study["status"] in ("COMPLETED", "AWAITING REVIEW"):
                self.set_status(study, "ACTIVE")
        study.update(body)
        return self.show_study(study_id)

    def _spend(self, study: dict[str, Any], places: int) -> None:
        self.take(study, self.total_cost(study["reward"], places))

    def take(self, study: dict[str, Any], cost: int) -> None:
        """Take money out of the wallet of the workspace that the study's project is in."""
        workspace = self.projects[study["project"]]["workspace"]
        if cost > self.wallet(workspace):
            raise Refusal(400, "Insufficient funds.")
        self.wallets[workspace] -= cost

    def delete_study(self, study_id: str) -> None:
        study = self.study(study_id)
        if study["status"] != "UNPUBLISHED":
            raise Refusal(400, "Only a draft can be deleted.")
        del self.studies[study["id"]]

    def _publish(self, study: dict[str, Any]) -> None:
        self._spend(study, study["total_available_places"])
        study["published_at"] = stamp(datetime.now(UTC))
        self.set_status(study, self.behaviour.publishes)

    def transition_study(self, study_id: str, action: str, publish_at: str = "") -> dict[str, Any]:
        study = self.study(study_id)
        ways = {
            ("UNPUBLISHED", "SCHEDULE_PUBLISH"): "SCHEDULED",
            ("SCHEDULED", "CANCEL_PUBLISH"): "UNPUBLISHED",
            ("UNPUBLISHED", "PUBLISH"): self.behaviour.publishes,
            ("ACTIVE", "PAUSE"): "PAUSED",
            ("PAUSED", "START"): "ACTIVE",
            ("ACTIVE", "STOP"): self.behaviour.stop,
            ("PAUSED", "STOP"): self.behaviour.stop,
            ("AWAITING REVIEW", "START"): "ACTIVE",
        }
        target = ways.get((study["status"], action))
        if target is None:
            raise Refusal(400, f"{action} is not possible while {study['status']}.")
        if action == "PUBLISH":
            self._publish(study)
            return self.show_study(study_id)
        if action == "SCHEDULE_PUBLISH":
            study["publish_at"] = _future(publish_at)
        if action == "CANCEL_PUBLISH":
            study["publish_at"] = None
        self.set_status(study, target)
        return self.show_study(study_id)

    def set_status(self, study: dict[str, Any], status: str) -> None:
        study["status"] = status
        self.notify("study.status.change", study["id"], status=status, metadata={})


def _screen_out_pay(study: dict[str, Any]) -> int:
    actions = [action for code in study["completion_codes"] for action in code["actions"]]
    return next((a["fixed_screen_out_reward"] for a in actions if "slots" in a), 0)


def _future(text: str) -> str:
    """The time to publish at, which must have a zone and be in the future."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise Refusal(400, {"publish_at": ["Needs a time in ISO 8601."]}) from None
    if moment.tzinfo is None or moment <= datetime.now(UTC):
        raise Refusal(400, {"publish_at": ["Needs a time in the future, with its zone."]})
    return stamp(moment.astimezone(UTC)) or ""


def _is_outside(part: dict[str, Any], selected: dict[str, Any]) -> bool:
    inner = part["selected_range"]
    return not selected["lower"] <= inner["lower"] <= inner["upper"] <= selected["upper"]


def leaves(filters: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Every filter, also those inside of groups."""
    single = []
    for chosen in filters:
        inner = chosen.get("selected_filters")
        single += [chosen] if inner is None else leaves(inner)
    return single


def _check_codes(body: dict[str, Any], *, has_screen_outs: bool) -> None:
    codes = [row["code"] for row in body["completion_codes"]]
    if not codes or len(set(codes)) != len(codes):
        raise Refusal(400, {"completion_codes": ["At least one, and each only once."]})
    screened_out: list[int] = []
    for row in body["completion_codes"]:
        actions = {action["action"] for action in row["actions"]}
        if {"AUTOMATICALLY_APPROVE", "MANUALLY_REVIEW"} <= actions:
            raise Refusal(400, {"completion_codes": ["Approve or review, not both."]})
        for action in row["actions"]:
            if action["action"] == "REQUEST_RETURN" and not action.get("return_reason"):
                raise Refusal(400, {"completion_codes": ["return_reason is required."]})
            if action["action"] == "FIXED_SCREEN_OUT_PAYMENT":
                screened_out.append(action["fixed_screen_out_reward"])
    if screened_out and not has_screen_outs:
        raise Refusal(400, {"completion_codes": ["Your workspace has no fixed screen-outs."]})
    if len(screened_out) > 1 or any(reward >= body["reward"] for reward in screened_out):
        raise Refusal(400, {"completion_codes": ["One screen-out, below the reward."]})


def _check_times(body: dict[str, Any]) -> None:
    minutes, limit = body["estimated_completion_time"], body.get("maximum_allowed_time")
    if limit is not None and not 2 + 2 * minutes + 2 * math.sqrt(minutes) <= limit < 1440:
        raise Refusal(400, {"maximum_allowed_time": ["Out of range."]})
    if not isinstance(body["reward"], int) or body["reward"] <= 0:
        raise Refusal(400, {"reward": ["A whole number of minor units."]})
    if body["reward"] * 60 < 800 * minutes:
        raise Refusal(400, {"reward": ["Below the minimum pay."]})


def _check_filters(filters: list[dict[str, Any]]) -> bool:
    """Check filters against the live list and say whether any of them is weighted."""
    known = {row["filter_id"]: row for row in FILTERS}
    for chosen in leaves(filters):
        live = known.get(chosen["filter_id"])
        if live is None:
            raise Refusal(400, {"filters": [f"{chosen['filter_id']} does not exist."]})
        values, weights = chosen.get("selected_values") or [], chosen.get("weightings") or {}
        if live["type"] == "range":
            selected = chosen["selected_range"]
            if not live["min"] <= selected["lower"] <= selected["upper"] <= live["max"]:
                raise Refusal(400, {"filters": [f"{live['filter_id']} is out of range."]})
            if any(_is_outside(part, selected) for part in weights.values()):
                raise Refusal(400, {"filters": ["A part is outside of the range."]})
        elif live["choices"] and not set(values) <= live["choices"].keys():
            raise Refusal(400, {"filters": [f"{live['filter_id']}: unknown choice."]})
        elif weights and set(weights) != set(values):
            raise Refusal(400, {"filters": ["weightings need a number for each value."]})
    if any(not one["selected_filters"] for one in filters if "selected_filters" in one):
        raise Refusal(400, {"filters": ["An empty group."]})
    if any("weightings" in one for one in leaves(filters) if one not in filters):
        raise Refusal(400, {"filters": ["weightings are for filters outside of groups."]})
    return any(chosen.get("weightings") for chosen in filters)
