"""Results of Prolific's own authenticity checks, from its export of submissions (CSV).

Prolific's API does not have them. They are shown with a person as advice and decide nothing.
"""

import io
from dataclasses import dataclass

from django.contrib.auth.models import User
from django.db import transaction

from annotation.errors import AnnotationError
from annotation.models import ProlificSubmission
from extras.authenticity.models import AuthenticityResult
from studies.held_copies import HeldBy, PersonIn
from studies.importers.files.lines import BadLine, records
from studies.models import Study
from studies.services.studies import record

MOST_BYTES = 5_000_000
_LONGEST = 200
_IDS = ("submission id", "submission_id", "submissionid", "session id")


class BadAuthenticityFile(AnnotationError):
    """The file has no results of authenticity checks; the message says what it has."""


@dataclass(frozen=True)
class StoredAuthenticity:
    """How many submissions have results now, and how many rows are of other studies."""

    stored: int
    unknown: int


def import_authenticity(study: Study, content: bytes, *, user: User) -> StoredAuthenticity:
    """Store the results of an export by submission. Raises `BadAuthenticityFile`, storing nothing.

    Importing a file again replaces what it said of the same submissions.
    """
    found = _results(content)
    with transaction.atomic():
        rows = ProlificSubmission.objects.select_for_update(no_key=True).filter(
            prolific_study__study=study, submission_id__in=found
        )
        changed = [
            AuthenticityResult(submission=row, words=found[row.submission_id]) for row in rows
        ]
        AuthenticityResult.objects.bulk_create(
            changed,
            batch_size=500,
            update_conflicts=True,
            unique_fields=["submission"],
            update_fields=["words"],
        )
        if changed:
            record(
                study,
                "results of authenticity checks imported",
                user=user,
                submissions=len(changed),
            )
    return StoredAuthenticity(len(changed), len(found) - len(changed))


def _results(content: bytes) -> dict[str, str]:
    """The results of each submission as words: “LLM authenticity: High; …”."""
    if len(content) > MOST_BYTES:
        raise BadAuthenticityFile("The file is larger than 5 MB. Export this study alone.")
    rows = []
    for read in records(io.BytesIO(content), "the file", header_faults=lambda *_: []):
        if isinstance(read, BadLine):
            raise BadAuthenticityFile(f"The file is not a CSV export of Prolific. {read}")
        rows.append(read[1])
    columns = list(rows[0]) if rows else []
    ids = next((name for name in columns if name.strip().lower() in _IDS), None)
    checks = [name for name in columns if "authentic" in name.lower()]
    if ids is None or not checks:
        lacks = "Submission id" if ids is None else "a result, with “authenticity” in its name"
        named = ", ".join(f"“{name[:40]}”" for name in columns[:12]) or "none"
        raise BadAuthenticityFile(
            f"The file has no column for {lacks}. Its columns: {named}. Download the demographic "
            "data of the study on Prolific as CSV."
        )
    found = {}
    for row in rows:
        results = {name.strip(): (row[name] or "").strip() for name in checks}
        words = "; ".join(f"{name}: {result}" for name, result in results.items() if result)
        if words and (key := (row[ids] or "").strip()):
            found[key] = words[:_LONGEST]
    return found


def _forget(person: PersonIn) -> None:
    """Delete the results of somebody's submissions, whose rows stay for the accounts."""
    AuthenticityResult.objects.filter(
        submission__annotator__study=person.study, submission__annotator__pseudonym=person.name
    ).delete()


HELD = HeldBy("results of authenticity checks", forget=_forget)
