"""Versions of the judges' models over time, and their anchors: for reports, and as rows."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from django.db.models import Count, F
from django.db.models.functions import TruncHour

from judging.drift.comparison import AnchorComparison
from judging.engine.conditions import Reported
from judging.models import Judgment
from studies.models import Item, Study


def version_records(versions: Sequence[Reported]) -> Iterator[dict[str, Any]]:
    """The versions of a model with the number of their answers, and when there are several.

    Times tell nothing of a single version, and would make every report of the same replies differ.
    """
    for each in versions:
        version: dict[str, Any] = {
            "judgments": each.judgments,
            "model": each.model,
            "fingerprint": each.fingerprint,
        }
        if len(versions) > 1:
            version |= {"first": _minute(each.first), "last": _minute(each.last)}
        yield version


def _minute(moment: datetime | None) -> str | None:
    return None if moment is None else f"{moment:%Y-%m-%d %H:%M} UTC"


def versions_in_words(versions: Sequence[Reported]) -> Iterator[str]:
    """Each version with the number and the times of its answers, if there are several."""
    for each in versions if len(versions) > 1 else ():
        times = " to ".join(filter(None, (_minute(each.first), _minute(each.last))))
        yield (
            f"{each.model or 'No name'}, fingerprint {each.fingerprint or 'none'}: "
            f"{each.judgments:,} answers{f', {times}' if times else ''}."
        )


def drift_sentences(found: AnchorComparison | None) -> list[str]:
    """The sentences on anchors that belong to the limits of a study."""
    return found.sentences if found is not None and found.is_suspicious else []


def anchor_record(found: AnchorComparison | None) -> Mapping[str, Any] | None:
    if found is None:
        return None
    low, high = found.change.interval or (None, None)
    return {
        "anchors": found.anchors,
        "compared": found.compared,
        "changed": found.changed,
        "low": low,
        "high": high,
        "pairs": found.pairs,
        "differ": found.differ,
        "expected": found.expected,
        "p_value": found.p_value,
        "certainty_shift": found.certainty_shift,
        "sentences": found.sentences,
    }


def version_rows(study: Study) -> Iterator[dict[str, Any]]:
    """The number of judgments by run, reported version and hour (UTC); anchors do not count."""
    rows = (
        Judgment.objects.filter(
            run__study=study, item__split=Item.Split.MAIN, answered_at__isnull=False
        )
        .annotate(hour=TruncHour("answered_at"), judge=F("run__judge__name"))
        .values("judge", "run__key", "hour", "model_snapshot", "fingerprint")
        .annotate(judgments=Count("pk"))
        .order_by("judge", "run__key", "hour", "model_snapshot", "fingerprint")
    )
    for row in rows.iterator():
        yield {
            "judge": row["judge"],
            "run": row["run__key"],
            "hour": row["hour"],
            "model_snapshot": row["model_snapshot"] or None,
            "fingerprint": row["fingerprint"] or None,
            "judgments": row["judgments"],
        }


def anchor_rows(study: Study) -> Iterator[dict[str, Any]]:
    """Every closed anchor, by run and item, first the start and then each end."""
    found = (
        Judgment.everything.filter(run__study=study)
        .exclude(anchor="")
        .exclude(state__in=Judgment.OPEN)
        .select_related("run__judge", "item")
        .order_by("run__judge__name", "run__key", "item__key", "-anchor", "sample")
    )
    for anchor in found.iterator(chunk_size=2_000):
        yield {
            "judge": anchor.run.judge.name,
            "run": anchor.run.key,
            "item_id": anchor.item.key,
            "shown_first": anchor.shown_first,
            "anchor": anchor.anchor,
            "round": anchor.sample,
            "parse_status": "ok" if anchor.state == Judgment.State.DONE else anchor.state,
            "choice": anchor.choice or None,
            "certainty": anchor.certainty,
            "model_snapshot": anchor.model_snapshot or None,
            "fingerprint": anchor.fingerprint or None,
            "prompt_sha256": anchor.prompt_sha256 or None,
            "raw_text": anchor.raw_text or None,
            "answered_at": anchor.answered_at,
        }
