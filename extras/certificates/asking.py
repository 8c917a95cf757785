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
from analysis.passports import Passport, PassportError
from judging.errors import BadRun, JudgingError
from judging.models import JudgeRun, Judgment
from judging.runs import lifecycle
from judging.runs.judges import keep_exact
from judging.runs.records import changes, reported_versions, run_described
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

    Raises `PassportError` if a judge is missing, its judgments would have to be imported, or it
    cannot be asked the way the passport says.
    """
    return [run_described(study, judge, passport["protocol"]) for judge in passport["judges"]]


def differences(run: JudgeRun, described: Mapping[str, Any], passport: Passport) -> list[str]:
    """Sentences on how a judge or its prompt differ from the certified ones."""
    return changes(run, described, passport["protocol"])


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
