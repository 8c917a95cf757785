"""Counts of one file, under the rules of the paper and under ours.

Numerators are counted, never computed from a rounded rate.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from extras.replication.released.result_files import ReleasedAnswer

THRESHOLD = 80

# The rows that a rule counts. Without a tie option, the paper drops replies other than A and B;
# with one, it counts them as wrong.
RULES: dict[str, Callable[[ReleasedAnswer], bool]] = {
    "drop_nonAB": lambda row: row.answer in ("A", "B"),
    "all_rows": lambda row: True,
    "keep_ABC": lambda row: row.answer is not None,
}


def share(rows: Iterable[ReleasedAnswer]) -> dict[str, Any]:
    """Right answers among `rows`; without rows the accuracy is null.

    >>> share([])
    {'n': 0, 'correct': 0, 'accuracy': None}
    """
    right = [row.correct for row in rows]
    n, correct = len(right), sum(right)
    return {"n": n, "correct": correct, "accuracy": correct / n if n else None}


def by_rule(rows: Sequence[ReleasedAnswer], rule: str) -> dict[str, Any]:
    """Counts overall, high and low under a rule of the paper; a missing certainty is low."""
    kept = [row for row in rows if RULES[rule](row)]
    high = [row for row in kept if is_high(row)]
    low = [row for row in kept if not is_high(row)]
    return {"overall": share(kept), "high": share(high), "low": share(low)}


def describe(rows: Sequence[ReleasedAnswer]) -> dict[str, Any]:
    """The entry of a file in replication.json."""
    parsed = [row for row in rows if row.parsed]
    banded = [row for row in parsed if has_hundred_scale(row)]
    with_certainty = [row for row in banded if has_certainty(row)]
    stated = [row.certainty for row in rows if row.certainty is not None]
    answers = Counter(row.answer or "unparseable" for row in rows)
    # Certainty from 1 to 5 has no band at 80, so nothing is counted and a reason is given.
    reason = "other_scale" if parsed and not banded else None
    return {
        "rows": len(rows),
        "answers": {key: answers[key] for key in ("A", "B", "C", "unparseable")},
        "raw_answers": dict(sorted(Counter(row.raw_answer for row in rows).items())),
        "ground_truth": dict(sorted(Counter(row.truth for row in rows).items())),
        "parsed": share(parsed),
        "all_rows": share(rows),
        "without_tie_truth": share(row for row in parsed if row.truth != "C"),
        "high": share(row for row in with_certainty if is_high(row)),
        "high_reason": reason,
        "low": share(row for row in with_certainty if not is_high(row)),
        "low_reason": reason,
        "no_certainty": sum(not has_certainty(row) for row in parsed),
        "certainty": {
            "scale": sorted({row.scale for row in rows if row.scale is not None}),
            "missing": len(rows) - len(stated),
            "not_asked": sum(row.raw_certainty == "NA" for row in rows),
            "min": min(stated, default=None),
            "max": max(stated, default=None),
            "above_100": sum(certainty > 100 for certainty in stated),
            "at_threshold": sum(row.certainty == THRESHOLD for row in with_certainty),
            "values": dict(sorted(Counter(stated).items())),
        },
        "flag_mismatches": sum(row.flag is not None and row.flag != row.correct for row in rows),
        "duplicate_prompts": len(rows) - len({row.prompt for row in rows}),
        "rules": {rule: by_rule(rows, rule) for rule in RULES},
    }


def has_hundred_scale(row: ReleasedAnswer) -> bool:
    """Whether a threshold of 80 applies to the scale of the row's certainty."""
    return row.scale in (None, 100)


def has_certainty(row: ReleasedAnswer) -> bool:
    """Whether the row states a certainty that its scale allows."""
    return row.certainty is not None and row.certainty <= (row.scale or 100)


def is_high(row: ReleasedAnswer) -> bool:
    return row.certainty is not None and row.certainty >= THRESHOLD
