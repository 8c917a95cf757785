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
    "Detectable: the smallest true difference that a study as precise as this one finds in four "
    "cases of five."
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
    """The adjusted p value, if several runs compete."""
    if difference["family"] < 2 or difference[key] is None:
        return ""
    return fill(
        "; Holm-adjusted p {p} over {family} runs",
        p=shown(p_value(difference[key]), f"{path}.{key}"),
        family=shown(difference["family"], f"{path}.family"),
    )


def detectable_words(difference: Mapping[str, Any], path: str) -> Text | str:
    """What a study as precise as this one would have found; empty where that is unknown."""
    if difference.get("detectable") is None:
        return ""
    return fill(
        " A study as precise as this one finds a true difference of {gap} points in four cases of "
        "five.",
        gap=shown(figure(difference["detectable"] * 100, ".1f"), f"{path}.detectable"),
    )


def texts(verdict: Mapping[str, Any]) -> Iterator[Text]:
    """The sentences of a headline in report.json, with their numbers; early ones have none."""
    places = verdict.get("numbers") or [[] for _ in verdict["sentences"]]
    for sentence, numbers in zip(verdict["sentences"], places, strict=True):
        yield Text(tuple(pieces(sentence, numbers)))
