"""The requirements of the documented researcher API: parameters, fields and their types.

Written from the published OpenAPI description. A call that lacks a required parameter, or sends one
of the wrong type or one that the description does not list, is refused with 400 and its name.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from demo.prolific.field_checks import (
    REQUIRED,
    UNKNOWN,
    FieldCheck,
    boolean,
    chosen_filter,
    completion_code,
    digits,
    flag,
    identity,
    list_of,
    mapping,
    number,
    one_of,
    submissions_config,
    text,
)
from demo.prolific.records import REJECTION_CATEGORIES, Problem


@dataclass(frozen=True)
class Call:
    """A call's query and body: required and optional parameters, and their types.

    Of each group in `either` one name is required, in the query or in the body.
    """

    query: Mapping[str, FieldCheck] = field(default_factory=dict)
    body: Mapping[str, FieldCheck] = field(default_factory=dict)
    required: frozenset[str] = frozenset()
    either: tuple[tuple[str, ...], ...] = ()

    def check(self, query: Mapping[str, str], body: Any, *, is_strict: bool) -> None:
        """Raise `Problem` with every error by name."""
        if not isinstance(body, dict):
            raise Problem(400, "Expected an object.")
        given: dict[str, Any] = {**query, **body}
        problems = {name: REQUIRED for name in self.required if given.get(name) in (None, "")}
        for group in self.either:
            if not any(given.get(name) for name in group):
                problems[group[0]] = f"One of {' or '.join(group)} must be given."
        for known, sent in ((self.query, query), (self.body, body)):
            for name, value in sent.items():
                check = known.get(name)
                if check is None:
                    if is_strict:
                        problems[name] = UNKNOWN
                elif name not in problems and value is not None and (wrong := check(value)):
                    problems[name] = wrong
        if problems:
            raise Problem(400, {name: [words] for name, words in sorted(problems.items())})


_PAGES: dict[str, FieldCheck] = {"page": digits, "page_size": digits}
_SLICES: dict[str, FieldCheck] = {"limit": digits, "offset": digits}
STUDY: dict[str, FieldCheck] = {
    "name": text,
    "internal_name": text,
    "description": text,
    "external_study_url": text,
    "prolific_id_option": one_of("question", "url_parameters", "not_required"),
    "completion_codes": list_of(completion_code),
    "total_available_places": number,
    "estimated_completion_time": number,
    "maximum_allowed_time": number,
    "reward": number,
    "device_compatibility": list_of(one_of("desktop", "tablet", "mobile")),
    "peripheral_requirements": list_of(one_of("audio", "camera", "download", "microphone")),
    "filters": list_of(chosen_filter),
    "filter_set_id": identity,
    "filter_set_version": number,
    "naivety_distribution_rate": number,
    "project": identity,
    "submissions_config": submissions_config,
    "study_labels": list_of(
        one_of(
            "survey",
            "writing_task",
            "annotation",
            "decision_making_task",
            "interview",
            "other",
            "ai_annotation",
            "ai_evaluation",
            "ai_reasoning",
            "ai_fact_checking",
            "ai_safety",
            "ai_other",
        )
    ),
    "content_warnings": list_of(one_of("sensitive", "explicit")),
    "content_warning_details": text,
    "metadata": text,
    "credential_pool_id": text,
    "publish_at": text,
    "access_details": list_of(mapping),
    "is_external_study_url_secure": flag,
    # Not in the description, but required by the platform's own command line: see Behaviour.
    "study_type": text,
}
_NEW_STUDY = frozenset(
    {
        "name",
        "description",
        "external_study_url",
        "prolific_id_option",
        "completion_codes",
        "total_available_places",
        "estimated_completion_time",
        "reward",
    }
)
_REJECTIONS = one_of(*REJECTION_CATEGORIES)
_HOOK: dict[str, FieldCheck] = {
    "event_type": text,
    "target_url": text,
    "is_enabled": flag,
    "workspace_id": identity,
}


def _must(*names: str) -> frozenset[str]:
    return frozenset(names)


CONTRACT: dict[tuple[str, str], Call] = {
    ("GET", "users/me/"): Call(),
    ("GET", "workspaces/"): Call(_SLICES),
    ("GET", "workspaces/<id>/balance/"): Call(),
    ("GET", "workspaces/<id>/projects/"): Call(_SLICES),
    ("POST", "workspaces/<id>/projects/"): Call(
        body={
            "title": text,
            "description": text,
            "type": one_of("PRIVATE", "PUBLIC"),
            "public_details": mapping,
            "naivety_distribution_rate": number,
        },
        required=_must("title"),
    ),
    ("GET", "projects/<id>/studies/"): Call({**_PAGES, "ordering": text}),
    ("GET", "filters/"): Call(
        {**_PAGES, "detailed": text, "workspace_id": identity, "filter_tag": text}
    ),
    ("POST", "eligibility-count/"): Call(
        body={
            "filters": list_of(chosen_filter),
            "workspace_id": identity,
            "organisation_id": identity,
        },
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
        body={
            "action": one_of(
                "PUBLISH", "SCHEDULE_PUBLISH", "CANCEL_PUBLISH", "PAUSE", "START", "STOP"
            ),
            "publish_at": text,
        },
        required=_must("action"),
    ),
    ("GET", "studies/<id>/cost/"): Call({"is_projected": boolean}),
    ("POST", "studies/<id>/demographic-export/"): Call(body={"filters": list_of(chosen_filter)}),
    ("GET", "participant-groups/"): Call(
        {
            **_SLICES,
            "workspace_id": identity,
            "project_id": identity,
            "active": one_of("true", "false"),
        },
        either=(("workspace_id", "project_id"),),
    ),
    ("POST", "participant-groups/"): Call(
        body={
            "name": text,
            "description": text,
            "workspace_id": identity,
            "organisation_id": identity,
            "participant_ids": list_of(identity),
        },
        required=_must("name"),
        either=(("workspace_id", "organisation_id"),),
    ),
    ("DELETE", "participant-groups/<id>/"): Call(),
    ("GET", "submissions/"): Call(
        {
            **_PAGES,
            "study": identity,
            "status": text,
            "ordering": one_of(
                "started_at",
                "-started_at",
                "submission_reward",
                "-submission_reward",
                "study_name",
                "-study_name",
            ),
        }
    ),
    ("GET", "submissions/<id>/"): Call(),
    ("POST", "submissions/<id>/transition/"): Call(
        body={
            "action": one_of(
                "APPROVE",
                "COMPLETE",
                "REJECT",
                "RETURN",
                "START",
                "SCREEN_OUT",
                "UNREJECT",
                "UNRETURN",
            ),
            "message": text,
            "rejection_category": _REJECTIONS,
            "completion_code": text,
            "completion_code_data": mapping,
        },
        required=_must("action"),
    ),
    ("POST", "submissions/bulk-approve/"): Call(
        body={
            "submission_ids": list_of(identity),
            "study_id": identity,
            "participant_ids": list_of(identity),
        },
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
}
