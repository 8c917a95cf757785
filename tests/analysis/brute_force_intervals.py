"""Intervals of a report in plain Python: closed forms, a score test solved by halving, resamples.

Shares no code with the product; draws of its own, so resampled ends agree within chance only.
"""

from math import sqrt
from random import Random

Z = 1.959963984540054


def wilson(right, n):
    centre = right / n + Z * Z / (2 * n)
    half = Z * sqrt(right * (n - right) / n**3 + Z * Z / (4 * n * n))
    return (centre - half) / (1 + Z * Z / n), (centre + half) / (1 + Z * Z / n)


def tango(b, c, n):
    """Both ends of the score interval of (b - c) / n, found by halving."""

    def score(delta):
        # The share of pairs that only the second gets right, at its most likely under delta.
        linear = -b - c + (2 * n - b + c) * delta
        least = (sqrt(linear**2 + 8 * n * c * delta * (1 - delta)) - linear) / (4 * n)
        variance = n * (2 * least + delta * (1 - delta))
        return (b - c - n * delta) / sqrt(variance) if variance > 0 else float("inf")

    def end(wanted, low, high):
        for _ in range(200):
            middle = (low + high) / 2
            low, high = (middle, high) if score(middle) > wanted else (low, middle)
        return middle

    estimate = (b - c) / n
    return end(Z, -1 + 1e-12, estimate), end(-Z, estimate, 1 - 1e-12)


def resampled(units, statistic, *, draws=1000):
    """2.5 and 97.5 percentiles of a statistic over items drawn anew, and its spread."""
    random = Random(5)
    found = sorted(
        value
        for _ in range(draws)
        if (value := statistic(random.choices(units, k=len(units)))) is not None
    )
    mean = sum(found) / len(found)
    spread = sqrt(sum((value - mean) ** 2 for value in found) / (len(found) - 1))
    return found[round(0.025 * len(found))], found[round(0.975 * len(found))], spread


def percent(units):
    """Mean over items of the share of pairs that agree."""
    return sum(1 - disagreement(unit) / (len(unit) - 1) for unit in units) / len(units)


def alpha(units):
    """Krippendorff's nominal alpha from counts."""
    options = {option for unit in units for option in unit}
    counts = [sum(unit.count(option) for unit in units) for option in options]
    n = sum(counts)
    expected = (n * n - sum(count**2 for count in counts)) / (n * (n - 1))
    observed = sum(disagreement(unit) * len(unit) / (len(unit) - 1) for unit in units) / n
    return 1 - observed / expected if expected else None


def disagreement(unit):
    """How many of the others a vote of the unit differs from, on average."""
    return sum(len(unit) - unit.count(vote) for vote in unit) / len(unit)
