"""A local model that fails, in whatever way, keeps nobody waiting. The models here are made up."""

import asyncio
import threading

import pytest

from extras.local_models import thread as model_thread
from extras.local_models.kind import TransformersKind
from extras.local_models.thread import ModelThread, Residency
from judging.engine.interface import (
    BackendFault,
    JudgeQuestion,
    Misconfigured,
    Rejected,
    Reply,
    ServerError,
)
from judging.engine.messages import from_user
from judging.protocols.protocol import Standard
from tests.factories import make_items, make_study
from tests.judging.conftest import make_judge
from tests.judging.run_helpers import judge_all, states


class OutOfRoom(Exception):
    pass


class MadeUp:
    """Answers alike, unless `fails` says otherwise for a batch."""

    out_of_memory = (OutOfRoom,)

    def __init__(self, fails=lambda questions: None):
        self.fails = fails
        self.sizes = []

    def answer(self, questions, seeds, moved):
        self.sizes.append(len(questions))
        if (fault := self.fails(questions)) is not None:
            raise fault
        return [Reply("[[A]]") for _ in questions]

    def answer_running(self, questions, seeds, moved, *, more, done):
        raise NotImplementedError

    def free_memory(self):
        pass

    def unload(self):
        pass


def question(number, prompt="[[A]]"):
    return JudgeQuestion(number, from_user(prompt), protocol=Standard(), seed=number)


def ask(model, count=1, *, rounds=1, load=None, batch_size=4):
    """Ask so many questions at once, several times over; the replies and faults."""

    async def scenario():
        thread = ModelThread(load or (lambda: model), batch_size=batch_size)
        results = []
        for _ in range(rounds):
            asked = (thread.ask(question(n), seed=n) for n in range(count))
            together = asyncio.gather(*asked, return_exceptions=True)
            results += await asyncio.wait_for(together, timeout=60)
        await thread.close()
        return results

    try:
        return asyncio.run(scenario())
    finally:
        # What ended a thread is reported when it has ended: in this test, not in the next one.
        for thread in threading.enumerate():
            if thread.name == "judging-model":
                thread.join(timeout=60)


FAULTS = [
    TypeError("a template that takes no system message"),
    KeyError("rope"),
    AttributeError("no such head"),
    RuntimeError("device-side assert"),
    AssertionError(),
    StopIteration(),
    NotImplementedError("op"),
    RecursionError(),
    UnicodeDecodeError("utf-8", b"\xff", 0, 1, "bad"),
    asyncio.CancelledError("of somebody else"),
    Exception("anything"),
]


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: type(fault).__name__)
@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_whatever_a_model_raises_is_told_and_the_next_question_is_answered(fault):
    failing = [fault]
    model = MadeUp(lambda questions: failing.pop() if failing else None)

    first, second = ask(model, rounds=2)

    assert isinstance(first, ServerError)
    assert str(first).startswith("the model failed: ")
    assert type(fault).__name__ not in str(first)
    assert second.text == "[[A]]"


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_thread_that_is_ended_from_inside_refuses_who_waits_and_another_takes_over():
    failing = [SystemExit(1)]
    model = MadeUp(lambda questions: failing.pop() if failing else None)

    results = ask(model, 6, rounds=2, batch_size=2)

    assert all(isinstance(result, Reply | ServerError) for result in results)
    assert [result.text for result in results[6:]] == ["[[A]]"] * 6


@pytest.mark.parametrize("fault", [OutOfRoom(), MemoryError()])
def test_what_does_not_fit_is_halved_until_it_does_and_a_question_alone_is_refused(
    fault, monkeypatch
):
    monkeypatch.setattr(model_thread, "_GATHER_SECONDS", 60)  # all four are one batch
    model = MadeUp(lambda questions: fault if len(questions) > 1 or questions[0].id == 3 else None)

    results = ask(model, 4)

    assert [isinstance(result, Reply) for result in results] == [True, True, True, False]
    assert isinstance(results[3], Rejected)
    assert model.sizes == [4, 2, 1, 1, 2, 1, 1]


