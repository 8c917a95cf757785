"""How each person worked, by pseudonym: signs to look at, never grounds to reject."""

from collections.abc import Mapping

import numpy as np

from analysis.data.arrays import Dataset
from analysis.report.encode import Json, cell, number, put
from analysis.report.sections.position.sides import on_side
from analysis.stats.agreement.annotators import AnnotatorQuality, annotator_quality
from analysis.stats.core.results import Estimate
from analysis.stats.core.votes import Votes
from analysis.stats.labels.dawid_skene import DawidSkene

MIN_EACH = 10  # right and wrong answers below which an area under the curve is chance
MEASURES = (
    "pair_agreement", "certainty_mean", "certainty_sd", "favourite_share", "median_seconds",
)  # fmt: skip


def raters(data: Dataset, votes: Votes, truth: np.ndarray, labels: DawidSkene | None) -> list[Json]:
    """One row per person; `labels` says what their answers tell about each
    other's, and is None where nobody answered or that model did not settle."""
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
    bits = None if labels is None else labels.informativeness
    unknown = "not_settled" if votes.n else "no_votes"
    rows = []
    for index, (pseudonym, quality) in enumerate(zip(data.raters, found, strict=True)):
        own = {name: int(counts[index]) for name, counts in counted.items()}
        row: Json = {"rater": pseudonym} | _row(quality, own)
        put(row, "bits", None if bits is None else float(bits[index]), unknown)
        seen, failed = data.attention[index] if data.attention else (0, 0)
        row["checks"] = {"seen": seen, "failed": failed}
        rows.append(row)
    return rows


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
