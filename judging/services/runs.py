"""Starting, pausing, resuming and cancelling the runs of a judge."""

import hashlib
import json
import math
from collections.abc import Callable, Collection, Sequence
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from decimal import Decimal
from functools import partial
from typing import Any

import openai
from django.contrib.auth.models import User
from django.db import connection, transaction
from django.utils import timezone

from judging.errors import BadOption, BadRun
from judging.models import Judge, JudgeRun, Judgment
from judging.services import batches, chunks, recovery, runtime
from judging.services.judges import backend_maker
from judging.services.making import create_judgments
from judging.services.patience import outlive_restart
from judging.services.reuse import reuse_answers
from judging.tasks import queue_batches, queue_chunk
from studies import features as feature_sets
from studies.models import Item, Study
from studies.prompts import wording
from studies.services import lock_study, record


def start_run(
    *,
    study_id: int,
    judge_id: int,
    setting: str = JudgeRun.Setting.STANDARD,
    features: str = "all",
    orders: str = JudgeRun.Orders.RANDOM,
    samples: int = 1,
    seed: int | None = None,
    limit: int | None = None,
    budget: Decimal | None = None,
    token_budget: int | None = None,
    extend: bool = False,
    reuse: bool = False,
    by_batch: bool = False,
    enqueue: bool = True,
    user: User | None = None,
) -> JudgeRun:
    """Start a run, or continue the one that has the same parameters.

    Judgments are created once per item, order and sample, in the order of the items' keys, for
    all main items or the first `limit`. What is answered stays; what failed is asked again; what
    a larger limit or new items add is new. `extend` continues the run that had fewer samples or
    one order only, and asks just what that adds. `reuse` takes over what other runs were answered
    to the same words. `by_batch` asks by files at a lower price, from now on. `enqueue` hands the
    work to the workers.
    Raises `BadRun`, `BadJudge` or `StudyError`.
    """
    judge = Judge.objects.get(pk=judge_id)
    _check(judge, samples=samples, limit=limit, budget=budget, token_budget=token_budget)
    if by_batch and judge.backend != Judge.Backend.OPENAI:
        raise BadRun(f"--batch needs a judge behind a server, and “{judge.name}” is none.")
    with transaction.atomic():
        study = lock_study(study_id)
        run = _get_or_create(study, judge, setting, features, orders, samples, seed, extend)
        created = create_judgments(run, limit)
        reused = reuse_answers(run) if reuse else 0
        retried = Judgment.objects.filter(run=run, state=Judgment.State.ERROR).update(
            state=Judgment.State.PENDING, error=""
        )
        is_running = run.state == JudgeRun.State.RUNNING
        _wake(run, budget=budget, token_budget=token_budget, by_batch=by_batch)
        if created or retried:
            record(
                study, "judge run", user=user, run=run.public_id, judge=judge.name,
                created=created, retried=retried, reused=reused,
            )  # fmt: skip
        if enqueue and run.is_active and (created or retried or not is_running):
            _enqueue(run)
    chunks.settle(run_id=run.pk)
    run.refresh_from_db()
    return run


def _check(
    judge: Judge,
    *,
    samples: int,
    limit: int | None,
    budget: Decimal | None,
    token_budget: int | None,
) -> None:
    if samples < 1 or samples > 100:
        raise BadOption(f"--samples must be from 1 to 100, not {samples}.")
    if limit is not None and limit < 1:
        raise BadOption(f"--limit must be at least 1, not {limit}.")
    if token_budget is not None and token_budget < 1:
        raise BadOption(f"--token-budget must be at least 1, not {token_budget}.")
    if budget is not None:
        if not budget.is_finite() or budget <= 0:
            raise BadOption(f"--budget must be more than 0 US dollars, not {budget}.")
        if not judge.is_priced:
            raise BadRun(
                f"Judge “{judge.name}” has no price, so a budget cannot be kept: unknown is not "
                "free. Give its price with add_judge --price-input and --price-output (US "
                "dollars per million tokens; 0 for your own server), or use --token-budget."
            )
    backend_maker(judge)


