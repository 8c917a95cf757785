"""Find, continue and repeat runs of a passport's judge in a study.

Repeated answers are anchors: they cost money and count nowhere else.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Max, QuerySet

from analysis.data.arrays import Dataset, RunData
from analysis.data.juries import jury_run
from extras.certificates.facts import (
    OF_RUN,
    judge_description,
    prompt_hash_now,
    reported_versions,
)
from extras.certificates.passports import NoSuchJudge, Passport, PassportError
from judging.errors import BadRun, JudgingError
from judging.models import Judge, JudgeRun, Judgment, PromptTemplate
from judging.runs import lifecycle
from judging.runs.judges import keep_exact
from judging.runs.spec import Reuse, RunSpec
from judging.runs.start import run_for
from judging.tasks import call_workers
from judging.worker import runtime
from judging.worker.endpoints import backend_maker, check_sharing
from studies.models.studies import Study
from studies.services.studies import lock_study, record
from studies.statements import clock

AGAIN = Judgment.Anchor.AGAIN
_IMPORTED = (
    "The judgments of “{judge}” were imported, so it cannot be asked again. Import new judgments "
    "of the same items under another name, and compare with those."
)
_UNFINISHED = (
    "Run {run} has unanswered questions of its own, which would be asked too. "
    "Continue or cancel it first."
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


@dataclass(frozen=True)
class Round:
    """Questions of a run that were repeated together; `number` starts at 1."""

    run: JudgeRun
    number: int

    @property
    def judgments(self) -> QuerySet[Judgment]:
        return _of_round(self.run, self.number)

    def sample_of(self, judgment: Judgment) -> int:
        """The sample of the run that a judgment repeats."""
        return (judgment.sample - 1) % self.run.samples + 1


@contextmanager
def in_words() -> Iterator[None]:
    """Re-raise judging errors as passport errors with the same message."""
    try:
        yield
    except JudgingError as error:
        raise PassportError(str(error)) from error


@in_words()
def runs_in(study: Study, passport: Passport) -> list[JudgeRun]:
    """The runs of the passport's judges in a study; missing ones are created, but not stored.

    Raises `NoSuchJudge` if a judge is missing or its judgments would have to be imported,
    and `PassportError` if it cannot be asked the way the passport says.
    """
    return [_run_in(study, passport, each) for each in passport["judges"]]


def _run_in(study: Study, passport: Passport, described: Mapping[str, Any]) -> JudgeRun:
    name, protocol = described["name"], passport["protocol"]
    judge = Judge.objects.filter(name=name).first()
    if judge is None:
        raise NoSuchJudge(f"This server has no judge “{name}”. Add it under this name first.")
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
        getattr(run, name) == protocol[name] for name in OF_RUN
    )


def spec_in(study: Study, passport: Passport, judge: Judge) -> RunSpec:
    """The run specification that the passport describes. Raises `NoSuchJudge`."""
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
        found.append("The prompt differs from the certified one.")
    return found


def new_versions(described: Mapping[str, Any], reported: Sequence[Sequence[str]]) -> list[str]:
    """Sentences on models that a server names now but did not name when the judge was certified."""
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


def together(data: Dataset, passport: Passport, members: Sequence[RunData]) -> RunData:
    """The combined runs of a jury, or the one run of a single judge."""
    return jury_run(data, passport["jury"], members) if passport["jury"] else members[0]


@dataclass(frozen=True)
class Missing:
    """Questions that a judge has not answered, and the options of `judge` that ask them."""

    judge: str
    items: int
    options: Mapping[str, Any]


def missing_in(study: Study, passport: Passport, items: int) -> list[Missing]:
    """What a passport's judges have not answered in a study, except imported judges."""
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


@transaction.atomic
def ask_again(
    run: JudgeRun,
    questions: Iterable[tuple[int, str, int]],
    *,
    enqueue: bool = True,
    user: User | None = None,
) -> Round:
    """Start a round of questions, each an item's id, the response shown first and the sample.

    An incomplete round is continued, so that no answer is paid for twice. An unstored `run` has no
    other questions. Raises `BadRun` or `BadJudge`.
    """
    if run.is_imported:
        raise BadRun(_IMPORTED.format(judge=run.judge.name))
    study = lock_study(run.study_id)
    keep_exact(run.judge)
    backend_maker(run.judge)
    check_sharing(study, run.judge)
    if run.pk is None:
        run.save()
    open_there = Judgment.objects.filter(run=run, state__in=Judgment.OPEN)
    if not run.is_active and open_there.exists():
        raise BadRun(_UNFINISHED.format(run=run.public_id))
    number = _number_of(run)
    before = (number - 1) * run.samples
    there = set(_of_round(run, number).values_list("item_id", "shown_first", "sample"))
    wanted = {(item, first, before + sample) for item, first, sample in questions}
    Judgment.everything.bulk_create(
        Judgment(run=run, item_id=item, shown_first=first, sample=sample, anchor=AGAIN)
        for item, first, sample in sorted(wanted - there)
    )
    _of_round(run, number).filter(state=Judgment.State.ERROR).update(
        state=Judgment.State.PENDING, error=""
    )
    _wake(run)
    record(study, "judge run asked again", user=user, run=run.public_id, judgments=len(wanted))
    if enqueue:
        call_workers(run)
    return Round(run, number)


def _number_of(run: JudgeRun) -> int:
    """The number of the round to ask: the last one, or the next if the last is complete."""
    last = Judgment.everything.filter(run=run, anchor=AGAIN).aggregate(last=Max("sample"))["last"]
    number: int = -(-(last or 0) // run.samples)
    left = (*Judgment.OPEN, Judgment.State.ERROR)
    is_complete = number == 0 or not _of_round(run, number).filter(state__in=left).exists()
    return number + 1 if is_complete else number


def _of_round(run: JudgeRun, number: int) -> QuerySet[Judgment]:
    last = number * run.samples
    samples = (last - run.samples + 1, last)
    return Judgment.everything.filter(run=run, anchor=AGAIN, sample__range=samples)


def _wake(run: JudgeRun) -> None:
    """Queue an ended run; not as a batch, because the caller waits for the answers."""
    same = JudgeRun.objects.filter(pk=run.pk)
    same.exclude(state=JudgeRun.State.RUNNING).update(
        state=JudgeRun.State.QUEUED,
        sentence="",
        ended_at=None,
        by_batch=False,
        touched_at=clock.now(),
    )
    run.refresh_from_db(fields=["state", "sentence", "by_batch"])


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
        asked = ask_again(run, questions, enqueue=not inline)
        if inline:
            try:
                lifecycle.work_off(run_id=asked.run.pk)
            finally:
                runtime.shut_down()
        else:
            wait(asked.run)
        rounds.append(asked)
    return rounds
