"""Nobody waits for ever: not for a request that never ends, not for a writer that is gone."""

import asyncio
import contextlib
import threading
from unittest.mock import Mock

import pytest
from django.db import OperationalError

from judging.backends.openai import OpenAIBackend, OpenAISettings, Server
from judging.engine.interface import JudgeQuestion, LedgerFailed, Parameters, Reply, TimedOut
from judging.engine.messages import from_user
from judging.models import Attempt, JudgeRun, Judgment
from judging.protocols.protocol import Standard
from judging.runs import lifecycle
from judging.worker import chunks, ledger, ledger_statements, runtime
from judging.worker.writer import Writer
from tests.judging.conftest import make_judge
from tests.judging.llm_server import completion
from tests.judging.run_helpers import judge_all, start, study_of


@pytest.mark.nightly
@pytest.mark.django_db(transaction=True)
def test_questions_of_a_chunk_that_does_not_move_are_asked_again(llm, engine, monkeypatch):
    study = study_of(3)
    judge = make_judge(base_url=llm.url, timeout_seconds=1, outage_seconds=1)
    monkeypatch.setattr(chunks, "_RENEW_SECONDS", 0.05)
    monkeypatch.setattr(chunks, "_RESERVE_SECONDS", 0.0)
    ask = OpenAIBackend.ask
    never_ended: list[int] = []

    async def ask_or_hang(self, question, *, seed, parameters):
        if not never_ended:
            never_ended.append(question.id)
            await asyncio.Event().wait()
        return await ask(self, question, seed=seed, parameters=parameters)

    monkeypatch.setattr(OpenAIBackend, "ask", ask_or_hang)

    run = judge_all(study, judge)

    assert run.state == "done"
    assert set(run.judgments.values_list("state", flat=True)) == {Judgment.State.DONE}
    stuck = Judgment.objects.get(pk=never_ended[0])
    assert list(stuck.attempts.values_list("outcome", flat=True)) == ["lost", "replied"]


def test_a_row_that_cannot_be_written_takes_neither_the_others_nor_the_writer_down():
    written = []

    def apply(rows):
        if "bad" in rows:
            raise ValueError("no such character")
        written.extend(rows)
        return [None for _ in rows]

    async def scenario():
        rows = [writer.write(row) for row in ("good", "bad", "fair")]
        return await asyncio.wait_for(asyncio.gather(*rows, return_exceptions=True), timeout=60)

    writer = Writer(apply)
    try:
        good, bad, fair = asyncio.run(scenario())
        asyncio.run(asyncio.wait_for(writer.write("later"), timeout=60))
    finally:
        writer.stop()

    assert (good, fair) == (None, None)
    assert isinstance(bad, LedgerFailed)
    assert written == ["good", "fair", "later"]


def test_rows_that_come_during_a_commit_are_committed_together():
    committed = []
    goes_on = threading.Event()

    def apply(rows):
        committed.append(len(rows))
        goes_on.wait(timeout=60)
        return [None for _ in rows]

    async def scenario():
        first = asyncio.create_task(writer.write(0))
        while not committed:
            await asyncio.sleep(0.001)
        others = [asyncio.create_task(writer.write(n)) for n in range(1, 101)]
        await asyncio.sleep(0)  # they hand their rows in
        goes_on.set()
        await asyncio.gather(first, *others)

    writer = Writer(apply)
    try:
        asyncio.run(asyncio.wait_for(scenario(), timeout=60))
    finally:
        writer.stop()

    assert committed == [1, 100]


@pytest.mark.django_db(transaction=True)
def test_rows_whose_commit_was_never_acknowledged_count_once(llm, engine, monkeypatch):
    apply = ledger_statements.apply
    broken: set[str] = set()

    def commit_and_break(rows):
        told = apply(rows)
        for kind in {type(row).__name__ for row in rows} - broken:
            broken.add(kind)
            raise OperationalError("server closed the connection unexpectedly")
        return told

    monkeypatch.setattr(ledger_statements, "apply", commit_and_break)
    study = study_of(5)
    judge = make_judge(base_url=llm.url, price_input=1, price_output=1)

    run = judge_all(study, judge)

    assert broken == {"Opening", "Closing"}
    attempts = Attempt.objects.filter(judgment__run=run)
    assert set(attempts.values_list("number", "outcome")) == {(1, "replied")}
    assert (run.state, len(llm.requests), attempts.count()) == ("done", 5, 5)
    assert run.spent_nano == sum(attempts.values_list("cost_nano", flat=True))
    assert (run.tokens, run.retries) == (5 * 110, 0)


