"""Whether people of different panels answer differently: one score for each person, permuted."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

FEWEST = 5  # people of a panel
DRAWS = 1999

Index = npt.NDArray[np.int64]
Scores = npt.NDArray[np.float64]


@dataclass(frozen=True)
class PanelTest:
    """A test that panels do not differ; `p` is None for a `reason`."""

    p: float | None
    panels: int
    people: int
    reason: str | None = None


def person_scores(values: Scores, item: Index, rater: Index, n_raters: int) -> Scores:
    """Each person's mean of `values` above the mean of their items; NaN without a value.

    Items differ in how hard they are, and people answer different ones. Answers whose value is NaN
    are left out.
    """
    known = ~np.isnan(values)
    kept, of_item, of_rater = values[known], item[known], rater[known]
    if not kept.size:
        return np.full(n_raters, np.nan)
    size = np.bincount(of_item)
    means = np.bincount(of_item, weights=kept) / np.maximum(size, 1)
    excess = np.bincount(of_rater, weights=kept - means[of_item], minlength=n_raters)
    answers = np.bincount(of_rater, minlength=n_raters)
    scores: Scores = np.where(answers > 0, excess / np.maximum(answers, 1), np.nan)
    return scores


def agreement_with_others(choice: Index, item: Index) -> Scores:
    """For each answer, the share of the other answers to its item that are the same.

    NaN if it is the only one, or missing.
    """
    shares = np.full(choice.size, np.nan)
    is_given = choice >= 0
    if not is_given.any():
        return shares
    width = int(choice.max()) + 1
    cell = item[is_given] * width + choice[is_given]
    same = np.bincount(cell)[cell] - 1
    others = np.bincount(item[is_given])[item[is_given]] - 1
    with np.errstate(divide="ignore", invalid="ignore"):
        shares[is_given] = np.where(others > 0, same / others, np.nan)
    return shares


def panels_differ(
    scores: Scores, panel: Index, *, rng: np.random.Generator, draws: int = DRAWS
) -> PanelTest:
    """Test that the people of all panels are alike, by permuting people among panels.

    The statistic is the sum of squares between panels. A person's answers are moved together. The
    test is exact if people are alike whatever their panel; panels of fewer than `FEWEST` people
    with a score are left out.
    """
    counted = ~np.isnan(scores) & (panel >= 0)
    sizes = np.bincount(panel[counted]) if counted.any() else np.zeros(0, dtype=np.int64)
    large = np.flatnonzero(sizes >= FEWEST)
    counted &= np.isin(panel, large)
    people = int(counted.sum())
    if large.size < 2:
        return PanelTest(None, int(large.size), people, "too_few_panels")
    values = scores[counted] - scores[counted].mean()
    if np.ptp(values) < 1e-12:
        return PanelTest(None, int(large.size), people, "no_variation")
    members = (panel[counted][None] == large[:, None]).astype(np.float64)

    def between(ordered: Scores) -> Scores:
        sums = ordered @ members.T
        squares: Scores = (sums**2 / members.sum(axis=1)).sum(axis=-1)
        return squares

    observed = float(between(values[None])[0])
    drawn = between(rng.permuted(np.tile(values, (draws, 1)), axis=1))
    # Sums of the same numbers in another order differ by a rounding.
    reached = int((drawn >= observed * (1 - 1e-9)).sum())
    return PanelTest((1 + reached) / (1 + draws), int(large.size), people)
