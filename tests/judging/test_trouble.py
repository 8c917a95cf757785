"""Servers that fail, stall, reset and refuse: nothing is lost, and every request is counted."""

import time
from decimal import Decimal

import pytest
from django.db import connection

from judging.models import Judgment
from judging.selectors import run_cost
from tests.factories import make_item, make_items, make_study
from tests.judging.conftest import make_judge
from tests.judging.llm_server import Answer, completion, error
from tests.judging.run_helpers import judge_all, states, study_of


def test_a_429_with_retry_after_makes_everybody_wait_that_long(judge, llm):
    study = study_of(6)
    arrivals = []

    def answer(body, n):
        arrivals.append(time.monotonic())
        return error(429, "slow down", retry_after="1") if n == 1 else completion("[[A]]")

    llm.answer = answer
    make_judge(concurrency=1)

    run = judge_all(study, judge)

    assert run.state == "done"
    assert arrivals[1] - arrivals[0] >= 1.0
    assert run_cost(run).outcomes == {"rate_limited": 1, "replied": 6}


@pytest.mark.sampled(keep=2)
@pytest.mark.parametrize(
    "answer",
    [None, error(500, "broken"), Answer(body=b"not json"), Answer(drops=True), error(429, "busy")],
    ids=["down", "500", "garbage", "reset", "429"],
)
def test_a_server_that_never_gives_an_answer_stops_the_run(llm, engine, answer):
    url = llm.url if answer else "http://127.0.0.1:9/v1"
    judge = make_judge(base_url=url, outage_seconds=1)
    study = study_of(3)
    llm.answer = lambda body, n: answer

    run = judge_all(study, judge)

    assert (run.state, states(run)) == ("stopped_outage", {"pending": 3})
    assert "gave no usable answer" in run.sentence
    if answer:
        assert run_cost(run).attempts == len(llm.requests)
    else:
        assert "no connection" in run.sentence
        assert set(run_cost(run).outcomes) == {"unreachable"}


def test_a_stopped_run_goes_on_where_it_stood(llm, engine):
    judge = make_judge(base_url=llm.url, outage_seconds=1, concurrency=1)
    study = study_of(4)
    llm.answer = lambda body, n: completion("[[A]]") if n <= 2 else error(500)
    run = judge_all(study, judge)
    assert (run.state, states(run)) == ("stopped_outage", {"done": 2, "pending": 2})
    first = dict(run.judgments.filter(state="done").values_list("pk", "answered_at"))

    llm.answer = lambda body, n: completion("[[B]]")
    again = judge_all(study, judge)

    assert (again.pk, again.state) == (run.pk, "done")
    assert dict(again.judgments.filter(pk__in=first).values_list("pk", "answered_at")) == first


def test_a_slow_server_is_waited_for_and_its_lease_renewed(judge, llm, monkeypatch):
    monkeypatch.setattr("judging.worker.chunks._RENEW_SECONDS", 0.2)
    study = study_of(1)
    leases = []

    def answer(body, n):
        leases.append(Judgment.objects.get().leased_until)
        deadline = time.monotonic() + 60
        while Judgment.objects.get().leased_until == leases[0] and time.monotonic() < deadline:
            time.sleep(0.05)
        leases.append(Judgment.objects.get().leased_until)
        connection.close()  # of the server's thread
        return completion("[[A]]")

    llm.answer = answer

    run = judge_all(study, judge)

    assert run.state == "done"
    assert leases[1] > leases[0]


def test_a_request_without_an_answer_in_time_is_tried_again_and_counted_at_its_most(llm, engine):
    judge = make_judge(base_url=llm.url, timeout_seconds=1, price_input=1, price_output=2)
    study = study_of(1)
    llm.answer = lambda body, n: Answer(body=completion("[[A]]").body, delay=1.5 if n == 1 else 0)

    run = judge_all(study, judge)

    late, answered = run.judgments.get().attempts.order_by("number")
    assert (late.outcome, answered.outcome) == ("timeout", "replied")
    assert late.cost_is_estimate
    assert late.cost_nano > answered.cost_nano
    assert run.spent_nano == late.cost_nano + answered.cost_nano
    assert run_cost(run).estimated == Decimal(late.cost_nano) / 10**9


def test_a_request_that_the_server_rejects_is_that_items_error_and_no_outage(judge, llm):
    study = make_study()
    make_item(study=study, key="long", question="Too long?")
    make_item(study=study, key="short")

    def answer(body, n):
        if "Too long?" in body["messages"][0]["content"]:
            return error(400, "maximum context length exceeded")
        return completion("[[A]]")

    llm.answer = answer

    run = judge_all(study, judge)

    failed = run.judgments.get(item__key="long")
    assert (run.state, failed.state, failed.choice) == ("done", "error", "")
    assert "maximum context length" in failed.error
    assert run.sentence == (
        "1 of 2 answered, 1 failed and will be asked again at the next start (the first: HTTP 400: "
        "maximum "
        "context length exceeded)."
    )