def test_a_model_that_cannot_even_free_its_memory_keeps_nobody_waiting():
    class Broken(MadeUp):
        def free_memory(self):
            raise RuntimeError("the device is gone")

    results = ask(Broken(lambda questions: OutOfRoom()), 3)

    assert all(isinstance(result, ServerError) for result in results)


def test_too_few_replies_are_a_fault_of_all():
    class Short(MadeUp):
        def answer(self, questions, seeds, moved):
            return super().answer(questions, seeds, moved)[1:]

    assert all(isinstance(result, ServerError) for result in ask(Short(), 3))


@pytest.mark.parametrize("fault", [AttributeError("no config"), Misconfigured("not there")])
def test_a_model_that_cannot_be_loaded_is_said_so_at_once_and_tried_again(fault):
    tries = []

    def load():
        tries.append(1)
        if len(tries) == 1:
            raise fault
        return MadeUp()

    first, second = ask(None, rounds=2, load=load)

    assert isinstance(first, Misconfigured)
    assert str(fault) in str(first)
    assert second.text == "[[A]]"


def test_a_model_that_makes_no_step_is_given_up_with_a_sentence(monkeypatch):
    monkeypatch.setattr(model_thread, "STEP_SECONDS", 0.2)
    monkeypatch.setattr(model_thread, "_WATCH_SECONDS", 0.05)
    ends = threading.Event()
    model = MadeUp(lambda questions: ends.wait(20) and None)

    async def scenario():
        thread = ModelThread(lambda: model, batch_size=1)
        asked = (thread.ask(question(n), seed=n) for n in range(3))
        faults = await asyncio.wait_for(asyncio.gather(*asked, return_exceptions=True), timeout=60)
        ends.set()
        await thread.close()
        return faults

    faults = asyncio.run(scenario())

    assert [type(fault) for fault in faults] == [Misconfigured] * 3
    assert "made no step" in str(faults[0])
    assert "Restart the worker" in str(faults[0])


def test_a_model_that_is_slow_but_moves_is_waited_for(monkeypatch):
    monkeypatch.setattr(model_thread, "STEP_SECONDS", 0.5)
    monkeypatch.setattr(model_thread, "_WATCH_SECONDS", 0.05)
    pause = threading.Event()

    class Slow(MadeUp):
        def answer(self, questions, seeds, moved):
            for _ in range(15):
                pause.wait(0.1)
                moved()
            return super().answer(questions, seeds, moved)

    assert ask(Slow())[0].text == "[[A]]"


def test_who_is_waiting_when_the_thread_is_closed_is_told_and_nobody_after():
    started, ends = threading.Event(), threading.Event()

    def hold(questions):
        started.set()
        ends.wait(20)

    async def scenario():
        thread = ModelThread(lambda: MadeUp(hold), batch_size=1)
        waiting = [asyncio.create_task(thread.ask(question(n), seed=n)) for n in range(3)]
        await asyncio.to_thread(started.wait, 60)
        closing = asyncio.create_task(thread.close())
        await asyncio.sleep(0.05)
        ends.set()
        await closing
        results = await asyncio.wait_for(asyncio.gather(*waiting, return_exceptions=True), 60)
        with pytest.raises(BackendFault, match="has ended"):
            await asyncio.wait_for(thread.ask(question(9), seed=9), 60)
        return results

    first, *others = asyncio.run(scenario())

    assert first.text == "[[A]]"
    assert [type(other) for other in others] == [ServerError] * 2


def test_a_question_that_was_given_up_is_not_computed():
    model = MadeUp()

    async def scenario():
        thread = ModelThread(lambda: model, batch_size=8)
        first = asyncio.create_task(thread.ask(question(1), seed=1))
        await asyncio.sleep(0)
        first.cancel()
        reply = await asyncio.wait_for(thread.ask(question(2), seed=2), 60)
        await asyncio.gather(first, return_exceptions=True)
        await thread.close()
        return reply

    assert asyncio.run(scenario()).text == "[[A]]"
    assert model.sizes == [1]


