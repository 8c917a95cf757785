"""The runs of a judge that was asked in several wordings or framings, and ways of reading them."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace

import numpy as np
import numpy.typing as npt

from analysis.data.arrays import Dataset, Floats, Judgments, RunData
from analysis.data.verdicts import Verdicts, run_verdicts

ORDERS = ("both", "r1_first", "r2_first")


AS_ASKED = "as_asked"


@dataclass(frozen=True)
class AskedInWays:
    """The runs of one judge that differ only in wording and framing.

    `orders` are the ways of reading them: both orders together and each alone if every run has
    both, otherwise as asked. `is_whole`: every framing was combined with every wording.
    """

    runs: tuple[RunData, ...]
    wordings: tuple[str, ...]
    framings: tuple[str, ...]
    orders: tuple[str, ...]

    @property
    def is_whole(self) -> bool:
        return len(self.runs) == len(self.wordings) * len(self.framings)

    def run_of(self, wording: str, framing: str) -> RunData | None:
        return next((run for run in self.runs if run.way == (wording, framing)), None)


def asked_in_ways(runs: Sequence[RunData]) -> list[AskedInWays]:
    """Every judge that was asked with two wordings or two framings."""
    alike: dict[tuple[object, ...], dict[tuple[str, str], RunData]] = defaultdict(dict)
    for run in runs:
        if not run.is_jury and len(run.judgments):
            read = [run.parameters.get(name) for name in ("prompt_language", "reading")]
            asked = (run.judge, run.setting, run.features, run.orders, run.samples, run.seed)
            alike[(*asked, *read)].setdefault(run.way, run)
    judges = []
    for ways in alike.values():
        if len(ways) < 2:
            continue
        own = tuple(ways[way] for way in sorted(ways))
        both = own[0].orders == "both"
        judges.append(
            AskedInWays(
                own,
                tuple(sorted({run.wording for run in own})),
                tuple(sorted({run.framing for run in own})),
                ORDERS if both else (AS_ASKED,),
            )
        )
    return judges


def read_by(data: Dataset, run: RunData, order: str) -> Verdicts:
    """The verdicts of a run from its readings in one order, or from all of them."""
    if order in ("both", AS_ASKED):
        return run_verdicts(data, run)
    rows = run.judgments
    chosen = rows.shown_first == (0 if order == "r1_first" else 1)
    kept = {field.name: getattr(rows, field.name)[chosen] for field in fields(Judgments)}
    return run_verdicts(data, replace(run, judgments=Judgments(**kept)))


def credits_of(data: Dataset, run: RunData, verdicts: Verdicts, *, half: bool) -> Floats:
    """Credit of each item: 1 right, 0 wrong; NaN without a truth or a question.

    An item without a verdict has no credit, or one half with `half`. One that was never asked
    about has none: the judge wrote a response, or the setting cannot ask about it.
    """
    credit = np.where(verdicts.scored, verdicts.correct, np.nan).astype(np.float64)
    if half:
        asked = asked_of(data, run)
        known = data.scored_truth(offers_tie=run.offers_tie) >= 0
        credit[asked & known & (verdicts.answer < 0)] = 0.5
    return credit


def asked_of(data: Dataset, run: RunData) -> npt.NDArray[np.bool_]:
    """Whether a run asked about each item."""
    rows = run.judgments
    return np.bincount(rows.item[rows.status != "skipped"], minlength=len(data.items)) > 0
