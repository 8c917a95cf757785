"""Does the side decide? Said the same way for people and for judges."""

import numpy as np
import numpy.typing as npt

from analysis.data.arrays import MISSING, TIE
from analysis.report.encode import Json, number, put
from analysis.stats.accuracy.bias import position_bias, position_bias_single_order

Ints = npt.NDArray[np.integer]


def single_order(choice: Ints, shown_first: Ints, truth: Ints) -> Json:
    """How often side A was chosen, how often it was right, and accuracy by the right side.

    One entry per answer, in content terms; `truth` is that of the answer's item.
    """
    found = position_bias_single_order(on_side(choice, shown_first), on_side(truth, shown_first))
    out: Json = {"n": found.n, "n_truth": found.n_truth}
    put(out, "share_a", number(found.share_first), found.reason)
    put(out, "truth_share_a", number(found.truth_share_first), found.reason)
    put(out, "p", number(found.p), found.p_reason or found.reason)
    out["right_when_a"] = _share(found.correct_when_first, found.n_when_first)
    out["right_when_b"] = _share(found.correct_when_second, found.n_when_second)
    return out


def both_orders(choice: Ints, shown_first: Ints, item: Ints, n_items: int) -> Json:
    """How often an item got the same answer in both orders; one answer per item and order."""
    # The response shown first was chosen: 1 yes, 0 no, -1 missing; one row per order.
    first_chosen = np.full((2, n_items), MISSING, dtype=np.int64)
    side = on_side(choice, shown_first)
    for order in (0, 1):
        rows = shown_first == order
        first_chosen[order, item[rows]] = np.where(side[rows] < 0, MISSING, 1 - side[rows])
    found = position_bias(first_chosen[0], first_chosen[1])
    out: Json = {
        "n": found.n,
        "consistent": found.consistent,
        "first_both_times": found.primacy,
        "second_both_times": found.recency,
    }
    put(out, "consistency", number(found.consistency), found.reason)
    put(out, "index", number(found.index), found.reason)
    put(out, "p", number(found.p), found.p_reason or found.reason)
    return out


def on_side(choice: Ints, shown_first: Ints) -> npt.NDArray[np.int64]:
    """0 where the response on side A is meant, 1 for side B, -1 for a tie or nothing."""
    placed = (choice >= 0) & (choice != TIE) & (shown_first >= 0)
    return np.where(placed, (choice != shown_first).astype(np.int64), MISSING)


def _share(correct: int, n: int) -> Json:
    out: Json = {"n": n, "correct": correct}
    put(out, "accuracy", correct / n if n else None)
    return out
