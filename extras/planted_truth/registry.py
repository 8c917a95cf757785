"""Every family of checks, in the order in which they are shown."""

from functools import cache

from analysis.promises import FAMILIES, Family
from extras.planted_truth.families import (
    accuracy,
    agreement,
    biases,
    certainty,
    certificates,
    claims,
    differences,
    flags,
    published_data,
    replacement,
)

_OWN = (
    Family("accuracy", accuracy.CHECKS),
    Family("differences", differences.CHECKS),
    Family("agreement", agreement.CHECKS),
    Family("certainty", certainty.CHECKS),
    Family("certificates", certificates.CHECKS),
    Family("claims", claims.CHECKS),
    Family("replacement", replacement.CHECKS),
    Family("biases", biases.CHECKS),
    Family("flags", flags.CHECKS),
    Family("published-data", published_data.CHECKS),
)


@cache
def families() -> dict[str, Family]:
    """Families by name: those of the core's statistics, and those of statistics of extras."""
    return {family.name: family for family in FAMILIES.among(_OWN)}
