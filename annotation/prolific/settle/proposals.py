"""Our records and Prolific's, with a proposal for each participant. Changes nothing.

Agreement, accuracy and certainty are never used. Flags for pace, side or failed checks mean that a
person must look before approving.
"""

import datetime as dt
import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from statistics import median
from typing import Any

from django.db.models import Count, Max, Q, QuerySet, Sum
from django.db.models.functions import Coalesce

from annotation.content.consent_versions import promised_to, terms_of_versions
from annotation.models import (
    Annotation,
    Annotator,
    Bonus,
    Ending,
    ProlificStudy,
    ProlificSubmission,
)
from annotation.models.annotators import TEST_WALK
from annotation.prolific.api import types
from annotation.prolific.launch.launch_checks import least_screen_out
from annotation.prolific.money import (
    FOR_WORK,
    IN_FULL,
    PARTIAL,
    PROMISED,
    TURNED_AWAY,
    approved_before,
    pro_rata,
)
from annotation.quality import OF_CONDUCT, Flag, quality_of
from annotation.seats import flow
from annotation.seats.flow import codes_of
from annotation.services.identities import is_erased
from studies.extra import Kind
from studies.models import Item, Study
from studies.money import major_units

APPROVE, REVIEW, RETURN, BONUS, WAIT, NONE = "approve", "review", "return", "bonus", "wait", ""


@dataclass(frozen=True)
class FollowUp:
    """A second study on Prolific that brings people back; `name` is the label of its row.

    `finished` are those who have done their part of it here.
    """

    name: str
    finished: Callable[[Study], QuerySet[Annotator]]


FOLLOW_UPS: Kind[FollowUp] = Kind("recruiting", "follow_ups")


@dataclass(frozen=True)
class SettlementPart:
    """What an extra adds to the page where one approves and pays.

    `words` are shown with each submission, by its key. `template` is a part below the tables, with
    `part`, what `context` says of the study.
    """

    name: str
    template: str
    context: Callable[[Study], Mapping[str, Any]]
    words: Callable[[Study], Mapping[int, str]]


PARTS: Kind[SettlementPart] = Kind("recruiting", "settling")


@dataclass(frozen=True)
class Work:
    """An annotator's work in this study."""

    answers: int = 0
    items: int = 0
    minutes: float = 0.0
    has_finished: bool = False

    @property
    def is_whole(self) -> bool:
        """Whether every item is answered; after completion, skipped items count as answered."""
        return self.answers > 0 and (self.has_finished or self.answers >= self.items)


@dataclass(frozen=True)
class SettlementRow:
    """A submission with our data on it, and a proposal with its reason."""

    submission: ProlificSubmission
    annotator: Annotator | None
    work: Work
    action: str
    reason: str
    bonus: int
    bonus_reason: str
    flags: tuple[Flag, ...] = ()
    notes: tuple[Flag, ...] = ()  # flags to know of, which do not change the proposal
    amount: tuple[str, int] = ("", 0)  # the reward that was promised

    @property
    def pseudonym(self) -> str:
        return self.annotator.pseudonym if self.annotator else "–"

    @property
    def approval(self) -> tuple[str, int]:
        """What an approval pays; who was promised more gets the difference as a bonus."""
        row = self.submission.prolific_study
        return (row.paid_in, row.reward) if row.reward else self.amount

    @property
    def reward(self) -> Decimal:
        currency, amount = self.approval
        return major_units(amount, currency)

    @property
    def may_approve(self) -> bool:
        return self.submission.status == types.AWAITING_REVIEW and not is_erased(
            self.submission.submission_id
        )


@dataclass(frozen=True)
class Settlement:
    rows: list[SettlementRow]
    unknown: list[Annotator]


