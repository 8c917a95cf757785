"""Files next to a report that extras write, each kind by an option of the command `report`.

The command reads this before it knows what to do, so it loads no sections or statistics.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date as Date
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from studies.extra import Kind, StudyWithExtras

if TYPE_CHECKING:
    from analysis.data.arrays import Dataset
    from analysis.report.article import ArticleData
    from analysis.report.figures import Figure
    from analysis.report.report_json import ReportJson
    from analysis.report.tables import Table


@dataclass(frozen=True)
class MadeReport:
    """The content of report.json, its data, and what was made of it for the page."""

    content: "ReportJson"
    data: "Dataset"
    tables: "Mapping[str, Table]"
    figures: "Mapping[str, Figure]"
    date: Date


class AddedFiles:
    """One kind of files, by the option `--NAME`.

    All reports that are built on a page have those that come with pages.

    `paths` are the files and folders of a report, `paths_across` those of several studies. `links`
    and `links_across` are templates with links to them in these pages, `part` is a template for the
    page on which a report is shown in the app.
    """

    name: str
    help: str
    comes_with_pages = False
    step = ""  # shown while they are written
    paths: Sequence[str] = ()
    paths_across: Sequence[str] = ()
    links = links_across = part = ""

    def write(self, report: MadeReport, folder: Path) -> None:
        """Write the files to the new folder of a report."""

    def write_across(self, reports: "Sequence[ReportJson]", folder: Path, *, date: Date) -> None:
        """Write those of several studies to the folder of their common page."""

    def words(self, folder: Path) -> str:
        """What the command says of them."""
        return ""


class ArticleWriter(Protocol):
    """Writes the source article's tables and figures of data that somebody counted."""

    name: str

    def write(self, data: "Sequence[ArticleData]", folder: Path, *, date: Date) -> list[Path]:
        """Write the files to `folder`, replacing old ones; return their paths."""


MORE: Kind[AddedFiles] = Kind("files", "report")
ARTICLE_WRITERS: Kind[ArticleWriter] = Kind("files", "article")


def of_pages(*studies: StudyWithExtras) -> list[AddedFiles]:
    """Those that come with the reports that pages of the studies build."""
    wanted = MORE.where(lambda name: all(study.has_extra(name) for study in studies))
    return [files for files in wanted if files.comes_with_pages]
