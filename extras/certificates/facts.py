"""Facts about runs and items that a passport records, and how to find them again."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from django.db.models import F, QuerySet

from analysis.data.arrays import CHOICES, CODE, Dataset, Judgments, Prompt, RunData, RunMoney
from analysis.data.juries import jury_run
from judging.models import JudgeRun, Judgment
from judging.runs.records import reading
from studies.models import Study


def runs_behind(study: Study, run: RunData) -> list[JudgeRun]:
    """The stored runs of a judge, in order: one, or those of a jury."""
    keys = run.parameters["runs"] if run.is_jury else [run.run]
    rows = JudgeRun.objects.select_related("judge", "study", "wording")
    found = {row.key: row for row in rows.filter(study=study, key__in=keys)}
    return [found[key] for key in keys]


def answers_of_rounds(
    judgments: QuerySet[Judgment], sample_of: Callable[[Judgment], int]
) -> dict[str, list[dict[str, Any]]]:
    """The readings of repeated anchors, by item key."""
    found: dict[str, list[dict[str, Any]]] = {}
    rows = judgments.exclude(state__in=Judgment.OPEN).annotate(item_key=F("item__key"))
    for row in rows.order_by("item_key", "shown_first", "sample"):
        found.setdefault(row.item_key, []).append(reading(row, sample_of(row)))
    return found


def backend_of(run: JudgeRun) -> str:
    """The kind of server that a run asks; empty if it was imported."""
    return str(run.parameters.get("backend", ""))


def run_of_readings(
    data: Dataset,
    name: str,
    setting: str,
    members: Sequence[Mapping[int, Sequence[Any]]],
    backends: Sequence[str],
) -> RunData:
    """A run with these readings as judgments, by item position; several form a jury."""
    runs = []
    for number, (readings, backend) in enumerate(zip(members, backends, strict=True)):
        rows = [(position, each) for position, found in readings.items() for each in found]
        unknown = dict.fromkeys(CHOICES, float("nan"))
        columns = (
            [position for position, _ in rows],
            [CODE[each["shown_first"]] for _, each in rows],
            [each["sample"] for _, each in rows],
            [CODE[each["choice"]] for _, each in rows],
            [each["certainty"] for _, each in rows],
            [each["state"] for _, each in rows],
            [1 for _ in rows],
            [
                [float((each["probabilities"] or unknown).get(side, 0)) for side in CHOICES]
                for _, each in rows
            ],
        )
        runs.append(
            RunData(
                run=str(number),
                judge=str(number),
                setting=setting,
                features="all",
                backend=backend,
                snapshots=(),
                orders="",
                samples=1,
                seed=0,
                parameters={"backend": backend},
                prompt=Prompt("", "", ""),
                state="done",
                state_reason="",
                cost=RunMoney(0, 0, None, None, None),
                judgments=Judgments.from_columns(*columns),
            )
        )
    return runs[0] if len(runs) == 1 else jury_run(data, name, runs)