def settlement(study: Study) -> Settlement:
    """Every submission with its proposal, as last read, in a handful of queries."""
    submissions = list(
        ProlificSubmission.objects.filter(prolific_study__study=study)
        .select_related("annotator", "prolific_study")
        .order_by("started_at", "pk")
    )
    work = work_of({s.annotator_id for s in submissions if s.annotator_id})
    codes, agreed = codes_of(study.pk), terms_of_versions(study)
    settled = Bonus.objects.filter(submission__in=submissions, is_open=True, reason=PROMISED)
    got_difference = set(settled.values_list("submission_id", flat=True))
    paid = _with_bonus(submissions)
    best = _best_of_each([s for s in submissions if not s.prolific_study.is_follow_up])
    were_approved = approved_before(submissions)
    quality = _flags_of(study, submissions)
    rows = follow_up_rows(study, [s for s in submissions if s.prolific_study.is_follow_up])
    for submission in submissions:
        if submission.prolific_study.is_follow_up:
            continue
        done = work.get(submission.annotator_id or 0, Work())
        is_other = (
            submission.annotator_id in best and best[submission.annotator_id] != submission.pk
        )
        action, reason = _propose(submission, done, codes, is_other=is_other)
        promise = promised_to(study, submission, agreed)
        version = submission.annotator.consent_version if submission.annotator else ""
        minutes = agreed.get(version, {}).get("minutes") or study.minutes
        amount, why = _bonus(study, submission, done, codes, promise[1], minutes)
        if submission.pk in paid or is_other:
            amount, why = 0, ""
        if submission.pk in paid and action == APPROVE:
            action, reason = REVIEW, "Complete now, but already has a bonus for a part."
        flags = quality.get(submission.annotator_id or 0, ())
        raised = tuple(flag for flag in flags if flag.rule in OF_CONDUCT)
        if raised and action == APPROVE:
            labels = ", ".join(flag.label.lower() for flag in raised)
            action, reason = REVIEW, f"Complete, but flagged ({labels}): look at the answers first."
        if submission.status == types.APPROVED and not is_other:
            paid_now = submission.prolific_study.reward
            missing = 0 if submission.pk in got_difference else promise[1] - paid_now
            amount, why = (missing, PROMISED) if paid_now and missing > 0 else (0, "")
        if submission.pk in were_approved and submission.status != types.APPROVED:
            amount, why = 0, ""
            action = REVIEW if action == APPROVE else action
            reason = APPROVED_BEFORE.format(submission.status.lower())
        if amount and action == NONE:
            action = BONUS
        if is_erased(submission.submission_id):
            action, amount, why = NONE, 0, ""
            reason = "Their id was deleted here, so nothing can be decided from here."
        rows.append(
            SettlementRow(
                submission,
                submission.annotator,
                done,
                action,
                reason,
                amount,
                why,
                raised,
                tuple(flag for flag in flags if flag.rule not in OF_CONDUCT),
                promise,
            )
        )
    known = {submission.annotator_id for submission in submissions}
    unknown = list(
        Annotator.objects.filter(study=study, prolific_identity__isnull=False)
        .exclude(pk__in=[pk for pk in known if pk])
        .exclude(exclusion_reason=TEST_WALK)
        .order_by("pk")
    )
    return Settlement(rows, unknown)


SORTS: dict[str, Callable[[SettlementRow], Any]] = {
    "annotator": lambda row: row.pseudonym,
    "answers": lambda row: row.work.answers,
    "time": lambda row: row.work.minutes,
    "bonus": lambda row: row.bonus,
    "flags": lambda row: len(row.flags) + len(row.notes),
}


def sorted_rows(rows: Sequence[SettlementRow], sort: str) -> list[SettlementRow]:
    """Rows by a key of `SORTS`, downwards after a minus; as they are for any other text."""
    key = SORTS.get(sort.removeprefix("-"))
    return sorted(rows, key=key, reverse=sort.startswith("-")) if key else list(rows)


def filtered_rows(rows: Iterable[SettlementRow], *, search: str, flag: str) -> list[SettlementRow]:
    """Rows whose pseudonym contains `search`, with a flag of this rule, “any” or “none”."""
    fitting = []
    for row in rows:
        rules = {flag_or_note.rule for flag_or_note in (*row.flags, *row.notes)}
        fits = {"": True, "any": bool(rules), "none": not rules}.get(flag, flag in rules)
        if fits and search.lower() in row.pseudonym.lower():
            fitting.append(row)
    return fitting


APPROVED_BEFORE = (
    "Prolific showed this as approved earlier, and as {} now. Look on Prolific whether the reward "
    "was paid. If it was not, pay it there as a bonus."
)


