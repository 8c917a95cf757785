"""Statistics on rules: who follows them, and how many choices all of them reconstruct."""

from .following import RuleFollowing, follow_rules
from .reconstruction import reconstructed_choices, sparse_weights

__all__ = [
    "RuleFollowing",
    "follow_rules",
    "reconstructed_choices",
    "sparse_weights",
]
