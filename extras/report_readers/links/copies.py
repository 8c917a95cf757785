"""The copies of a report that links show: without rows about people, and without names."""

import io

from analysis.errors import AnalysisError
from analysis.lifecycle.storage import report_dir
from analysis.models import Report
from analysis.report.report_json import Json, without_people
from extras.report_readers.links.identities import CODE, Blinding, identities_of
from studies.file_storage.storage import Stored

SHARED_PAGE, BLIND_PAGE = "shared.html", "shared_blind.html"
CARD, BLIND_CARD = "card.png", "card_blind.png"


class NotShareable(AnalysisError):
    """A report cannot be shared: it is not finished, or its files are deleted."""


def shared_page(report: Report, *, hides_names: bool = False) -> Stored:
    return report_dir(report.public_id) / (BLIND_PAGE if hides_names else SHARED_PAGE)


def shared_card_of(report: Report, *, hides_names: bool) -> Stored:
    return report_dir(report.public_id) / (BLIND_CARD if hides_names else CARD)


def write_shared_page(report: Report) -> Stored:
    """Write the report's page without rows about single annotators or items, once."""
    page = shared_page(report)
    if report.state != Report.State.DONE or report.result is None or report.finished_at is None:
        raise NotShareable("You can share a report once it is finished.")
    if not (report_dir(report.public_id) / "report.html").is_file():
        raise NotShareable(
            "The files of this report are gone. Build the report again and share the new one."
        )
    if not page.is_file():
        page.save(_rendered(report, without_people(report.result)).encode())
    return page


def write_blind_page(report: Report) -> Stored:
    """Write the shared page without names of researchers; again for each link, as teams change.

    Raises `NotShareable` if a name is left.
    """
    blinding = Blinding(identities_of(report.study))
    blind = blinding.value(without_people(report.result or {}))
    text = _rendered(report, blind)
    hidden = CODE.sub("", text).encode()
    if left := [one.word for one in blinding.found_in(hidden) if one.is_sure]:
        raise NotShareable(
            f"The report still has “{left[0]}”. Correct the items or the title of the study, and "
            "build the report again."
        )
    page = shared_page(report, hides_names=True)
    page.save(text.encode())
    if shared_card_of(report, hides_names=False).is_file() and report.finished_at is not None:
        from analysis.report.card import write_card  # imported late because it imports matplotlib

        card = io.BytesIO()
        write_card(blind, card, date=report.finished_at.date(), kind="png")
        shared_card_of(report, hides_names=True).save(card.getvalue())
    return page


def _rendered(report: Report, result: Json) -> str:
    from analysis.report.render import render_html  # imported late because it imports numpy

    failed = list[str]()
    text = ""
    if report.finished_at is not None:
        date = report.finished_at.date()
        try:
            text = render_html(result, date=date, number=report.number, failed=failed)
        except KeyError:
            failed.append("page")
    if failed and "failed_parts" not in result:
        # Another version computed the result, so this page lacks values.
        raise NotShareable(
            "An older version of Thirdperson built this report, so it cannot be copied. "
            "Build the report again and share the new one."
        )
    return text
