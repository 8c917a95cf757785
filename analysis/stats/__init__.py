"""Statistics of judgments by people and by models: arrays in, frozen dataclasses out.

Only NumPy and SciPy are needed. Undefined results are None with a reason, randomness is an
argument, and every interval says how it was made.
"""

from analysis.stats.accuracy.bands import (
    AccuracyCells,
    answer_accuracy,
    individual_accuracy,
    majority_accuracy,
    tie_credit_accuracy,
)
from analysis.stats.accuracy.bias import (
    PositionBias,
    SingleOrderBias,
    position_bias,
    position_bias_single_order,
)
from analysis.stats.accuracy.bounds import (
    AccuracyBounds,
    DifferenceBounds,
    accuracy_bounds,
    difference_bounds,
)
from analysis.stats.accuracy.general_accuracy import (
    general_contrast,
    general_proportion,
    general_proportions,
)
from analysis.stats.accuracy.group_errors import GroupErrors, errors_by_group
from analysis.stats.accuracy.self_preference import OwnPreference, own_preference, self_preference
from analysis.stats.accuracy.verbosity import LengthPull, VerbosityBias, length_pull, verbosity_bias
from analysis.stats.agreement.alpha import certainty_alpha, krippendorff_alpha
from analysis.stats.agreement.annotators import AnnotatorQuality, annotator_quality
from analysis.stats.agreement.ceiling import (
    AgreementCeiling,
    ShareOfPossible,
    agreed_with,
    agreement_ceiling,
    retest_ceiling,
    share_of_ceiling,
    share_of_possible,
)
from analysis.stats.agreement.coefficients import (
    brennan_prediger,
    certainty_band_counts,
    cohen_kappa,
    fleiss_kappa,
    gwet_ac,
    percent_agreement,
)
from analysis.stats.agreement.general_agreement import general_agreement
from analysis.stats.agreement.response_sets import (
    ForcedChoices,
    forced_choices,
    forced_shares,
    ranks,
    set_distance,
    set_vectors,
)
from analysis.stats.agreement.shared_errors import SharedErrors, shared_errors, stands_out
from analysis.stats.agreement.stereotype import (
    SharedStereotype,
    expected_agreement,
    expected_majority_accuracy,
    shared_stereotype,
)
from analysis.stats.certainty.calibration import (
    Brier,
    Calibration,
    CalibrationBin,
    Discrimination,
    brier_score,
    calibration_error,
    discrimination,
)
from analysis.stats.certainty.general_correlation import general_spearman
from analysis.stats.certainty.held_out import (
    HeldOutThreshold,
    held_out_threshold,
    unreachable_thresholds,
)
from analysis.stats.certainty.high_sets import HighSets, compare_high_sets
from analysis.stats.certainty.human_llm import (
    CertaintyDistributions,
    CertaintyPairs,
    compare_certainty,
    compare_certainty_distributions,
)
from analysis.stats.certainty.interaction import CertaintyBySource, certainty_by_source
from analysis.stats.certainty.intervals import CertaintyQuality, certainty_quality
from analysis.stats.certainty.like_for_like import LikeForLike, PanelSide, like_for_like
from analysis.stats.certainty.matched_coverage import matched_accuracy
from analysis.stats.certainty.recalibration import Recalibration, folds_by_key, recalibrate
from analysis.stats.certainty.risk_coverage import (
    RiskCoverage,
    ThresholdCheck,
    ThresholdPoint,
    accuracy_at_coverage,
    check_threshold,
    risk_coverage,
    threshold_sweep,
)
from analysis.stats.certainty.scale_use import centred_certainty, certainty_icc
from analysis.stats.comparison.alt_test import (
    AltTest,
    AnnotatorTest,
    alt_test,
    alt_test_certainty,
    human_advantage,
)
from analysis.stats.comparison.contrasts import Clusters, Contrast, paired_contrast
from analysis.stats.comparison.cost_accuracy import Mix, price_mixes
from analysis.stats.comparison.crowd_equivalence import (
    CrowdEquivalence,
    CrowdPoint,
    crowd_equivalence,
    majority_of_some,
)
from analysis.stats.comparison.differences import (
    Adjusted,
    BlockDifference,
    Equivalence,
    PairedDifference,
    adjusted_states,
    block_difference,
    equivalence,
    paired_difference,
)
from analysis.stats.comparison.general_difference import (
    GeneralDifference,
    detectable_difference,
    general_difference,
    general_differences,
)
from analysis.stats.comparison.human_likeness import (
    HumanLikeness,
    human_likeness,
    human_likeness_of_several,
)
from analysis.stats.comparison.judges import (
    CochranQ,
    JointBootstrap,
    JudgeComparison,
    JudgePair,
    cochran_q,
    compare_judges,
    joint_bootstrap,
)
from analysis.stats.comparison.leave_one_out import (
    LeaveOneOut,
    LeaveOneOutSummary,
    ReferenceJudge,
    leave_one_out,
    reference_judges,
)
from analysis.stats.comparison.mistakes import (
    ErrorConsistency,
    SharedGuess,
    error_consistency,
    shared_guess,
)
from analysis.stats.comparison.noise import Change, RunNoise, change_beyond_noise, run_noise
from analysis.stats.comparison.paired import (
    McNemar,
    PairedCounts,
    count_pairs,
    mcnemar,
    tango_interval,
    tango_statistic,
    wald_interval,
)
from analysis.stats.comparison.probes import ProbeEffect, change_of_shift, probe_effect
from analysis.stats.comparison.replacement import (
    AgreementScale,
    PooledReplacement,
    pooled_replacement_test,
    pooled_replacement_tests,
)
from analysis.stats.comparison.sample_sizes import (
    alpha_sd,
    annotators_needed,
    equivalence_items,
    mcnemar_items,
    recruiting_cost,
    wilson_items,
)
from analysis.stats.core.bootstrap import percentile_interval, pigeonhole_bootstrap
from analysis.stats.core.clusters import (
    annotator_blocks,
    block_interval,
    majority_proportion,
    shared_annotator_interval,
    shared_annotator_variance,
)
from analysis.stats.core.groups import (
    GroupComparison,
    GroupDifference,
    compare_groups,
    newcombe_interval,
    support,
)
from analysis.stats.core.multiplicity import (
    MaxT,
    benjamini_yekutieli,
    flipped_signs,
    holding,
    holm,
    permuted_groups,
)
from analysis.stats.core.multiway import (
    MultiwayProportion,
    MultiwayVariance,
    multiway_mean,
    multiway_proportion,
    multiway_variance,
)
from analysis.stats.core.proportions import (
    TwoWayVariance,
    item_clustered_proportion,
    two_way_proportion,
    two_way_variance,
    wilson_interval,
    wilson_proportion,
)
from analysis.stats.core.resampling import (
    AgreementDraws,
    bootstrap_agreement,
    sample_without_replacement,
)
from analysis.stats.core.results import Estimate, Interval, Proportion, Reason, Trust, seed_of
from analysis.stats.core.shared_variance import Kind, Sharing, effective_number
from analysis.stats.core.votes import Votes
from analysis.stats.labels.aggregation import (
    MajorityVote,
    Unanimity,
    certainty_weights,
    log_odds_weights,
    majority_vote,
    unanimity,
    weighted_vote,
)
from analysis.stats.labels.dawid_skene import DawidSkene, dawid_skene
from analysis.stats.labels.label_models import Glad, Mace, glad, mace
from analysis.stats.labels.one_coin import OneCoin, one_coin
from analysis.stats.selection.active_draw import draw_items, draw_probabilities, error_spread
from analysis.stats.selection.certified_thresholds import (
    CertifiedThreshold,
    TestedThreshold,
    certify_threshold,
    fewest_at_start,
    fewest_items,
    one_per_cluster,
    starting_threshold,
)
from analysis.stats.selection.preference_entropy import certainty_from_entropy, preference_entropy

