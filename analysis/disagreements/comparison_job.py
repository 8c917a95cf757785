"""A worker's part: compares the items of a study with a run, if anything has changed."""

from collections.abc import Iterator, Mapping
from typing import Any

from django.db import transaction
from django.db.models import Max, Min

from analysis.data.items.comparisons import (
    FilterChoices,
    ItemVerdicts,
    fingerprint_of,
    verdict_chunks,
)
from analysis.disagreements.patterns import facts_of, step_of
from analysis.models import ComparedItem, Comparison
from studies.jobs.runner import JobProgress, carry_out
from studies.statements.bulk import insert_rows

# A page can offer only so many choices.
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
    """Compare the items of a queued comparison; running it twice compares once."""
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
    for found in verdict_chunks(study, comparison.run, choices):
        # Short transactions, so that nobody who answers waits for a long one.
        with transaction.atomic():
            insert_rows(ComparedItem, _COLUMNS, _rows(comparison, edition, found))
        done += len(found)
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
    """Delete the rows of all editions but one, a part at a time."""
    rows = ComparedItem.objects.filter(comparison=comparison)
    if keep is not None:
        rows = rows.exclude(edition=keep)
    while found := list(rows.values_list("pk", flat=True)[:_DELETED_AT_ONCE]):
        ComparedItem.objects.filter(pk__in=found).delete()


def _rows(
    comparison: Comparison, edition: int, found: list[ItemVerdicts]
) -> Iterator[tuple[Any, ...]]:
    threshold = comparison.study.certainty_threshold
    for item in found:
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


def _choices(found: FilterChoices) -> dict[str, Any]:
    """The most frequent values, in the order of the alphabet."""

    def usual(counts: Any, most: int) -> list[str]:
        return sorted(name for name, _ in counts.most_common(most) if name)

    return {
        "topics": usual(found.topics, _TOPICS),
        "sources": usual(found.sources, _TOPICS),
        "features": [
            {"key": key, "label": found.labels[key], "values": usual(values, _VALUES)}
            for key, values in list(found.features.items())[:_FEATURES]
        ],
    }
