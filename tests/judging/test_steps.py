"""Questions of several steps: each is asked once, whatever ends the process in between."""

import asyncio
import json
import os
import signal
import subprocess
import sys
import threading
from collections import Counter

import pytest

from judging.engine.asker import Asker, Route
from judging.engine.interface import (
    BudgetQueue,
    Interrupted,
    JudgeAnswer,
    JudgeQuestion,
    Parameters,
    Rejected,
    Reply,
)
from judging.engine.limits import RateLimits
from judging.engine.messages import Message
from judging.engine.rate_limits import Limiter
from judging.protocols.usual import PTrue, Score10, SecondTurn
from tests.judging.llm_server import LlmServer, completion
from tests.judging.processes import ROOT, Site
from tests.management import in_one_process

PROMPT = (Message("user", "Which? [["), Message("user", "How certain? [["))


class Scripted:
    """A backend that gives one reply, or fault, after another."""

    def __init__(self, *replies):
        self.replies, self.asked = list(replies), []

    def parameters(self):
        return Parameters({"model": "m"})

    async def ask(self, question, *, seed, parameters):
        self.asked.append(([m.text for m in question.asking], seed))
        reply = self.replies.pop(0)
        if isinstance(reply, Exception):
            raise reply
        return reply if isinstance(reply, Reply) else Reply(reply)

    async def close(self):
        pass


class Notes:
    """A ledger in memory."""

    def __init__(self):
        self.budget_queue, self.closed = BudgetQueue(), []

    async def open(self, question, number, parameters):
        pass

    async def close(self, question, number, end, replies, outcome):
        self.closed.append((question, number, end.outcome, replies, outcome))


def ask(question, *replies):
    async def scenario():
        backend, notes = Scripted(*replies), Notes()
        await Asker(routes=[Route(backend, Limiter(RateLimits()))], ledger=notes).ask(question)
        return backend, notes

    return asyncio.run(scenario())


def question(protocol, **fields):
    return JudgeQuestion(1, PROMPT, protocol, seed=7, **fields)


def test_the_second_step_follows_the_first_and_its_reply_decides():
    backend, notes = ask(question(SecondTurn()), "A]]", "80]]")

    assert [messages for messages, _ in backend.asked] == [
        ["Which? [["],
        ["Which? [[", "A]]", "How certain? [["],
    ]
    (asked, _, _, _, following), (_, number, _, _, answer) = notes.closed
    assert (asked.earlier, following.earlier, number) == ((), ("A]]",), 2)
    assert (answer.state, answer.side, answer.certainty, answer.text) == ("done", "A", 80, "80]]")


def test_each_step_is_asked_again_by_itself_with_another_seed():
    backend, notes = ask(question(Score10()), "Hm.", "6]]", "Very.", "Quite.", "7]]")

    assert backend.asked == [
        (["Which? [["], 7),
        (["Which? [["], 8),
        (["How certain? [["], 7),
        (["How certain? [["], 8),
        (["How certain? [["], 9),
    ]
    assert [replies for _, _, _, replies, _ in notes.closed] == [1, 2, 1, 2, 3]
    assert notes.closed[-1][4].details == {"scores": {"A": 6, "B": 7}}


def test_a_step_without_a_usable_reply_ends_the_question():
    backend, notes = ask(question(Score10()), "7]]", *["Very."] * 5)

    assert len(backend.asked) == 6
    answer = notes.closed[-1][4]
    assert (answer.state, answer.error) == ("unparseable", "No reply of 5 to step 2 can be read.")


def test_a_question_continues_with_the_step_that_is_open():
    backend, notes = ask(question(SecondTurn(), earlier=("B]]",), attempts=3, replies=1), "55]]")

    assert backend.asked == [(["Which? [[", "B]]", "How certain? [["], 8)]
    _, number, _, replies, answer = notes.closed[-1]
    assert (number, replies, answer.side, answer.certainty) == (4, 2, "B", 55)


