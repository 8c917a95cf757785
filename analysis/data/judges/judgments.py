"""Judgments as rows, in the shape of the annotators' answers."""

from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby
from typing import Any

from django.db.models import F, Q, QuerySet

from analysis.data.annotators.answers import feature_keys
from annotation.files.answers_out import side_of
from judging.models import JudgeRun, Judgment
from judging.protocols.framings import framing
from studies.models import Choice, Item, Study
from studies.prompts import band_of

_CHUNK = 2_000


def judgment_rows(study: Study) -> Iterator[dict[str, Any]]:
    """Every judgment of an item that counts, by judge, run and item; open ones are left out.

    `slot` numbers the judgments of an item within a run.
    """
    shown = feature_keys(study)
    runs = {run.pk: run for run in study.judge_runs.select_related("judge")}
    closed = _closed(study).order_by(
        "run__judge__name", "run__key", "item__key", "sample", "shown_first"
    )
    yield from _rows(study, closed.iterator(chunk_size=_CHUNK), runs, shown)


def judgment_page(
    run: JudgeRun, *, after: tuple[str, int, str, int] | None, most: int
) -> list[dict[str, Any]]:
    """At most `most` rows of one run, after an item key, sample, first side and slot."""
    closed = _closed(run.study).filter(run=run, item__study=run.study)
    begun = None
    if after is not None:
        key, sample, first, slot = after
        later = Q(sample__gt=sample) | Q(sample=sample, shown_first__gt=first)
        closed = closed.filter(Q(item__key__gt=key) | later, item__key__gte=key)
        begun = key, slot
    judgments = list(closed.order_by("item__key", "sample", "shown_first")[:most])
    shown = feature_keys(run.study, {judgment.persona for judgment in judgments})  # type: ignore[attr-defined]
    return list(_rows(run.study, judgments, {run.pk: run}, shown, begun=begun))


def _rows(
    study: Study,
    judgments: Iterable[Judgment],
    runs: Mapping[int, JudgeRun],
    shown: Mapping[int, list[str]],
    *,
    begun: tuple[str, int] | None = None,
) -> Iterator[dict[str, Any]]:
    """Judgments as rows; `begun` is the last item and slot before them."""
    for (run_id, key), asked in groupby(judgments, key=lambda j: (j.run_id, j.item_key)):  # type: ignore[attr-defined]
        first = begun[1] + 1 if begun and begun[0] == key else 1
        for slot, judgment in enumerate(asked, start=first):
            row = _row(study, runs[run_id], judgment, slot)
            wanted, there = row["persona_features_shown"], shown[judgment.persona]  # type: ignore[attr-defined]
            # What was shown: a persona may lack a feature that was asked for.
            row["persona_features_shown"] = (
                there if wanted is None else [key for key in wanted if key in there]
            )
            yield row


def _closed(study: Study) -> QuerySet[Judgment]:
    """Closed judgments, without the texts that no row holds."""
    return (
        Judgment.objects.filter(run__study=study, item__split=Item.Split.MAIN)
        .exclude(state__in=Judgment.OPEN)
        .annotate(item_key=F("item__key"), persona=F("item__persona_id"))
        .defer("error", "lease")
    )


def _row(study: Study, run: JudgeRun, judgment: Judgment, slot: int) -> dict[str, Any]:
    key: str = judgment.item_key  # type: ignore[attr-defined]  # annotated by the query
    certainty = judgment.certainty
    return {
        "answer_id": f"{run.key[:16]}:{key}:{judgment.shown_first}:{judgment.sample}",
        "study": study.slug,
        "item_id": key,
        "rater_kind": "model",
        "rater_id": run.judge.name,
        "slot": slot,
        "shown_first": judgment.shown_first or None,
        "choice": judgment.choice or None,
        "choice_side": side_of(judgment.choice, judgment.shown_first),
        "certainty": certainty,
        "certainty_band": None if certainty is None else band_of(certainty).slug,
        "certainty_input": None if certainty is None else "model",
        "setting": run.setting,
        "persona_features_shown": run.feature_keys if framing(run.framing).shows_profile else [],
        "attempts": judgment.replies,
        "parse_status": _parse_status(judgment),
        "read_as": (judgment.details or {}).get("read"),
        "raw_text": judgment.raw_text or None,
        "answered_at": judgment.answered_at,
        "excluded": False,
        "judge": run.judge.name,
        "run": run.key,
        "features": run.features,
        "bias_probe": run.bias_probe or None,
        "sample": judgment.sample,
        "model_snapshot": judgment.model_snapshot or None,
        "fingerprint": judgment.fingerprint or None,
        "prompt_sha256": judgment.prompt_sha256 or None,
        **_probabilities(judgment),
        "details": judgment.details,
        "earlier_replies": judgment.earlier_replies,
    }


def _probabilities(judgment: Judgment) -> dict[str, float | None]:
    is_done = judgment.state == Judgment.State.DONE
    given = (judgment.probabilities if is_done else None) or {}
    return {f"probability_{option}": given.get(option) for option in Choice.values}


def _parse_status(judgment: Judgment) -> str:
    if judgment.state != Judgment.State.DONE:
        return judgment.state
    return "regenerated" if judgment.replies > 1 else "ok"
