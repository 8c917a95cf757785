"""Participants' demographics from Prolific's export: shown, never a reason to reject.

Quota places follow the answers in the study. Comparing them with the export shows groups that
Prolific fills differently.
"""

import contextlib
import io
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.db import transaction

from annotation.models import (
    Annotator,
    DemographicQuestion,
    ProlificStudy,
    ProlificSubmission,
    QuotaGroup,
)
from annotation.prolific.api import types
from annotation.prolific.api.client import ProlificClient, connect
from annotation.prolific.api.transport import NotFound, OutcomeUnknown, ProlificRejected, shaped
from annotation.prolific.api.types import POLITICS, SEX, Filter
from annotation.prolific.launch.launch_plan import label_for, question_of
from annotation.seats.quotas import matching_group
from extras.prolific_tools.models import StatedDemographics
from studies.importers.files.lines import BadLine, records
from studies.models import Study

# Columns by filter, if their names differ from our questions.
_FILTERED = {
    SEX: ("sex",),
    POLITICS: (
        "u.s. political affiliation",
        "us political affiliation",
        "political affiliation",
    ),
}
# Columns that every export has, and keys of questions on the same subject.
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
    """The filter that is known to ask the same question."""
    return next((f for f in _FILTERED if question_of(f, {question.key})), None)


def filters_for(questions: Sequence[DemographicQuestion], live: Iterable[Filter]) -> list[str]:
    """The filters whose answers the export should include; `live` may be empty."""
    known = list(live)
    wanted = []
    for question in questions:
        filter_id = filter_of(question)
        if filter_id is None and not _usual_column(question):
            names = _names(question)
            filter_id = next((f.id for f in known if {_fold(f.title), _fold(f.id)} & names), None)
        if filter_id and filter_id not in wanted:
            wanted.append(filter_id)
    return wanted


def needs_live_filters(questions: Sequence[DemographicQuestion]) -> bool:
    return any(filter_of(q) is None and not _usual_column(q) for q in questions)


def column_of(question: DemographicQuestion, columns: Iterable[str]) -> str | None:
    """The export's column that answers the question; None if there is none."""
    there = list(columns)
    if known := filter_of(question):
        return next((name for name in _FILTERED[known] if name in there), None)
    if (usual := _usual_column(question)) in there:
        return usual
    names = _names(question)
    return next((name for name in there if _fold(name) in names), None)


def value_of(question: DemographicQuestion, text: str) -> str | None:
    """The value of our question that matches Prolific's answer; None if there is none."""
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
    """Only the significant words, so that “What is your student status?” equals student-status."""
    words = " ".join(re.findall(r"\w+", text.casefold().replace("_", " ")))
    return words.removeprefix("what is your ").removeprefix("your ")


# The platform's text for an answer that is not available.
_ABSENT = {"", "DATA_EXPIRED", "CONSENT_REVOKED", "N/A", "PREFER NOT TO SAY"}
_ID = "submission id"
# Columns about the submission, not the participant.
_NOT_ABOUT_PEOPLE = {
    _ID,
    "participant id",
    "status",
    "custom study tncs accepted at",
    "started at",
    "completed at",
    "reviewed at",
    "archived at",
    "time taken",
    "completion code",
    "total approvals",
}
_MOST_EXPORTS, _MOST_FILTERS = 2, 15
_HOLDING = (types.ACTIVE, types.AWAITING_REVIEW, types.APPROVED, types.PARTIALLY_APPROVED)


def fetch(*, study_id: int) -> int:
    """Read the export of a study's participants and store it with their submissions."""
    client = connect(study_id)
    wanted = _filters(client, list(DemographicQuestion.objects.filter(study=study_id)))
    kept = 0
    for row in ProlificStudy.objects.filter(study=study_id, prolific_id__isnull=False):
        text = _export(client, str(row.prolific_id), wanted)
        people = read_export(text)
        if people is None:
            raise OutcomeUnknown("Prolific's export cannot be read. Try again later.")
        for submission in row.submissions.select_related("stated_demographics"):
            about = people.get(submission.submission_id)
            if about is not None and about != _stated(submission):
                kept += _store(submission, about)
    return kept


