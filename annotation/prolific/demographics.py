"""What people told Prolific about themselves, from its export: shown, never a ground to reject.

Quota places follow what people say in the study. The export is set beside them, so that a group
that Prolific fills otherwise than the study does can be seen.
"""

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from annotation.models import (
    Annotator,
    DemographicQuestion,
    ProlificStudy,
    ProlificSubmission,
    QuotaCell,
)
from annotation.prolific import types
from annotation.prolific.account import connect
from annotation.prolific.client import Client
from annotation.prolific.errors import OutcomeUnknown, Rejected
from annotation.prolific.filters import POLITICS, SEX
from annotation.prolific.plan import label_for, question_of
from annotation.quotas import matching_cell
from studies.models import Study

# What the platform writes where a person's answer is not to be had.
_ABSENT = {"", "DATA_EXPIRED", "CONSENT_REVOKED", "N/A", "PREFER NOT TO SAY"}
_ID = "submission id"
# Columns of the submission rather than of the person.
_NOT_ABOUT_PEOPLE = {
    _ID, "participant id", "status", "custom study tncs accepted at", "started at",
    "completed at", "reviewed at", "archived at", "time taken", "completion code",
    "total approvals",
}  # fmt: skip
# The export's names of the columns that our quota questions ask as well.
_COLUMNS = {
    SEX: ("sex",),
    POLITICS: (
        "u.s. political affiliation", "us political affiliation", "political affiliation",
    ),
}  # fmt: skip
_HOLDING = (types.ACTIVE, types.AWAITING_REVIEW, types.APPROVED, types.PARTIALLY_APPROVED)


def fetch(*, study_id: int) -> int:
    """Read the export of a study's people and keep it with their submissions."""
    client = connect()
    keys = set(DemographicQuestion.objects.filter(study=study_id).values_list("key", flat=True))
    wanted = [filter_id for filter_id in _COLUMNS if question_of(filter_id, keys)]
    kept = 0
    for row in ProlificStudy.objects.filter(study=study_id, prolific_id__isnull=False):
        text = _export(client, str(row.prolific_id), wanted)
        if not _is_whole(text):
            raise OutcomeUnknown("Prolific's export cannot be read. Try again later.")
        people = read_export(text)
        for submission in row.submissions.all():
            about = people.get(submission.submission_id)
            if about is not None and about != submission.demographics:
                submission.demographics = about
                submission.save(update_fields=["demographics"])
                kept += 1
    return kept


def _export(client: Client, study_id: str, wanted: Sequence[str]) -> str:
    """The export with the columns that our questions ask; without them where they are refused."""
    if wanted:
        try:
            return client.demographics(study_id, filters=wanted)
        except Rejected:
            pass
    return client.demographics(study_id)


def _is_whole(text: str) -> bool:
    """Whether the export names its submissions and ends where a line ends."""
    rows = list(csv.reader(io.StringIO(text)))
    return (
        bool(rows)
        and _ID in {name.strip().casefold() for name in rows[0]}
        and len(rows[-1]) == len(rows[0])
    )


def read_export(text: str) -> dict[str, dict[str, str]]:
    """What the export says of each submission, by column name; the columns vary."""
    people = {}
    for line in csv.DictReader(io.StringIO(text)):
        named = {(name or "").strip().casefold(): (value or "") for name, value in line.items()
                 if isinstance(value, str)}  # fmt: skip
        if submission := named.get(_ID, "").strip():
            people[submission] = {
                name: value.strip()
                for name, value in named.items()
                if name not in _NOT_ABOUT_PEOPLE and value.strip().upper() not in _ABSENT
            }
    return people


def mismatch(submission: ProlificSubmission, questions: Sequence[DemographicQuestion]) -> str:
    """Where somebody's answers here and on Prolific differ; empty where they agree."""
    if submission.annotator is None:
        return ""
    said = submission.annotator.demographics
    differing = []
    for filter_id in _COLUMNS:
        key = question_of(filter_id, {question.key for question in questions})
        there = _said_there(submission, filter_id)
        here = said.get(key or "", "")
        known = here and here != DemographicQuestion.PREFER_NOT_TO_SAY
        if known and there and label_for(filter_id, here, [there]) is None:
            differing.append(f"{key}: here “{here}”, on Prolific “{there}”")
    return "; ".join(differing)


def _said_there(submission: ProlificSubmission, filter_id: str) -> str:
    found = submission.demographics
    return next((found[name] for name in _COLUMNS[filter_id] if name in found), "")


@dataclass(frozen=True)
class Group:
    """A quota group: its places, and who fills them by either side's answers."""

    name: str
    places: int
    here: int
    there: int
    differing: int


@dataclass(frozen=True)
class Groups:
    """The quota groups beside Prolific's answers; `unknown` people have none there."""

    rows: list[Group]
    unknown: int


def groups_of(study: Study) -> Groups | None:
    """Every quota group with its people here and on Prolific; None without groups or export."""
    cells = list(study.quota_cells.all())
    people = list(
        ProlificSubmission.objects.filter(
            prolific_study__study=study, status__in=_HOLDING, annotator__isnull=False
        ).select_related("annotator")
    )
    if not cells or not any(submission.demographics for submission in people):
        return None
    questions = list(study.demographic_questions.all())
    here: dict[int | None, set[int]] = {}
    there: dict[int | None, set[int]] = {}
    unknown = 0
    for submission in people:
        assert isinstance(submission.annotator, Annotator)  # noqa: S101  the query says so
        here.setdefault(submission.annotator.quota_cell_id, set()).add(submission.pk)
        said = _in_our_words(submission, questions)
        if said is None:
            unknown += 1
            continue
        cell = matching_cell(cells, said)
        there.setdefault(cell.pk if cell else None, set()).add(submission.pk)
    return Groups([_group(cell, here, there) for cell in cells], unknown)


def _group(
    cell: QuotaCell, here: Mapping[int | None, set[int]], there: Mapping[int | None, set[int]]
) -> Group:
    ours, theirs = here.get(cell.pk, set()), there.get(cell.pk, set())
    return Group(str(cell), cell.target, len(ours), len(theirs), len(theirs - ours))


def _in_our_words(
    submission: ProlificSubmission, questions: Sequence[DemographicQuestion]
) -> dict[str, str] | None:
    """Prolific's answers as values of our questions; None where it has no answer to one.

    An answer that none of our values means is kept as it is: it fits no group.
    """
    said = {}
    for question in questions:
        asked = next((f for f in _COLUMNS if question_of(f, {question.key}) == question.key), None)
        if asked is None:
            continue
        there = _said_there(submission, asked)
        if not there:
            return None
        values = [str(option["value"]) for option in question.options]
        said[question.key] = next(
            (value for value in values if label_for(asked, value, [there])), there
        )
    return said
