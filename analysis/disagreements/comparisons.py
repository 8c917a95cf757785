"""Comparisons that a worker computes while a page waits."""

from collections.abc import Iterator, Mapping
from datetime import timedelta
from typing import Any

from django.db import transaction
from django.db.models import Max, Min

from analysis.data.item_comparisons import (
    FilterChoices,
    ItemVerdicts,
    fingerprint_of,
    is_small,
    verdict_chunks,
)
from analysis.disagreements.selection import facts_of, step_of
from analysis.models import ComparedItem, Comparison
from analysis.tasks import compare_items
from studies.jobs.queueing import queue
from studies.jobs.retry import is_due, start_over
from studies.jobs.runner import JobProgress, carry_out
from studies.models.studies import Study
from studies.statements import clock
from studies.statements.bulk import insert_rows

# Most choices that a page offers.
_TOPICS, _FEATURES, _VALUES = 200, 30, 60
_DELETED_AT_ONCE = 2_000
_COLUMNS = (
    "comparison",
    "edition",
    "item",
    "key",
    "topic",
    "source_1",
    "source_2",
    "features",
    "answers",
    "people",
    "people_share",
    "people_certainty",
    "judge",
    "judge_certainty",
    "pattern",
    "people_band",
    "judge_band",
)


def compare_queued(*, comparison_id: int) -> Comparison:
    """Compute a queued comparison; safe to run twice."""
    return carry_out(Comparison, comparison_id, _compare, expected=())


def _compare(comparison: Comparison, progress: JobProgress) -> Mapping[str, Any]:
    study = comparison.study
    fingerprint = fingerprint_of(study, filter(None, [comparison.run]))
    if comparison.edition and fingerprint == comparison.fingerprint:
        return {}
    edition = comparison.edition + 1
    delete_rows(comparison, keep=comparison.edition)
    choices = FilterChoices()
    done = 0
    for verdicts in verdict_chunks(study, comparison.run, choices):
        # Short transactions, so that answering annotators do not wait.
        with transaction.atomic():
            insert_rows(ComparedItem, _COLUMNS, _rows(comparison, edition, verdicts))
        done += len(verdicts)
        progress(
            min(99, done * 100 // max(comparison.items, done + 1)), f"{done:,} items compared."
        )
    ids = ComparedItem.objects.filter(comparison=comparison, edition=edition)
    ends = ids.aggregate(first=Min("pk"), last=Max("pk"))
    return {
        "first_row": ends["first"] or 0,
        "last_row": ends["last"] or 0,
        "edition": edition,
        "fingerprint": fingerprint,
        "items": done,
        "choices": _choices(choices),
    }


def delete_rows(comparison: Comparison, *, keep: int | None = None) -> None:
    """Delete the rows of all editions but one, in batches."""
    rows = ComparedItem.objects.filter(comparison=comparison)
    if keep is not None:
        rows = rows.exclude(edition=keep)
    while keys := list(rows.values_list("pk", flat=True)[:_DELETED_AT_ONCE]):
        ComparedItem.objects.filter(pk__in=keys).delete()


def _rows(
    comparison: Comparison, edition: int, verdicts: list[ItemVerdicts]
) -> Iterator[tuple[Any, ...]]:
    threshold = comparison.study.certainty_threshold
    for item in verdicts:
        people, judge = item.people or {}, item.judge or {}
        yield (
            comparison.pk,
            edition,
            item.pk,
            item.key,
            item.topic,
            *item.sources,
            item.features,
            people.get("answers", 0),
            people.get("verdict") or "",
            people.get("share"),
            people.get("certainty"),
            judge.get("verdict") or "",
            judge.get("certainty"),
            int(facts_of(item, threshold=threshold)),
            step_of(people.get("certainty")),
            step_of(judge.get("certainty")),
        )


def _choices(filters: FilterChoices) -> dict[str, Any]:
    """The most frequent values, in alphabetical order."""

    def usual(counts: Any, most: int) -> list[str]:
        return sorted(name for name, _ in counts.most_common(most) if name)

    return {
        "topics": usual(filters.topics, _TOPICS),
        "sources": usual(filters.sources, _TOPICS),
        "features": [
            {"key": key, "label": filters.labels[key], "values": usual(values, _VALUES)}
            for key, values in list(filters.features.items())[:_FEATURES]
        ],
    }


_OLD_AFTER = timedelta(minutes=1)
# Rows are deleted after this long without a visit; the next visit recomputes them.
_KEPT_FOR = timedelta(days=14)


def comparison_for(study: Study, run_id: int | None) -> Comparison:
    """The comparison with a run, with `edition` 0 until a worker has computed it.

    The caller has checked that the run is in this study.
    """
    comparison = _get(study, run_id)
    comparison.study = study
    if is_small(study, comparison.run):
        if not comparison.edition or comparison.fingerprint != fingerprint_of(
            study, filter(None, [comparison.run])
        ):
            start_over(comparison)
            return compare_queued(comparison_id=comparison.pk)
    elif is_due(comparison, after=_OLD_AFTER) and start_over(comparison):
        queue(compare_items, comparison.pk)
        comparison.refresh_from_db()
    return comparison


def stored_for(study: Study, run_id: int | None) -> Comparison | None:
    """The stored comparison, for pages that need only the order of its items."""
    return Comparison.objects.filter(study=study, run=run_id).first()


def delete_unused() -> None:
    """Delete comparisons that nobody has opened for two weeks."""
    limit = clock.now() - _KEPT_FOR
    for comparison in Comparison.objects.filter(heartbeat_at__lt=limit):
        delete_rows(comparison)
        comparison.delete()


def _get(study: Study, run_id: int | None) -> Comparison:
    rows = Comparison.objects.filter(study=study, run=run_id).select_related("run")
    if stored := rows.first():
        return stored
    # Somebody else may open the page at the same moment.
    Comparison.objects.bulk_create(
        [Comparison(study=study, run_id=run_id, state=Comparison.State.DONE)],
        ignore_conflicts=True,
    )
    return rows.get()
