"""Start, pause, resume and cancel the runs of a judge."""

import math
from collections.abc import Callable, Collection
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from decimal import Decimal
from functools import partial
from typing import Any

from django.contrib.auth.models import User
from django.db import connection, transaction

from judging import deliveries
from judging.drift import create_anchors, retry_failed_anchors
from judging.errors import BadRun
from judging.models import Judge, JudgeRun, Judgment
from judging.protocols.registry import protocol
from judging.runs.judges import keep_exact
from judging.runs.parameters import EXTENDED_FIELDS, client_versions, extended, run_for
from judging.runs.reuse import reuse_answers
from judging.runs.row_creation import RunStudyFacts, create_judgments, share_requests
from judging.runs.spec import RunSpec
from judging.selectors import has_replies
from judging.tasks import queue_chunk
from judging.worker import chunks, recovery, run_states, runtime
from judging.worker.endpoints import backend_maker, check_sharing
from judging.worker.runtime import outlive_restart
from studies.models import Study
from studies.services.studies import lock_study, record


def start_run(
    spec: RunSpec,
    *,
    probe: bool = False,
    enqueue: bool = True,
    asks_here: bool = True,
    facts: RunStudyFacts | None = None,
    user: User | None = None,
) -> JudgeRun:
    """Start a run, or continue the one with the same parameters.

    Judgments are created once per item, order and sample, in the order of the items' keys with
    those of one persona together, for all main items or the first `limit`. Answered ones stay,
    failed ones are asked again, and a larger limit or new items add new ones. With `probe` an
    inactive run asks one question and then waits, or only waits if it has replies. `enqueue` passes
    the work to the workers. Unless the run `asks_here`, its judge need not be reachable. `facts`
    are of the study, which the caller has locked. Raises `BadRun`, `BadJudge` or `StudyError`.
    """
    judge = Judge.objects.get(pk=spec.judge_id) if facts is None else facts.judge(spec.judge_id)
    spec.check(judge)
    keep_exact(judge)
    if asks_here:
        backend_maker(judge)
    with transaction.atomic():
        facts = facts or RunStudyFacts(lock_study(spec.study_id))
        study = facts.study
        _check_perspective(study)
        if asks_here:
            check_sharing(study, judge)
        run = run_for(study, judge, spec, facts=facts)
        if asks_here:
            used = client_versions(judge, by_batch=spec.by_batch)
            used = run.parameters.get("software", {}) | used
            run.parameters = run.parameters | {"software": used}
        is_new = run.pk is None
        run.save(update_fields=None if is_new else EXTENDED_FIELDS)
        facts.run_keys.add(run.key)
        questions = facts.questions(spec.limit)
        created = create_judgments(run, spec.limit, questions=questions, is_new=is_new)
        if created and protocol(run.setting).shares_requests:
            share_requests(run)
        reused = reuse_answers(run, spec.reuse, user=user)
        retried = 0 if is_new else _retry(run)
        create_anchors(run, asks_more=bool(created))
        is_running = run.state == JudgeRun.State.RUNNING and not run.probe_first
        _wake(
            run,
            budget=spec.budget,
            token_budget=spec.token_budget,
            by_batch=spec.by_batch,
            probe=probe,
        )
        if created or retried:
            record(
                study,
                "judge run",
                user=user,
                run=run.public_id,
                judge=judge.name,
                created=created,
                retried=retried,
                reused=reused,
            )
        if enqueue and run.is_active and (created or retried or not is_running):
            _enqueue(run)
    run_states.end_if_done(run_id=run.pk)
    run.refresh_from_db()
    return run


def _check_perspective(study: Study) -> None:
    if study.asks_own_answers:
        raise BadRun(
            f"In “{study.slug}” people answer for themselves, so there is no person to judge "
            "for. Start judges in a study where others predict these answers."
        )