def follow_up_rows(study: Study, submissions: Sequence[ProlificSubmission]) -> list[SettlementRow]:
    """The submissions of those who came back: approve who has finished that part here."""
    done = {
        (follow_up.name, pk)
        for follow_up in (FOLLOW_UPS if submissions else ())
        for pk in follow_up.finished(study).values_list("pk", flat=True)
    }
    rows = []
    for one in submissions:
        has_finished = (one.prolific_study.label, one.annotator_id) in done
        action, reason = NONE, ""
        if one.status == types.AWAITING_REVIEW:
            action, reason = RETURN, f"Not finished here: {one.prolific_study.label}."
            if has_finished:
                action, reason = APPROVE, f"Complete here: {one.prolific_study.label}."
        elif one.status in (types.ACTIVE, types.RESERVED):
            action, reason = WAIT, f"In progress: {one.prolific_study.label}."
        work = Work(has_finished=has_finished)
        amount = (one.prolific_study.paid_in, one.prolific_study.reward)
        rows.append(SettlementRow(one, one.annotator, work, action, reason, 0, "", amount=amount))
    return rows


def _flags_of(
    study: Study, submissions: Sequence[ProlificSubmission]
) -> dict[int, tuple[Flag, ...]]:
    """The flags of those who await a decision."""
    waiting = {s.annotator_id for s in submissions if s.status == types.AWAITING_REVIEW}
    quality = quality_of(study, [pk for pk in waiting if pk])
    return {pk: figures.flags for pk, figures in quality.items()}


def work_of(annotator_ids: Iterable[int | None]) -> dict[int, Work]:
    """What each of them did, of the items that they were asked about.

    An item that was taken out before they answered it is not part of their work.
    """
    ids = [pk for pk in annotator_ids if pk]
    asked = Q(assignments__annotation__isnull=False)
    asked |= ~Q(assignments__item__split=Item.Split.LEFT_OUT)
    items = dict(
        Annotator.objects.filter(pk__in=ids)
        .values_list("pk")
        .annotate(n=Count("assignments", filter=asked))
    )
    counts = (
        Annotation.objects.filter(assignment__annotator__in=ids)
        .values_list("assignment__annotator", "assignment__annotator__started_at")
        .annotate(
            n=Count("pk"), ms=Sum(Coalesce("active_ms", "elapsed_ms")), last=Max("answered_at")
        )
    )
    answers = {pk: (n, _minutes(ms or 0, began, last)) for pk, began, n, ms, last in counts}
    done = flow.finished(ids)
    return {
        pk: Work(number, count, minutes, has_finished=pk in done)
        for pk, count in items.items()
        for number, minutes in [answers.get(pk, (0, 0.0))]
    }


def _minutes(milliseconds: int, began: dt.datetime | None, last: dt.datetime) -> float:
    """The sum of the times, at most the time from the first item to the last answer.

    The server's clock limits each of them, but pages open at the same time overlap.
    """
    passed = (last - began).total_seconds() / 60 if began else 0.0
    return min(milliseconds / 60_000, max(0.0, passed))


def _with_bonus(submissions: Sequence[ProlificSubmission]) -> set[int]:
    """The annotators with a pending or paid bonus for their work."""
    lines = Bonus.objects.filter(submission__in=submissions, is_open=True, reason__in=FOR_WORK)
    return {line.submission_id for line in lines if line.submission_id is not None}


def _best_of_each(submissions: Sequence[ProlificSubmission]) -> dict[int | None, int]:
    """For participants with several submissions, the one to pay: the first that can be paid."""
    several: defaultdict[int | None, list[ProlificSubmission]] = defaultdict(list)
    for submission in submissions:
        if submission.annotator_id:
            several[submission.annotator_id].append(submission)
    rank = {types.APPROVED: 0, types.AWAITING_REVIEW: 1, types.ACTIVE: 2}
    return {
        annotator_id: min(submissions_of, key=lambda s: (rank.get(s.status, 3), s.pk)).pk
        for annotator_id, submissions_of in several.items()
        if len(submissions_of) > 1
    }


def _propose(
    submission: ProlificSubmission, work: Work, codes: dict[Ending, str], *, is_other: bool
) -> tuple[str, str]:
    status, annotator = submission.status, submission.annotator
    if status == types.AWAITING_REVIEW:
        if is_other:
            return REVIEW, "A second submission of the same person. The other one is paid."
        return _propose_review(submission, annotator, work, codes)
    if status in (types.ACTIVE, types.RESERVED):
        if work.is_whole:
            return WAIT, "Complete here. They have not returned to Prolific yet."
        return WAIT, "In progress."
    if status == types.TIMED_OUT and work.is_whole:
        return NONE, "Complete here, but timed out on Prolific. The place was filled again."
    if status in (types.TIMED_OUT, types.RETURNED) and work.answers:
        return NONE, f"{status.capitalize()} with {work.answers} answers."
    return NONE, ""


