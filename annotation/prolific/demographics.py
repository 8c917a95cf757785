"""What people told Prolific about themselves, from its export: shown, never a ground to reject."""

import csv
import io
from collections.abc import Sequence

from annotation.models import DemographicQuestion, ProlificStudy, ProlificSubmission
from annotation.prolific.account import connect
from annotation.prolific.filters import POLITICS, SEX
from annotation.prolific.plan import label_for, question_of

# What the platform writes where a person's answer is not to be had.
_ABSENT = {"", "DATA_EXPIRED", "CONSENT_REVOKED", "N/A", "PREFER NOT TO SAY"}
_ID = "submission id"
# Columns of the submission rather than of the person.
_NOT_ABOUT_PEOPLE = {
    _ID, "participant id", "status", "custom study tncs accepted at", "started at",
    "completed at", "reviewed at", "archived at", "time taken", "completion code",
    "total approvals",
}  # fmt: skip


def fetch(*, study_id: int) -> int:
    """Read the export of a study's people and keep it with their submissions."""
    client = connect()
    kept = 0
    for row in ProlificStudy.objects.filter(study=study_id, prolific_id__isnull=False):
        people = read_export(client.demographics(str(row.prolific_id)))
        for submission in row.submissions.all():
            about = people.get(submission.submission_id)
            if about is not None and about != submission.demographics:
                submission.demographics = about
                submission.save(update_fields=["demographics"])
                kept += 1
    return kept


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
    for filter_id, column in ((SEX, "sex"), (POLITICS, "political")):
        key = question_of(filter_id, {question.key for question in questions})
        there = next(
            (v for name, v in submission.demographics.items() if name.startswith(column)), ""
        )
        here = said.get(key or "", "")
        known = here and here != DemographicQuestion.PREFER_NOT_TO_SAY
        if known and there and label_for(filter_id, here, [there]) is None:
            differing.append(f"{key}: here “{here}”, on Prolific “{there}”")
    return "; ".join(differing)
