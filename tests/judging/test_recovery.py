"""What the sweeper does about workers that died."""

from datetime import timedelta
from functools import partial

import pytest
from celery import Task
from django import db
from django.utils import timezone
from kombu.exceptions import OperationalError

from judging import tasks
from judging.engine.interface import AttemptEnd, Halted, JudgeAnswer, Parameters, Usage
from judging.errors import DatabaseAway
from judging.models import Attempt, JudgeRun, Judgment
from judging.runs.lifecycle import work_off
from judging.runs.spec import RunSpec
from judging.runs.start import start_run
from judging.runs.study_content import content_of
from judging.worker import chunks, ledger, run_states, runtime
from judging.worker.chunks import questions_of
from judging.worker.ledger_statements import apply, apply_again
from tests.factories import make_items, make_study
from tests.judging.conftest import make_judge
from tests.judging.run_helpers import called_by, study_of


@pytest.fixture
def run(db):
    study = make_study()
    make_items(study, 120)
    judge = make_judge(base_url="http://127.0.0.1:9/v1", price_input=1, price_output=1)
    return start_run(RunSpec(study_id=study.pk, judge_id=judge.pk), enqueue=False)


def sweep():
    return called_by(tasks.recover_runs)


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
        judgment_id=judgment,
        number=1,
        sent_at=timezone.now(),
        cost_nano=7000,
        cost_is_estimate=True,
    )

    sweep()

    attempt = Attempt.objects.get()
    assert (attempt.outcome, attempt.error) == (
        "lost",
        "The worker ended before the answer arrived.",
    )
    run.refresh_from_db()
    assert run.spent_nano == 7000


def test_a_run_that_lost_its_place_in_the_queue_is_called_again_after_a_silence(run):
    long_ago = timezone.now() - timedelta(minutes=5)
    JudgeRun.objects.filter(pk=run.pk).update(touched_at=long_ago)
    assert sweep() == [run.pk] * 3

    assert sweep() == []  # it has just been called


def test_a_worker_that_starts_calls_for_what_waits_beside_what_its_predecessor_holds(run):
    lease(run, 60, seconds=20)

    called = called_by(partial(tasks.recover_runs, at_start=True))

    assert called == [run.pk] * 2  # 60 wait
    assert run.judgments.filter(state="leased").count() == 60


@pytest.mark.sampled(keep=1)
@pytest.mark.parametrize("state", ["paused", "done", "stopped_outage", "cancelled"])
def test_a_run_that_is_not_active_gives_back_its_leases_but_calls_nobody(run, state):
    lease(run, 5, seconds=-1)
    JudgeRun.objects.filter(pk=run.pk).update(state=state, sentence="Because.")

    assert sweep() == []
    assert not run.judgments.filter(state="leased").exists()


def test_a_study_is_not_deleted_while_the_requests_of_a_stopped_run_are_under_way(run):
    (judgment,) = lease(run, 1, seconds=20)
    JudgeRun.objects.filter(pk=run.pk).update(state="paused", sentence="Because.")
    assert content_of(run.study).obstacles == [
        "The last requests of a judge run are still in progress. Wait a few minutes."
    ]

    Judgment.objects.filter(pk=judgment).update(leased_until=timezone.now())
    sweep()

    assert content_of(run.study).obstacles == []


def test_a_run_whose_last_worker_died_after_the_last_answer_is_ended(run):
    run.judgments.update(state="done", choice="r1")

    sweep()

    run.refresh_from_db()
    assert (run.state, run.sentence) == ("done", "120 of 120 answered.")


def test_tokens_in_the_queue_are_few_however_large_the_run(run, monkeypatch):
    monkeypatch.setattr(chunks, "CHUNKS_IN_HAND", 2)
    run.judge.concurrency = 64

    called = called_by(partial(tasks.call_workers, run))

    assert len(called) == 2


def test_a_run_has_turns_and_calls_for_the_next_one_until_nothing_is_left(run, engine, monkeypatch):
    taken: list[int] = []

    def ask(run, judgments, questions, lease, watches):
        taken.append(len(judgments))
        run.judgments.filter(lease=lease).update(state="done", choice="r1", leased_until=None)

    monkeypatch.setattr(chunks, "_ask", ask)
    called: list[int] = []

    monkeypatch.setattr(chunks, "TURN_SECONDS", -1)
    chunks.take_turn(run_id=run.pk, then=called.append)
    assert (taken, called) == ([20], [run.pk])  # few, until their answers are known

    monkeypatch.setattr(chunks, "TURN_SECONDS", 60)
    chunks.take_turn(run_id=run.pk, then=called.append)
    assert (taken, called) == ([20, 50, 50], [run.pk])


def test_what_takes_long_to_load_is_loaded_before_questions_are_leased(run, engine, monkeypatch):
    """Otherwise the lease could run out meanwhile, and another thread would ask the same."""
    leased_at_connect: list[int] = []
    make = runtime.backend_maker

    def slow(judge, address):
        leased_at_connect.append(run.judgments.filter(state="leased").count())
        return make(judge, address)

    monkeypatch.setattr(runtime, "backend_maker", slow)
    monkeypatch.setattr(chunks, "_ask", lambda *_: None)

    chunks.judge_chunk(run_id=run.pk)

    assert leased_at_connect == [0]


def test_a_run_that_began_with_other_words_is_paused_and_says_so(run, monkeypatch):
    JudgeRun.objects.filter(pk=run.pk).update(prompt_hash="0" * 64)
    monkeypatch.setattr(chunks, "_ask", None)  # nothing may be asked

    chunks.take_turn(run_id=run.pk, then=[].append)

    run.refresh_from_db()
    assert run.state == "paused"
    assert "changed the wording of the prompts" in run.sentence
    assert not Attempt.objects.exists()


