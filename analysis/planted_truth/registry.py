"""Every family of checks, in the order in which they are shown."""

from collections.abc import Mapping, Sequence

from .checks import MethodCheck
from .families import (
    accuracy,
    agreement,
    biases,
    certainty,
    certificates,
    claims,
    differences,
    disagreement,
    estimation,
    flags,
    published_data,
    replacement,
    systems,
)

FAMILIES: Mapping[str, Sequence[MethodCheck]] = {
    "accuracy": accuracy.CHECKS,
    "differences": differences.CHECKS,
    "agreement": agreement.CHECKS,
    "certainty": certainty.CHECKS,
    "certificates": certificates.CHECKS,
    "estimation": estimation.CHECKS,
    "claims": claims.CHECKS,
    "disagreement": disagreement.CHECKS,
    "replacement": replacement.CHECKS,
    "systems": systems.CHECKS,
    "biases": biases.CHECKS,
    "flags": flags.CHECKS,
    "published-data": published_data.CHECKS,
}
