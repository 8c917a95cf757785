"""Checks of single fields: the error in a value; empty when there is none."""

import re
from collections.abc import Callable
from typing import Any

FieldCheck = Callable[[Any], str]
REQUIRED, UNKNOWN = "This field is required.", "Unknown field."


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


def one_of(*choices: str) -> FieldCheck:
    def check(value: Any) -> str:
        return "" if value in choices else f"“{value}” is not a valid choice."

    return check


def list_of(check: FieldCheck) -> FieldCheck:
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
        return f"{sorted(unknown)[0]}: {UNKNOWN}"
    if "selected_range" in value:
        bounds = value["selected_range"]
        good = isinstance(bounds, dict) and bounds and bounds.keys() <= {"lower", "upper"}
        return "" if good else "selected_range: Expected lower and upper."
    return list_of(text)(value.get("selected_values")) and "selected_values: Expected a list."


def completion_code(value: Any) -> str:
    if not isinstance(value, dict):
        return "Expected an object."
    if missing := {"code", "code_type", "actions"} - value.keys():
        return f"{sorted(missing)[0]}: {REQUIRED}"
    if unknown := value.keys() - {"code", "code_type", "actions", "actor"}:
        return f"{sorted(unknown)[0]}: {UNKNOWN}"
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
        return f"{sorted(missing)[0]}: {REQUIRED}"
    unknown = sorted(value.keys() - wanted)
    return f"{unknown[0]}: {UNKNOWN}" if unknown else ""


def submissions_config(value: Any) -> str:
    known = {
        "max_submissions_per_participant",
        "max_concurrent_submissions",
        "auto_rejection_categories",
    }
    return "" if isinstance(value, dict) and value.keys() <= known else UNKNOWN