def extend_run(run: JudgeRun, spec: RunSpec, *, user: User | None = None) -> JudgeRun:
    """Extend a run by more items, samples, or the other order, asking only the new questions.

    Raises `BadRun` if it cannot continue as it began.
    """
    extended(run, spec)
    return start_run(spec, user=user)


def _wake(
    run: JudgeRun,
    *,
    budget: Decimal | None = None,
    token_budget: int | None = None,
    by_batch: bool,
    probe: bool = False,
) -> None:
    """Queue a run that ended with open questions; store the given budgets.

    Uses conditional UPDATEs of single columns, because the writer changes others concurrently.
    """
    same = JudgeRun.objects.filter(pk=run.pk)
    given: dict[str, Any] = {"by_batch": by_batch}
    if budget is not None:
        given["budget"] = budget
    if token_budget is not None:
        given["token_budget"] = token_budget
    if not probe:
        given["probe_first"] = False
    same.update(**given)
    if Judgment.everything.filter(run=run, state__in=Judgment.OPEN).exists():
        idle = same.exclude(state=JudgeRun.State.RUNNING)
        if run.state != JudgeRun.State.CANCELLED:
            # If somebody has cancelled it since it was read, it stays cancelled.
            idle = idle.exclude(state=JudgeRun.State.CANCELLED)
        if probe and has_replies(run.pk):
            idle.update(state=JudgeRun.State.PAUSED, sentence=chunks.AFTER_PROBE)
        else:
            idle.update(state=JudgeRun.State.QUEUED, sentence="", ended_at=None, probe_first=probe)
    run.refresh_from_db()


def _retry(run: JudgeRun) -> int:
    """Ask failed questions again, anchors too; return how many."""
    failed = Judgment.objects.filter(run=run, state=Judgment.State.ERROR)
    retried = failed.update(state=Judgment.State.PENDING, error="")
    return retried + retry_failed_anchors(run)


def _enqueue(run: JudgeRun) -> None:
    delivery = deliveries.by_batch()
    if run.by_batch and not run.probe_first and delivery is not None:
        transaction.on_commit(partial(delivery.queue, run.pk))
        return
    chunks.call_workers(run, lambda run_id: transaction.on_commit(partial(queue_chunk, run_id)))


@transaction.atomic
def pause_run(*, run_id: int, user: User | None = None) -> bool:
    """Pause a run, still storing replies in progress. False if there was nothing to pause."""
    return _end(run_id, JudgeRun.State.PAUSED, "Paused by hand. Resume it to continue.", user)


@transaction.atomic
def cancel_run(*, run_id: int, user: User | None = None) -> bool:
    """End a run permanently, keeping its judgments; False if it has already ended."""
    is_probe = JudgeRun.objects.filter(pk=run_id, probe_first=True).exists()
    cause = "Not started after its probe" if is_probe else "Cancelled by hand"
    sentence = f"{cause}; its judgments are kept."
    among = (*JudgeRun.ACTIVE, *JudgeRun.RESUMABLE)
    return _end(run_id, JudgeRun.State.CANCELLED, sentence, user, among=among)


def leave_out_run(*, run_id: int, user: User | None = None) -> bool:
    """Mark a run as not for the report; False if it already is."""
    return _mark(run_id, user, in_report=False)


def take_back_run(*, run_id: int, user: User | None = None) -> bool:
    """Let reports use a run again; False if they do."""
    return _mark(run_id, user, in_report=True)


def _mark(run_id: int, user: User | None, *, in_report: bool) -> bool:
    if not JudgeRun.objects.filter(pk=run_id, in_report=not in_report).update(in_report=in_report):
        return False
    run = JudgeRun.objects.select_related("study").get(pk=run_id)
    event = run.TAKEN_BACK if in_report else run.LEFT_OUT
    record(run.study, event, user=user, run=run.public_id)
    return True


def _end(
    run_id: int,
    state: str,
    sentence: str,
    user: User | None,
    *,
    among: Collection[str] = JudgeRun.ACTIVE,
) -> bool:
    if not run_states.stop(run_id=run_id, state=state, sentence=sentence, among=among):
        return False
    run = JudgeRun.objects.select_related("study").get(pk=run_id)
    record(run.study, f"judge run {state}", user=user, run=run.public_id)
    return True


