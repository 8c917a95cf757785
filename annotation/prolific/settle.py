"""Our records beside Prolific's, what to do about each person, and doing it.

Nothing here rejects anybody by itself, and agreement, accuracy and certainty are never looked at.
"""

import datetime as dt
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from statistics import fmean, stdev

from django.contrib.auth.models import User
from django.db.models import Count, Sum
from django.db.models.functions import Coalesce
from django.utils import timezone

from annotation.codes import codes_of
from annotation.models import (
    Annotation,
    Annotator,
    AnnotatorEvent,
    Bonus,
    Ending,
    ProlificStudy,
    ProlificSubmission,
)
from annotation.prolific import types
from annotation.prolific.account import connect
from annotation.prolific.bonuses import pro_rata
from annotation.prolific.client import MAX_BULK_APPROVE
from annotation.prolific.demographics import mismatch
from annotation.prolific.errors import NotAllowed, ProlificError
from annotation.prolific.sync import apply, follow
from studies.models import Study
from studies.services import record

LEAST_MESSAGE = 100
PARTIAL, IN_FULL = "partial work", "complete work after the place was gone"

# The platform's grounds. Disagreement, accuracy and certainty are none.
GROUNDS = {
    "TOO_QUICKLY": "Exceptionally fast: three standard deviations below the mean",
    "FAILED_CHECK": "Failed the attention checks",
    "LOW_EFFORT": "Clear low effort, seen by you in the answers",
    "NO_DATA": "A code without any answer",
}
APPROVE, REVIEW, RETURN, BONUS, WAIT, NONE = "approve", "review", "return", "bonus", "wait", ""


@dataclass(frozen=True)
class Work:
    """What somebody did here."""

    answers: int = 0
    items: int = 0
    minutes: float = 0.0

    @property
    def is_whole(self) -> bool:
        return 0 < self.items <= self.answers


@dataclass(frozen=True)
class Row:
    """One submission with our side of it, and the proposal with its reason."""

    submission: ProlificSubmission
    annotator: Annotator | None
    work: Work
    action: str
    reason: str
    bonus: int
    bonus_reason: str
    mismatch: str

    @property
    def pseudonym(self) -> str:
        return self.annotator.pseudonym if self.annotator else "–"

    @property
    def may_approve(self) -> bool:
        return self.submission.status == types.AWAITING_REVIEW


@dataclass(frozen=True)
class Settlement:
    rows: list[Row]
    unknown: list[Annotator]

    def proposing(self, action: str) -> list[Row]:
        return [row for row in self.rows if row.action == action]


def settlement(study: Study) -> Settlement:
    """Every submission with its proposal, from what was last read; a handful of queries."""
    submissions = list(
        ProlificSubmission.objects.filter(prolific_study__study=study)
        .select_related("annotator", "prolific_study")
        .order_by("started_at", "pk")
    )
    work = _work({s.annotator_id for s in submissions if s.annotator_id})
    codes = codes_of(study.pk)
    paid = _with_bonus(submissions)
    best = _best_of_each(submissions)
    questions = list(study.demographic_questions.all())
    rows = []
    for submission in submissions:
        done = work.get(submission.annotator_id or 0, Work())
        is_other = (
            submission.annotator_id in best and best[submission.annotator_id] != submission.pk
        )
        action, reason = _propose(submission, done, codes, is_other=is_other)
        amount, why = _bonus(study, submission, done)
        if submission.pk in paid or is_other:
            amount, why = 0, ""
        if amount and action == NONE:
            action = BONUS
        rows.append(
            Row(
                submission, submission.annotator, done, action, reason, amount, why,
                mismatch(submission, questions),
            )
        )  # fmt: skip
    known = {submission.annotator_id for submission in submissions}
    unknown = list(
        Annotator.objects.filter(study=study, prolific_identity__isnull=False)
        .exclude(pk__in=[pk for pk in known if pk])
        .order_by("pk")
    )
    return Settlement(rows, unknown)


def _work(annotator_ids: Iterable[int | None]) -> dict[int, Work]:
    ids = [pk for pk in annotator_ids if pk]
    items = dict(
        Annotator.objects.filter(pk__in=ids).values_list("pk").annotate(n=Count("assignments"))
    )
    answers = (
        Annotation.objects.filter(assignment__annotator__in=ids)
        .values_list("assignment__annotator")
        .annotate(n=Count("pk"), spent=Sum(Coalesce("active_ms", "elapsed_ms")))
    )
    done = {pk: (n, spent or 0) for pk, n, spent in answers}
    return {
        pk: Work(done.get(pk, (0, 0))[0], count, done.get(pk, (0, 0))[1] / 60_000)
        for pk, count in items.items()
    }


def _with_bonus(submissions: Sequence[ProlificSubmission]) -> set[int]:
    """Who has a bonus under way or paid for their work."""
    lines = Bonus.objects.filter(
        submission__in=submissions, is_open=True, reason__in=[PARTIAL, IN_FULL]
    )
    return {line.submission_id for line in lines if line.submission_id is not None}


