"""Export rows, read in parts: pseudonymous annotators, and answers in the format of imports."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from django.db.models import (
    Case,
    CharField,
    Count,
    Exists,
    Func,
    OuterRef,
    Q,
    QuerySet,
    Value,
    When,
)

from annotation.content.texts import setting_of
from annotation.models import Annotation, AnnotationRevision, Annotator
from annotation.quality import NOTHING, Quality, quality_of
from studies.models import Choice, Item, Study
from studies.prompts import band_of

_CHUNK = 2_000
_PEOPLE_CHUNK = 500
# The control used to enter the certainty, by its name in the interchange format.
INPUTS = {"slider": "slider", "number": "number", "levels": "band"}


def annotation_rows(
    study: Study, *, only: Q | None = None, most: int | None = None
) -> Iterator[dict[str, Any]]:
    """Every answer of a study of any standing, sorted by item key and rater.

    `only` selects some, and `most` limits their number.

    `started_at` is when the page was shown. Times are UTC minutes: finer ones could identify an
    annotator. Unknown values are None.
    """
    setting = setting_of(study)
    bands = {certainty: band_of(certainty).slug for certainty in range(1, 101)}
    for (
        key,
        rater,
        first,
        choice,
        certainty,
        control,
        standing,
        started_at,
        answered_at,
        elapsed_ms,
        active_ms,
        revision,
        media_missing,
        translated,
        wording_sha256,
        initial_choice,
        initial_certainty,
        initial_media_missing,
        ranking,
        position,
        changed,
        failed_attention,
        excluded,
        exclude_reason,
        split,
        left_out_reason,
        persona,
    ) in _answers(study).filter(only or Q())[:most].iterator(chunk_size=_CHUNK):
        yield {
            "answer_id": f"{rater}/{key}",
            "study": study.slug,
            "item_id": key,
            "rater_kind": "human",
            "rater_id": rater,
            "slot": position,
            "shown_first": first or None,
            "choice": choice,
            "choice_side": side_of(choice, first),
            "certainty": certainty,
            "certainty_band": None if certainty is None else bands[certainty],
            "certainty_input": INPUTS.get(control),
            "setting": setting,
            "standing": standing,
            "started_at": started_at,
            "answered_at": answered_at,
            "elapsed_ms": elapsed_ms,
            "active_ms": active_ms,
            "changed_choice": bool(changed),
            "revision": revision,
            "media_missing": bool(media_missing),
            "translated": translated or None,
            "wording_sha256": wording_sha256 or None,
            "initial_choice": initial_choice,
            "initial_certainty": initial_certainty,
            "initial_media_missing": bool(initial_media_missing) if initial_choice else None,
            "ranking": _named(ranking, "ranking", ">"),
            "options_shown": _named(ranking, "shown", " "),
            "failed_attention": bool(failed_attention),
            "excluded": bool(excluded) or split == Item.Split.LEFT_OUT,
            "exclude_reason": exclude_reason or left_out_reason or None,
            "split": split,
            "persona": persona,
        }


def _named(ranking: Mapping[str, Any] | None, part: str, between: str) -> str | None:
    """The ranked response keys of a set; None where a pair was shown."""
    return between.join(f"r{number}" for number in ranking[part]) if ranking else None


def side_of(choice: str, shown_first: str | None) -> str | None:
    """The side on which a choice was shown: A, B, or C for a tie; None if the order is unknown."""
    if choice == Choice.TIE:
        return "C"
    if not choice or not shown_first:
        return None
    return "A" if choice == shown_first else "B"


class _ToTheMinute(Func):
    """A time as text, made by the database: Python takes longer for it than for reading the row."""

    output_field = CharField()

    def as_postgresql(self, compiler: Any, connection: Any, **_: Any) -> Any:
        template = """to_char(%(expressions)s AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI"Z"')"""
        return self.as_sql(compiler, connection, template=template)

    def as_sqlite(self, compiler: Any, connection: Any, **_: Any) -> Any:
        template = "substr(%(expressions)s, 1, 10) || 'T' || substr(%(expressions)s, 12, 5) || 'Z'"
        return self.as_sql(compiler, connection, template=template)


def _as_text(condition: Any) -> Case:
    """A text, empty for false: Django would convert a boolean or number with a call per row."""
    return Case(When(condition, then=Value("yes")), default=Value(""), output_field=CharField())


def _answers(study: Study) -> QuerySet[Annotation, Any]:
    """Only the exported columns of the answers: sorting a million full rows would spill to disk."""
    other_choice = AnnotationRevision.objects.filter(annotation=OuterRef("pk")).exclude(
        choice=OuterRef("choice")
    )
    person = "assignment__annotator__"
    return (
        Annotation.objects.filter(assignment__annotator__study=study)
        .order_by("assignment__item__key", f"{person}pseudonym")
        .values_list(
            "assignment__item__key",
            f"{person}pseudonym",
            "assignment__shown_first",
            "choice",
            "certainty",
            "certainty_control",
            "standing",
            _ToTheMinute("shown_at"),
            _ToTheMinute("answered_at"),
            "elapsed_ms",
            "active_ms",
            "revision",
            _as_text(Q(media_missing=True)),
            "translated",
            "wording_sha256",
            "assignment__initial_answer__choice",
            "assignment__initial_answer__certainty",
            _as_text(Q(assignment__initial_answer__media_missing=True)),
            "ranking",
            "assignment__position",
            _as_text(Q(revision__gt=1) & Exists(other_choice)),
            _as_text(Q(**{f"{person}failed_attention": True})),
            _as_text(Q(**{f"{person}excluded_at__isnull": False})),
            f"{person}exclusion_reason",
            "assignment__item__split",
            "assignment__item__left_out_reason",
            "assignment__item__persona",
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
        "machine_points": quality.machine_points,
        "machine_signs": [sign.name for sign in quality.signs or ()],
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
