"""Facts about runs and items that a passport records, and how to find them again."""

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from django.db.models import F, QuerySet

from analysis.data.arrays import CHOICES, CODE, Dataset, Judgments, Prompt, RunData, RunMoney
from analysis.data.juries import jury_run
from judging.models import SAMPLED, JudgeRun, Judgment
from judging.prompts.asking import Asking, tasks_of
from studies.models import Study

# A judge and how it is asked: answers are comparable if these are equal.
_OF_JUDGE = (*SAMPLED, "model_options")
OF_RUN = (
    "setting",
    "features",
    "feature_keys",
    "framing",
    "reading",
    "prompt_language",
    "orders",
    "samples",
)
_PORTION = 500


def runs_behind(study: Study, run: RunData) -> list[JudgeRun]:
    """The stored runs of a judge, in order: one, or those of a jury."""
    keys = run.parameters["runs"] if run.is_jury else [run.run]
    rows = JudgeRun.objects.select_related("judge", "study", "wording")
    found = {row.key: row for row in rows.filter(study=study, key__in=keys)}
    return [found[key] for key in keys]


def judge_description(run: JudgeRun) -> dict[str, Any]:
    """The properties of a run's judge that its answers depend on."""
    return {
        "name": run.judge.name,
        **{name: getattr(run.judge, name) for name in _OF_JUDGE},
        "imported": run.is_imported,
    }


def protocol_description(run: JudgeRun) -> dict[str, Any]:
    """How a run asks; `prompt_hash` belongs to the words it started with."""
    wording = run.wording
    return {
        **{name: getattr(run, name) for name in OF_RUN},
        "wording": None if wording is None else wording.sha256,
        "persona_style": run.study.persona_style,
        "show_history": run.study.show_history,
        "prompt_hash": run.prompt_hash,
    }


def prompt_hash_now(run: JudgeRun) -> str:
    """The hash of the words of a run; empty for imported judgments, whose words are unknown."""
    return "" if run.is_imported else Asking.of(run).sha256(tasks_of(run.study))


def reported_versions(runs: Collection[JudgeRun], rows: QuerySet[Judgment] | None = None) -> Any:
    """The models and fingerprints that servers named for answers of runs, sorted."""
    rows = Judgment.objects.filter(run__in=runs) if rows is None else rows
    named = rows.exclude(model_snapshot="", fingerprint="").order_by()
    return sorted(map(list, named.values_list("model_snapshot", "fingerprint").distinct()))


def readings_of(run: JudgeRun, keys: Collection[str]) -> dict[str, list[dict[str, Any]]]:
    """The answers of a run to some items, by item key."""
    found: dict[str, list[dict[str, Any]]] = {key: [] for key in keys}
    wanted = sorted(keys)
    for start in range(0, len(wanted), _PORTION):
        rows = (
            Judgment.objects.filter(run=run, item__key__in=wanted[start : start + _PORTION])
            .exclude(state__in=Judgment.OPEN)
            .annotate(item_key=F("item__key"))
            .order_by("item_key", "shown_first", "sample")
        )
        for row in rows:
            found[row.item_key].append(reading(row, row.sample))
    return found


def answers_of_rounds(
    judgments: QuerySet[Judgment], sample_of: Callable[[Judgment], int]
) -> dict[str, list[dict[str, Any]]]:
    """The readings of repeated anchors, by item key."""
    found: dict[str, list[dict[str, Any]]] = {}
    rows = judgments.exclude(state__in=Judgment.OPEN).annotate(item_key=F("item__key"))
    for row in rows.order_by("item_key", "shown_first", "sample"):
        found.setdefault(row.item_key, []).append(reading(row, sample_of(row)))
    return found


def reading(judgment: Judgment, sample: int) -> dict[str, Any]:
    return {
        "shown_first": judgment.shown_first,
        "sample": sample,
        "state": judgment.state,
        "choice": judgment.choice,
        "certainty": judgment.certainty,
        "probabilities": judgment.probabilities if judgment.state == Judgment.State.DONE else None,
    }


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
