"""The words of protocols, one file for each language; prompts per task are in `studies/prompts`.

`<name>` in a prompt stands for a part of `[parts]`, `{{ name }}` for a text of the item (see
`studies/texts/slots.py`).
"""

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from studies.extra import folders

ENGLISH = "en"
_FOLDER = Path(__file__).parent
_PART = re.compile(r"<(\w+)>")


@dataclass(frozen=True, slots=True)
class Texts:
    """The words of a protocol in one language; each is empty or missing if it has none.

    `prompt` and `prompt_without_persona` are templates, `follow_up` that of the second step,
    `questions` what is asked by task, `levels` names of certainty from the lowest on, which
    `how_certain` asks for by itself, and `option` the heading of an option in a list, before its
    letter.
    """

    prompt: str = ""
    prompt_without_persona: str = ""
    follow_up: str = ""
    questions: Mapping[str, str] = field(default_factory=dict)
    levels: tuple[str, ...] = ()
    how_certain: str = ""
    option: str = ""


@cache
def languages() -> tuple[str, ...]:
    """The languages that have a file, English first."""
    stems = sorted(path.stem for path in _FOLDER.glob("*.toml"))
    return (ENGLISH, *(language for language in stems if language != ENGLISH))


def languages_of(name: str) -> tuple[str, ...] | None:
    """The languages in which the protocol `name` has words; None if it has words in none."""
    return tuple(language for language in languages() if name in _read(language)) or None


@cache
def texts(name: str, language: str) -> Texts:
    """The words of the protocol `name`; empty if it has none in this language."""
    if language not in languages():
        return Texts()
    file = _read(language)
    own = dict(file.get(name, {}))
    prompt = own.pop("prompt", "")
    parts = file["parts"]
    nobody = parts | dict.fromkeys(("about", "profile"), parts["about_nobody"])
    own["levels"] = tuple(own.get("levels", ()))
    return Texts(_composed(prompt, parts), _composed(prompt, nobody), **own)


def _composed(prompt: str, parts: Mapping[str, str]) -> str:
    return _PART.sub(lambda match: parts[match[1]], prompt)


@cache
def _read(language: str) -> dict[str, Any]:
    files = [
        _FOLDER / f"{language}.toml",
        *(folder / f"{language}.toml" for folder in folders("texts")),
    ]
    entries: dict[str, Any] = {}
    for file in files:
        if file.exists():
            entries |= tomllib.loads(file.read_text("utf-8"))
    return entries
