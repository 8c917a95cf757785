"""Judge less majority for items, annotators, personas and questions in general."""

from collections.abc import Sequence

import numpy as np

from analysis.report.clusters import IN_GENERAL, fix_people, rests_on
from analysis.report.competition import asked_of_all
from analysis.report.encode import Json, estimate, number, put, put_interval
from analysis.report.study import ReportedStudy
from analysis.stats.comparison.differences import adjusted_states
from analysis.stats.comparison.general_difference import (
    GeneralDifference,
    detectable_difference,
    general_difference,
)
from analysis.stats.core.checks import n_distinct
from analysis.stats.core.clusters import annotator_blocks
from analysis.stats.core.shared_variance import Sharing


def add_general(
    entries: Sequence[Json],
    study: ReportedStudy,
    families: Sequence[Sequence[int]],
    *,
    margin: float,
) -> None:
    """Add to every comparison its general difference, adjusted within its family.

    If people are fixed, their errors are part of the items and do not vary between studies.
    """
    people, judges, is_fixed = study.people, study.judges, study.data.people_are_fixed
    sharing = study.shared.judged if is_fixed else study.shared.items
    blocks = annotator_blocks(study.votes)
    for family in families:
        found, common = [], asked_of_all(study.data, family)
        for index in family:
            both = judges[index].scored & people.scored
            if common is not None:
                both &= common
            gap = np.where(both, judges[index].correct - people.correct, np.nan)
            result = general_difference(gap, sharing, margin=margin, among=len(family))
            found.append(result)
            entries[index]["difference_general"] = _difference(
                result, sharing.take(both), int(n_distinct(blocks[both])), margin
            )
            out = entries[index]["difference_general"]
            for key, side in (("judge_accuracy", judges[index]), ("people_accuracy", people)):
                put(out, key, number(side.correct[both].mean()) if both.any() else None)
            if common is not None:
                out["asked_of_all"] = len(family)
            if is_fixed:
                fix_people(entries[index]["difference_general"], study.votes.n_annotators)
        for index, adjusted, result in zip(family, adjusted_states(found), found, strict=True):
            out = entries[index]["difference_general"]
            reason = result.interval_reason or result.reason
            out["family"] = len(family)
            out["tests"] = sum(one.p is not None for one in found)
            put(out, "p_holm", number(adjusted.p), reason)
            put(out, "equivalence_p_holm", number(adjusted.p_equivalence), reason)
            put(out, "state", adjusted.state, reason)
            detectable = detectable_difference(result, among=len(family))
            put(out, "detectable", number(detectable), reason or "no_variation")


def _difference(result: GeneralDifference, within: Sharing, blocks: int, margin: float) -> Json:
    reason = result.interval_reason or result.reason
    out: Json = {"holds_for": IN_GENERAL, "n": result.n, "blocks": blocks}
    out |= estimate(result)
    put_interval(out, "ci_as_best", result.as_best, reason)
    put(out, "se", number(result.se), reason)
    put(out, "df", number(result.df), reason)
    put(out, "p", number(result.p), reason)
    out["margin"] = margin
    put(out, "equivalence_p", number(result.p_equivalence), reason)
    put_interval(out, "equivalence_ci", result.narrow, reason)
    return out | rests_on(within)