def _stated(submission: ProlificSubmission) -> dict[str, str]:
    """What Prolific says about the person; empty if it was not read."""
    kept = getattr(submission, "stated_demographics", None)
    return kept.answers if kept else {}


@transaction.atomic
def _store(submission: ProlificSubmission, about: dict[str, str]) -> bool:
    """Store what Prolific says; not about somebody who has withdrawn, even just now."""
    # Locked, as it is while they withdraw.
    person = Annotator.objects.select_for_update(no_key=True).filter(
        pk=submission.annotator_id or 0
    )
    if Annotator.State.WITHDREW in person.values_list("state", flat=True):
        return False
    StatedDemographics.objects.update_or_create(submission=submission, defaults={"answers": about})
    return True


def _filters(client: ProlificClient, questions: Sequence[DemographicQuestion]) -> list[str]:
    """The filters that our questions need; the live list is read only if necessary."""
    live: Sequence[Filter] = ()
    if needs_live_filters(questions):
        # Without the list, fewer columns can be compared.
        with contextlib.suppress(ProlificRejected, NotFound):
            live = client.filters()
    return filters_for(questions, live)


def _export(client: ProlificClient, study_id: str, wanted: Sequence[str]) -> str:
    """The export with the columns of our questions, or without them if they are refused."""
    if wanted:
        try:
            return export(client, study_id, wanted)
        except (ProlificRejected, NotFound):
            pass
    return export(client, study_id)


def export(client: ProlificClient, study_id: str, wanted: Sequence[str] = ()) -> str:
    """The demographic export of a study as CSV text, with the columns of these filters.

    Filters have the form of a study's filters: with all choices, they exclude nobody. Filters that
    are not in the live list are not requested. Prolific exports at most two combinations for a
    study; after that, or if the filters are the same, the last one is requested again.
    """
    live = {one.id: one for one in client.filters()} if wanted else {}
    asked = [_everybody(live[name]) for name in wanted if name in live]
    if asked:
        asked = _filters_to_request(client, study_id, asked[:_MOST_FILTERS])
    path = f"studies/{study_id}/demographic-export/"
    response = client.send("POST", path, json={"filters": asked}, again=True)
    try:
        answer = response.json()
    except ValueError:
        return response.content.decode("utf-8-sig")
    if isinstance(answer, str):
        return answer
    return shaped(lambda: str(answer.get("csv") or answer.get("data") or ""))


def _everybody(one: Filter) -> dict[str, Any]:
    """The filter in a form that excludes nobody."""
    if one.is_range:
        return {"filter_id": one.id, "selected_range": {"lower": one.low, "upper": one.high}}
    return {"filter_id": one.id, "selected_values": list(one.choices)}


def _filters_to_request(
    client: ProlificClient, study_id: str, asked: list[dict[str, Any]]
) -> list[dict[str, Any]]:
    """The filters to request, given those of earlier exports."""
    history = client.ask("GET", f"studies/{study_id}/demographic-export-history/")

    def read() -> list[dict[str, Any]]:
        last = list(history.get("filters") or [])
        is_same = {f["filter_id"] for f in last} == {f["filter_id"] for f in asked}
        return last if last and (is_same or int(history["count"]) >= _MOST_EXPORTS) else asked

    return shaped(read)


def read_export(text: str) -> dict[str, dict[str, str]] | None:
    """The export's data on each submission, by column name; the columns vary.

    None if the export names no submissions, or is cut off within its last row.
    """
    columns: set[str] = set()

    def note_columns(line: int, header: list[str], name: str) -> list[BadLine]:
        columns.update(column.casefold() for column in header)
        return []

    people: dict[str, dict[str, str]] = {}
    is_cut = False
    stream = io.BytesIO(text.encode())
    for record in records(stream, "demographics.csv", header_faults=note_columns):
        is_cut = isinstance(record, BadLine)
        if isinstance(record, BadLine):
            continue
        named = {column.casefold(): cell.strip() for column, cell in record[1].items()}
        if submission := named.get(_ID, ""):
            people[submission] = {
                name: value
                for name, value in named.items()
                if name not in _NOT_ABOUT_PEOPLE and value.upper() not in _ABSENT
            }
    return None if is_cut or _ID not in columns else people