__all__ = [
    "AccuracyBounds",
    "AccuracyCells",
    "Adjusted",
    "AgreementCeiling",
    "AgreementDraws",
    "AgreementScale",
    "AltTest",
    "AnnotatorQuality",
    "AnnotatorTest",
    "BlockDifference",
    "Brier",
    "Calibration",
    "CalibrationBin",
    "CertaintyBySource",
    "CertaintyDistributions",
    "CertaintyPairs",
    "CertaintyQuality",
    "CertifiedThreshold",
    "Change",
    "Clusters",
    "CochranQ",
    "Contrast",
    "CrowdEquivalence",
    "CrowdPoint",
    "DawidSkene",
    "DifferenceBounds",
    "Discrimination",
    "Equivalence",
    "ErrorConsistency",
    "Estimate",
    "ForcedChoices",
    "GeneralDifference",
    "Glad",
    "GroupComparison",
    "GroupDifference",
    "GroupErrors",
    "HeldOutThreshold",
    "HighSets",
    "HumanLikeness",
    "Interval",
    "JointBootstrap",
    "JudgeComparison",
    "JudgePair",
    "Kind",
    "LeaveOneOut",
    "LeaveOneOutSummary",
    "LengthPull",
    "LikeForLike",
    "Mace",
    "MajorityVote",
    "MaxT",
    "McNemar",
    "Mix",
    "MultiwayProportion",
    "MultiwayVariance",
    "OneCoin",
    "OwnPreference",
    "PairedCounts",
    "PairedDifference",
    "PanelSide",
    "PooledReplacement",
    "PositionBias",
    "ProbeEffect",
    "Proportion",
    "Reason",
    "Recalibration",
    "ReferenceJudge",
    "RiskCoverage",
    "RunNoise",
    "ShareOfPossible",
    "SharedErrors",
    "SharedGuess",
    "SharedStereotype",
    "Sharing",
    "SingleOrderBias",
    "TestedThreshold",
    "ThresholdCheck",
    "ThresholdPoint",
    "Trust",
    "TwoWayVariance",
    "Unanimity",
    "VerbosityBias",
    "Votes",
    "accuracy_at_coverage",
    "accuracy_bounds",
    "adjusted_states",
    "agreed_with",
    "agreement_ceiling",
    "alpha_sd",
    "alt_test",
    "alt_test_certainty",
    "annotator_blocks",
    "annotator_quality",
    "annotators_needed",
    "answer_accuracy",
    "benjamini_yekutieli",
    "block_difference",
    "block_interval",
    "bootstrap_agreement",
    "brennan_prediger",
    "brier_score",
    "calibration_error",
    "centred_certainty",
    "certainty_alpha",
    "certainty_band_counts",
    "certainty_by_source",
    "certainty_from_entropy",
    "certainty_icc",
    "certainty_quality",
    "certainty_weights",
    "certify_threshold",
    "change_beyond_noise",
    "change_of_shift",
    "check_threshold",
    "cochran_q",
    "cohen_kappa",
    "compare_certainty",
    "compare_certainty_distributions",
    "compare_groups",
    "compare_high_sets",
    "compare_judges",
    "count_pairs",
    "crowd_equivalence",
    "dawid_skene",
    "detectable_difference",
    "difference_bounds",
    "discrimination",
    "draw_items",
    "draw_probabilities",
    "effective_number",
    "equivalence",
    "equivalence_items",
    "error_consistency",
    "error_spread",
    "errors_by_group",
    "expected_agreement",
    "expected_majority_accuracy",
    "fewest_at_start",
    "fewest_items",
    "fleiss_kappa",
    "flipped_signs",
    "folds_by_key",
    "forced_choices",
    "forced_shares",
    "general_agreement",
    "general_contrast",
    "general_difference",
    "general_differences",
    "general_proportion",
    "general_proportions",
    "general_spearman",
    "glad",
    "gwet_ac",
    "held_out_threshold",
    "holding",
    "holm",
    "human_advantage",
    "human_likeness",
    "human_likeness_of_several",
    "individual_accuracy",
    "item_clustered_proportion",
    "joint_bootstrap",
    "krippendorff_alpha",
    "leave_one_out",
    "length_pull",
    "like_for_like",
    "log_odds_weights",
    "mace",
    "majority_accuracy",
    "majority_of_some",
    "majority_proportion",
    "majority_vote",
    "matched_accuracy",
    "mcnemar",
    "mcnemar_items",
    "multiway_mean",
    "multiway_proportion",
    "multiway_variance",
    "newcombe_interval",
    "one_coin",
    "one_per_cluster",
    "own_preference",
    "paired_contrast",
    "paired_difference",
    "percent_agreement",
    "percentile_interval",
    "permuted_groups",
    "pigeonhole_bootstrap",
    "pooled_replacement_test",
    "pooled_replacement_tests",
    "position_bias",
    "position_bias_single_order",
    "preference_entropy",
    "price_mixes",
    "probe_effect",
    "ranks",
    "recalibrate",
    "recruiting_cost",
    "reference_judges",
    "retest_ceiling",
    "risk_coverage",
    "run_noise",
    "sample_without_replacement",
    "seed_of",
    "self_preference",
    "set_distance",
    "set_vectors",
    "share_of_ceiling",
    "share_of_possible",
    "shared_annotator_interval",
    "shared_annotator_variance",
    "shared_errors",
    "shared_guess",
    "shared_stereotype",
    "stands_out",
    "starting_threshold",
    "support",
    "tango_interval",
    "tango_statistic",
    "threshold_sweep",
    "tie_credit_accuracy",
    "two_way_proportion",
    "two_way_variance",
    "unanimity",
    "unreachable_thresholds",
    "verbosity_bias",
    "wald_interval",
    "weighted_vote",
    "wilson_interval",
    "wilson_items",
    "wilson_proportion",
]
