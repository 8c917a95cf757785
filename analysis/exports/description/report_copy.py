"""A copy of the newest report, without rows about single annotators or items."""

from pathlib import Path

from analysis.exports.tables.table_files import write_text
from analysis.models import Report
from analysis.report.contents import all_figures, all_tables
from analysis.report.figures import write_figures
from analysis.report.files.json_file import to_json
from analysis.report.files.shared_copy import without_people
from analysis.report.files.table_files import write_tables
from analysis.report.render import render_html
from analysis.selectors import marked
from studies.models.studies import Study


def newest_report(study: Study) -> Report | None:
    """The newest report; None if people withdrew, or were excluded or included, after it."""
    built = marked(study.reports.filter(state=Report.State.DONE))
    report = built.order_by("-number").first()
    if report is None or report.withdrawn_since or report.excluded_since:  # type: ignore[attr-defined]  # annotated
        return None
    return report


def write_report_copy(report: Report, folder: Path) -> bool:
    """Write the page, its numbers, tables and figures to `folder`, from the stored result.

    The report's own files have rows for each annotator under internal names; the copy does not.
    Returns False and writes nothing if another version of Thirdperson computed the result and
    this one cannot render it.
    """
    if report.result is None or report.finished_at is None:
        raise ValueError(f"report {report.pk} is not done")
    shown, failed = without_people(report.result), list[str]()
    tables, figures = all_tables(shown, failed), all_figures(shown, failed)
    date = report.finished_at.date()
    try:
        page = render_html(shown, date=date, tables=tables, figures=figures, failed=failed)
    except KeyError:
        return False
    if failed and "failed_parts" not in shown:
        return False
    folder.mkdir(parents=True)
    write_text(folder / "report.html", page)
    write_text(folder / "report.json", to_json(shown))
    write_tables(list(tables.values()), folder / "tables")
    write_figures(list(figures.values()), folder / "figures")
    return True


def named_report(report: Report | None, *, is_here: bool) -> str:
    """The sentence about the report on the card of a bundle."""
    if report is None or report.finished_at is None:
        return "No report had been built of the answers that are here."
    if not is_here:
        return (
            f"Report v{report.number} is left out: an older version of Thirdperson built it. "
            "Build it again and export again."
        )
    return (
        f"`report/` holds report v{report.number} of {report.finished_at:%Y-%m-%d}, without rows "
        "about single people or items; the page saves its figures as PNG, SVG and CSV. Hash of "
        f"its inputs: `{report.inputs_hash}`."
    )