def test_the_same_call_asks_again_what_failed_and_nothing_else(judge, llm):
    study = study_with_poison("aaa", others=2)
    llm.answer = lambda body, n: error(400, "odd") if is_poison(body) else completion("[[A]]")
    assert states(judge_all(study, judge)) == {"done": 2, "error": 1}
    before = len(llm.requests)
    llm.answer = lambda body, n: completion("[[A]]")

    run = judge_all(study, judge)

    assert (run.state, states(run), len(llm.requests) - before) == ("done", {"done": 3}, 1)


def test_an_item_that_alone_makes_the_server_fail_ends_as_an_error(judge, llm, soon):
    study = study_of(30)
    make_item(study=study, key="aaa", question="Poison?")

    def answer(body, n):
        if "Poison?" in body["messages"][0]["content"]:
            return error(500, "crash")
        return Answer(body=completion("[[A]]").body, delay=0.05)

    llm.answer = answer
    make_judge(concurrency=2)

    run = judge_all(study, judge)

    assert (run.state, states(run)) == ("done", {"done": 30, "error": 1})
    assert "failed while others succeeded" in run.judgments.get(item__key="aaa").error


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (error(401, "bad key"), "refuses the key"),
        (error(404, "no such model"), "knows no such model or address"),
        (error(429, "pay first", code="insufficient_quota"), "no quota left"),
    ],
)
def test_what_no_waiting_can_mend_stops_the_run_at_once(judge, llm, answer, words):
    study = study_of(40)
    llm.answer = lambda body, n: answer
    make_judge(concurrency=2)

    run = judge_all(study, judge)

    assert run.state == "stopped_outage"
    assert words in run.sentence
    assert len(llm.requests) <= 6  # of 40: slow machines ask once more before they know


BLOCKED = Answer(403, b"<!DOCTYPE html><title>Attention Required!</title>You have been blocked")


def is_poison(body):
    return "Poison" in body["messages"][0]["content"]


@pytest.fixture
def soon(monkeypatch):
    """The tries of a question at fault follow each other at once."""
    monkeypatch.setattr("judging.engine.asker._LONGEST_OWN_PAUSE", 0.01)


def study_with_poison(*keys, others=18):
    study = make_study()
    make_items(study, others)
    for key in keys:
        make_item(study=study, key=key, question=f"Poison {key}?")
    return study


@pytest.mark.sampled(keep=1)
@pytest.mark.parametrize(
    ("answer", "keys"),
    [
        (BLOCKED, ["aaa", "aab"]),
        (error(500, "Context size has been exceeded."), ["zzy", "zzz"]),
        (error(404, "not found"), ["aaa", "zzx", "zzy", "zzz"]),
        (error(400, "Cannot judge: the user asks about an invalid API key."), ["aaa", "aab"]),
    ],
    ids=["403", "500", "404", "400"],
)
def test_some_items_that_always_fail_never_stop_a_run_for_ever(llm, engine, soon, answer, keys):
    judge = make_judge(base_url=llm.url, outage_seconds=1)
    study = study_with_poison(*keys)
    llm.answer = lambda body, n: answer if is_poison(body) else completion("[[A]]")

    for _ in range(2):  # several left alone together may be an outage, but not twice
        run = judge_all(study, judge)

    assert (run.state, states(run)) == ("done", {"done": 18, "error": len(keys)})


def test_the_last_item_that_fails_alone_is_at_fault_and_not_the_server(llm, engine):
    judge = make_judge(base_url=llm.url, outage_seconds=1, concurrency=1)
    study = study_with_poison("zzz", others=3)
    llm.answer = lambda body, n: error(500, "crash") if is_poison(body) else completion("[[A]]")

    run = judge_all(study, judge)

    assert (run.state, states(run)) == ("done", {"done": 3, "error": 1})


@pytest.mark.parametrize("answer", [BLOCKED, error(404, "no such model")], ids=["403", "404"])
def test_a_server_that_refuses_different_items_alike_stops_the_run_soon(llm, engine, answer):
    judge = make_judge(base_url=llm.url, concurrency=2)
    study = study_of(40)
    llm.answer = lambda body, n: completion("[[A]]") if n <= 10 else answer

    run = judge_all(study, judge)

    assert run.state == "stopped_outage"
    assert len(llm.requests) <= 16
    assert states(run)["done"] == 10


def test_a_server_that_is_away_when_failed_items_are_asked_again_still_stops_the_run(llm, engine):
    judge = make_judge(base_url=llm.url, outage_seconds=1)
    study = study_with_poison("aaa", others=3)
    llm.answer = lambda body, n: error(400, "odd") if is_poison(body) else completion("[[A]]")
    judge_all(study, judge)
    judge = make_judge(base_url="http://127.0.0.1:9/v1", outage_seconds=1)  # nobody listens

    run = judge_all(study, judge)

    assert (run.state, states(run)) == ("stopped_outage", {"done": 3, "pending": 1})
