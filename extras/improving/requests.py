"""Requests for improvements: what they need, what they cost; loads no statistics before a press."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal

from django.contrib.auth.models import User
from django.db import transaction

from analysis.data.item_comparisons import labelled, runs_to_compare
from extras.improving.models import FOLDS, LEARN, SEALED, Improvement, LearnedFrom
from extras.improving.parts import ItemInPart, chosen_to_judge, hash_of, of_part, split
from extras.improving.prompts import CASES, EXAMPLES, PROMPT_SHA256
from judging.models import Campaign, Judge, JudgeRun
from judging.prompts.asking import tasks_of_items
from judging.protocols.registry import protocol
from judging.runs.costs import RunUsage, duration, usage_of
from judging.worker.endpoints import check_sharing
from judging.worker.job_requests import judges_named, judges_that_write
from studies.errors import StudyError
from studies.jobs.retry import start_over
from studies.models import Study
from studies.services.studies import lock_study, record

ALONE = tuple(kind.value for kind in LearnedFrom if kind != LearnedFrom.TOGETHER)
# Rules were measured on the answers of all people, sealed ones too; fields are of personas.
OF_ONE = (LearnedFrom.EXAMPLES.value, LearnedFrom.GUIDELINES.value)
USUAL_MOST, USUAL_ITEMS, USUAL_SHARE, USUAL_GAIN = 3, 200, 50, 10
MOST_TRIED, FEWEST_ITEMS, MOST_ITEMS, MOST_GAIN = 5, 20, 5_000, 40
FEWEST_PERSONAS = 8  # of each part
_STATED_GAINS = (3, 5, 10, 15, 20)
_REPLY_TOKENS, _LETTERS_PER_TOKEN, _USUAL_MS = 250, 4, 2000.0
_CASE_TOKENS = 350  # about, with its texts


@dataclass(frozen=True, kw_only=True)
class ImprovementWish:
    """What is to be improved. `gain` is in points, `share` of the personas in percent.

    With the pseudonym of an `annotator`, only this person's answers count.
    """

    run: JudgeRun
    annotator: str = ""
    writer: Judge | None = None
    kinds: Sequence[str] = ALONE
    most: int = USUAL_MOST
    items: int = USUAL_ITEMS
    share: int = USUAL_SHARE
    gain: int = USUAL_GAIN

    @property
    def units(self) -> str:
        """What is sealed."""
        return "questions" if self.annotator else "personas"

    def check(self) -> None:
        """Raise `StudyError` if a number is out of range or the run cannot be improved."""
        for name, value, low, high in (
            ("number of wordings to try", self.most, 1, MOST_TRIED),
            ("number of items to judge", self.items, FEWEST_ITEMS, MOST_ITEMS),
            ("sealed share in percent", self.share, 20, 80),
            ("gain in points", self.gain, 1, MOST_GAIN),
        ):
            if not low <= value <= high:
                raise StudyError(f"The {name} is {value}. Use {low} to {high:,}.")
        if not self.kinds:
            raise StudyError("Choose what is to be learned: examples, guidelines, rules or fields.")
        if self.annotator and (more := [kind for kind in self.kinds if kind not in OF_ONE]):
            raise StudyError(
                f"From one annotator, a judge learns {' and '.join(OF_ONE)}. Leave out: "
                f"{', '.join(more)}."
            )
        if self.annotator and not self.run.study.annotators.filter(pseudonym=self.annotator):
            raise StudyError(
                f"This study has no annotator “{self.annotator}”. Check the pseudonym."
            )
        if LearnedFrom.GUIDELINES in self.kinds and self.writer is None:
            raise StudyError(
                "Guidelines need a judge that writes them. Choose one, or leave guidelines out."
            )
        if reason := why_not(self.run):
            raise StudyError(reason)


def why_not(run: JudgeRun) -> str:
    """Why a run's wording cannot be improved; empty if it can."""
    if run.is_imported:
        return (
            f"The judgments of “{run.judge.name}” were imported, so other wordings cannot be "
            "asked. Choose a run whose judge this server can ask."
        )
    if run.discusses or protocol(run.setting).shares_requests:
        return f"Runs in the setting “{run.setting}” have no wording of a single item."
    if run.wording is None and len(tasks_of_items(run.study)) > 1:
        return (
            "Items of this study have several tasks, each with its own wording. Judge it with a "
            "wording of the study, and improve that."
        )
    return ""


def improvable_runs(study: Study) -> list[JudgeRun]:
    """Runs in reports whose wording can be improved."""
    return [run for run in runs_to_compare(study) if run.in_report and not why_not(run)]


