"""Researchers' decisions on submissions: approve many, request returns, reject one.

Nothing here rejects automatically, and agreement, accuracy and certainty are never used.
"""

import datetime as dt
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, stdev

from django.contrib.auth.models import User
from django.db import transaction

from annotation.models import Annotator, AnnotatorEvent, ProlificSubmission
from annotation.prolific.api import types
from annotation.prolific.api.client import MAX_BULK_APPROVE, connect
from annotation.prolific.api.transport import NotAllowed, ProlificError
from annotation.prolific.money import IDS_DELETED, owners_only, with_work_bonus
from annotation.prolific.settle.proposals import Work, work_of
from annotation.prolific.sync.sync import apply, follow, forgotten_if_refused
from annotation.services.identities import is_erased, with_ids
from studies.models import Study
from studies.services.studies import lock_study, record
from studies.statements import clock

LEAST_MESSAGE = 100
# The platform's grounds. Disagreement, accuracy and certainty are not grounds.
GROUNDS = {
    "TOO_QUICKLY": "Exceptionally fast: three standard deviations below the mean",
    "FAILED_CHECK": "Failed the attention checks",
    "LOW_EFFORT": "Clear low effort, which you saw in the answers",
    "NO_DATA": "A code without any answer",
}


@dataclass(frozen=True)
class Approved:
    """The result of a bulk approval."""

    asked: int
    approved: int
    gone: Counter[str]

    def __str__(self) -> str:
        gone = "".join(f" {n} {status.lower()} meanwhile." for status, n in self.gone.items())
        return f"Approvals requested: {self.asked:,}. Approved: {self.approved:,}.{gone}"


def approve(
    *, study_id: int, submission_ids: Sequence[int], confirmed: int, user: User | None = None
) -> Approved:
    """Approve these submissions; `confirmed` is how many a user agreed to pay.

    Submissions that do not await review on Prolific are skipped and reported. The request is stored
    before it is sent, sent again if lost, and forgotten if Prolific refuses it. Raises
    `NotAllowed`, also for users who are not owners of the study, and `ProlificError`.
    """
    if len(set(submission_ids)) != confirmed or not confirmed:
        raise NotAllowed("The list of submissions has changed. Check it, then approve again.")
    study = Study.objects.get(pk=study_id)
    owners_only(user, study)
    of_study = ProlificSubmission.objects.filter(prolific_study__study=study)
    own = with_ids(of_study.filter(pk__in=submission_ids))
    if own.count() != confirmed:
        raise NotAllowed(
            "Some of these submissions are not part of this study, or their ids were deleted. "
            "Select the others again."
        )
    client = connect(study_id)
    follow(study_id=study_id, client=client)
    with transaction.atomic():
        # Locked, as it is while a bonus is prepared, so that nobody gets both a part and the whole.
        lock_study(study_id)
        chosen = list(own.all())
        waiting, gone = _to_approve(chosen)
        ProlificSubmission.objects.filter(pk__in=[s.pk for s in waiting]).update(
            approval_asked_at=clock.now()
        )
        if waiting:
            record(study, "approved on Prolific", user=user, people=len(waiting))
    for start in range(0, len(waiting), MAX_BULK_APPROVE):
        with forgotten_if_refused(waiting[start:]):
            client.approve([s.submission_id for s in waiting[start : start + MAX_BULK_APPROVE]])
    follow(study_id=study_id, client=client)
    approved = ProlificSubmission.objects.filter(
        pk__in=[s.pk for s in chosen], status=types.APPROVED
    ).count()
    return Approved(len(waiting), approved, gone)


def _to_approve(
    chosen: Sequence[ProlificSubmission],
) -> tuple[list[ProlificSubmission], Counter[str]]:
    """The submissions that await review, and counts of the others by status.

    Raises `NotAllowed` if one of these people has a bonus for the same work.
    """
    waiting = [s for s in chosen if s.status == types.AWAITING_REVIEW]
    gone = Counter(
        s.status for s in chosen if s.status not in (types.AWAITING_REVIEW, types.APPROVED)
    )
    if with_work_bonus(waiting).exists():
        raise NotAllowed(
            "A selected participant has a bonus for this work, and approval would pay the full "
            "reward on top. Cancel the bonus under Bonuses if it is not paid yet; otherwise ask "
            "the participant to return the submission."
        )
    return waiting, gone


def reject(
    *, study_id: int, submission_id: int, category: str, message: str, user: User | None
) -> ProlificSubmission:
    """Reject a submission on a ground that the platform allows and that applies.

    Only an owner of the study can reject. Raises `NotAllowed` with the rule that forbids it, and
    `ProlificError`.
    """
    submission = ProlificSubmission.objects.select_related(
        "annotator", "prolific_study__study"
    ).get(pk=submission_id, prolific_study__study=study_id)
    if user is None:
        raise NotAllowed("Only a signed-in user can reject a submission.")
    owners_only(user, submission.prolific_study.study)
    if is_erased(submission.submission_id):
        raise NotAllowed(IDS_DELETED)
    message = message.strip()
    if submission.prolific_study.is_follow_up:
        raise NotAllowed(
            "A rejection here would also undo the first part. Ask them to return, or reject the "
            "submission on Prolific."
        )
    if category not in GROUNDS:
        raise NotAllowed(f"Choose one of Prolific's reasons: {', '.join(GROUNDS.values())}.")
    if len(message) < LEAST_MESSAGE:
        raise NotAllowed(
            f"Write at least {LEAST_MESSAGE} characters to the participant, not {len(message)}."
        )
    client = connect(submission.prolific_study.study_id)
    read_at = clock.now()
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
    return apply(submission.prolific_study, remote, read_at=clock.now())


def _against(category: str, submission: ProlificSubmission) -> str:
    """Why the ground does not apply to this participant; empty if it does."""
    annotator = submission.annotator
    work = work_of([submission.annotator_id]).get(submission.annotator_id or 0, Work())
    if category == "FAILED_CHECK" and (annotator is None or not annotator.failed_attention):
        return "They did not fail the attention checks of this study. Ask them to return."
    if category == "NO_DATA" and work.answers:
        return f"They gave {work.answers} answers. Ask them to return instead."
    if category == "TOO_QUICKLY" and not _is_exceptionally_fast(submission):
        return (
            "Their time is not three standard deviations below the mean of at least "
            "ten participants who completed."
        )
    if category == "LOW_EFFORT" and not work.answers:
        return "They gave no answers, so “low effort” does not apply. Ask them to return."
    return ""


def _is_exceptionally_fast(submission: ProlificSubmission) -> bool:
    people = ProlificSubmission.objects.filter(
        prolific_study__study=submission.prolific_study.study_id,
        prolific_study__is_follow_up=False,
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
    """Ask participants to return, once each; return how many were asked. Raises `ProlificError`."""
    study = Study.objects.get(pk=study_id)
    if not reason.strip():
        raise NotAllowed("Enter a reason for the return.")
    client = connect(study_id)
    asked = 0
    waiting = with_ids(
        ProlificSubmission.objects.filter(
            prolific_study__study=study,
            pk__in=submission_ids,
            status=types.AWAITING_REVIEW,
            return_requested_at=None,
        )
    ).order_by("pk")
    for submission in waiting:
        # Stored first, so that a lost answer does not send participants the same message twice.
        taken = ProlificSubmission.objects.filter(
            pk=submission.pk, return_requested_at=None
        ).update(return_requested_at=clock.now())
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