def test_a_lost_request_repeats_its_own_step_only():
    backend, _ = ask(question(Score10()), "7]]", Interrupted("gone"), "5]]")

    assert [messages for messages, _ in backend.asked] == [
        ["Which? [["],
        ["How certain? [["],
        ["How certain? [["],
    ]


def test_a_refused_request_of_a_later_step_is_an_error_and_keeps_the_steps():
    _, notes = ask(question(Score10()), "7]]", Rejected("too long"))

    asked, *_, answer = notes.closed[-1]
    assert (asked.earlier, answer.state) == (("7]]",), "error")


def test_a_reply_that_the_server_calls_a_refusal_ends_at_any_step():
    _, notes = ask(question(SecondTurn()), Reply("A]]", refused=True))
    _, later = ask(question(SecondTurn()), "A]]", Reply("80]]", refused=True))

    assert isinstance(notes.closed[-1][4], JudgeAnswer)
    assert notes.closed[-1][4].state == later.closed[-1][4].state == "refused"


def test_probabilities_of_each_step_are_those_of_its_own_options():
    first = Reply("A]]", probabilities={"A": 0.75, "B": 0.25})

    _, turns = ask(question(SecondTurn()), first, "80]]")
    _, truth = ask(question(PTrue()), first, Reply("Yes]]", probabilities={"yes": 0.5, "no": 0.5}))

    assert turns.closed[-1][4].probabilities == {"A": 0.75, "B": 0.25}
    answer = truth.closed[-1][4]
    assert (answer.probabilities, answer.certainty) == ({"A": 0.75, "B": 0.25}, 50)


@pytest.mark.nightly  # With --all. test_crash kills workers.
@pytest.mark.e2e
@pytest.mark.sqlite
def test_a_worker_killed_between_the_steps_asks_no_first_step_again(tmp_path):
    items, site, server = 6, Site(tmp_path), LlmServer()
    hold, held = threading.Event(), threading.Semaphore(0)

    def answer(body, number):
        if len(body["messages"]) == 1:
            return completion("A]]")
        if not hold.is_set():  # until the process that asks is killed
            held.release()
            hold.wait(60)
        return completion("80]]")

    server.answer = answer
    judge = ["judge", "s", "--judge", "j", "--setting", "second-turn", "--inline", "--yes"]
    prices = ["--price-input", "1", "--price-output", "1"]
    site.prepare("s", items, server.url, "--concurrency", "8", *prices)
    try:
        with subprocess.Popen(
            [sys.executable, *in_one_process(judge)],
            cwd=ROOT,
            env=site.env,
            start_new_session=True,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        ) as process:
            for _ in range(items):
                assert held.acquire(timeout=90)
            os.killpg(process.pid, signal.SIGKILL)
        stored = "SELECT earlier_replies, state FROM judging_judgment"
        assert [json.loads(text) for text, _ in site.sql(stored)] == [["A]]"]] * items
        site.sql("UPDATE judging_judgment SET leased_until = '2020-01-01' WHERE state = 'leased'")
        hold.set()

        site.manage(judge)
    finally:
        hold.set()
        server.stop()

    steps = Counter(len(body["messages"]) for body in server.requests)
    assert steps == {1: items, 3: 2 * items}
    assert Counter(json.dumps(b["messages"]) for b in server.requests).most_common()[-1][1] == 1
    read = "SELECT choice, certainty, shown_first FROM judging_judgment"
    assert all((choice, certainty) == (first, 80) for choice, certainty, first in site.sql(read))
    outcomes = dict(site.sql("SELECT outcome, count(*) FROM judging_attempt GROUP BY outcome"))
    assert outcomes == {"replied": 2 * items, "lost": items}
    # The lost requests count with the most that they can have cost, the others as billed.
    (lost,) = site.sql("SELECT sum(cost_nano) FROM judging_attempt WHERE outcome = 'lost'")[0]
    (spent,) = site.sql("SELECT spent_nano FROM judging_judgerun")[0]
    assert spent == 2 * items * 110 * 1000 + lost