@pytest.mark.nightly
@pytest.mark.django_db(transaction=True)
def test_every_question_of_a_run_resolves_though_the_model_fails_now_and_then(engine, monkeypatch):
    """What failed in the middle of a run held that question, and all behind it, for ever."""
    failing = [TypeError("one"), KeyError("two")]
    model = MadeUp(lambda questions: failing.pop() if failing else None)
    monkeypatch.setattr("extras.local_models.model.LocalModel", lambda settings: model)
    monkeypatch.setattr(TransformersKind, "check", lambda self, judge: None)
    judge = make_judge(name="local", backend="transformers", model=f"made-up@{'0' * 40}")
    study = make_study()
    make_items(study, 7)

    run = judge_all(study, judge)

    assert (run.state, states(run)) == ("done", {"done": 7})


@pytest.mark.django_db(transaction=True)
def test_a_run_whose_model_always_fails_unexpectedly_stops_and_says_what_happened(
    engine, monkeypatch
):
    model = MadeUp(lambda questions: ZeroDivisionError("no experts chosen"))
    monkeypatch.setattr("extras.local_models.model.LocalModel", lambda settings: model)
    monkeypatch.setattr(TransformersKind, "check", lambda self, judge: None)
    judge = make_judge(
        name="local", backend="transformers", model=f"made-up@{'0' * 40}", outage_seconds=1
    )
    study = make_study()
    make_items(study, 2)

    run = judge_all(study, judge)

    assert run.state == "stopped_outage"
    assert "the model failed: no experts chosen" in run.sentence


class InMemory:
    """Made-up models that count how many of them are in memory."""

    def __init__(self):
        self.now, self.most, self.log = 0, 0, []

    def load(self, name, **behaviour):
        def load():
            self.now += 1
            self.most = max(self.most, self.now)
            self.log.append(f"load {name}")
            model = MadeUp(**behaviour)
            model.unload = unload  # type: ignore[method-assign]
            return model

        def unload():
            self.now -= 1
            self.log.append(f"unload {name}")

        return load


def test_two_models_are_never_in_memory_together_and_both_answer():
    memory, residency = InMemory(), Residency(turn_seconds=0)

    async def scenario():
        threads = [
            ModelThread(memory.load(name), batch_size=2, residency=residency) for name in "ab"
        ]
        asked = [thread.ask(question(n), seed=n) for n in range(6) for thread in threads]
        replies = await asyncio.wait_for(asyncio.gather(*asked), 60)
        for thread in threads:
            await thread.close()
        return replies

    assert [reply.text for reply in asyncio.run(scenario())] == ["[[A]]"] * 12
    assert (memory.most, memory.now) == (1, 0)
    assert {"load a", "load b"} <= set(memory.log)


@pytest.mark.nightly
def test_a_model_with_nothing_to_answer_makes_room_and_comes_back():
    memory, residency = InMemory(), Residency()

    async def scenario():
        one, other = (
            ModelThread(memory.load(name), batch_size=1, residency=residency) for name in "ab"
        )
        for thread in (one, other, one):
            await asyncio.wait_for(thread.ask(question(1), seed=1), 60)
        await one.close()
        await other.close()

    asyncio.run(scenario())

    assert memory.log == [f"{what} {name}" for name in "aba" for what in ("load", "unload")]


def test_a_model_that_is_busy_keeps_its_turn_while_another_waits():
    memory, residency = InMemory(), Residency(turn_seconds=3600)

    async def scenario():
        one, other = (
            ModelThread(memory.load(name), batch_size=1, residency=residency) for name in "ab"
        )
        first = [asyncio.create_task(one.ask(question(n), seed=n)) for n in range(5)]
        await first[0]
        last = asyncio.create_task(other.ask(question(9), seed=9))
        await asyncio.wait_for(asyncio.gather(*first, last), 60)
        await one.close()
        await other.close()

    asyncio.run(scenario())

    assert memory.log == ["load a", "unload a", "load b", "unload b"]


