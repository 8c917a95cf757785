"""What the sweeper does about workers that died."""

from datetime import timedelta

import pytest
from django.utils import timezone

from judging.models import Attempt, JudgeRun, Judgment
from judging.services import chunks, recovery
from judging.services.runs import start_run
from tests.factories import make_item, make_study
from tests.judging.conftest import make_judge


@pytest.fixture
def run(db):
    study = make_study()
    for _ in range(120):
        make_item(study=study)
    judge = make_judge(base_url="http://127.0.0.1:9/v1", price_input=1, price_output=1)
    return start_run(study_id=study.pk, judge_id=judge.pk, enqueue=False)


def sweep():
    called: list[int] = []
    recovery.recover_runs(call=called.append)
    return called


def lease(run, count, *, seconds):
    ids = list(run.judgments.order_by("pk").values_list("pk", flat=True)[:count])
    until = timezone.now() + timedelta(seconds=seconds)
    Judgment.objects.filter(pk__in=ids).update(state="leased", lease="x", leased_until=until)
    JudgeRun.objects.filter(pk=run.pk).update(state="running", touched_at=timezone.now())
    return ids


def test_a_lease_that_ran_out_is_given_back_and_workers_are_called(run):
    lease(run, 10, seconds=-1)

    called = sweep()

    assert set(run.judgments.values_list("state", "lease")) == {("pending", "")}
    assert called == [run.pk] * 3  # 120 waiting, 50 a chunk


def test_a_lease_that_runs_is_left_alone(run):
    lease(run, 10, seconds=20)

    assert sweep() == []
    assert run.judgments.filter(state="leased").count() == 10


def test_what_was_in_flight_is_lost_and_counts_at_its_most(run):
    (judgment,) = lease(run, 1, seconds=-1)
    Attempt.objects.create(
        judgment_id=judgment, number=1, sent_at=timezone.now(), cost_nano=7000,
        cost_is_estimate=True,
    )  # fmt: skip

    sweep()

    attempt = Attempt.objects.get()
    assert (attempt.outcome, attempt.error) == (
        "lost",
        "The worker ended before the answer came.",
    )
    run.refresh_from_db()
    assert run.spent_nano == 7000


def test_a_run_that_lost_its_place_in_the_queue_is_called_again_after_a_silence(run):
    long_ago = timezone.now() - timedelta(minutes=5)
    JudgeRun.objects.filter(pk=run.pk).update(touched_at=long_ago)
    assert sweep() == [run.pk] * 3

    assert sweep() == []  # it has just been called


@pytest.mark.parametrize("state", ["paused", "done", "stopped_outage", "cancelled"])
def test_a_run_that_is_not_active_gives_back_its_leases_but_calls_nobody(run, state):
    lease(run, 5, seconds=-1)
    JudgeRun.objects.filter(pk=run.pk).update(state=state, sentence="Because.")

    assert sweep() == []
    assert not run.judgments.filter(state="leased").exists()


def test_a_run_whose_last_worker_died_after_the_last_answer_is_ended(run):
    run.judgments.update(state="done", choice="r1")

    sweep()

    run.refresh_from_db()
    assert (run.state, run.sentence) == ("done", "120 of 120 answered.")


def test_tokens_in_the_queue_are_few_however_large_the_run(run, monkeypatch):
    monkeypatch.setattr(chunks, "MOST_TOKENS", 2)
    called: list[int] = []

    chunks.call_workers(run, called.append)

    assert len(called) == 2


def test_a_chunk_calls_for_the_next_one_and_the_last_one_does_not(run, engine, monkeypatch):
    monkeypatch.setattr(chunks, "_ask", lambda run, judgments, lease: None)
    called: list[int] = []

    taken = [chunks.judge_chunk(run_id=run.pk, then=called.append) for _ in range(4)]

    assert taken == [50, 50, 20, 0]
    assert called == [run.pk] * 3


def test_ended_runs_are_not_asked_about(run):
    JudgeRun.objects.filter(pk=run.pk).update(state="cancelled", sentence="Cancelled.")

    assert chunks.judge_chunk(run_id=run.pk) == 0
    assert not Attempt.objects.exists()