def _get_or_create(
    study: Study,
    judge: Judge,
    setting: str,
    features: str,
    orders: str,
    samples: int,
    seed: int | None,
    extend: bool,
) -> JudgeRun:
    keys = feature_sets.resolve(study, features)
    if keys and "," in features:
        features = ",".join(keys)
    seed = study.seed if seed is None else seed
    prompt_hash = _prompt_hash(study, setting, keys)
    asked: dict[str, Any] = {
        "study": study.slug,
        "judge": judge.name,
        "backend": judge.backend,
        "model": judge.model,
        "temperature": judge.temperature,
        "top_p": judge.top_p,
        "max_tokens": judge.max_tokens,
        "thinking_tokens": judge.thinking_tokens,
        "structured": judge.structured,
        "probabilities": judge.probabilities,
        "own_sources": sorted(judge.own_sources),
        "setting": setting,
        "features": features,
        "feature_keys": keys,
        "persona_style": study.persona_style,
        "show_history": study.show_history,
        "orders": orders,
        "samples": samples,
        "seed": seed,
        "prompts": prompt_hash,
    }
    key = parameters_key(asked)
    if extend and not JudgeRun.objects.filter(key=key).exists():
        return _extend(study, judge, asked, key)
    run, _ = JudgeRun.objects.get_or_create(
        key=key,
        defaults={
            "study": study,
            "judge": judge,
            "setting": setting,
            "features": features,
            "feature_keys": keys,
            "orders": orders,
            "samples": samples,
            "seed": seed,
            "prompt_hash": prompt_hash,
            "touched_at": timezone.now(),  # the sweeper leaves a run alone that was just made
            # Where the model is served does not make another run, but belongs to the record.
            "parameters": {
                **asked,
                "base_url": judge.base_url,
                "software": {"openai": openai.__version__},
            },
        },
    )
    return run


def _extend(study: Study, judge: Judge, asked: dict[str, Any], key: str) -> JudgeRun:
    """Make the run that differs in samples or orders alone into the one that is asked for."""
    grows = {"samples", "orders"}
    found = [
        run
        for run in JudgeRun.objects.filter(study=study, judge=judge, is_imported=False)
        if all(run.parameters.get(name) == asked[name] for name in asked.keys() - grows)
        and run.samples <= asked["samples"]
        and asked["orders"] in {run.orders, JudgeRun.Orders.BOTH}
    ]
    if len(found) != 1:
        raise BadRun(
            f"--extend needs one run with fewer samples, or one order, and otherwise the same "
            f"parameters; there are {len(found)}. Leave --extend out to start a run of its own."
        )
    (run,) = found
    run.key, run.samples, run.orders = key, asked["samples"], asked["orders"]
    run.parameters |= {name: asked[name] for name in grows}
    run.save(update_fields=["key", "samples", "orders", "parameters"])
    return run


