"""A draft as it was sent and as Prolific shows it, compared field by field."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from annotation.prolific.launch.publication import essence

_SHOWN = 300
_DEVICES = ["desktop", "mobile", "tablet"]


@dataclass(frozen=True)
class DraftDifference:
    """A field that came back with another value than was sent."""

    name: str
    sent: str
    read: str


def compare(
    sent: Mapping[str, Any], read: Mapping[str, Any]
) -> tuple[list[str], list[DraftDifference], list[str]]:
    """The names of the fields that are equal, that differ, and that Prolific does not show."""
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
    given = {name: one for name, one in (value or {}).items() if one not in (None, [])}
    return {"max_submissions_per_participant": 1, "max_concurrent_submissions": -1} | given


_MEANINGS: dict[str, Callable[[Any], Any]] = {
    "completion_codes": _codes,
    "device_compatibility": _devices,
    "filters": essence,
    "submissions_config": _config,
}


def _shown(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"