def run_named(study: Study, name: str) -> JudgeRun:
    """The run with this id or key, the first one without a name. Raises `StudyError`."""
    runs = improvable_runs(study)
    for run in runs:
        if not name or name in (run.public_id, run.key):
            return run
    names = ", ".join(f"{run.public_id} ({label})" for run, label in labelled(runs))
    reasons = (why_not(run) for run in runs_to_compare(study))
    raise StudyError(
        f"No such run. Runs of “{study.slug}” that can be improved: {names or 'none'}. "
        + ("" if names else next(filter(None, reasons), "Judge the study first."))
    )


def wish_of(
    run: JudgeRun,
    *,
    writer: str,
    learn: Sequence[str] | None,
    annotator: str = "",
    **numbers: int,
) -> ImprovementWish:
    """A wish in which the run's own judge writes guidelines, unless another `writer` is named.

    None for `learn`: everything that can be learned. Raises `BadJudge` if the writer cannot write.
    """
    writers = judges_named([writer]) if writer else judges_that_write().filter(pk=run.judge_id)
    judge = next(iter(writers), None)
    usual = OF_ONE if annotator else ALONE
    kinds = [kind for kind in ALONE if kind in (usual if learn is None else learn)]
    if judge is None and learn is None:
        kinds.remove(LearnedFrom.GUIDELINES)
    needs_judge = LearnedFrom.GUIDELINES in kinds
    return ImprovementWish(
        run=run,
        annotator=annotator,
        writer=judge if needs_judge else None,
        kinds=kinds,
        **numbers,
    )


@dataclass(frozen=True)
class ImprovementSize:
    """The two parts, and the gain that a trial on the sealed one finds, as a share."""

    learn: int
    sealed: int
    personas: tuple[int, int]
    findable: float | None
    needed: dict[int, int]

    @property
    def sizes(self) -> str:
        """The items that each gain needs, in words."""
        return ", ".join(f"{gain} points: {n:,}" for gain, n in self.needed.items())


def _size(wish: ImprovementWish, items: Sequence[ItemInPart]) -> ImprovementSize:
    from extras.improving.stats import findable_gain, items_for_gain

    learn, sealed = of_part(items, LEARN), of_part(items, SEALED)
    gains = sorted({*_STATED_GAINS, wish.gain})
    return ImprovementSize(
        learn=len(learn),
        sealed=len(sealed),
        personas=(len({item.persona for item in learn}), len({item.persona for item in sealed})),
        findable=findable_gain(len(sealed), tried=wish.most),
        needed={gain: items_for_gain(gain / 100, tried=wish.most) for gain in gains},
    )


def _check_size(wish: ImprovementWish, size: ImprovementSize) -> None:
    """Raise `StudyError` if a part is too small."""
    if size.learn < FEWEST_ITEMS or min(size.personas) < FEWEST_PERSONAS:
        units, whose = wish.units, f"annotator {wish.annotator}" if wish.annotator else "people"
        raise StudyError(
            f"There are {size.learn:,} items of {size.personas[0]:,} {units} to learn from, and "
            f"{size.sealed:,} of {size.personas[1]:,} {units} to seal, with an answer of {whose} "
            f"and a verdict of this run. Each part needs {FEWEST_PERSONAS} {units}, and the first "
            f"{FEWEST_ITEMS} items."
        )
    if size.sealed < size.needed[wish.gain]:
        findable = (
            f" With these items it finds a gain of {size.findable * 100:.0f} points."
            if size.findable
            else ""
        )
        raise StudyError(
            f"The sealed part has {size.sealed:,} items, which is too small: to find a gain of "
            f"{wish.gain} points in 4 of 5 trials of {wish.most} wording"
            f"{'s' * (wish.most > 1)} it needs about {size.needed[wish.gain]:,}.{findable} Items "
            f"needed: {size.sizes}. Let people answer more items, seal a larger share, try fewer "
            "wordings, or look for a larger gain."
        )


@dataclass(frozen=True)
class ImprovementCost:
    """What an improvement asks at most; dollars are None if a judge has no price."""

    size: ImprovementSize
    guidelines: int
    learning: int
    trial: int
    tokens: int
    dollars: Decimal | None
    time: str
    remarks: tuple[str, ...] = ()
    units: str = "personas"


