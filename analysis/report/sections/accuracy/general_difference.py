"""Judge less people for items, people, personas and questions in general: behind the verdict."""

from collections.abc import Sequence

import numpy as np

from analysis.data.verdicts import Floats, Verdicts
from analysis.report.clusters import Shared, counted
from analysis.report.encode import Json, number, put, put_interval
from analysis.stats.accuracy.general_accuracy import general_contrast
from analysis.stats.comparison.differences import adjusted_states
from analysis.stats.comparison.general_difference import GeneralDifference, general_difference
from analysis.stats.core.clusters import annotator_blocks
from analysis.stats.core.multiplicity import holm
from analysis.stats.core.results import Interval
from analysis.stats.core.shared_variance import FEW_CLUSTERS, Sharing

GENERAL = "items, people, personas and questions in general"
# What a study may have too few of, by the name of its clusters.
KINDS = {"annotator": "people", "persona": "personas", "question": "questions"}


def add_general(
    entries: Sequence[Json],
    judges: Sequence[Verdicts],
    people: Verdicts,
    shared: Shared,
    families: Sequence[Sequence[int]],
    *,
    margin: float,
    threshold: float,
) -> None:
    """Put into every comparison its general difference, adjusted within its family."""
    blocks = annotator_blocks(people.majority.votes)
    for family in families:
        found = []
        for index in family:
            both = judges[index].scored & people.scored
            gap = np.where(both, judges[index].correct - people.correct, np.nan)
            result = general_difference(gap, shared.items, margin=margin, among=len(family))
            found.append(result)
            entries[index]["difference_general"] = _difference(
                result, shared.items.take(both), int(np.unique(blocks[both]).size), margin
            )
        for index, adjusted, result in zip(family, adjusted_states(found), found, strict=True):
            out = entries[index]["difference_general"]
            reason = result.interval_reason or result.reason
            out["family"] = len(family)
            put(out, "p_holm", number(adjusted.p), reason)
            put(out, "equivalence_p_holm", number(adjusted.p_equivalence), reason)
            put(out, "state", adjusted.state, reason)
        _add_where_certain(entries, judges, people, shared, family, threshold)


def _difference(result: GeneralDifference, within: Sharing, blocks: int, margin: float) -> Json:
    reason = result.interval_reason or result.reason
    out: Json = {"holds_for": GENERAL, "n": result.n, "blocks": blocks}
    put(out, "value", number(result.value), result.reason)
    put_interval(out, "ci", result.interval, reason)
    put_interval(out, "ci_as_best", result.as_best, reason)
    put(out, "se", number(result.se), reason)
    put(out, "df", number(result.df), reason)
    put(out, "p", number(result.p), reason)
    out["margin"] = margin
    put(out, "equivalence_p", number(result.p_equivalence), reason)
    put_interval(out, "equivalence_ci", result.narrow, reason)
    return out | _rests_on(within)


def _rests_on(within: Sharing) -> Json:
    """Clusters of each kind, and the kinds of which there are few, too few, or one."""
    sizes = {label: within.n_clusters[name] for name, label in KINDS.items()}
    return {
        "clusters": counted(within),
        "too_few": [KINDS[name] for name in within.short if name in KINDS],
        "few": [
            label
            for name, label in KINDS.items()
            if 1 < sizes[label] < FEW_CLUSTERS and name not in within.short
        ],
        "one": [label for label, size in sizes.items() if size == 1 and label != "people"],
    }


def _add_where_certain(
    entries: Sequence[Json],
    judges: Sequence[Verdicts],
    people: Verdicts,
    shared: Shared,
    family: Sequence[int],
    threshold: float,
) -> None:
    """Each side on what it is itself certain of, among items that both state a certainty for."""
    found = []
    for index in family:
        judge = judges[index]
        known = judge.scored & people.scored
        known &= ~np.isnan(judge.certainty) & ~np.isnan(people.certainty)
        found.append(
            general_contrast(
                _credit(judge),
                known & (judge.certainty >= threshold),
                _credit(people),
                known & (people.certainty >= threshold),
                shared.items,
                among=len(family),
            )
        )
    for index, result, p in zip(family, found, holm([one.p for one in found]), strict=True):
        out: Json = {"holds_for": GENERAL, "family": len(family)}
        reason = result.interval_reason or result.reason
        put(out, "value", number(result.value), result.reason)
        intervals: tuple[tuple[str, Interval | None], ...] = (
            ("ci", result.interval),
            ("ci_as_best", result.as_best),
        )
        for key, interval in intervals:
            put_interval(out, key, interval, reason)
        put(out, "p", number(result.p), reason)
        put(out, "p_holm", number(p), reason)
        entries[index]["certainty"]["high_sets"]["difference_general"] = out


def _credit(side: Verdicts) -> Floats:
    return np.where(side.scored, side.correct, np.nan)
