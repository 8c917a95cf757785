"""Numbers as readers see them; no other module rounds."""

from collections.abc import Sequence

from analysis.report.rules import TOO_SMALL


def figure(value: float | None, form: str) -> str:
    """Format a number with one of Python's formats, with a true minus sign and a dash for None.

    >>> figure(-0.0321, ".3f"), figure(-0.0001, "+.1f"), figure(None, ".3f")
    ('−0.032', '0.0', '–')
    """
    if value is None:
        return "–"
    text = f"{value:{form}}".replace("-", "−")
    # A number that rounds to zero has no sign.
    return text if text.strip("+−0.") else text.lstrip("+−")


def percent(value: float | None) -> str:
    return "–" if value is None else f"{figure(value * 100, '.1f')} %"


def decimal(value: float | None, digits: int = 3) -> str:
    return figure(value, f".{digits}f")


def number(value: float | None) -> str:
    """A quantity with its own unit, such as points of certainty."""
    return figure(value, ".1f")


def count(n: int) -> str:
    """A number of things by itself, as `number_of` writes it."""
    return f"{n:,}"


def number_of(n: int, what: str) -> str:
    """A number of things in a sentence.

    >>> number_of(1, "item"), number_of(1300, "item"), number_of(2, "person")
    ('1 item', '1,300 items', '2 people')
    """
    many = "people" if what == "person" else f"{what}s"
    return f"{n:,} {what if n == 1 else many}"


def share_of(share: float, n: int, what: str) -> str:
    """A share of `n` things in a sentence; below ten a count, as in every table.

    >>> share_of(1.0, 1, "item"), share_of(0.4, 5, "item"), share_of(0.65, 1300, "item")
    ('1 of 1 item', '2 of 5 items', '65.0 % of 1,300 items')
    """
    shown = percent(share) if n >= TOO_SMALL else f"{share * n:.0f}"
    return f"{shown} of {number_of(n, what)}"


def points(value: float | None) -> str:
    """A difference of two shares, in percentage points with its sign."""
    return "–" if value is None else figure(value * 100, "+.1f")


def percent_range(ends: Sequence[float] | None) -> str:
    return "–" if ends is None else f"{ends[0] * 100:.1f}–{ends[1] * 100:.1f}"


def points_range(ends: Sequence[float] | None) -> str:
    return "–" if ends is None else f"{points(ends[0])} to {points(ends[1])}"


def decimal_range(ends: Sequence[float] | None, digits: int = 3) -> str:
    return "–" if ends is None else f"{decimal(ends[0], digits)} to {decimal(ends[1], digits)}"


def p_cell(p: float | None) -> str:
    """A p value for a column whose heading says that it is one."""
    if p is None:
        return "–"
    return "< .001" if p < 0.001 else f"{p:.3f}".replace("0.", ".", 1)


def p_value(p: float) -> str:
    """A p value within a sentence: “< .001” or “= .034”."""
    return p_cell(p) if p < 0.001 else f"= {p_cell(p)}"
