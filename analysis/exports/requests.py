"""List, request and delete exports."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from django.contrib.auth.models import User
from django.db import transaction
from django.urls import reverse

from analysis.data.answer_rows import changes_of_people
from analysis.errors import ExportError
from analysis.exports.catalogue import LABELS, MORE, MORE_FOLDERS, added_folder, is_blind
from analysis.exports.study_export import check_choice
from analysis.exports.table_files import MORE_FORMATS
from analysis.lifecycle.storage import remove_files
from analysis.models import Export, Report
from analysis.report.words import number_of
from analysis.tasks import write_export
from studies.jobs.retry import Retry, same_job
from studies.models.studies import Membership, Study
from studies.selectors import studies_for
from studies.services.studies import lock_study, record
from studies.statements import clock


@transaction.atomic
def request_export(
    *,
    study_id: int,
    user: User,
    what: str,
    format: str = "",
    licence: str = "",
    identified: bool = False,
    free_text: bool = False,
    fresh_pseudonyms: bool = False,
    made_for: str = "",
    report: Report | None = None,
    expires_at: datetime | None = None,
) -> Export:
    """Queue an export, or return the one that is already in progress.

    An extra that offers it elsewhere names that as `made_for`, with the report in it and its end.
    Raises `ExportError` if the options cannot be combined, or if the export names annotators and
    `user` is not an owner.
    """
    # The lock makes two presses of the button create one export.
    study = lock_study(study_id)
    choices = {
        "what": what,
        "format": check_choice(what, format, licence),
        "licence": licence,
        "identified": identified,
        "free_text": free_text,
        "fresh_pseudonyms": fresh_pseudonyms,
        "made_for": made_for,
        "report": report,
    }
    if (identified or free_text) and not _owns(user, study):
        raise ExportError("Only an owner of the study can export data that name people.")
    under_way = study.exports.filter(state__in=Export.OPEN, **choices)
    if same := same_job(under_way, write_export):
        return same
    export = Export.objects.create(study=study, requested_by=user, expires_at=expires_at, **choices)
    write_export.delay_on_commit(export.pk)  # type: ignore[attr-defined]
    return export


def ask_again(*, export: Export, user: User) -> Export:
    """Queue a failed export again with the same options.

    Raises `ExportError` if it did not fail, and as `request_export` does.
    """
    if export.state != Export.State.FAILED:
        raise ExportError("This export did not fail, so it cannot be requested again.")
    return _ask_same(export, user)


def _ask_same(export: Export, user: User) -> Export:
    return request_export(
        study_id=export.study_id,
        user=user,
        what=export.what,
        format=export.format,
        licence=export.licence,
        identified=export.identified,
        free_text=export.free_text,
        fresh_pseudonyms=export.fresh_pseudonyms,
        made_for=export.made_for,
        report=export.report,
        expires_at=export.expires_at if export.made_for else None,
    )


@transaction.atomic
def clear_stale(*, study_id: int, user: User, rebuild: bool) -> int:
    """Delete files with people who have withdrawn or been excluded since.

    With `rebuild` each is written again. Only owners can delete files that name people. Returns the
    number of files.
    """
    study = lock_study(study_id)
    stale = [
        candidate
        for candidate in stale_exports(study)
        if not candidate.names_people or _owns(user, study)
    ]
    for export in stale:
        delete_export(export_id=export.pk, user=user)
        if rebuild:
            _ask_same(export, user)
    return len(stale)


def _owns(user: User, study: Study) -> bool:
    return studies_for(user, role=Membership.Role.OWNER).filter(pk=study.pk).exists()


@transaction.atomic
def delete_export(*, export_id: int, user: User) -> None:
    """Delete an export's file or stop its writing; repeated calls change nothing.

    The row is changed first, so that no page offers a half-deleted file, and a
    worker that is writing stops at its next heartbeat.
    """
    export = Export.objects.select_related("study").get(pk=export_id)
    changed = (
        Export.objects.filter(pk=export_id)
        .exclude(state=Export.State.GONE)
        .update(
            state=Export.State.GONE,
            message=f"Deleted by {user.get_username()}.",
            expires_at=clock.now(),
        )
    )
    if changed:
        record(export.study, "export deleted", user=user, export=export.public_id)
        transaction.on_commit(lambda: remove_files(export.public_id))


def note_download(*, export: Export, user: User) -> None:
    """Record in the study's log who downloaded a copy that names annotators."""
    if export.names_people:
        event = "export that names people downloaded"
        record(export.study, event, user=user, export=export.public_id)


# The format of `changes_of_people`.
ChangeMoments = Sequence[tuple[datetime, bool]]
_SHOWN = 50
# Files without data about annotators.
_WITHOUT_PEOPLE = ("items", "judgments", "versions", "anchors")


def has_people(what: str) -> bool:
    return what not in _WITHOUT_PEOPLE and (added_folder(what) is None or is_blind(what))


