"""Ready-made texts for editors to start from, and the placeholders that are still to be filled.

A placeholder is what is to be written between double square brackets, for example
[[name of the ethics board]]. While one is left in a text, the study cannot be launched.
Each language has a file in `ready_texts`.
"""

import re
import tomllib
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from studies.models import Study
from studies.money import format_money
from studies.prompts.language import base_of

TEXTS = ("instructions", "consent", "debrief")
# Every field whose text annotators read.
_READ = (*TEXTS, "ai_policy", "researchers", "storage", "ethics")
_FOLDER = Path(__file__).parent / "ready_texts"
_ENGLISH = "en"
_PLACEHOLDER = re.compile(r"\[\[([^\[\]]+)\]\]")


def placeholders(text: str) -> list[str]:
    """What is still to be written in a text."""
    return _PLACEHOLDER.findall(text)


def unfilled(study: Study) -> dict[str, list[str]]:
    """The placeholders in each field that annotators read; fields without any are left out."""
    found = {name: placeholders(getattr(study, name)) for name in _READ}
    return {name: left for name, left in found.items() if left}


def ready_language(study: Study) -> str:
    """The language of the ready-made texts: that of the study, or English if it has none."""
    language = base_of(study.language)
    return language if (_FOLDER / f"{language}.toml").is_file() else _ENGLISH


def template_for(study: Study, name: str) -> str:
    """The ready-made text for a field, with what the study's settings already say."""
    ready = _texts_in(ready_language(study))
    words = ready["words"]
    facts = {
        fact: getattr(study, fact) or unknown for fact, unknown in ready["unknown"].items()
    } | {
        "items": study.items_per_annotator,
        "minutes": study.minutes,
        "pay": _pay(study, words),
        "identity": words["anonymous" if study.entry == Study.Entry.LINK else "by_id"],
    }
    if name == "consent":
        facts["certainty"] = words["asks_certainty"] if study.ask_certainty else ""
        facts["retest"] = (
            words["retest"].format(days=study.retest_days) if study.retest_share else ""
        )
    elif name == "instructions":
        own = "own_" if study.asks_own_answers else ""
        facts |= {
            "certainty": words[own + "certainty"] if study.ask_certainty else "",
            "tie": words[own + ("either" if study.offers_either else "tie")]
            if study.allow_tie
            else "",
            "changes": words["changes"] if study.allow_changes else "",
        }
    text: str = (ready["own_answers"] if study.asks_own_answers else ready)[name]
    return text.format(**facts)


def ready_checks_text(study: Study) -> list[dict[str, Any]]:
    """The ready-made attention checks, with their responses as lists of sentences."""
    ready = _texts_in(ready_language(study))
    whatever = ready["words"]["whatever_own" if study.asks_own_answers else "whatever"]
    return [
        check | {"instruction": check["instruction"].format(whatever=whatever)}
        for check in ready["checks"]
    ]


def _pay(study: Study, words: Mapping[str, str]) -> str:
    if not study.reward:
        return words["unpaid"]
    amount = format_money(study.reward, study.currency)
    hourly = format_money(study.reward * 60 / study.minutes, study.currency)
    return words["paid"].format(amount=amount, hourly=hourly)


@cache
def _texts_in(language: str) -> dict[str, Any]:
    return tomllib.loads((_FOLDER / f"{language}.toml").read_text("utf-8"))