def _best_of_each(submissions: Sequence[ProlificSubmission]) -> dict[int | None, int]:
    """For people with several submissions, the one that is to be paid: the first that may be."""
    several: defaultdict[int | None, list[ProlificSubmission]] = defaultdict(list)
    for submission in submissions:
        if submission.annotator_id:
            several[submission.annotator_id].append(submission)
    rank = {types.APPROVED: 0, types.AWAITING_REVIEW: 1, types.ACTIVE: 2}
    return {
        annotator_id: min(found, key=lambda s: (rank.get(s.status, 3), s.pk)).pk
        for annotator_id, found in several.items()
        if len(found) > 1
    }


def _propose(
    submission: ProlificSubmission, work: Work, codes: dict[Ending, str], *, is_other: bool
) -> tuple[str, str]:
    status, annotator = submission.status, submission.annotator
    if status == types.AWAITING_REVIEW:
        if is_other:
            return REVIEW, "A second submission of the same person: the other one is paid."
        return _propose_review(submission, annotator, work, codes)
    if status in (types.ACTIVE, types.RESERVED):
        if work.is_whole:
            return WAIT, "Complete here; they have not come back to Prolific yet."
        return WAIT, "Under way."
    if status == types.TIMED_OUT and work.is_whole:
        return NONE, "Complete here, timed out on Prolific: the place was filled again."
    if status in (types.TIMED_OUT, types.RETURNED) and work.answers:
        return NONE, f"{status.capitalize()} with {work.answers} answers."
    return NONE, ""


def _propose_review(
    submission: ProlificSubmission,
    annotator: Annotator | None,
    work: Work,
    codes: dict[Ending, str],
) -> tuple[str, str]:
    ours = {code: ending for ending, code in codes.items()}.get(submission.code.strip().upper())
    if annotator is not None and annotator.state == Annotator.State.WITHDREW:
        return RETURN, "Withdrew their answers."
    if work.is_whole:
        if annotator is not None and annotator.failed_attention:
            return REVIEW, "Complete, attention checks failed: look at the answers first."
        if ours is None:
            return APPROVE, "Complete here; came back without one of our codes."
        return APPROVE, "Complete here."
    if work.answers:
        return RETURN, f"{work.answers} of {work.items} answers: ask to return, pay for the part."
    if ours in (Ending.COMPLETED, Ending.FAILED_ATTENTION):
        return REVIEW, "A completion code without any answer here."
    if ours is not None:
        return RETURN, f"Ended early: {ours.label}."
    return RETURN, "No answer and no code of ours."


def _bonus(study: Study, submission: ProlificSubmission, work: Work) -> tuple[int, str]:
    """What the work is worth that no approval pays, and why.

    The share of the items or of the stated time, whichever is more.
    """
    lost = submission.status in (types.TIMED_OUT, types.RETURNED)
    partial = submission.status == types.AWAITING_REVIEW and not work.is_whole
    annotator = submission.annotator
    withdrew = annotator is not None and annotator.state == Annotator.State.WITHDREW
    if not (lost or partial) or not work.answers or withdrew:
        return 0, ""
    reward = submission.prolific_study.reward or study.reward
    shares = [
        Decimal(work.answers) / work.items,
        Decimal(round(work.minutes * 60)) / (60 * study.minutes),
    ]
    return pro_rata(reward=reward, shares=shares), IN_FULL if work.is_whole else PARTIAL


@dataclass(frozen=True)
class Approved:
    """What became of an approval in bulk."""

    asked: int
    approved: int
    gone: Counter[str]


def approve(
    *, study_id: int, submission_ids: Sequence[int], confirmed: int, user: User | None = None
) -> Approved:
    """Approve these submissions; `confirmed` is how many a person agreed to pay.

    What Prolific shows as anything but awaiting review is left out and told. The wish is stored
    before it is sent: what gets lost is asked for again. Raises `NotAllowed`, `ProlificError`.
    """
    if len(set(submission_ids)) != confirmed or not confirmed:
        raise NotAllowed("The people to approve changed meanwhile. Look at the list again.")
    study = Study.objects.get(pk=study_id)
    client = connect()
    follow(study_id=study_id, client=client)
    chosen = list(
        ProlificSubmission.objects.filter(prolific_study__study=study, pk__in=submission_ids)
    )
    if len(chosen) != confirmed:
        raise NotAllowed("Some of these people are not of this study.")
    waiting = [s for s in chosen if s.status == types.AWAITING_REVIEW]
    gone = Counter(
        s.status for s in chosen if s.status not in (types.AWAITING_REVIEW, types.APPROVED)
    )
    ProlificSubmission.objects.filter(pk__in=[s.pk for s in waiting]).update(
        approval_asked_at=timezone.now()
    )
    if waiting:
        record(study, "approved on Prolific", user=user, people=len(waiting))
    for start in range(0, len(waiting), MAX_BULK_APPROVE):
        client.approve([s.submission_id for s in waiting[start : start + MAX_BULK_APPROVE]])
    follow(study_id=study_id, client=client)
    approved = ProlificSubmission.objects.filter(
        pk__in=[s.pk for s in chosen], status=types.APPROVED
    ).count()
    return Approved(len(waiting), approved, gone)