def test_workers_are_called_again_once_the_first_answers_are_readable(run, engine, monkeypatch):
    monkeypatch.setattr(chunks, "CHUNK", 10)

    def ask(run, judgments, questions, lease, watches):
        run.judgments.filter(lease=lease).update(state="done", choice="r1", leased_until=None)
        for _ in judgments:
            runtime.answer_counts_of(run.pk).add("done")

    monkeypatch.setattr(chunks, "_ask", ask)
    monkeypatch.setattr(chunks, "CHUNKS_IN_HAND", 2)
    called: list[int] = []

    chunks.take_turn(run_id=run.pk, then=called.append)

    assert called == [run.pk] * 10  # for 110 questions in chunks of 10, one of which is its own


def test_two_workers_lease_no_more_than_the_first_questions(run, engine):
    until = timezone.now() + timedelta(seconds=30)
    first = chunks.claim_next(run, "a", most=15, until=until)
    second = chunks.claim_next(run, "b", most=15, until=until)

    assert (len(first), len(second)) == (15, 5)
    assert chunks.claim_next(run, "c", most=15, until=until) == []


def test_a_token_too_many_leaves_the_thread_to_others(run, engine, monkeypatch):
    taken: list[int] = []

    def ask(run, judgments, questions, lease, watches):
        taken.append(len(judgments))
        run.judgments.filter(lease=lease).update(state="done", choice="r1", leased_until=None)
        chunks.take_turn(run_id=run.pk, then=taken.append)  # a second thread, in the middle

    monkeypatch.setattr(chunks, "_ask", ask)
    monkeypatch.setattr(chunks, "CHUNKS_IN_HAND", 1)

    chunks.take_turn(run_id=run.pk, then=taken.append)

    assert taken == [20, 50, 50]


@pytest.mark.django_db(transaction=True)
def test_a_run_that_is_started_while_the_broker_is_away_waits_for_the_schedule(
    monkeypatch,
):
    def refuse(*args, **options):
        raise OperationalError("Connection refused")

    monkeypatch.setattr(Task, "apply_async", refuse)
    study = study_of(1)
    judge = make_judge(base_url="http://127.0.0.1:9/v1")

    run = start_run(RunSpec(study_id=study.pk, judge_id=judge.pk))

    assert run.state == "queued"
    JudgeRun.objects.update(touched_at=timezone.now() - timedelta(minutes=5))
    assert sweep() == [run.pk]


@pytest.mark.django_db(transaction=True)
def test_work_without_workers_outlives_a_database_that_restarts(llm, engine, monkeypatch):
    study = study_of(1)
    run = start_run(
        RunSpec(study_id=study.pk, judge_id=make_judge(base_url=llm.url).pk), enqueue=False
    )
    claim = chunks.claim
    away = [db.OperationalError("server closed the connection"), db.InterfaceError("closed")]

    def claim_when_it_is_back(*arguments, **options):
        if away:
            raise away.pop()
        return claim(*arguments, **options)

    monkeypatch.setattr(chunks, "claim", claim_when_it_is_back)
    monkeypatch.setattr(runtime, "_PAUSE", 0.0)

    work_off(run_id=run.pk)

    run.refresh_from_db()
    assert (run.state, away) == ("done", [])


def test_a_database_that_stays_away_is_said_with_what_to_do(monkeypatch):
    def ask():
        raise db.OperationalError("Connection refused\n")

    monkeypatch.setattr(runtime, "RETRY_SECONDS", 0.0)

    with pytest.raises(DatabaseAway, match=r"refused\. All answers so far are stored"):
        runtime.outlive_restart(ask)


def test_a_worker_whose_lease_ran_out_asks_nothing_more_and_its_late_replies_are_kept(run):
    """The database was away for longer than a lease, and no worker has died."""
    (first, second, third, fourth) = ids = lease(run, 4, seconds=-1)
    judgments = Judgment.everything.select_related("item__persona").filter(pk__in=ids)
    asked = {each.id: each for each in questions_of(run, list(judgments))}
    rows = ledger.LedgerRows(run, "x", dict.fromkeys(ids, "r1"))
    end = AttemptEnd("replied", 1, usage=Usage(5, 1), text="[[A]]")

    def opening(pk, number=1, rows=rows):
        return rows.opening(asked[pk], number, Parameters({"model": "m"}))

    def closing(pk):
        return rows.closing(asked[pk], 1, end, 1, JudgeAnswer("done", "A", 80, text="[[A]]"))

    assert apply([opening(pk) for pk in (first, second, third)]) == [None] * 3
    run_states.release_expired()
    # Another worker takes two of them over, and asks one of these.
    Judgment.objects.filter(pk__in=[second, third]).update(
        state="leased", lease="y", leased_until=timezone.now() + timedelta(seconds=20)
    )
    others = ledger.LedgerRows(run, "y", dict.fromkeys(ids, "r1"))
    assert apply([opening(third, 2, others)]) == [None]

    (refused,) = apply([opening(fourth)])
    apply_again([closing(pk) for pk in (first, second, third)])
    (too_late,) = apply([opening(second, 2, others)])

    assert (type(refused), type(too_late)) == (Halted, Halted)
    states = dict(run.judgments.filter(pk__in=ids).values_list("pk", "state"))
    assert states == {first: "done", second: "done", third: "leased", fourth: "pending"}
    assert set(Attempt.objects.values_list("judgment", "number", "outcome")) == {
        (first, 1, "replied"),
        (second, 1, "replied"),
        (third, 1, "replied"),
        (third, 2, "sent"),
    }
