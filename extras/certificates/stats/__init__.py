"""Statistics of certificates, also in `thirdperson.stats`."""

from extras.certificates.stats.certified_thresholds import (
    CertifiedThreshold,
    TestedThreshold,
    certify_threshold,
    fewest_at_start,
    one_per_cluster,
    starting_threshold,
)

__all__ = [
    "CertifiedThreshold",
    "TestedThreshold",
    "certify_threshold",
    "fewest_at_start",
    "one_per_cluster",
    "starting_threshold",
]