def test_a_model_that_cannot_be_loaded_leaves_its_place_to_the_next():
    memory, residency = InMemory(), Residency()

    def fail():
        raise OSError("no such file")

    async def scenario():
        one = ModelThread(fail, batch_size=1, residency=residency)
        other = ModelThread(memory.load("b"), batch_size=1, residency=residency)
        with pytest.raises(Misconfigured, match="no such file"):
            await asyncio.wait_for(one.ask(question(1), seed=1), 60)
        reply = await asyncio.wait_for(other.ask(question(1), seed=1), 60)
        await one.close()
        await other.close()
        return reply

    assert asyncio.run(scenario()).text == "[[A]]"


def test_questions_that_begin_alike_are_answered_together():
    batches = []
    model = MadeUp(lambda questions: batches.append({q.id for q in questions}))
    texts = {
        1: "Ann likes tea. Which? A",
        2: "Bob has a dog. Which? A",
        3: "Ann likes tea. Which? B",
    }

    async def scenario():
        thread = ModelThread(lambda: model, batch_size=2)
        asked = (thread.ask(question(n, texts[n]), seed=n) for n in texts)
        await asyncio.wait_for(asyncio.gather(*asked), 60)
        await thread.close()

    asyncio.run(scenario())

    assert batches == [{1, 3}, {2}]


class Refilled(MadeUp):
    """Answers a row at a time, and takes another question for each; may fail at a place."""

    def __init__(self, *, fails_at=None, fault=None):
        super().__init__()
        self.fails_at, self.fault, self.freed = fails_at, fault, []

    def answer_running(self, questions, seeds, moved, *, more, done):
        self.sizes.append(len(questions))
        open_, place = list(zip(questions, seeds, strict=True)), 0
        while open_:
            if place == self.fails_at:
                raise self.fault
            _, seed = open_.pop(0)
            done(place, Reply(f"[[A]] {seed}"))
            place += 1
            new = more(1)
            self.freed.append(len(new))
            open_ += new
            moved()


@pytest.fixture
def refilled(monkeypatch):
    """Asks questions at once; the model answers four of them when all the others wait."""
    monkeypatch.setattr(model_thread, "_GATHER_SECONDS", 60)

    def ask_all(model, count):
        all_wait = threading.Event()

        def load():
            monkeypatch.undo()  # the first batch is whole; at the end fewer are left
            assert all_wait.wait(60)
            return model

        async def scenario():
            thread = ModelThread(load, batch_size=4, refills=True)
            asked = (thread.ask(question(n), seed=n) for n in range(count))
            together = asyncio.gather(*asked, return_exceptions=True)
            await asyncio.sleep(0)  # each of them begins
            all_wait.set()
            results = await asyncio.wait_for(together, timeout=60)
            await thread.close()
            return results

        return asyncio.run(scenario())

    return ask_all


def test_waiting_questions_enter_a_running_batch_and_each_gets_its_own_reply(refilled):
    model = Refilled()

    replies = refilled(model, 11)

    assert [reply.text for reply in replies] == [f"[[A]] {n}" for n in range(11)]
    assert model.sizes == [4]
    assert sum(model.freed) == 7


def test_a_running_batch_that_does_not_fit_any_more_is_answered_in_parts_and_once(refilled):
    model = Refilled(fails_at=6, fault=OutOfRoom())

    replies = refilled(model, 11)

    assert [reply.text.split()[0] for reply in replies] == ["[[A]]"] * 11
    # Six had their replies; the four in the batch are answered without taking others.
    assert model.sizes[:2] == [4, 4]


def test_a_fault_of_a_running_batch_reaches_those_in_it_and_nobody_waits(refilled):
    model = Refilled(fails_at=6, fault=KeyError("rope"))

    replies = refilled(model, 8)

    answered = [reply for reply in replies if isinstance(reply, Reply)]
    faults = [reply for reply in replies if isinstance(reply, ServerError)]
    assert (len(answered), len(faults)) == (6, 2)
    assert "rope" in str(faults[0])
