"""Rows of what models said, in the shape of people's answers."""

from collections.abc import Iterator
from itertools import groupby
from typing import Any

from django.db.models import F

from analysis.exports.tables.columns import JUDGMENTS, names
from analysis.exports.tables.people import feature_keys
from analysis.exports.tables.pseudonyms import to_the_minute
from annotation.files.answers_out import side_of
from judging.models import JudgeRun, Judgment
from studies.exporters.items import may_redistribute
from studies.models import Choice, Item, Study
from studies.prompts import band_of

_CHUNK = 2_000


def judgment_table(study: Study) -> Iterator[dict[str, Any]]:
    """What models said about the items that count, one row a question; open ones are left out.

    `slot` numbers the questions about an item within a run. Replies may quote the items, so
    they stay inside where the items do.
    """
    shown = feature_keys(study)
    tells = may_redistribute(study)
    columns = names(JUDGMENTS)
    runs = {run.pk: run for run in study.judge_runs.select_related("judge")}
    for (run_id, _), asked in groupby(_asked(study), key=lambda j: (j.run_id, j.item_id)):
        for slot, judgment in enumerate(asked, start=1):
            row = _row(study, runs[run_id], judgment, slot)
            if runs[run_id].feature_keys is None:
                row["persona_features_shown"] = shown[judgment.persona]  # type: ignore[attr-defined]
            if not tells:
                row["raw_text"] = None
            yield {column: row.get(column) for column in columns}


def _asked(study: Study) -> Iterator[Judgment]:
    """Closed judgments by judge, run and item, without the texts that no export holds."""
    return (
        Judgment.objects.filter(run__study=study, item__split=Item.Split.MAIN)
        .exclude(state__in=Judgment.OPEN)
        .annotate(item_key=F("item__key"), persona=F("item__persona_id"))
        .defer("error", "fingerprint", "lease")
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
        "raw_text": judgment.raw_text or None,
        "answered_at": to_the_minute(judgment.answered_at),
        "excluded": False,
        "judge": run.judge.name,
        "run": run.key,
        "features": run.features,
        "sample": judgment.sample,
        "model_snapshot": judgment.model_snapshot or None,
        "prompt_sha256": judgment.prompt_sha256 or None,
        **_probabilities(judgment),
    }


def _probabilities(judgment: Judgment) -> dict[str, float | None]:
    told = judgment.probabilities or {}
    return {f"probability_{option}": told.get(option) for option in Choice.values}


def _parse_status(judgment: Judgment) -> str:
    if judgment.state != Judgment.State.DONE:
        return judgment.state
    return "regenerated" if judgment.replies > 1 else "ok"
