"""Requests and deletions of exports; a worker writes the files with `write_job`."""

from django.contrib.auth.models import User
from django.db import transaction

from analysis.exports.delivery.listing import stale_exports
from analysis.exports.delivery.storage import remove_files
from analysis.exports.delivery.study_export import check_choice
from analysis.exports.errors import ExportError
from analysis.models import Export
from analysis.tasks import write_export
from studies.jobs.retry import same_job
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
) -> Export:
    """Queue an export, or return the one that is already queued or being written.

    Raises `ExportError` if the options cannot be combined, or if the export names annotators and
    `user` is not an owner.
    """
    # The lock makes sure that pressing the button twice creates one export.
    study = lock_study(study_id)
    choices = {
        "what": what,
        "format": check_choice(what, format, licence),
        "licence": licence,
        "identified": identified,
        "free_text": free_text,
        "fresh_pseudonyms": fresh_pseudonyms,
    }
    if (identified or free_text) and not _owns(user, study):
        raise ExportError("Only an owner of the study may export data that name people.")
    if same := same_job(study.exports.filter(state__in=Export.OPEN, **choices), write_export):
        return same
    export = Export.objects.create(study=study, requested_by=user, **choices)
    write_export.delay_on_commit(export.pk)  # type: ignore[attr-defined]
    return export


def ask_again(*, export: Export, user: User) -> Export:
    """Queue a failed export again with the same options.

    Raises `ExportError` if it did not fail, and in every case in which `request_export` does.
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
    )


@transaction.atomic
def clear_stale(*, study_id: int, user: User, rebuild: bool) -> int:
    """Delete the files that hold people who have withdrawn or been excluded since.

    With `rebuild` each is written again. Files that name people are only an owner's to delete.
    Returns how many there were.
    """
    study = lock_study(study_id)
    found = [each for each in stale_exports(study) if not each.names_people or _owns(user, study)]
    for export in found:
        delete_export(export_id=export.pk, user=user)
        if rebuild:
            _ask_same(export, user)
    return len(found)


def _owns(user: User, study: Study) -> bool:
    return studies_for(user, role=Membership.Role.OWNER).filter(pk=study.pk).exists()


@transaction.atomic
def delete_export(*, export_id: int, user: User) -> None:
    """Delete the file of an export, or stop its writing; a second call changes nothing.

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
