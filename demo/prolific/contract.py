"""What the documented researcher API demands of each call: parameters, fields and their types.

Written from the published OpenAPI description. A call that lacks a required parameter, sends
one of the wrong type or one that the description does not know is refused with 400 and its name.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from demo.prolific.records import Problem

# What is wrong with a value; empty when nothing is.
Check = Callable[[Any], str]
_REQUIRED, _UNKNOWN = "This field is required.", "Unknown field."


def text(value: Any) -> str:
    return "" if isinstance(value, str) else "Not a valid string."


def number(value: Any) -> str:
    good = isinstance(value, int | float) and not isinstance(value, bool)
    return "" if good else "A valid number is required."


def flag(value: Any) -> str:
    return "" if isinstance(value, bool) else "Must be a valid boolean."


def mapping(value: Any) -> str:
    return "" if isinstance(value, dict) else "Expected an object."


def identity(value: Any) -> str:
    good = isinstance(value, str) and re.fullmatch(r"[0-9a-f]{24}", value)
    return "" if good else "Not a valid id."


def digits(value: Any) -> str:
    """A whole number in a query."""
    return "" if re.fullmatch(r"-?[0-9]+", value) else "A valid integer is required."


def boolean(value: Any) -> str:
    """A yes or no in a query."""
    good = value.casefold() in {"0", "1", "true", "false", "yes", "no", "t", "f"}
    return "" if good else "Must be a valid boolean."


def one_of(*choices: str) -> Check:
    def check(value: Any) -> str:
        return "" if value in choices else f"“{value}” is not a valid choice."

    return check


def list_of(check: Check) -> Check:
    def check_all(value: Any) -> str:
        if not isinstance(value, list):
            return "Expected a list of items."
        return next((problem for item in value if (problem := check(item))), "")

    return check_all


def chosen_filter(value: Any) -> str:
    """A filter as studies, counts and exports take it: choices, or a range."""
    if not isinstance(value, dict) or text(value.get("filter_id")):
        return "filter_id: This field is required."
    unknown = value.keys() - {"filter_id", "selected_values", "selected_range", "weightings"}
    if unknown:
        return f"{sorted(unknown)[0]}: {_UNKNOWN}"
    if "selected_range" in value:
        bounds = value["selected_range"]
        good = isinstance(bounds, dict) and bounds and bounds.keys() <= {"lower", "upper"}
        return "" if good else "selected_range: Expected lower and upper."
    return list_of(text)(value.get("selected_values")) and "selected_values: Expected a list."


def completion_code(value: Any) -> str:
    if not isinstance(value, dict):
        return "Expected an object."
    if missing := {"code", "code_type", "actions"} - value.keys():
        return f"{sorted(missing)[0]}: {_REQUIRED}"
    if unknown := value.keys() - {"code", "code_type", "actions", "actor"}:
        return f"{sorted(unknown)[0]}: {_UNKNOWN}"
    return list_of(_action)(value["actions"])


_ACTIONS = {
    "AUTOMATICALLY_APPROVE": set(),
    "MANUALLY_REVIEW": set(),
    "ADD_TO_PARTICIPANT_GROUP": {"participant_group"},
    "REMOVE_FROM_PARTICIPANT_GROUP": {"participant_group"},
    "REQUEST_RETURN": {"return_reason"},
    "FIXED_SCREEN_OUT_PAYMENT": {"fixed_screen_out_reward", "slots"},
    "DYNAMIC_PAYMENT": set(),
}  # type: dict[str, set[str]]


def _action(value: Any) -> str:
    if not isinstance(value, dict) or value.get("action") not in _ACTIONS:
        return "action: Not a valid choice."
    wanted = _ACTIONS[value["action"]] | {"action"}
    if missing := wanted - value.keys():
        return f"{sorted(missing)[0]}: {_REQUIRED}"
    unknown = sorted(value.keys() - wanted)
    return f"{unknown[0]}: {_UNKNOWN}" if unknown else ""


def submissions_config(value: Any) -> str:
    known = {
        "max_submissions_per_participant", "max_concurrent_submissions",
        "auto_rejection_categories",
    }  # fmt: skip
    return "" if isinstance(value, dict) and value.keys() <= known else _UNKNOWN


@dataclass(frozen=True)
class Call:
    """A call's query and body: what must be there, what may be, and of which type.

    Of each group in `either` one name must be there, in the query or in the body.
    """

    query: Mapping[str, Check] = field(default_factory=dict)
    body: Mapping[str, Check] = field(default_factory=dict)
    required: frozenset[str] = frozenset()
    either: tuple[tuple[str, ...], ...] = ()

    def check(self, query: Mapping[str, str], body: Any, *, is_strict: bool) -> None:
        """Raise `Problem` with every complaint by name."""
        if not isinstance(body, dict):
            raise Problem(400, "Expected an object.")
        given: dict[str, Any] = {**query, **body}
        problems = {name: _REQUIRED for name in self.required if given.get(name) in (None, "")}
        for group in self.either:
            if not any(given.get(name) for name in group):
                problems[group[0]] = f"One of {' or '.join(group)} must be given."
        for known, sent in ((self.query, query), (self.body, body)):
            for name, value in sent.items():
                check = known.get(name)
                if check is None:
                    if is_strict:
                        problems[name] = _UNKNOWN
                elif name not in problems and value is not None and (wrong := check(value)):
                    problems[name] = wrong
        if problems:
            raise Problem(400, {name: [words] for name, words in sorted(problems.items())})


_PAGES: dict[str, Check] = {"page": digits, "page_size": digits}
_SLICES: dict[str, Check] = {"limit": digits, "offset": digits}
STUDY: dict[str, Check] = {
    "name": text, "internal_name": text, "description": text, "external_study_url": text,
    "prolific_id_option": one_of("question", "url_parameters", "not_required"),
    "completion_codes": list_of(completion_code), "total_available_places": number,
    "estimated_completion_time": number, "maximum_allowed_time": number, "reward": number,
    "device_compatibility": list_of(one_of("desktop", "tablet", "mobile")),
    "peripheral_requirements": list_of(one_of("audio", "camera", "download", "microphone")),
    "filters": list_of(chosen_filter), "filter_set_id": identity, "filter_set_version": number,
    "naivety_distribution_rate": number, "project": identity,
    "submissions_config": submissions_config,
    "study_labels": list_of(
        one_of("survey", "writing_task", "annotation", "decision_making_task", "interview",
               "other", "ai_annotation", "ai_evaluation", "ai_reasoning", "ai_fact_checking",
               "ai_safety", "ai_other")
    ),
    "content_warnings": list_of(one_of("sensitive", "explicit")), "content_warning_details": text,
    "metadata": text, "credential_pool_id": text, "publish_at": text,
    "access_details": list_of(mapping), "is_external_study_url_secure": flag,
    # Not in the description, and demanded by the platform's own command line: see Behaviour.
    "study_type": text,
}  # fmt: skip
_NEW_STUDY = frozenset({
    "name", "description", "external_study_url", "prolific_id_option", "completion_codes",
    "total_available_places", "estimated_completion_time", "reward",
})  # fmt: skip
_REJECTIONS = one_of(
    "TOO_QUICKLY", "TOO_SLOWLY", "FAILED_INSTRUCTIONS", "INCOMP_LONGITUDINAL", "FAILED_CHECK",
    "LOW_EFFORT", "MALINGERING", "NO_CODE", "BAD_CODE", "NO_DATA", "UNSUPP_DEVICE", "OTHER",
)  # fmt: skip
_HOOK: dict[str, Check] = {
    "event_type": text, "target_url": text, "is_enabled": flag, "workspace_id": identity,
}  # fmt: skip


def _must(*names: str) -> frozenset[str]:
    return frozenset(names)


CONTRACT: dict[tuple[str, str], Call] = {
    ("GET", "users/me/"): Call(),
    ("GET", "workspaces/"): Call(_SLICES),
    ("GET", "workspaces/<id>/balance/"): Call(),
    ("GET", "workspaces/<id>/projects/"): Call(_SLICES),
    ("POST", "workspaces/<id>/projects/"): Call(
        body={"title": text, "description": text, "type": one_of("PRIVATE", "PUBLIC"),
              "public_details": mapping, "naivety_distribution_rate": number},
        required=_must("title"),
    ),
    ("GET", "projects/<id>/studies/"): Call({**_PAGES, "ordering": text}),
    ("GET", "filters/"): Call(
        {**_PAGES, "detailed": text, "workspace_id": identity, "filter_tag": text}
    ),
    ("POST", "eligibility-count/"): Call(
        body={"filters": list_of(chosen_filter), "workspace_id": identity,
              "organisation_id": identity},
        required=_must("filters"),
    ),
    ("POST", "study-cost-calculator/"): Call(
        body={"reward": number, "total_available_places": number},
        required=_must("reward", "total_available_places"),
    ),
    ("GET", "reward-recommendations/"): Call(
        {"workspace_id": identity, "currency": one_of("USD", "GBP"), "screener_ids": text},
        required=_must("workspace_id", "currency"),
    ),
    ("GET", "studies/"): Call({**_PAGES, "state": text}),
    ("POST", "studies/"): Call(body=STUDY, required=_NEW_STUDY),
    ("GET", "studies/<id>/"): Call(),
    ("PATCH", "studies/<id>/"): Call(body=STUDY),
    ("DELETE", "studies/<id>/"): Call(),
    ("POST", "studies/<id>/transition/"): Call(
        body={"action": one_of("PUBLISH", "SCHEDULE_PUBLISH", "CANCEL_PUBLISH", "PAUSE", "START",
                               "STOP"), "publish_at": text},
        required=_must("action"),
    ),
    ("GET", "studies/<id>/cost/"): Call({"is_projected": boolean}),
    ("POST", "studies/<id>/demographic-export/"): Call(body={"filters": list_of(chosen_filter)}),
    ("GET", "participant-groups/"): Call(
        {**_SLICES, "workspace_id": identity, "project_id": identity,
         "active": one_of("true", "false")},
        either=(("workspace_id", "project_id"),),
    ),
    ("POST", "participant-groups/"): Call(
        body={"name": text, "description": text, "workspace_id": identity,
              "organisation_id": identity, "participant_ids": list_of(identity)},
        required=_must("name"),
        either=(("workspace_id", "organisation_id"),),
    ),
    ("DELETE", "participant-groups/<id>/"): Call(),
    ("GET", "submissions/"): Call(
        {**_PAGES, "study": identity, "status": text,
         "ordering": one_of("started_at", "-started_at", "submission_reward",
                            "-submission_reward", "study_name", "-study_name")}
    ),
    ("GET", "submissions/<id>/"): Call(),
    ("POST", "submissions/<id>/transition/"): Call(
        body={"action": one_of("APPROVE", "COMPLETE", "REJECT", "RETURN", "START", "SCREEN_OUT",
                               "UNREJECT", "UNRETURN"),
              "message": text, "rejection_category": _REJECTIONS, "completion_code": text,
              "completion_code_data": mapping},
        required=_must("action"),
    ),
    ("POST", "submissions/bulk-approve/"): Call(
        body={"submission_ids": list_of(identity), "study_id": identity,
              "participant_ids": list_of(identity)},
        either=(("submission_ids", "participant_ids"),),
    ),
    ("POST", "submissions/<id>/request-return/"): Call(
        body={"request_return_reasons": list_of(text)}, required=_must("request_return_reasons")
    ),
    ("POST", "submissions/bonus-payments/"): Call(
        body={"study_id": identity, "csv_bonuses": text},
        required=_must("study_id", "csv_bonuses"),
    ),
    ("POST", "bulk-bonus-payments/<id>/pay/"): Call(),
    ("GET", "hooks/secrets/"): Call(
        {**_SLICES, "workspace_id": identity}, required=_must("workspace_id")
    ),
    ("POST", "hooks/secrets/"): Call(
        body={"workspace_id": identity}, required=_must("workspace_id")
    ),
    ("GET", "hooks/subscriptions/"): Call(
        {**_SLICES, "workspace_id": identity, "is_enabled": boolean}
    ),
    ("POST", "hooks/subscriptions/"): Call(
        body=_HOOK, required=_must("event_type", "target_url", "workspace_id")
    ),
    ("POST", "hooks/subscriptions/<id>/"): Call(body={"secret": text}, required=_must("secret")),
    ("DELETE", "hooks/subscriptions/<id>/"): Call(),
}  # fmt: skip