def estimate_improvement(wish: ImprovementWish) -> ImprovementCost:
    """The most that an improvement costs. Raises `StudyError` if it cannot be requested."""
    wish.check()
    items = split(wish.run, wish.share / 100, wish.annotator)[0]
    size = _size(wish, items)
    _check_size(wish, size)
    run, tried = wish.run, _tried(wish.kinds)
    of_an_item = run.samples * (2 if run.orders == run.Orders.BOTH else 1)
    asked = len(chosen_to_judge(items, wish.items)) * of_an_item * len(tried)
    trial = size.sealed * of_an_item * min(wish.most, len(tried))
    usual = usage_of(run) or RunUsage(_CASE_TOKENS, 10, None)
    longer = RunUsage(
        usual.prompt_tokens + EXAMPLES * _CASE_TOKENS,
        usual.completion_tokens,
        usual.latency_ms or _USUAL_MS,
    )
    parts: list[tuple[Judge, int, RunUsage]] = [(run.judge, asked + trial, longer)]
    guidelines = (FOLDS + 1) * (LearnedFrom.GUIDELINES in wish.kinds)
    if wish.writer is not None and guidelines:
        reply = _REPLY_TOKENS + wish.writer.thinking_tokens
        writing = RunUsage(CASES * _CASE_TOKENS, reply, _USUAL_MS)
        parts.append((wish.writer, guidelines, writing))
    dollars = [usage.dollars(judge, n, by_batch=False) for judge, n, usage in parts]
    seconds = sum(usage.seconds(judge, n) or 0.0 for judge, n, usage in parts)
    return ImprovementCost(
        size,
        guidelines,
        asked,
        trial,
        round(sum(n * usage.tokens for _, n, usage in parts)),
        None if None in dollars else sum(filter(None, dollars), Decimal(0)),
        duration(seconds),
        tuple(filter(None, dict.fromkeys(judge.named_price_remark for judge, *_ in parts))),
        wish.units,
    )


def _tried(kinds: Sequence[str]) -> list[str]:
    """The kinds of wordings that are judged: each alone, and several together."""
    return [*kinds, *([LearnedFrom.TOGETHER.value] if len(kinds) > 1 else [])]


@transaction.atomic
def request_improvement(
    wish: ImprovementWish, *, budget: Decimal | None, user: User | None
) -> Improvement:
    """Split people's answers, and queue the work.

    Raises `StudyError`, and `BadJudge` if the items must not be sent to a judge.
    """
    wish.check()
    run = wish.run
    study = lock_study(run.study_id)
    for judge in filter(None, (run.judge, wish.writer)):
        check_sharing(study, judge)
    if Improvement.objects.filter(study=study, run=run, state__in=Improvement.OPEN).exists():
        raise StudyError(
            "An improvement of this run is in progress. Wait for its end. If its process was "
            "stopped, try again in a minute."
        )
    items, people = split(run, wish.share / 100, wish.annotator)
    _check_size(wish, _size(wish, items))
    sealed = of_part(items, SEALED)
    improvement = Improvement.objects.create(
        study=study,
        run=run,
        annotator=wish.annotator,
        judge=wish.writer,
        judge_name=wish.writer.name if wish.writer else "",
        prompt_sha256=PROMPT_SHA256,
        budget=budget,
        kinds=_tried(wish.kinds),
        most=wish.most,
        gain=wish.gain / 100,
        share=wish.share / 100,
        items=wish.items,
        parts=[list(item) for item in items],
        learn_sha256=hash_of(of_part(items, LEARN), people),
        sealed_sha256=hash_of(sealed, people),
        requested_by=user,
    )
    name = f"improvement {improvement.public_id}"
    improvement.campaign = Campaign.objects.create(study=study, name=name, plan={}, budget=budget)
    improvement.save(update_fields=["campaign"])
    record(
        study,
        "people's answers split",
        user=user,
        run=run.key,
        sealed=len(sealed),
        sealed_sha256=improvement.sealed_sha256,
    )
    return improvement


@transaction.atomic
def request_again(improvement: Improvement, *, budget: Decimal | None) -> bool:
    """Continue an improvement that ended early; what has a reply is not asked again.

    Returns False if it is in progress or done.
    """
    lock_study(improvement.study_id)
    improvement.refresh_from_db()
    if improvement.state != Improvement.State.FAILED:
        return False
    Improvement.objects.filter(pk=improvement.pk).update(budget=budget)
    return start_over(improvement)


def needed(study: Study) -> Iterator[str]:
    """What has to end before the extra can be turned off."""
    if Improvement.objects.filter(study=study, state__in=Improvement.OPEN).exists():
        yield "An improvement of a judge is in progress. Wait for its end."
