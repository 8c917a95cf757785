"""The texts that probes and mitigations add to prompts, one file for each language."""

import tomllib
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

_FOLDER = Path(__file__).parent


@cache
def _texts(language: str) -> dict[str, dict[str, Any]]:
    return tomllib.loads((_FOLDER / f"{language}.toml").read_text("utf-8"))


@cache
def _languages() -> tuple[str, ...]:
    return tuple(sorted(path.stem for path in _FOLDER.glob("*.toml")))


def languages_of(names: Iterable[str]) -> tuple[str, ...] | None:
    """The languages in which all these probes and mitigations have texts.

    None if none of them adds any words.
    """
    worded = [name for name in names if any(name in _texts(language) for language in _languages())]
    if not worded:
        return None
    return tuple(
        language for language in _languages() if all(name in _texts(language) for name in worded)
    )


def text(probe: str, place: str, *, language: str, **values: object) -> str:
    """A text in a language, with its values filled in."""
    words = str(_texts(language)[probe][place]).strip()
    for key, value in values.items():
        words = words.replace("{" + key + "}", str(value))
    return words


def words(probe: str, place: str, *, language: str) -> list[str]:
    """The texts of a list."""
    return list(_texts(language)[probe][place])


def all_of(name: str, language: str) -> dict[str, Any]:
    """Every text of a probe or mitigation, to be hashed."""
    return _texts(language).get(name, {})
