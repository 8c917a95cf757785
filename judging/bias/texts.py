"""The texts that probes and mitigations add to prompts, from `texts.toml`."""

import tomllib
from functools import cache
from pathlib import Path
from typing import Any

LANGUAGE = "en"  # of every text


@cache
def _texts() -> dict[str, dict[str, Any]]:
    with Path(__file__).with_name("texts.toml").open("rb") as file:
        return tomllib.load(file)


def text(probe: str, place: str, **values: object) -> str:
    """A text with its values filled in."""
    found = str(_texts()[probe][place]).strip()
    for key, value in values.items():
        found = found.replace("{" + key + "}", str(value))
    return found


def sentences(probe: str) -> list[str]:
    return list(_texts()[probe]["sentences"])


def all_of(name: str) -> dict[str, Any]:
    """Every text of a probe or mitigation, to be hashed."""
    return _texts().get(name, {})