def _propose_review(
    submission: ProlificSubmission,
    annotator: Annotator | None,
    work: Work,
    codes: dict[Ending, str],
) -> tuple[str, str]:
    ours = _ending(submission, codes)
    if annotator is not None and annotator.state == Annotator.State.WITHDREW:
        if work.has_finished:
            return APPROVE, "Finished, then withdrew. The pay does not change."
        return RETURN, "Withdrew their answers."
    if work.is_whole:
        if annotator is not None and annotator.failed_attention:
            return REVIEW, "Complete, but failed attention checks. Look at the answers first."
        if ours is None:
            return APPROVE, "Complete here, but returned without one of our codes."
        return APPROVE, "Complete here."
    if work.answers:
        return (
            RETURN,
            f"{work.answers} of {work.items} answers. Ask for a return, and pay for this part.",
        )
    if ours in (Ending.COMPLETED, Ending.FAILED_ATTENTION):
        return REVIEW, "Completion code without any answer here."
    if ours in _SCREENED:
        return RETURN, "Turned away here. Pay for the time, and ask for a return."
    if ours is not None:
        return RETURN, f"Ended early: {ours.label}."
    return RETURN, "No answer, and no code of ours."


_SCREENED = (Ending.INELIGIBLE, Ending.QUOTA_FULL)


def _ending(submission: ProlificSubmission, codes: dict[Ending, str]) -> Ending | None:
    """The ending whose code was entered."""
    entered = submission.code.strip().upper()
    return next((ending for ending, code in codes.items() if code == entered), None)


def _bonus(
    study: Study,
    submission: ProlificSubmission,
    work: Work,
    codes: dict[Ending, str],
    reward: int,
    minutes: int,
) -> tuple[int, str]:
    """The value of work that no approval pays, and the reason.

    A share of the `reward` that they were promised: of items, or of the `minutes` stated to them,
    whichever is larger. Somebody who was turned away gets the platform's minimum for that, or a
    minute's pay if that is more.
    """
    lost = submission.status in (types.TIMED_OUT, types.RETURNED)
    if lost or submission.status == types.AWAITING_REVIEW:
        if not work.answers and _ending(submission, codes) in _SCREENED:
            return max(least_screen_out(study), math.ceil(reward / minutes)), TURNED_AWAY
    partial = submission.status == types.AWAITING_REVIEW and not work.is_whole
    annotator = submission.annotator
    withdrew = annotator is not None and annotator.state == Annotator.State.WITHDREW
    withdrew = withdrew and not work.has_finished
    if not (lost or partial) or not work.answers or withdrew:
        return 0, ""
    shares = [
        Decimal(1) if work.is_whole else Decimal(work.answers) / work.items,
        Decimal(round(work.minutes * 60)) / (60 * minutes),
    ]
    return pro_rata(reward=reward, shares=shares), IN_FULL if work.is_whole else PARTIAL


def totals(study: Study) -> Counter[str]:
    """The number of submissions of each status, as last read."""
    rows = ProlificStudy.objects.filter(study=study).values_list("submissions__status")
    return Counter(
        {status: n for status, n in rows.annotate(n=Count("submissions")) if status is not None}
    )


@dataclass(frozen=True)
class Pace:
    """Participants' time by Prolific's clock, and their hourly pay in minor units."""

    people: int
    minutes: float
    per_hour: float


def pace_of(study: Study) -> Pace | None:
    """The median pace of annotators who completed; None before anyone has."""
    came_back = ProlificSubmission.objects.filter(
        prolific_study__study=study,
        prolific_study__is_follow_up=False,
        status__in=[types.AWAITING_REVIEW, types.APPROVED],
        started_at__isnull=False,
        completed_at__isnull=False,
        annotator__state=Annotator.State.COMPLETED,
    ).values_list("started_at", "completed_at", "prolific_study__reward")
    minutes = [
        ((end - start).total_seconds() / 60, reward)
        for start, end, reward in came_back
        if start and end and end > start
    ]
    if not minutes:
        return None
    spent = median(spent for spent, _ in minutes)
    return Pace(len(minutes), spent, median(reward for _, reward in minutes) / spent * 60)
