"""What the options `--pictures` and `--paper` write next to a report, with links to it."""

from collections.abc import Sequence
from datetime import date as Date
from pathlib import Path
from typing import TYPE_CHECKING

from analysis.report.added_files import AddedFiles, MadeReport

if TYPE_CHECKING:
    from analysis.report.article import ArticleData
    from analysis.report.report_json import ReportJson

# All of this loads matplotlib, so only who draws imports it.


class PictureFiles(AddedFiles):
    """The figures as SVG and PNG, with those that the page draws."""

    name = "pictures"
    help = "also draw the figures as SVG and PNG"
    step = "Drawing the figures as files."

    def write(self, report: MadeReport, folder: Path) -> None:
        from extras.documents.pictures import write_pictures

        write_pictures(report.figures.values(), folder / "figures")

    def words(self, folder: Path) -> str:
        return f"{len([*(folder / 'figures').glob('*.svg')])} plots as SVG and PNG"


class PaperFiles(AddedFiles):
    """What a paper needs: the card of the verdict, two pages, and the article's tables."""

    name = "paper"
    help = "also write two pages for a paper, the article's tables, and a verdict card"
    comes_with_pages = True
    step = "Drawing the pages for a paper."
    paths = ("paper", "article", "card.svg", "card.png")
    paths_across = ("article",)
    links, links_across = "documents/_links.html", "documents/_links_across.html"
    part = "documents/_part.html"

    def write(self, built: MadeReport, folder: Path) -> None:
        """Write each; one that fails is left out."""
        from analysis.report.card import write_card
        from analysis.report.drawing import KINDS
        from analysis.report.section import attempted
        from extras.documents.article.counts import count_article
        from extras.documents.article.files import write_article
        from extras.documents.two_pages import write_two_pages

        report, date = built.content, built.date

        def write_cards() -> None:
            for kind in KINDS:
                write_card(report, folder / f"card.{kind}", date=date)

        attempted(write_cards, part="card")
        attempted(lambda: write_two_pages(built, folder / "paper"), part="paper")
        data = [count_article(built.data, report["parameters"]["threshold"])]
        attempted(lambda: write_article(data, folder / "article", date=date), part="article")

    def write_across(self, reports: "Sequence[ReportJson]", folder: Path, *, date: Date) -> None:
        """Write the article's tables and figures with a row for each study, not for all pooled."""
        from analysis.data.dataset import load_dataset
        from analysis.report.section import attempted
        from extras.documents.article.counts import count_article
        from extras.documents.article.files import write_article

        data = [
            count_article(load_dataset(report["study"]["slug"]), report["parameters"]["threshold"])
            for report in reports
            if "pooled_from" not in report["study"]["source"]
        ]
        attempted(lambda: write_article(data, folder / "article", date=date), part="article")


class ArticleFiles:
    """The article's tables and figures of data that another extra has counted."""

    name = "article"

    def write(self, data: "Sequence[ArticleData]", folder: Path, *, date: Date) -> list[Path]:
        from extras.documents.article.files import write_article

        return write_article(data, folder, date=date)


PICTURES, PAPER, ARTICLE = PictureFiles(), PaperFiles(), ArticleFiles()
