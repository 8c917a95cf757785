"""Judgments as rows, with prompts and model versions."""

import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from django.db.models import Count, F, Q, QuerySet
from django.db.models.functions import TruncHour

from analysis.data.answer_rows import feature_keys
from annotation.files.answers_out import side_of
from judging.models import JudgeRun, Judgment, PromptTemplate
from judging.prompts.asking import stored_words, tasks_of
from judging.protocols.framings import framing
from studies.models import Choice, Item, Study
from studies.prompts import band_of

_CHUNK = 2_000


def judgment_rows(study: Study) -> Iterator[dict[str, Any]]:
    """Every judgment of an item that counts, by judge, run and item; open ones are left out.

    `slot` numbers the judgments of an item within a run.
    """
    features = feature_keys(study)
    runs = {run.pk: run for run in study.judge_runs.select_related("judge")}
    closed = _closed(study).order_by(
        "run__judge__name", "run__key", "item__key", "sample", "shown_first"
    )
    yield from _rows(study, closed.iterator(chunk_size=_CHUNK), runs, features)


def judgment_page(
    run: JudgeRun, *, after: tuple[str, int, str, int] | None, most: int
) -> list[dict[str, Any]]:
    """Up to `most` rows of one run, after an item key, sample, first side and slot."""
    closed = _closed(run.study).filter(run=run, item__study=run.study)
    begun = None
    if after is not None:
        key, sample, first, slot = after
        later = Q(sample__gt=sample) | Q(sample=sample, shown_first__gt=first)
        closed = closed.filter(Q(item__key__gt=key) | later, item__key__gte=key)
        begun = key, slot
    judgments = list(closed.order_by("item__key", "sample", "shown_first")[:most])
    features = feature_keys(run.study, {judgment.persona for judgment in judgments})  # type: ignore[attr-defined]
    return list(_rows(run.study, judgments, {run.pk: run}, features, begun=begun))


def _rows(
    study: Study,
    judgments: Iterable[Judgment],
    runs: Mapping[int, JudgeRun],
    features: Mapping[int, list[str]],
    *,
    begun: tuple[str, int] | None = None,
) -> Iterator[dict[str, Any]]:
    """Judgments as rows; `begun` is the item and slot before the first."""
    for (run_id, key), asked in groupby(judgments, key=lambda j: (j.run_id, j.item_key)):  # type: ignore[attr-defined]
        first = begun[1] + 1 if begun and begun[0] == key else 1
        for slot, judgment in enumerate(asked, start=first):
            row = _row(study, runs[run_id], judgment, slot)
            wanted, there = row["persona_features_shown"], features[judgment.persona]  # type: ignore[attr-defined]
            # The features shown: a persona may lack a requested feature.
            row["persona_features_shown"] = (
                there if wanted is None else [key for key in wanted if key in there]
            )
            yield row


def _closed(study: Study) -> QuerySet[Judgment]:
    """Closed judgments, without the texts that rows do not need."""
    return (
        Judgment.objects.filter(run__study=study, item__split=Item.Split.MAIN)
        .exclude(state__in=Judgment.OPEN)
        .annotate(item_key=F("item__key"), persona=F("item__persona_id"))
        .defer("error", "lease")
    )


def answer_id_of(judgment: Judgment, run: JudgeRun, item_key: str) -> str:
    """The name of a judgment in every export."""
    return f"{run.key[:16]}:{item_key}:{judgment.shown_first}:{judgment.sample}"


def _row(study: Study, run: JudgeRun, judgment: Judgment, slot: int) -> dict[str, Any]:
    key: str = judgment.item_key  # type: ignore[attr-defined]  # annotated by the query
    certainty = judgment.certainty
    judgment.run = run  # saves a query for each
    return {
        "answer_id": answer_id_of(judgment, run, key),
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
        "native_certainty": judgment.native_certainty,
        "details": judgment.details,
        "earlier_replies": judgment.earlier_replies,
    }


def _probabilities(judgment: Judgment) -> dict[str, float | None]:
    is_done = judgment.state == Judgment.State.DONE
    probabilities = (judgment.probabilities if is_done else None) or {}
    return {f"probability_{option}": probabilities.get(option) for option in Choice.values}


def _parse_status(judgment: Judgment) -> str:
    if judgment.state != Judgment.State.DONE:
        return judgment.state
    return "regenerated" if judgment.replies > 1 else "ok"


@dataclass(frozen=True)
class OwnWording:
    """A text of one version of a wording, with slots for item texts."""

    file_name: str
    sha256: str
    text: str


def wordings_of(study: Study) -> list[OwnWording]:
    """Every text of every version, with a file name that is unique in the study."""
    wordings = []
    versions = PromptTemplate.objects.filter(study=study).defer("exact_texts")
    for wording in versions.order_by("name", "version"):
        # A name can have any character; names that collide as file names differ by hash.
        stem = re.sub(r"[^\w.-]", "_", wording.name, flags=re.ASCII)
        name = f"wording.{stem}.{wording.version}.{wording.sha256[:8]}"
        for end, text in (
            ("", wording.template),
            (".no_persona", wording.template_without_persona),
        ):
            if text:
                wordings.append(OwnWording(f"{name}{end}.txt", wording.sha256, text))
    return wordings


def asked_words(study: Study) -> tuple[dict[str, dict[str, Any]], list[dict[str, Any]]]:
    """The texts of prompts by file name, and the file of each run.

    The file is None if the run's words are no longer stored.
    """
    files: dict[str, dict[str, Any]] = {}
    runs, tasks = [], tasks_of(study)
    stored = JudgeRun.objects.filter(study=study, is_imported=False).exclude(prompt_hash="")
    for run in stored.select_related("judge", "study", "wording").order_by("key"):
        name = None
        if words := stored_words(run, tasks):
            content = {"prompt_hash": run.prompt_hash, **words}
            digest = hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
            name = f"{run.setting}.{digest[:8]}.json"
            files[name] = content
        runs.append(
            {
                "run": run.key,
                "judge": run.judge.name,
                "setting": run.setting,
                "features": run.features,
                "prompt_hash": run.prompt_hash,
                "file": name,
            }
        )
    return files, runs


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
    """Every closed anchor by run and item, with the start before each end."""
    anchors = (
        Judgment.everything.filter(run__study=study)
        .exclude(anchor="")
        .exclude(state__in=Judgment.OPEN)
        .select_related("run__judge", "item")
        .order_by("run__judge__name", "run__key", "item__key", "-anchor", "sample")
    )
    for anchor in anchors.iterator(chunk_size=2_000):
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
