"""Verdicts of a headline: their state, their sentences, and their adjusted p values."""

from collections.abc import Iterator, Mapping
from typing import Any

from analysis.report.encode import Json
from analysis.report.text.numbers import figure, p_value
from analysis.report.text.sentences import Text, fill, pieces, shown

# The path of the threshold that a sentence names.
THRESHOLD = "parameters.threshold"

# Below tables with a column of detectable differences.
DETECTABLE = (
    "Detectable: the smallest true difference that a study as precise as this one finds four times "
    "out of five."
)


def state_with(state: str, *sentences: str | Text) -> Json:
    """The state, its sentences, and the places of their numbers in report.json."""
    return {
        "state": state,
        "sentences": [str(sentence) for sentence in sentences],
        "numbers": [s.numbers if isinstance(s, Text) else [] for s in sentences],
    }


def who_of(judge: Mapping[str, Any]) -> Json:
    return {key: judge[key] for key in ("judge", "run", "setting", "features")}


def holm_words(difference: Mapping[str, Any], key: str, path: str) -> Text | str:
    """The adjusted p value, if several runs that compete have a test."""
    if difference["tests"] < 2 or difference[key] is None:
        return ""
    return fill(
        "; Holm-adjusted p {p} over {family} runs",
        p=shown(p_value(difference[key]), f"{path}.{key}"),
        family=shown(difference["tests"], f"{path}.tests"),
    )


def detectable_words(difference: Mapping[str, Any], path: str) -> Text | str:
    """What a study as precise as this one would have found; empty where that is unknown."""
    if difference.get("detectable") is None:
        return ""
    return fill(
        " A study as precise as this one finds a true difference of {gap} points four times "
        "out of five.",
        gap=shown(figure(difference["detectable"] * 100, ".1f"), f"{path}.detectable"),
    )


def where_words(difference: Mapping[str, Any]) -> str:
    """The items of a difference, with the place of their number."""
    if "asked_of_all" in difference:
        return "on the {n} items that every competing judge was asked and both decided"
    return "on the {n} items that both decided"


def no_truth_words(report: Mapping[str, Any]) -> str:
    """Why no answer is right or wrong."""
    if report["study"].get("perspective") == "own":
        return "People answered for themselves, so no answer is right or wrong."
    items, unknown = report["inputs"]["items"], report["inputs"]["truth"]["unknown"]
    if unknown < items:
        known = items - unknown
        has = "item has" if known == 1 else "items have"
        return (
            f"{known:,} of {items:,} {has} a known right answer, but no answer that counts decides "
            f"{'it' if known == 1 else 'any of them'}, so nothing can be correct or wrong."
        )
    return "No item has a known right answer, so no answer can be correct or wrong."


def uneven(found: Mapping[str, Any]) -> str:
    """Words for one person's share of the answers, where people would be enough without it."""
    if not found.get("people_uneven"):
        return ""
    n, share = found["clusters"]["people"], found["people_largest"]
    return f"one of the {n:,} people gave {share * 100:.0f}\u00a0% of the answers"


def texts(verdict: Mapping[str, Any]) -> Iterator[Text]:
    """The sentences of a headline in report.json, with their numbers; early ones have none."""
    places = verdict.get("numbers") or [[] for _ in verdict["sentences"]]
    for sentence, numbers in zip(verdict["sentences"], places, strict=True):
        yield Text(tuple(pieces(sentence, numbers)))