def reject(
    *, study_id: int, submission_id: int, category: str, message: str, user: User | None
) -> ProlificSubmission:
    """Reject one submission, by a person, on a ground that the platform allows and that holds.

    Raises `NotAllowed` with the rule that stands against it, and `ProlificError`.
    """
    submission = ProlificSubmission.objects.select_related("annotator", "prolific_study").get(
        pk=submission_id, prolific_study__study=study_id
    )
    if user is None:
        raise NotAllowed("Only a person can reject somebody.")
    message = message.strip()
    if category not in GROUNDS:
        raise NotAllowed(f"Choose one of Prolific's grounds: {', '.join(GROUNDS.values())}.")
    if len(message) < LEAST_MESSAGE:
        raise NotAllowed(
            f"Write at least {LEAST_MESSAGE} characters to the person, not {len(message)}."
        )
    client = connect()
    read_at = timezone.now()
    submission = apply(
        submission.prolific_study, client.submission(submission.submission_id), read_at=read_at
    )
    if submission.status != types.AWAITING_REVIEW:
        raise NotAllowed(f"The submission is {submission.status.lower()} on Prolific.")
    if problem := _against(category, submission):
        raise NotAllowed(problem)
    if submission.annotator is not None:
        AnnotatorEvent.objects.create(
            annotator=submission.annotator,
            user=user,
            event="rejected on Prolific",
            detail={"category": category, "message": message},
        )
    remote = client.reject(submission.submission_id, category=category, message=message)
    return apply(submission.prolific_study, remote, read_at=timezone.now())


def _against(category: str, submission: ProlificSubmission) -> str:
    """Why the ground does not hold for this person; empty where it does."""
    annotator = submission.annotator
    work = _work([submission.annotator_id]).get(submission.annotator_id or 0, Work())
    if category == "FAILED_CHECK" and (annotator is None or not annotator.failed_attention):
        return "They did not fail the attention checks of this study; one alone is no ground."
    if category == "NO_DATA" and work.answers:
        return f"There are {work.answers} answers of theirs. Ask them to return instead."
    if category == "TOO_QUICKLY" and not _is_exceptionally_fast(submission):
        return (
            "Their time is not three standard deviations below the mean of at least ten "
            "people who completed."
        )
    if category == "LOW_EFFORT" and not work.answers:
        return "Without answers there is no effort to judge. Ask them to return instead."
    return ""


def _is_exceptionally_fast(submission: ProlificSubmission) -> bool:
    people = ProlificSubmission.objects.filter(
        prolific_study__study=submission.prolific_study.study_id,
        started_at__isnull=False,
        completed_at__isnull=False,
        annotator__state=Annotator.State.COMPLETED,
    ).exclude(pk=submission.pk)
    seconds = [
        (end - start).total_seconds()
        for start, end in people.values_list("started_at", "completed_at")
        if start and end
    ]
    if len(seconds) < 10 or submission.started_at is None or submission.completed_at is None:
        return False
    own: dt.timedelta = submission.completed_at - submission.started_at
    return own.total_seconds() < fmean(seconds) - 3 * stdev(seconds)


def request_returns(
    *, study_id: int, submission_ids: Sequence[int], reason: str, user: User | None = None
) -> int:
    """Ask people to return, each once; return how many were asked. Raises `ProlificError`."""
    study = Study.objects.get(pk=study_id)
    if not reason.strip():
        raise NotAllowed("Say why they should return.")
    client = connect()
    asked = 0
    waiting = ProlificSubmission.objects.filter(
        prolific_study__study=study,
        pk__in=submission_ids,
        status=types.AWAITING_REVIEW,
        return_requested_at=None,
    ).order_by("pk")
    for submission in waiting:
        # Stored first: a lost answer must not send the person the same message again.
        taken = ProlificSubmission.objects.filter(
            pk=submission.pk, return_requested_at=None
        ).update(return_requested_at=timezone.now())
        if not taken:
            continue
        try:
            client.request_return(submission.submission_id, [reason.strip()])
        except ProlificError as error:
            if not error.outcome_unknown:
                ProlificSubmission.objects.filter(pk=submission.pk).update(return_requested_at=None)
            raise
        asked += 1
    if asked:
        record(study, "returns requested on Prolific", user=user, people=asked)
    return asked


def totals(study: Study) -> Counter[str]:
    """How many submissions have each status, as last read."""
    rows = ProlificStudy.objects.filter(study=study).values_list("submissions__status")
    return Counter(
        {status: n for status, n in rows.annotate(n=Count("submissions")) if status is not None}
    )
