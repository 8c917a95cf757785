"""Reports, exports and publications that may contain a person's answers."""

from collections.abc import Collection, Iterator
from functools import partial

from analysis.data.answer_rows import names_in
from analysis.data.raters import REPORT_WRITTEN
from analysis.data.views import PEOPLE
from analysis.exports.requests import delete_export, has_people, has_stale_file, name_of
from analysis.exports.rows import exported_id
from analysis.lifecycle.requests import delete_report
from analysis.models import Export, Report
from studies.held_copies import HeldBy, HeldCopy, PersonIn
from studies.models.studies import Study


def _copies(person: PersonIn) -> Iterator[HeldCopy]:
    yield from _reports(person)
    for export in Export.objects.filter(study=person.study, state=Export.State.DONE):
        if has_stale_file(export) and person.may_be_in(export.created_at):
            yield HeldCopy(
                f"export {export.public_id}",
                f"Export “{name_of(export)}”",
                export.created_at,
                "Delete it here, and export again. Ask those who downloaded it to delete it.",
                "Delete the file",
                partial(delete_export, export_id=export.pk),
            )
    yield from _outside(person)


def _reports(person: PersonIn) -> Iterator[HeldCopy]:
    for report in Report.objects.filter(study=person.study, state=Report.State.DONE):
        if not person.may_be_in(report.created_at):
            continue
        yield HeldCopy(
            f"report {report.public_id}",
            f"Report v{report.number}",
            report.created_at,
            "Its numbers include their answers, and its table of annotators has a row on them. "
            "Deleting it also ends its links. A registered report may have to be kept: then build "
            "a new version, and this one stays marked as superseded.",
            "Delete the report",
            partial(delete_report, report_id=report.pk),
        )


def _outside(person: PersonIn) -> Iterator[HeldCopy]:
    written = person.study.log.filter(event__in=("exported", REPORT_WRITTEN))
    for entry in written.exclude(detail__has_key="export"):
        what = entry.detail.get("what", "report")
        if has_people(what) and person.may_be_in(entry.created_at):
            yield HeldCopy(
                f"log {entry.pk}",
                "Report by a command" if what == "report" else f"Export “{what}” by a command",
                entry.created_at,
                "Its folder is not recorded. Find it, and delete or replace it.",
            )


def _forget(person: PersonIn) -> None:
    """Delete the name in views.

    A report that is done is one of the copies; `delete_report` deletes the names in its view.
    """
    for report in Report.objects.filter(study=person.study).exclude(state=Report.State.DONE):
        names = report.view.get(PEOPLE, ())
        if person.name in names:
            report.view = report.view | {PEOPLE: [name for name in names if name != person.name]}
            report.message = "Its view named somebody whose data was deleted."
            report.save(update_fields=["view", "message"])


def _find(study: Study, text: str) -> Collection[str]:
    """The annotator with this name in exports."""
    if not text.startswith("R-"):
        return ()
    return [name for name in names_in(study) if exported_id(study.export_key, name) == text]


HELD = HeldBy("reports and exports", copies=_copies, forget=_forget, find=_find)
