"""The column of Prolific's export that answers a question of ours, and its values here."""

import re
from collections.abc import Iterable, Sequence

from annotation.models import DemographicQuestion
from annotation.prolific.api.filters import POLITICS, SEX
from annotation.prolific.api.types import Filter
from annotation.prolific.launch.launch_plan import label_for, question_of

# Columns by their filter, where their names differ from our questions.
_FILTERED = {
    SEX: ("sex",),
    POLITICS: (
        "u.s. political affiliation",
        "us political affiliation",
        "political affiliation",
    ),
}
# Columns that every export has, and the keys of questions on the same subject.
_USUAL = {
    "age": {"age", "age group", "age band", "age range"},
    "ethnicity simplified": {"ethnicity", "ethnic group", "race"},
    "country of birth": {"country of birth", "birth country"},
    "country of residence": {"country of residence", "country", "residence"},
    "nationality": {"nationality"},
    "language": {"language", "first language", "native language"},
    "student status": {"student status", "student"},
    "employment status": {"employment status", "employment"},
}
_SPAN = re.compile(r"(\d+)\s*(?:-|–|to)\s*(\d+)")
_FROM = re.compile(r"(\d+)\s*(?:\+|and (?:older|over|above)|or (?:older|over|above|more))")
_BELOW = re.compile(r"(?:under|below|younger than|less than)\s*(\d+)")


def filter_of(question: DemographicQuestion) -> str | None:
    """The filter known to ask the same as the question."""
    return next((f for f in _FILTERED if question_of(f, {question.key})), None)


def filters_for(questions: Sequence[DemographicQuestion], live: Iterable[Filter]) -> list[str]:
    """The filters whose answers to request with the export; `live` may be empty."""
    known = list(live)
    wanted = []
    for question in questions:
        found = filter_of(question)
        if found is None and not _usual_column(question):
            names = _names(question)
            found = next((f.id for f in known if {_fold(f.title), _fold(f.id)} & names), None)
        if found and found not in wanted:
            wanted.append(found)
    return wanted


def needs_live_filters(questions: Sequence[DemographicQuestion]) -> bool:
    return any(filter_of(q) is None and not _usual_column(q) for q in questions)


def column_of(question: DemographicQuestion, columns: Iterable[str]) -> str | None:
    """The column of an export that answers the question; None if there is none."""
    there = list(columns)
    if known := filter_of(question):
        return next((name for name in _FILTERED[known] if name in there), None)
    if (usual := _usual_column(question)) in there:
        return usual
    names = _names(question)
    return next((name for name in there if _fold(name) in names), None)


def value_of(question: DemographicQuestion, text: str) -> str | None:
    """The value of our question that matches Prolific's answer; None if none does."""
    known = filter_of(question)
    for option in question.options:
        value, label = str(option["value"]), str(option["label"])
        if known and label_for(value, [text]):
            return value
        if _fold(text) in (_fold(value), _fold(label)):
            return value
        if text.isdecimal() and (_holds(value, int(text)) or _holds(label, int(text))):
            return value
    return None


def _holds(option: str, number: int) -> bool:
    """Whether an option such as 18-24, 65+ or “under 18” includes a number."""
    words = option.casefold().replace("_", "-")
    if span := _SPAN.search(words):
        return int(span[1]) <= number <= int(span[2])
    if least := _FROM.search(words):
        return number >= int(least[1])
    most = _BELOW.search(words.replace("-", " "))
    return most is not None and number < int(most[1])


def _usual_column(question: DemographicQuestion) -> str:
    names = _names(question)
    return next((column for column, keys in _USUAL.items() if keys & names), "")


def _names(question: DemographicQuestion) -> set[str]:
    return {_fold(question.key), _fold(question.label)}


def _fold(text: str) -> str:
    """Only the words: “What is your student status?” and student-status are the same."""
    words = " ".join(re.findall(r"\w+", text.casefold().replace("_", " ")))
    return words.removeprefix("what is your ").removeprefix("your ")
