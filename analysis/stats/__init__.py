"""Statistics of judgments by people and by models: arrays in, frozen dataclasses out.

Pure NumPy and SciPy. Undefined results are None with a reason, randomness comes in as a
generator, and every interval says how it was made.
"""

from .accuracy import (
    AccuracyCells,
    answer_accuracy,
    individual_accuracy,
    majority_accuracy,
    tie_credit_accuracy,
)
from .aggregation import (
    MajorityVote,
    Unanimity,
    certainty_weights,
    log_odds_weights,
    majority_vote,
    unanimity,
    weighted_vote,
)
from .agreement import (
    brennan_prediger,
    certainty_band_counts,
    cohen_kappa,
    fleiss_kappa,
    gwet_ac,
    percent_agreement,
)
from .alpha import certainty_alpha, krippendorff_alpha
from .bootstrap import percentile_interval, pigeonhole_bootstrap
from .dawid_skene import DawidSkene, dawid_skene
from .proportions import (
    TwoWayVariance,
    annotator_blocks,
    block_interval,
    block_proportion,
    item_clustered_proportion,
    two_way_proportion,
    two_way_variance,
    wilson_interval,
    wilson_proportion,
)
from .resampling import AgreementDraws, bootstrap_agreement, sample_without_replacement
from .results import Estimate, Interval, Proportion, Reason, seed_of
from .stereotype import (
    SharedStereotype,
    expected_agreement,
    expected_majority_accuracy,
    shared_stereotype,
)
from .votes import Votes

__all__ = [
    "AccuracyCells",
    "AgreementDraws",
    "DawidSkene",
    "Estimate",
    "Interval",
    "MajorityVote",
    "Proportion",
    "Reason",
    "SharedStereotype",
    "TwoWayVariance",
    "Unanimity",
    "Votes",
    "annotator_blocks",
    "answer_accuracy",
    "block_interval",
    "block_proportion",
    "bootstrap_agreement",
    "brennan_prediger",
    "certainty_alpha",
    "certainty_band_counts",
    "certainty_weights",
    "cohen_kappa",
    "dawid_skene",
    "expected_agreement",
    "expected_majority_accuracy",
    "fleiss_kappa",
    "gwet_ac",
    "individual_accuracy",
    "item_clustered_proportion",
    "krippendorff_alpha",
    "log_odds_weights",
    "majority_accuracy",
    "majority_vote",
    "percent_agreement",
    "percentile_interval",
    "pigeonhole_bootstrap",
    "sample_without_replacement",
    "seed_of",
    "shared_stereotype",
    "tie_credit_accuracy",
    "two_way_proportion",
    "two_way_variance",
    "unanimity",
    "weighted_vote",
    "wilson_interval",
    "wilson_proportion",
]