def mismatch(submission: ProlificSubmission, questions: Sequence[DemographicQuestion]) -> str:
    """Differences between answers here and on Prolific, if any."""
    if submission.annotator is None:
        return ""
    stated = submission.annotator.demographics
    differing = []
    for question in questions:
        here, there = stated.get(question.key, ""), _prolific_value(submission, question)
        if not here or not there or here == DemographicQuestion.PREFER_NOT_TO_SAY:
            continue
        means = value_of(question, there)
        # Words that match none of our values mean nothing, unless we know the filter's words.
        if means != here and (means is not None or filter_of(question)):
            differing.append(f"{question.key}: here “{here}”, on Prolific “{there}”")
    return "; ".join(differing)


def _prolific_value(submission: ProlificSubmission, question: DemographicQuestion) -> str:
    about = _stated(submission)
    name = column_of(question, about)
    return about[name] if name else ""


@dataclass(frozen=True)
class DemographicGroup:
    """A quota group: its places, and how many are filled by our answers and by Prolific's."""

    name: str
    places: int
    here: int
    there: int
    differing: int


@dataclass(frozen=True)
class DemographicGroups:
    """The quota groups by our answers and by Prolific's; `unknown` annotators have no group there.

    `unasked` are the groups' questions without answers on Prolific, without which Prolific's
    answers cannot assign anybody to a group.
    """

    rows: list[DemographicGroup]
    unknown: int
    unasked: tuple[str, ...] = ()


def groups_of(study: Study) -> DemographicGroups | None:
    """Every quota group with its annotators here and on Prolific; None without groups or export."""
    groups = list(study.quota_groups.all())
    people = list(
        ProlificSubmission.objects.filter(
            prolific_study__study=study,
            prolific_study__is_follow_up=False,
            status__in=_HOLDING,
            annotator__isnull=False,
        ).select_related("annotator", "stated_demographics")
    )
    if not groups or not any(_stated(submission) for submission in people):
        return None
    asked = {key for group in groups for key in group.criteria}
    questions = [q for q in study.demographic_questions.all() if q.key in asked]
    unasked = tuple(
        question.label
        for question in questions
        if not any(_prolific_value(submission, question) for submission in people)
    )
    here: dict[int | None, set[int]] = {}
    there: dict[int | None, set[int]] = {}
    unknown = 0
    for submission in people:
        assert isinstance(submission.annotator, Annotator)  # noqa: S101  the query says so
        here.setdefault(submission.annotator.quota_group_id, set()).add(submission.pk)
        stated = _in_our_words(submission, questions)
        if stated is None:
            unknown += 1
            continue
        group = matching_group(groups, stated)
        there.setdefault(group.pk if group else None, set()).add(submission.pk)
    return DemographicGroups([_group(group, here, there) for group in groups], unknown, unasked)


def _group(
    group: QuotaGroup, here: Mapping[int | None, set[int]], there: Mapping[int | None, set[int]]
) -> DemographicGroup:
    ours, theirs = here.get(group.pk, set()), there.get(group.pk, set())
    return DemographicGroup(str(group), group.target, len(ours), len(theirs), len(theirs - ours))


def _in_our_words(
    submission: ProlificSubmission, questions: Sequence[DemographicQuestion]
) -> dict[str, str] | None:
    """Prolific's answers as values of our questions; None if one of them is unknown.

    If we know a filter's words, an answer that matches none of our values is kept unchanged and
    fits no group. Other unreadable words count as no answer.
    """
    stated = {}
    for question in questions:
        there = _prolific_value(submission, question)
        means = value_of(question, there) if there else None
        if means is None and there and filter_of(question):
            means = there
        if means is None:
            return None
        stated[question.key] = means
    return stated