@transaction.atomic
def resume_run(*, run_id: int, user: User | None = None) -> bool:
    """Continue a paused or stopped run; False if it is in another state.

    A run that waits after its probe is started. A run whose probe got no reply asks the same
    question again.
    """
    run = JudgeRun.objects.select_related("study").get(pk=run_id)
    run.probe_first &= not has_replies(run_id)
    resumed = JudgeRun.objects.filter(pk=run_id, state__in=JudgeRun.RESUMABLE).update(
        state=JudgeRun.State.QUEUED, sentence="", ended_at=None, probe_first=run.probe_first
    )
    if not resumed:
        return False
    if run.probe_first:
        # The same question, not the next, because a failure is not an answer.
        Judgment.objects.filter(run=run, state=Judgment.State.ERROR).update(
            state=Judgment.State.PENDING, error=""
        )
    record(run.study, "judge run resumed", user=user, run=run.public_id)
    _enqueue(run)
    run_states.end_if_done(run_id=run_id)
    return True


@transaction.atomic
def retry_failed(*, run_id: int, user: User | None = None) -> bool:
    """Ask the failed questions again; False if there are none, or once the run is cancelled."""
    # Locked, so that a simultaneous cancel is not undone.
    run = (
        JudgeRun.objects.select_for_update(no_key=True, of=("self",))
        .select_related("study")
        .get(pk=run_id)
    )
    if run.is_imported or run.state == JudgeRun.State.CANCELLED:
        return False
    retried = _retry(run)
    if not retried:
        return False
    _wake(run, by_batch=run.by_batch, probe=run.probe_first)
    record(run.study, "judge run retried", user=user, run=run.public_id, retried=retried)
    _enqueue(run)
    return True


def work_off(*, run_id: int, on_wait: Callable[[], None] = lambda: None) -> None:
    """Judge a whole run in this process, without a broker or workers.

    Waits for judgments leased by another worker, and leases them when that lease expires. Calls
    `on_wait` twice a second.
    """
    run = JudgeRun.objects.select_related("judge").get(pk=run_id)
    delivery = deliveries.by_batch()
    if run.by_batch and delivery is not None:
        delivery.work_off(run_id, on_wait)
        return
    threads = _threads(run)
    with ThreadPoolExecutor(threads, thread_name_prefix="judging") as pool:
        workers = {pool.submit(_work, run_id) for _ in range(threads)}
        try:
            while workers:
                ended, workers = wait(workers, timeout=0.5, return_when=FIRST_COMPLETED)
                for worker in ended:
                    worker.result()
                on_wait()
        except BaseException:
            # After Ctrl-C or a failed chunk, the others store what is in flight and end too.
            runtime.stop_asking()
            raise


def _threads(run: JudgeRun) -> int:
    """One for each chunk of open questions: each has a connection to the database."""
    # Two chunks more than the slots need, so that the slots stay full while a chunk ends.
    most = math.ceil(run.judge.most_at_once / chunks.CHUNK) + 2
    waiting = Judgment.everything.filter(run=run, state__in=Judgment.OPEN)
    return max(1, math.ceil(waiting[: most * chunks.CHUNK].count() / chunks.CHUNK))


def _work(run_id: int) -> None:
    try:
        while outlive_restart(partial(_step, run_id)):
            pass
    finally:
        connection.close()


def _step(run_id: int) -> bool:
    """Judge a chunk, or wait for the chunks of other workers; False at the end."""
    is_over = not JudgeRun.objects.filter(pk=run_id, state__in=JudgeRun.ACTIVE).exists()
    if is_over or runtime.is_stopping():
        return False
    if not chunks.judge_chunk(run_id=run_id):
        recovery.release_expired(run_id=run_id)
        runtime.sleep(0.2)
    return True
