"""Runs of a passport's judge in a study: found, continued, and asked again."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from analysis.data.arrays import Dataset, Run
from analysis.data.judges.juries import jury_run
from analysis.data.judges.passport_facts import (
    judge_description,
    prompt_hash_now,
    reported_versions,
)
from analysis.errors import NoSuchJudge, PassportError
from analysis.passports.document import Passport
from judging.errors import JudgingError
from judging.models import Judge, JudgeRun, Judgment, PromptTemplate
from judging.runs import lifecycle, rechecks
from judging.runs.rechecks import Round
from judging.runs.rows.extension import run_for
from judging.runs.rows.spec import Reuse, RunSpec
from judging.worker import runtime
from studies.models.studies import Study

_ALIKE = (
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
    "backend": "way to reach the model",
    "model": "model",
    "temperature": "temperature",
    "top_p": "top_p",
    "max_tokens": "largest number of tokens",
    "thinking_tokens": "number of tokens for thinking",
    "structured": "form of the reply",
    "probabilities": "request for probabilities",
    "model_options": "options of the model",
}


@contextmanager
def in_words() -> Iterator[None]:
    """Raise errors of judging as errors of passports, with the same words."""
    try:
        yield
    except JudgingError as error:
        raise PassportError(str(error)) from error


@in_words()
def runs_in(study: Study, passport: Passport) -> list[JudgeRun]:
    """The runs of the passport's judges in a study; new, unstored ones where there is none.

    Raises `NoSuchJudge` if a judge is not there, or if its judgments would have to be imported,
    and `PassportError` if it cannot be asked as the passport says.
    """
    return [_run_in(study, passport, each) for each in passport["judges"]]


def _run_in(study: Study, passport: Passport, described: Mapping[str, Any]) -> JudgeRun:
    name, protocol = described["name"], passport["protocol"]
    judge = Judge.objects.filter(name=name).first()
    if judge is None:
        raise NoSuchJudge(f"There is no judge “{name}” here. Add it under this name first.")
    rows = JudgeRun.objects.select_related("judge", "study", "wording")
    there = rows.filter(study=study, judge=judge, bias_probe="", probe_first=False)
    alike = [run for run in there.order_by("-pk") if _is_alike(run, protocol)]
    same = [run for run in alike if run.key == described["run"]] or alike
    if same:
        return same[0]
    if described["imported"]:
        raise NoSuchJudge(
            f"Study “{study.slug}” has no judgments of “{name}”. The passport is about imported "
            "judgments, so import those of this study first."
        )
    return run_for(study, judge, spec_in(study, passport, judge))


def _is_alike(run: JudgeRun, protocol: Mapping[str, Any]) -> bool:
    wording = run.wording.sha256 if run.wording else None
    return wording == protocol["wording"] and all(
        getattr(run, name) == protocol[name] for name in _ALIKE
    )


def spec_in(study: Study, passport: Passport, judge: Judge) -> RunSpec:
    """The description of a run of a judge as the passport says. Raises `NoSuchJudge`."""
    protocol, wording = passport["protocol"], None
    if protocol["wording"] is not None:
        found = PromptTemplate.objects.filter(study=study, sha256=protocol["wording"])
        wording = found.order_by("-pk").first()
        if wording is None:
            raise NoSuchJudge(
                f"Study “{study.slug}” does not have the wording that the passport is about. "
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


def changes(run: JudgeRun, passport: Passport) -> list[str]:
    """Sentences on how a judge or its prompt differ from the certified ones."""
    described = next(each for each in passport["judges"] if each["name"] == run.judge.name)
    now, found = judge_description(run), []
    for name, words in _NAMES.items():
        if now[name] != described[name]:
            found.append(f"The {words} was “{described[name]}” and is “{now[name]}”.")
    protocol = passport["protocol"]
    of_study = ("persona_style", "show_history")
    hashes = {prompt_hash_now(run), *([run.prompt_hash] if run.pk and run.prompt_hash else [])}
    if hashes != {protocol["prompt_hash"]} or any(
        getattr(run.study, name) != protocol[name] for name in of_study
    ):
        found.append("The prompt is not the one that was certified.")
    return found


def new_versions(described: Mapping[str, Any], reported: Sequence[Sequence[str]]) -> list[str]:
    """Sentences on models that a server names now and did not when the judge was certified."""
    known = [list(each) for each in described["versions"]]
    return [
        f"The server now names the model “{model}”"
        f"{f' with the fingerprint “{fingerprint}”' if fingerprint else ''}, which it did not "
        "name when the judge was certified."
        for model, fingerprint in map(list, reported)
        if known and [model, fingerprint] not in known
    ]


def versions_in(run: JudgeRun) -> Any:
    return reported_versions([run]) if run.pk else []


def versions_of_rounds(asked: Round) -> Any:
    return reported_versions([], asked.judgments)


def runs_of(study: Study, keys: Collection[str]) -> list[JudgeRun]:
    """The stored runs of a study with these keys."""
    return list(JudgeRun.objects.select_related("judge").filter(study=study, key__in=keys))


def together(data: Dataset, passport: Passport, members: Sequence[Run]) -> Run:
    """The runs of a jury as one; that of a single judge as it is."""
    return jury_run(data, passport["jury"], members) if passport["jury"] else members[0]


@dataclass(frozen=True)
class Missing:
    """Questions that a judge has not answered, and the options of `judge` that ask them."""

    judge: str
    items: int
    options: Mapping[str, Any]


def missing_in(study: Study, passport: Passport, items: int) -> list[Missing]:
    """What the judges of a passport have not answered in a study; imported ones are not asked."""
    found = []
    for run in runs_in(study, passport):
        count = 0 if run.is_imported else _unanswered(run, items)
        if count:
            found.append(Missing(run.judge.name, count, _options(run)))
    return found


def _options(run: JudgeRun) -> dict[str, Any]:
    return {
        "judge": run.judge.name,
        "setting": run.setting,
        "features": run.features,
        "orders": run.orders,
        "samples": run.samples,
        "seed": run.seed,
        "framing": run.framing,
        "reading": run.reading,
        "language": run.prompt_language,
        "anchors": run.anchors,
        "wording": f"{run.wording.name}@{run.wording.version}" if run.wording else "",
    }


def _unanswered(run: JudgeRun, items: int) -> int:
    if run.pk is None:
        return items
    rows = Judgment.objects.filter(run=run)
    waiting = rows.filter(state__in=(*Judgment.OPEN, Judgment.State.ERROR))
    asked = rows.order_by().values("item").distinct().count()
    return items - asked + waiting.order_by().values("item").distinct().count()


@in_words()
def answers_again(
    study: Study,
    passport: Passport,
    items: Mapping[str, tuple[str, int]],
    *,
    inline: bool,
    wait: Callable[[JudgeRun], None],
) -> list[Round]:
    """Ask every judge of the passport about its anchors again, and wait for the answers.

    `items` are the keys and ids of the items by the anchors' content; `wait` waits for the
    workers. Raises `PassportError`.
    """
    rounds = []
    for number, run in enumerate(runs_in(study, passport)):
        questions = [
            (items[anchor["content_hash"]][1], reading["shown_first"], reading["sample"])
            for anchor in passport["anchors"]
            if anchor["content_hash"] in items
            for reading in anchor["readings"][number]
        ]
        asked = rechecks.ask_again(run, questions, enqueue=not inline)
        if inline:
            try:
                lifecycle.work_off(run_id=asked.run.pk)
            finally:
                runtime.shut_down()
        else:
            wait(asked.run)
        rounds.append(asked)
    return rounds