def parameters_key(parameters: dict[str, Any]) -> str:
    """One hash for one set of parameters; the run's name in reports."""
    text = json.dumps(parameters, sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()


def _prompt_hash(study: Study, setting: str, keys: Sequence[str] | None) -> str:
    """Hash of the words of every task that the study's items have."""
    tasks = sorted({study.task, *Item.objects.filter(study=study).values_list("task", flat=True)})
    hashes = [wording(task, setting, persona=keys != []).sha256 for task in tasks]
    if len(hashes) == 1:
        return hashes[0]
    return hashlib.sha256("".join(hashes).encode()).hexdigest()


def _wake(
    run: JudgeRun, *, budget: Decimal | None, token_budget: int | None, by_batch: bool
) -> None:
    """Queue a run that ended with something left to ask; take over budgets that are given.

    Conditional UPDATEs of single columns: the writer moves others of this row meanwhile.
    """
    same = JudgeRun.objects.filter(pk=run.pk)
    same.update(by_batch=by_batch)
    if budget is not None:
        same.update(budget=budget)
    if token_budget is not None:
        same.update(token_budget=token_budget)
    if _has_open(run):
        same.exclude(state__in=JudgeRun.ACTIVE).update(
            state=JudgeRun.State.QUEUED, sentence="", ended_at=None
        )
    run.refresh_from_db()


def _has_open(run: JudgeRun) -> bool:
    return run.judgments.filter(state__in=Judgment.OPEN).exists()


def _enqueue(run: JudgeRun) -> None:
    if run.by_batch:
        transaction.on_commit(partial(queue_batches, run.pk))
        return
    chunks.call_workers(run, lambda run_id: transaction.on_commit(partial(queue_chunk, run_id)))


@transaction.atomic
def pause_run(*, run_id: int, user: User | None = None) -> bool:
    """Send nothing more; what is in flight is still stored. False when there was nothing to do."""
    return _end(run_id, JudgeRun.State.PAUSED, "Paused by hand; resume it to go on.", user)


@transaction.atomic
def cancel_run(*, run_id: int, user: User | None = None) -> bool:
    """End a run for good, keeping what it has; False when it has ended already."""
    sentence = "Cancelled by hand; what it has is kept."
    among = (*JudgeRun.ACTIVE, *JudgeRun.RESUMABLE)
    return _end(run_id, JudgeRun.State.CANCELLED, sentence, user, among=among)


def _end(
    run_id: int,
    state: str,
    sentence: str,
    user: User | None,
    *,
    among: Collection[str] = JudgeRun.ACTIVE,
) -> bool:
    if not chunks.stop(run_id=run_id, state=state, sentence=sentence, among=among):
        return False
    run = JudgeRun.objects.select_related("study").get(pk=run_id)
    record(run.study, f"judge run {state}", user=user, run=run.public_id)
    return True


@transaction.atomic
def resume_run(*, run_id: int, user: User | None = None) -> bool:
    """Continue a paused or stopped run where it stood; False when it is not one."""
    resumed = JudgeRun.objects.filter(pk=run_id, state__in=JudgeRun.RESUMABLE).update(
        state=JudgeRun.State.QUEUED, sentence="", ended_at=None
    )
    if not resumed:
        return False
    run = JudgeRun.objects.select_related("study").get(pk=run_id)
    record(run.study, "judge run resumed", user=user, run=run.public_id)
    _enqueue(run)
    if not _has_open(run):
        chunks.settle(run_id=run_id)
    return True


@transaction.atomic
def retry_failed(*, run_id: int, user: User | None = None) -> bool:
    """Ask again what failed while others were answered; False when nothing has."""
    run = JudgeRun.objects.select_related("study").get(pk=run_id)
    if run.is_imported or run.state == JudgeRun.State.CANCELLED:
        return False
    failed = Judgment.objects.filter(run=run, state=Judgment.State.ERROR)
    retried = failed.update(state=Judgment.State.PENDING, error="")
    if not retried:
        return False
    _wake(run, budget=None, token_budget=None, by_batch=run.by_batch)
    record(run.study, "judge run retried", user=user, run=run.public_id, retried=retried)
    _enqueue(run)
    return True


def work_off(*, run_id: int, on_wait: Callable[[], None] = lambda: None) -> None:
    """Do the work of a run in this process, without broker or workers, until it ends.

    What another worker has leased is waited for, and taken over when its lease runs out.
    `on_wait` is called twice a second meanwhile.
    """
    run = JudgeRun.objects.select_related("judge").get(pk=run_id)
    if run.by_batch:
        batches.work_off(run_id=run_id, on_wait=on_wait)
        return
    concurrency = run.judge.concurrency
    # Two chunks more than the slots hold: the slots stay full while a chunk ends.
    threads = math.ceil(concurrency / chunks.CHUNK) + 2
    with ThreadPoolExecutor(threads, thread_name_prefix="judging") as pool:
        workers = {pool.submit(_work, run_id) for _ in range(threads)}
        try:
            while workers:
                ended, workers = wait(workers, timeout=0.5, return_when=FIRST_COMPLETED)
                for worker in ended:
                    worker.result()
                on_wait()
        except BaseException:
            # Ctrl-C, or one that failed: the others store what is in flight and end too.
            runtime.stop_asking()
            raise


def _work(run_id: int) -> None:
    try:
        while outlive_restart(partial(_step, run_id)):
            pass
    finally:
        connection.close()


def _step(run_id: int) -> bool:
    """Work off a chunk, or wait for those of others; False at the end."""
    is_over = not JudgeRun.objects.filter(pk=run_id, state__in=JudgeRun.ACTIVE).exists()
    if is_over or runtime.is_stopping():
        return False
    if not chunks.judge_chunk(run_id=run_id):
        recovery.release_expired(run_id=run_id)
        runtime.sleep(0.2)
    return True