@pytest.mark.django_db(transaction=True)
def test_a_request_whose_answer_could_not_be_written_is_lost_and_counted(llm, engine, monkeypatch):
    apply = ledger_statements.apply

    def refuse_the_first_answer(rows):
        if any(isinstance(row, ledger.Closing) and row.number == 1 for row in rows):
            raise ValueError("no such character")
        return apply(rows)

    monkeypatch.setattr(ledger_statements, "apply", refuse_the_first_answer)
    study = study_of(1)
    judge = make_judge(base_url=llm.url, price_input=1, price_output=1)
    run = start(study, judge)

    with pytest.raises(LedgerFailed):
        chunks.judge_chunk(run_id=run.pk)
    chunks.judge_chunk(run_id=run.pk)

    run.refresh_from_db()
    attempts = Attempt.objects.filter(judgment__run=run)
    assert list(attempts.values_list("number", "outcome")) == [(1, "lost"), (2, "replied")]
    assert run.spent_nano == sum(attempts.values_list("cost_nano", flat=True))


@pytest.mark.django_db(transaction=True)
def test_half_a_character_and_a_nul_in_a_reply_are_stored_without(llm, engine):
    llm.answer = lambda body, n: completion("[[A]] \ud83d\x00!")
    study = study_of(1)
    judge = make_judge(base_url=llm.url)

    run = judge_all(study, judge)

    assert run.judgments.get().raw_text == "[[A]] \ufffd!"


@pytest.mark.django_db(transaction=True)
def test_a_writer_that_has_ended_refuses_rows_at_once():
    writer = Writer(lambda rows: [None for _ in rows])
    writer.stop()

    with pytest.raises(LedgerFailed, match="has ended"):
        asyncio.run(asyncio.wait_for(writer.write("row"), timeout=60))


class Odd:
    """A backend that fails as nobody thought of, the first so many times."""

    def __init__(self, *errors):
        self.errors = list(errors)

    def parameters(self):
        return Parameters({"model": "odd"})

    async def ask(self, question, *, seed, parameters):
        if self.errors:
            raise self.errors.pop()
        return Reply("[[A]]")

    async def close(self):
        pass


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("error", [KeyError("usage"), OSError("tls")])
def test_whatever_a_backend_raises_is_in_the_ledger_and_the_question_goes_on(
    engine, monkeypatch, error
):
    backend = Odd(error, error)
    monkeypatch.setattr("judging.worker.runtime.backend_of", lambda judge, address="": backend)
    study = study_of(3)

    run = judge_all(study, make_judge(base_url="http://x/v1"))

    assert run.state == "done"
    attempts = Attempt.objects.filter(judgment__run=run)
    failed = attempts.filter(outcome="failed")
    assert (attempts.count(), failed.count()) == (5, 2)
    assert failed[0].error == "failed in this program; the worker's log has the details"


@pytest.mark.django_db(transaction=True)
def test_a_reply_on_which_reading_fails_is_an_error_and_not_paid_for_again(
    llm, engine, monkeypatch
):
    def fail(question, reply, *, is_last):
        raise IndexError("of a pattern")

    monkeypatch.setattr("judging.engine.asker.read_answer", fail)
    study = study_of(2)

    run = judge_all(study, make_judge(base_url=llm.url))

    assert set(run.judgments.values_list("state", "error")) == {
        (
            "error",
            "The reply could not be read, because this program failed; "
            "the worker's log has the details.",
        )
    }
    assert len(llm.requests) == 2


def test_a_server_that_sends_a_little_now_and_then_is_not_waited_for_for_ever(monkeypatch):
    served = []

    async def drip(reader, writer):
        served.append(asyncio.current_task())
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n")
        with contextlib.suppress(ConnectionError):
            while True:
                writer.write(b" ")
                await writer.drain()
                await asyncio.sleep(0.05)
        writer.close()
        with contextlib.suppress(ConnectionError):
            await writer.wait_closed()

    async def scenario():
        server = await asyncio.start_server(drip, "127.0.0.1", 0)
        url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
        backend = OpenAIBackend(
            OpenAISettings("m", url, 0.7, 0.95, 64, 0.3),
            Server(url, "", timeout=0.3),
        )
        question = JudgeQuestion(1, from_user("?"), protocol=Standard(), seed=1)
        try:
            with pytest.raises(TimedOut):
                await asyncio.wait_for(
                    backend.ask(question, seed=1, parameters=backend.parameters()), timeout=60
                )
        finally:
            await backend.close()
            server.close()
            await asyncio.gather(*served, return_exceptions=True)

    monkeypatch.setattr("judging.backends.connections.CONNECT_SECONDS", 0.1)
    asyncio.run(scenario())


def test_a_run_that_failed_stops_no_later_run_of_the_process(llm, engine, monkeypatch):
    study = study_of(1)
    judge = make_judge(base_url=llm.url)
    with monkeypatch.context() as broken:
        broken.setattr(chunks, "judge_chunk", Mock(side_effect=RuntimeError("broken")))
        with pytest.raises(RuntimeError, match="broken"):
            judge_all(study, judge)
    runtime.shut_down()

    run = JudgeRun.objects.get()
    lifecycle.work_off(run_id=run.pk)

    run.refresh_from_db()
    assert run.state == "done"
