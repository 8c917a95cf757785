"""Export rows, read in parts: pseudonymous annotators, and answers in the format of imports."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Any

from django.db.models import Count, Exists, F, OuterRef, Q, QuerySet

from annotation.content.wording import setting_of
from annotation.models import Annotation, AnnotationRevision, Annotator
from annotation.quality.flags import NOTHING, Quality, quality_of
from studies.models import Choice, Item, Study
from studies.prompts import band_of

_CHUNK = 2_000
_PEOPLE_CHUNK = 500
# The control used to enter the certainty, in the terms of the interchange format.
_INPUTS = {"slider": "slider", "number": "number", "levels": "band"}


def annotation_rows(study: Study) -> Iterator[dict[str, Any]]:
    """Every answer of a study, whatever its standing, sorted by item key and rater.

    `started_at` is when the page was shown. Unknown values are None.
    """
    setting = setting_of(study)
    for row in _answers(study).iterator(chunk_size=_CHUNK):
        key, rater, first = row["key"], row["rater"], row["first"] or None
        certainty = row["certainty"]
        yield {
            "answer_id": f"{rater}/{key}",
            "study": study.slug,
            "item_id": key,
            "rater_kind": "human",
            "rater_id": rater,
            "slot": row["assignment__position"],
            "shown_first": first,
            "choice": row["choice"],
            "choice_side": side_of(row["choice"], first),
            "certainty": certainty,
            "certainty_band": None if certainty is None else band_of(certainty).slug,
            "certainty_input": _INPUTS.get(row["certainty_control"]),
            "setting": setting,
            "standing": row["standing"],
            "started_at": row["shown_at"],
            "answered_at": row["answered_at"],
            "elapsed_ms": row["elapsed_ms"],
            "active_ms": row["active_ms"],
            "changed_choice": row["changed"],
            "revision": row["revision"],
            "wording_sha256": row["wording_sha256"] or None,
            "failed_attention": row["failed_attention"],
            "excluded": row["excluded_at"] is not None,
            "exclude_reason": row["exclusion_reason"] or None,
            "split": row["split"],
            "persona": row["persona"],
        }


def side_of(choice: str, shown_first: str | None) -> str | None:
    """The side on which a choice was shown: A, B, or C for a tie; None if the order is unknown."""
    if choice == Choice.TIE:
        return "C"
    if not choice or not shown_first:
        return None
    return "A" if choice == shown_first else "B"


def _answers(study: Study) -> QuerySet[Annotation, Any]:
    """Only the exported columns of the answers: sorting a million whole rows would use the disk."""
    other_choice = AnnotationRevision.objects.filter(annotation=OuterRef("pk")).exclude(
        choice=OuterRef("choice")
    )
    prefix = "assignment__annotator__"
    aliases = {
        "key": "assignment__item__key",
        "split": "assignment__item__split",
        "persona": "assignment__item__persona",
        "first": "assignment__shown_first",
        "rater": f"{prefix}pseudonym",
        "failed_attention": f"{prefix}failed_attention",
        "excluded_at": f"{prefix}excluded_at",
        "exclusion_reason": f"{prefix}exclusion_reason",
    }
    return (
        Annotation.objects.filter(assignment__annotator__study=study)
        .order_by("assignment__item__key", f"{prefix}pseudonym")
        .values(
            "choice",
            "certainty",
            "certainty_control",
            "standing",
            "shown_at",
            "answered_at",
            "elapsed_ms",
            "active_ms",
            "revision",
            "wording_sha256",
            "assignment__position",
            changed=Exists(other_choice),
            **{name: F(path) for name, path in aliases.items()},
        )
    )


def annotator_rows(
    study: Study, *, identified: bool = False, order: Sequence[int] | None = None
) -> Iterator[dict[str, Any]]:
    """Every annotator of a study, by pseudonym or in the given `order` of ids.

    Includes platform ids only when `identified`.
    """
    if order is None:
        everybody = Annotator.objects.filter(study=study).order_by("pseudonym")
        order = list(everybody.values_list("pk", flat=True))
    for start in range(0, len(order), _PEOPLE_CHUNK):
        chunk = order[start : start + _PEOPLE_CHUNK]
        quality = quality_of(study, chunk)
        people = _people(study).in_bulk(chunk)
        for pk in chunk:
            if pk in people:
                yield _person(study, people[pk], quality.get(pk, NOTHING), identified=identified)


def _people(study: Study) -> QuerySet[Annotator]:
    main = Q(assignments__item__split=Item.Split.MAIN)
    return (
        Annotator.objects.filter(study=study)
        .select_related("prolific_identity", "quota_group")
        .annotate(answers=Count("assignments__annotation", filter=main))
    )


def _person(
    study: Study, annotator: Annotator, quality: Quality, *, identified: bool
) -> dict[str, Any]:
    seconds = quality.median_active_seconds
    row = {
        "rater_id": annotator.pseudonym,
        "study": study.slug,
        "imported": annotator.is_imported,
        "state": annotator.state,
        "answers": annotator.answers,  # type: ignore[attr-defined]  # counted by the query
        "median_active_ms": None if seconds is None else round(seconds * 1000),
        "demographics": annotator.demographics,
        "quota_group": str(annotator.quota_group) if annotator.quota_group else None,
        "works_surplus": annotator.works_surplus,
        "failed_attention": annotator.failed_attention,
        "checks_passed": quality.checks_seen - quality.checks_failed,
        "checks_seen": quality.checks_seen,
        "flags": [asdict(flag) for flag in quality.flags],
        "consent_version": annotator.consent_version or None,
        "arrived_at": annotator.created_at,
        "consented_at": annotator.consented_at,
        "started_at": annotator.started_at,
        "ended_at": annotator.ended_at,
        "excluded": annotator.excluded_at is not None,
        "exclude_reason": annotator.exclusion_reason or None,
        "feedback": annotator.feedback or None,
    }
    if identified:
        identity = getattr(annotator, "prolific_identity", None)
        row |= {
            "prolific_pid": identity.pid if identity else None,
            "prolific_study_id": identity.study_id if identity else None,
            "session_ids": identity.session_ids if identity else [],
        }
    return row