def labels(study: Study | None = None) -> dict[str, str]:
    """The available exports with their labels: of all extras, or of those on in a study."""
    added = (MORE, MORE_FOLDERS) if study is None else (MORE.of(study), MORE_FOLDERS.of(study))
    return LABELS | {export.name: export.label for kind in added for export in kind}


_FORMAT_LABELS = {
    "jsonl": "JSON Lines",
    "csv": "CSV",
    "xlsx": "Excel (XLSX)",
    "json": "JSON",
    "toml": "TOML",
}


def extras_of(what: str, format: str) -> tuple[str, ...]:
    """The extras that an export and its format need; empty names for those of the core."""
    return MORE.extra_of(what), MORE_FOLDERS.extra_of(what), MORE_FORMATS.extra_of(format)


def format_labels(study: Study | None = None) -> dict[str, str]:
    """The formats with their names for people: of all extras, or those on in a study."""
    added = MORE_FORMATS if study is None else MORE_FORMATS.of(study)
    return _FORMAT_LABELS | {format.name: format.label for format in added}


_UNITS = ("bytes", "KB", "MB", "GB", "TB")


@dataclass(frozen=True)
class Listed:
    """An export as a row of the list; `before` is the number of exports queued before it.

    `stale` describes changes to the people in its file since the request; empty if there are none.
    """

    export: Export
    name: str
    before: int
    size: str
    retry: Retry
    stale: str


class Since(NamedTuple):
    """Numbers of withdrawals, exclusions and reversals after a file was written."""

    withdrew: int = 0
    others: int = 0

    @classmethod
    def after(cls, moment: datetime, changes: ChangeMoments) -> "Since":
        later = [is_withdrawal for at, is_withdrawal in changes if at > moment]
        return cls(sum(later), len(later) - sum(later))

    @classmethod
    def of(cls, export: Export, changes: ChangeMoments) -> "Since":
        """Changes that an export's file does not reflect; none if it has no people."""
        return cls.after(export.created_at, changes) if has_stale_file(export) else cls()

    @property
    def words(self) -> str:
        """The changes as a sentence; empty if there are none."""
        often = number_of(self.others, "time")
        parts = [
            f"{number_of(self.withdrew, 'person')} withdrew" if self.withdrew else "",
            f"people or items were excluded or included again ({often})" if self.others else "",
        ]
        told = " and ".join(filter(None, parts))
        return f"{told[:1].upper()}{told[1:]} after this was written." if told else ""


def listed_exports(study: Study) -> list[Listed]:
    """The newest exports of a study; the queue is shared by all studies on this server."""
    queue = list(
        Export.objects.filter(state__in=Export.OPEN)
        .order_by("created_at", "pk")
        .values_list("pk", flat=True)
    )
    changes, address = changes_of_people(study), reverse("exports:list", args=[study.slug])
    return [
        Listed(
            export,
            name_of(export),
            queue.index(export.pk) if export.pk in queue else 0,
            size_text(export.size),
            Retry(
                address,
                fields={"action": "again", "export": export.public_id},
                about=f"to create {name_of(export)}",
            ),
            Since.of(export, changes).words,
        )
        for export in study.exports.select_related("requested_by")[:_SHOWN]
    ]


def has_stale_file(export: Export) -> bool:
    """Whether an export's file contains people, and can become outdated."""
    return export.state == Export.State.DONE and has_people(export.what)


def stale_exports(study: Study) -> list[Export]:
    """Exports with a file that includes somebody who withdrew or was excluded since."""
    changes = changes_of_people(study)
    done = study.exports.filter(state=Export.State.DONE)
    return [export for export in done if Since.of(export, changes).words]


def stale_elsewhere(study: Study) -> list[str]:
    """Sentences on where copies with such people are, outside the program's storage."""
    changes = changes_of_people(study)
    stale = []
    for entry in study.log.filter(event__in=("exported", "published as a draft")).order_by("pk"):
        detail, day = entry.detail, f"{entry.created_at:%Y-%m-%d}"
        since = Since.after(entry.created_at, changes).words
        if not since or "export" in detail or not has_people(detail.get("what", "")):
            continue
        if entry.event == "exported":
            place = (
                f"“{detail['what']}”, written by a command on {day} to a folder that is not "
                "recorded"
            )
        else:
            place = f"the draft of {day} at {detail.get('address', 'an archive')}"
        stale.append(f"{place}. {since}")
    return stale


def name_of(export: Export) -> str:
    """The name of an export: its label on the form, up to the colon."""
    what = labels().get(export.what, export.what).partition(":")[0].partition(",")[0]
    return f"{what}, {format_labels().get(export.format, export.format)}"


def size_text(size: int | None) -> str:
    """A file size in readable units; empty if it is unknown.

    >>> size_text(999), size_text(1_234_000)
    ('999 bytes', '1.2 MB')
    """
    if size is None:
        return ""
    amount, unit = float(size), 0
    while amount >= 999.5 and unit < len(_UNITS) - 1:
        amount, unit = amount / 1000, unit + 1
    return f"{amount:.1f} {_UNITS[unit]}" if unit else f"{size} {_UNITS[0]}"
