"""Rows for files: people under pseudonyms, answers in the shape that imports read again."""

from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from django.db.models import Count, Q

from annotation.models import Annotation, Annotator
from annotation.quality import NOTHING, quality_of
from annotation.wording import setting_of
from studies.models import Item, Study
from studies.prompts import band_of

_SIDES = {"a": "A", "b": "B", "tie": "C"}


def annotation_rows(study: Study) -> Iterator[dict[str, Any]]:
    """Every answer of a study, whatever its standing, by item key, then by rater.

    `started_at` is when the page was shown; what is not known is None.
    """
    annotations = (
        Annotation.objects.filter(assignment__annotator__study=study)
        .select_related("assignment__annotator", "assignment__item")
        .order_by("assignment__item__key", "assignment__annotator__pseudonym")
    )
    setting = setting_of(study)
    for annotation in annotations.iterator(chunk_size=2000):
        assignment, annotator = annotation.assignment, annotation.assignment.annotator
        certainty = annotation.certainty
        side = (
            _SIDES[assignment.as_displayed(annotation.choice)] if assignment.shown_first else None
        )
        yield {
            "answer_id": f"{annotator.pseudonym}/{assignment.item.key}",
            "study": study.slug,
            "item_id": assignment.item.key,
            "rater_kind": "human",
            "rater_id": annotator.pseudonym,
            "slot": assignment.position,
            "shown_first": assignment.shown_first or None,
            "choice": annotation.choice,
            "choice_side": side,
            "certainty": certainty,
            "certainty_band": None if certainty is None else band_of(certainty).slug,
            "setting": setting,
            "standing": annotation.standing,
            "started_at": annotation.shown_at,
            "answered_at": annotation.answered_at,
            "elapsed_ms": annotation.elapsed_ms,
            "active_ms": annotation.active_ms,
            "changed_choice": annotation.revision > 1,
            "revision": annotation.revision,
            "wording_sha256": annotation.wording_sha256 or None,
            "excluded": annotator.excluded_at is not None,
            "exclude_reason": annotator.exclusion_reason or None,
        }


def annotator_rows(study: Study, *, identified: bool = False) -> Iterator[dict[str, Any]]:
    """Every person of a study, by pseudonym; platform ids only when `identified`."""
    annotators = (
        Annotator.objects.filter(study=study)
        .select_related("prolific_identity", "quota_cell")
        .annotate(
            answers=Count(
                "assignments__annotation",
                filter=Q(assignments__item__split=Item.Split.MAIN),
            )
        )
        .order_by("pseudonym")
    )
    quality = quality_of(study)
    for annotator in annotators:
        row = {
            "rater_id": annotator.pseudonym,
            "study": study.slug,
            "imported": annotator.is_imported,
            "state": annotator.state,
            "answers": annotator.answers,
            "demographics": annotator.demographics,
            "quota_cell": str(annotator.quota_cell) if annotator.quota_cell else None,
            "works_surplus": annotator.works_surplus,
            "failed_attention": annotator.failed_attention,
            "flags": [asdict(flag) for flag in quality.get(annotator.pk, NOTHING).flags],
            "consent_version": annotator.consent_version or None,
            "arrived_at": annotator.created_at,
            "consented_at": annotator.consented_at,
            "started_at": annotator.started_at,
            "ended_at": annotator.ended_at,
            "excluded": annotator.excluded_at is not None,
            "exclude_reason": annotator.exclusion_reason or None,
        }
        if identified:
            identity = getattr(annotator, "prolific_identity", None)
            row |= {
                "prolific_pid": identity.pid if identity else None,
                "prolific_study_id": identity.study_id if identity else None,
                "session_ids": identity.session_ids if identity else [],
            }
        yield row
