"""The work of each annotator, by pseudonym: signs to look at, not reasons to reject."""

from collections.abc import Iterator, Mapping

import numpy as np

from analysis.report.encode import Json, cell, number, put
from analysis.report.section import NumberSource, Report, Section
from analysis.report.study import ReportedStudy, on_side
from analysis.report.tables import Kind, Table, TableColumn
from analysis.stats.agreement.annotators import AnnotatorQuality, annotator_quality
from analysis.stats.core.results import Estimate

MIN_EACH = 10  # with fewer right or wrong answers, an area under the curve is chance


MEASURES = (
    "pair_agreement",
    "certainty_mean",
    "certainty_sd",
    "favourite_share",
    "median_seconds",
)


def raters(study: ReportedStudy) -> list[Json]:
    """One row per annotator, with the information in their answers by the model of their errors."""
    data, votes, truth, labels = study.data, study.votes, study.truth, study.confusions
    known = (truth >= 0)[votes.item]
    right = votes.choice == truth[votes.item]
    stated = known & ~np.isnan(votes.certainty)
    side = on_side(votes.choice, data.answers.shown_first)
    counted = {
        name: np.bincount(votes.annotator[rows], minlength=len(data.raters))
        for name, rows in (
            ("right", stated & right),
            ("wrong", stated & ~right),
            ("sided", side >= 0),
            ("a", side == 0),
        )
    }
    found = annotator_quality(
        votes, truth, side=side, position=data.answers.position, seconds=data.answers.seconds
    )
    bits = labels.informativeness if labels is not None and labels.converged else None
    unknown = "not_settled" if votes.n else "no_votes"
    rows = []
    for index, (pseudonym, quality) in enumerate(zip(data.raters, found, strict=True)):
        own = {name: int(counts[index]) for name, counts in counted.items()}
        row: Json = {"rater": pseudonym} | _row(quality, own)
        put(row, "bits", None if bits is None else float(bits[index]), unknown)
        seen, failed = data.attention[index] if data.attention else (0, 0)
        row["checks"] = {"seen": seen, "failed": failed}
        rows.append(row)
    return sorted(rows, key=lambda row: row["rater"])


def _row(quality: AnnotatorQuality, own: Mapping[str, int]) -> Json:
    row = {"answers": quality.n} | cell(quality.accuracy)
    others = quality.majority_agreement
    put(row, "with_others", number(others.value), others.reason)
    row["with_others_n"], row["others_tied"] = others.n, quality.others_tied
    for key in MEASURES:
        measure = getattr(quality, key)
        put(row, key, number(measure.value), measure.reason)
    enough = min(own["right"], own["wrong"]) >= MIN_EACH
    area = quality.certainty_auroc if enough else Estimate(None, "too_few_items")
    put(row, "auroc", number(area.value), area.reason)
    put(row, "share_a", own["a"] / own["sided"] if own["sided"] else None)
    put(row, "longest_run", quality.longest_run if own["sided"] else None)
    return row


def raters_table(report: Report) -> Table:
    fields: tuple[tuple[str, Kind, str], ...] = (
        ("Answers", "count", "answers"),
        ("As the majority of others", "percent", "with_others"),
        ("As another person", "percent", "pair_agreement"),
        ("Mean certainty", "number", "certainty_mean"),
        ("SD", "number", "certainty_sd"),
        ("AUROC", "decimal", "auroc"),
        ("Favourite option", "percent", "favourite_share"),
        ("Share A", "percent", "share_a"),
        ("Longest run on a side", "count", "longest_run"),
        ("Bits per answer", "decimal", "bits"),
        ("Median seconds", "number", "median_seconds"),
    )
    columns = (
        TableColumn("Person"),
        TableColumn("Accuracy", "share"),
        *(TableColumn(heading, kind) for heading, kind, _ in fields),
        TableColumn("seen", "count", "Attention checks"),
        TableColumn("failed", "count", "Attention checks"),
    )
    rows = [
        [row["rater"], row, *(row[key] for _, _, key in fields), *row["checks"].values()]
        for row in report["human"]["raters"]
    ]
    return Table(
        "raters",
        "How each person worked, by pseudonym",
        columns,
        rows,
        "Signs to look at, never grounds to reject anybody: who disagrees with others may know "
        "better. AUROC needs ten right and ten wrong answers with a certainty. The longest run is "
        "of answers on one side of the screen, in the order in which the person saw the items. "
        "Bits: the information of one answer about the right one by the model of Dawid and Skene, "
        "0 for somebody who ignores the items; from a few dozen answers it is rough.",
        is_record=True,
    )


class Annotators(Section):
    """One row for each annotator."""

    name = "annotators"
    sources = (NumberSource("human.checks", "raters"),)

    def compute(self, study: ReportedStudy, earlier: Report) -> Json:
        return {"human": {"raters": raters(study)}}

    def tables(self, report: Report) -> Iterator[Table]:
        yield raters_table(report)
