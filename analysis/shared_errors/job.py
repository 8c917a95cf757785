"""A worker's part: compares the annotators of a study with its judges, if anything has changed."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from analysis.data.item_comparisons import fingerprint_of, runs_to_compare
from analysis.models import ErrorComparison
from analysis.shared_errors.likeness import likenesses
from analysis.stats.agreement import shared_errors
from studies.jobs.runner import JobProgress, carry_out


def compare_queued(*, comparison_id: int) -> ErrorComparison:
    """Compare the annotators of a queued comparison; running it twice compares them once."""
    return carry_out(ErrorComparison, comparison_id, _compare, expected=())


def _compare(comparison: ErrorComparison, progress: JobProgress) -> Mapping[str, Any]:
    study = comparison.study
    fingerprint = fingerprint_of(study, runs_to_compare(study))
    if fingerprint == comparison.fingerprint:
        return {}
    progress(10, "The answers and judgments are being compared.")
    return {
        "fingerprint": fingerprint,
        "rule": _rule(),
        "annotators": [asdict(found) for found in likenesses(study.slug)],
    }


def _rule() -> dict[str, float]:
    """When an annotator is flagged, and how often without a cause."""
    return {
        "reading_pace": shared_errors.READING_PACE,
        "hurried_pace": shared_errors.HURRIED_PACE,
        "limit": shared_errors.LIMIT,
        "limit_when_hurried": shared_errors.LIMIT_WHEN_HURRIED,
        "false_flags": shared_errors.FALSE_FLAGS_PER_1000,
        "false_flags_when_hurried": shared_errors.FALSE_FLAGS_PER_1000_WHEN_HURRIED,
    }
