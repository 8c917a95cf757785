"""What a record of a run says of its judge, how it asks and its answers; and such a run again."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from django.db.models import F, QuerySet

from judging.errors import BadRun
from judging.models import SAMPLED, Judge, JudgeRun, Judgment, PromptTemplate
from judging.prompts.asking import Asking, tasks_of
from judging.runs.spec import Reuse, RunSpec
from judging.runs.start import run_for
from studies.models.studies import Study

# A judge and how it is asked: answers are comparable if these are equal.
_OF_JUDGE = (*SAMPLED, "model_options")
_OF_RUN = (
    "setting",
    "features",
    "feature_keys",
    "framing",
    "reading",
    "prompt_language",
    "orders",
    "samples",
)
_NAMES = {
    "backend": "backend",
    "model": "model",
    "temperature": "temperature",
    "top_p": "top_p",
    "max_tokens": "token limit",
    "thinking_tokens": "limit of thinking tokens",
    "structured": "reply form",
    "probabilities": "probability request",
    "model_options": "set of model options",
}
_PORTION = 500


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
        **{name: getattr(run, name) for name in _OF_RUN},
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
    readings: dict[str, list[dict[str, Any]]] = {key: [] for key in keys}
    wanted = sorted(keys)
    for start in range(0, len(wanted), _PORTION):
        rows = (
            Judgment.objects.filter(run=run, item__key__in=wanted[start : start + _PORTION])
            .exclude(state__in=Judgment.OPEN)
            .annotate(item_key=F("item__key"))
            .order_by("item_key", "shown_first", "sample")
        )
        for row in rows:
            readings[row.item_key].append(reading(row, row.sample))
    return readings


def reading(judgment: Judgment, sample: int) -> dict[str, Any]:
    return {
        "shown_first": judgment.shown_first,
        "sample": sample,
        "state": judgment.state,
        "choice": judgment.choice,
        "certainty": judgment.certainty,
        "probabilities": judgment.probabilities if judgment.state == Judgment.State.DONE else None,
    }


def run_described(
    study: Study, described: Mapping[str, Any], protocol: Mapping[str, Any]
) -> JudgeRun:
    """The run of a described judge in a study; a missing one is created, but not stored.

    Raises `BadRun` if there is no such judge, or only imported judgments could answer.
    """
    name = described["name"]
    judge = Judge.objects.filter(name=name).first()
    if judge is None:
        raise BadRun(f"This server has no judge “{name}”. Add it under this name first.")
    rows = JudgeRun.objects.select_related("judge", "study", "wording")
    there = rows.filter(study=study, judge=judge, bias_probe="", probe_first=False)
    alike = [run for run in there.order_by("-pk") if _is_alike(run, protocol)]
    same = [run for run in alike if run.key == described["run"]] or alike
    if same:
        return same[0]
    if described["imported"]:
        raise BadRun(
            f"Study “{study.slug}” has no judgments of “{name}”. The record is about imported "
            "judgments, so import those of this study first."
        )
    return run_for(study, judge, _spec_described(study, protocol, judge))


def _is_alike(run: JudgeRun, protocol: Mapping[str, Any]) -> bool:
    wording = run.wording.sha256 if run.wording else None
    return wording == protocol["wording"] and all(
        getattr(run, name) == protocol[name] for name in _OF_RUN
    )


def _spec_described(study: Study, protocol: Mapping[str, Any], judge: Judge) -> RunSpec:
    wording = None
    if protocol["wording"] is not None:
        same = PromptTemplate.objects.filter(study=study, sha256=protocol["wording"])
        wording = same.order_by("-pk").first()
        if wording is None:
            raise BadRun(
                f"Study “{study.slug}” does not have the wording that the record is about. "
                "Import it first."
            )
    return RunSpec(
        study_id=study.pk,
        judge_id=judge.pk,
        setting=protocol["setting"],
        features=protocol["features"],
        orders=protocol["orders"],
        samples=protocol["samples"],
        framing=protocol["framing"],
        reading=protocol["reading"],
        prompt_language=protocol["prompt_language"],
        wording_id=wording.pk if wording else None,
        reuse=Reuse.IDENTICAL,
    )


def changes(run: JudgeRun, described: Mapping[str, Any], protocol: Mapping[str, Any]) -> list[str]:
    """Sentences on how a judge or its prompt differ from the recorded ones."""
    now = judge_description(run)
    differences = [
        f"The {words} was “{described[name]}” and is “{now[name]}”."
        for name, words in _NAMES.items()
        if now[name] != described[name]
    ]
    of_study = ("persona_style", "show_history")
    hashes = {prompt_hash_now(run), *([run.prompt_hash] if run.pk and run.prompt_hash else [])}
    if hashes != {protocol["prompt_hash"]} or any(
        getattr(run.study, name) != protocol[name] for name in of_study
    ):
        differences.append("The prompt differs from the recorded one.")
    return differences


def new_versions(described: Mapping[str, Any], reported: Sequence[Sequence[str]]) -> list[str]:
    """Sentences on models that a server names now but did not name when it was recorded."""
    known = [list(version) for version in described["versions"]]
    return [
        f"The server now names the model “{model}”"
        f"{f' with the fingerprint “{fingerprint}”' if fingerprint else ''}, which it did not "
        "name before."
        for model, fingerprint in map(list, reported)
        if known and [model, fingerprint] not in known
    ]
