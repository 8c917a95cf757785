"""Exporting to a file and reading it back, and judgments written straight to the table."""

import datetime as dt
import json
from pathlib import Path
from typing import Any

from analysis.exports.study_export import export_study
from judging.models import Judge, JudgeRun, Judgment
from studies.models import Item, Study

PID = "5f0c1b2a3d4e5f6a7b8c9d0e"


def export(study: Study, what: str, out: Path, **options: Any) -> Path:
    export_study(study, what=what, out=out, **options)
    return out


def rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def judged(study: Study, **overrides: Any) -> Judgment:
    judge, _ = Judge.objects.get_or_create(
        name="steady", defaults={"model": "m", "backend": "replay"}
    )
    run, _ = JudgeRun.objects.get_or_create(
        study=study,
        judge=judge,
        key="k" * 64,
        defaults={"setting": "certainty", "seed": 1, "feature_keys": ["age"], "features": "age"},
    )
    fields = {
        "shown_first": "r2",
        "state": "done",
        "choice": "r2",
        "certainty": 90,
        "replies": 1,
        "raw_text": "A]] [[90]]",
        "answered_at": dt.datetime(2024, 5, 1, 12, 30, 59, tzinfo=dt.UTC),
    }
    item = overrides.pop("item", None) or Item.objects.get(study=study, key="i1")
    return Judgment.objects.create(run=run, item=item, **fields | overrides)
