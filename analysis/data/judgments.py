"""Judgments as rows, in the shape of the annotators' answers."""

from collections.abc import Iterator
from itertools import groupby
from typing import Any

from django.db.models import F

from analysis.data.answers import feature_keys
from annotation.files.answers_out import side_of
from judging.models import JudgeRun, Judgment
from studies.models import Choice, Item, Study
from studies.prompts import band_of

_CHUNK = 2_000


def judgment_rows(study: Study) -> Iterator[dict[str, Any]]:
    """Every judgment of an item that counts, by judge, run and item; open ones are left out.

    `slot` numbers the judgments of an item within a run.
    """
    shown = feature_keys(study)
    runs = {run.pk: run for run in study.judge_runs.select_related("judge")}
    for (run_id, _), asked in groupby(_closed(study), key=lambda j: (j.run_id, j.item_id)):
        for slot, judgment in enumerate(asked, start=1):
            row = _row(study, runs[run_id], judgment, slot)
            if runs[run_id].feature_keys is None:
                row["persona_features_shown"] = shown[judgment.persona]  # type: ignore[attr-defined]
            yield row


def _closed(study: Study) -> Iterator[Judgment]:
    """Closed judgments by judge, run and item, without the texts that no row holds."""
    return (
        Judgment.objects.filter(run__study=study, item__split=Item.Split.MAIN)
        .exclude(state__in=Judgment.OPEN)
        .annotate(item_key=F("item__key"), persona=F("item__persona_id"))
        .defer("error", "lease")
        .order_by("run__judge__name", "run__key", "item__key", "sample", "shown_first")
        .iterator(chunk_size=_CHUNK)
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
        "persona_features_shown": run.feature_keys,
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
    given = judgment.probabilities or {}
    return {f"probability_{option}": given.get(option) for option in Choice.values}


def _parse_status(judgment: Judgment) -> str:
    if judgment.state != Judgment.State.DONE:
        return judgment.state
    return "regenerated" if judgment.replies > 1 else "ok"
