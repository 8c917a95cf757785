"""How many items a study needs to see what the persona is worth; pages load no arrays for it."""

from collections.abc import Mapping
from math import ceil
from statistics import NormalDist

# One person's accuracy and the agreement of two people, where a plan has no better values.
USUAL_ACCURACY, USUAL_AGREEMENT = 0.6, 0.6
FOR_PEOPLE = 1.65  # as many items, because intervals allow for other people; by simulation


def items_to_see(
    gain: float,
    *,
    answers: int | None = None,
    accuracy: float = USUAL_ACCURACY,
    agreement: float = USUAL_AGREEMENT,
    power: float = 0.8,
    level: float = 0.95,
) -> int:
    r"""Items to ask with both personas, to find a worth of this size in most studies.

    Parameters
    ----------
    gain : float
        The worth, in (0, 1).
    answers : int, optional
        People who answer each version. Without, for a judge whose readings are alike.
    accuracy : float
        Share of right answers with the own persona.
    agreement : float
        How often two answers to the same version agree.
    power, level : float

    Returns
    -------
    int

    Notes
    -----
    :math:`(z_{\text{level}}+z_{\text{power}})^2(v_a+v_{a-g})/g^2` with
    :math:`v_p=p(1-p)(r+(1-r)/k)` and r the correlation of two answers,
    :math:`1-(1-\text{agreement})/2a(1-a)` between 0 and 1; for people, 1.65 times as many.
    The two versions count as independent, and personas, questions and people as alike, so a study
    can need fewer items or more.

    Examples
    --------
    >>> items_to_see(0.03), items_to_see(0.1, answers=3), items_to_see(0.1)
    (4231, 257, 385)
    """
    if not (0 < gain < 1 and 0 < accuracy < 1 and (answers is None or answers >= 1)):
        raise ValueError("`gain` and `accuracy` must be between 0 and 1, and `answers` 1 or more.")
    alone = 2 * accuracy * (1 - accuracy)
    correlation = min(max(1 - (1 - agreement) / alone, 0.0), 1.0)
    within = correlation + (1 - correlation) / (answers or 1)
    before = max(accuracy - gain, 0.0)
    variance = within * (accuracy * (1 - accuracy) + before * (1 - before))
    z = NormalDist().inv_cdf((1 + level) / 2) + NormalDist().inv_cdf(power)
    return ceil(z**2 * variance / gain**2 * (1 if answers is None else FOR_PEOPLE))


def sizes(answers: int) -> list[Mapping[str, int]]:
    """Items needed to see 3, 5 and 10 points, for a judge and for people."""
    return [
        {
            "points": gain,
            "judge": items_to_see(gain / 100),
            "people": items_to_see(gain / 100, answers=answers),
        }
        for gain in (3, 5, 10)
    ]


def seen_by(n: int, answers: int) -> Mapping[str, int | None]:
    """The smallest worth in points that n items show, for a judge and for people; None if none."""
    sides = {"judge": None, "people": answers}
    return {
        side: next((p for p in range(1, 41) if items_to_see(p / 100, answers=k) <= n), None)
        for side, k in sides.items()
    }
