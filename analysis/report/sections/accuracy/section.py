"""The chapter on accuracy."""

from collections.abc import Iterator

from analysis.report.rules import SMALL
from analysis.report.section import Report, Section, Sentence
from analysis.report.sections.accuracy.equal_certainty import EqualCertainty
from analysis.report.sections.accuracy.high_and_low import HighAndLow
from analysis.report.sections.accuracy.paired_difference import PairedDifferenceSection
from analysis.report.sections.accuracy.ranking import RankingSection
from analysis.report.sections.accuracy.single_answers import SingleAnswers
from analysis.report.text.names import run_names

MAX_NAMED = 8


def _small_cells(report: Report) -> Iterator[Sentence]:
    """Name the main cells that have fewer than 30 items."""
    sides = [("the majority", report["human"]["majority"])]
    sides += zip(run_names(report), report["judges"], strict=True)
    small = [
        f"{name}, {band} certainty ({side[band]['n']})"
        for name, side in sides
        for band in ("high", "low")
        if 0 < side[band]["n"] < SMALL
    ]
    if small:
        more = f" and {len(small) - MAX_NAMED} more" if len(small) > MAX_NAMED else ""
        text = (
            f"These cells have fewer than {SMALL} items and are rough: "
            f"{'; '.join(small[:MAX_NAMED])}{more}."
        )
        yield Sentence.of("limit", text, "small_cells")


class Accuracy(Section):
    """Accuracy by certainty, on common items, and of judges against one another."""

    name = "accuracy"
    title = "Accuracy by certainty"
    inside = "Tables A and B, both sides on common items, and judges against one another"
    is_printed = True
    has_threshold = True
    parts = (
        HighAndLow(),
        PairedDifferenceSection(),
        SingleAnswers(),
        EqualCertainty(),
        RankingSection(),
    )

    def sentences(self, report: Report) -> Iterator[Sentence]:
        yield from _small_cells(report)
