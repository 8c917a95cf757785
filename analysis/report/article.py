"""What the source article counts: right answers of runs and people, by certainty.

Extras count them, from a study or from released files, and others write them as files.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from analysis.data.arrays import Floats
from analysis.data.verdicts import Ints
from analysis.report.figures import FigurePanel, plain, right_and_wrong
from analysis.report.words import decimal

# A bar of a figure: its label, right and wrong answers.
CertaintyBars = tuple[tuple[str, int, int], ...]
# The article's own table of fewer features for each of its data sets.
FEWER_FEATURES = {"OpinionQA": 3, "PRISM": 4}


@dataclass(frozen=True)
class RightOf:
    """Right answers of all; `correct` and `n` are None if only the share is known."""

    correct: int | None
    n: int | None
    accuracy: float | None

    @classmethod
    def counted(cls, correct: int, n: int) -> "RightOf":
        return cls(correct, n, correct / n if n else None)


@dataclass(frozen=True)
class ByCertainty:
    """All answers, and those with a high and a low certainty; None if nobody was asked for one."""

    overall: RightOf
    high: RightOf | None = None
    low: RightOf | None = None


@dataclass(frozen=True)
class ArticleRun:
    """One run as the article counts it; `label` names it in the notes.

    `answered` and `repeated` are about the items that people answered: each once, as in Table 5,
    and once for each of people's answers, as in Table 7. `unread` counts items whose replies name
    no side.
    """

    model: str
    setting: str
    features: str
    offers_tie: bool
    label: str
    counts: ByCertainty
    answered: ByCertainty | None = None
    repeated: ByCertainty | None = None
    bars: CertaintyBars = ()
    unread: int = 0


@dataclass(frozen=True)
class ArticleData:
    """One data set: its runs, its people (majority and single answers), and persona variables.

    `slug` is the study's short name; empty without a study that can ask more. `fewer_features` is
    the number of its table of fewer features, if the article has one for it. `released` has the
    file of every released run, by model, features, and whether a tie was offered; None if the runs
    are not from released files.
    """

    title: str
    runs: Sequence[ArticleRun] = ()
    majority: ByCertainty | None = None
    single: ByCertainty | None = None
    variables: Sequence[str] = ()
    slug: str = ""
    is_simulated: bool = False
    threshold: int = 80
    fewer_features: int | None = None
    released: Mapping[tuple[str, str, bool], str] | None = None


def certainty_bars(correct: Ints, certainty: Floats) -> CertaintyBars:
    """Right and wrong answers by certainty in tens, clipped to 40–90 as in the article.

    >>> certainty_bars(np.array([1, 0, 1, -1]), np.array([12.0, 100.0, np.nan, 50.0]))
    (('40', 1, 0), ('90', 0, 1))
    """
    stated = (correct >= 0) & ~np.isnan(certainty)
    tens = np.clip(certainty[stated] // 10, 4, 9).astype(int) * 10
    right = correct[stated] == 1
    return tuple(
        (str(at), int((right & (tens == at)).sum()), int((~right & (tens == at)).sum()))
        for at in sorted(set(tens.tolist()))
    )


def bars_panel(title: str, bars: Sequence[tuple[str, int, int]], *, note: str) -> FigurePanel:
    """One panel: bars by certainty, with overall, high and low accuracy as a note."""
    words = "; ".join(f"{label}: {right} right, {wrong} wrong" for label, right, wrong in bars)
    return right_and_wrong(
        plain(title),
        f"{title}. {words}",
        [
            (label, right, wrong, short_share(right / (right + wrong), 2) if right + wrong else "")
            for label, right, wrong in _padded(bars)
        ],
        top=max(right + wrong for _, right, wrong in bars),
        unit="answers",
        note=note,
    )


def _padded(bars: Sequence[tuple[str, int, int]]) -> list[tuple[str, int, int]]:
    """The bars with empty ones from 40 to 90, so that panels compare; another scale is kept."""
    by_label = {bar[0]: bar for bar in bars}
    usual = [str(at) for at in range(40, 100, 10)]
    return [by_label.get(at, (at, 0, 0)) for at in usual] if set(by_label) <= {*usual} else [*bars]


def short_share(share: float | None, places: int = 3) -> str:
    """A share as the article writes it: .703."""
    return decimal(share, places).removeprefix("0")
