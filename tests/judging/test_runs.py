"""Runs against a real HTTP server: every way it can go, and what is left behind."""

import threading
import time
from collections import Counter
from decimal import Decimal

import pytest
from django.db import connection

from judging.errors import BadJudge, BadRun
from judging.models import JudgeRun, Judgment
from judging.selectors import run_cost
from judging.services import runs
from studies.errors import StudyError
from studies.models import Item
from tests.factories import make_item, make_study
from tests.judging.conftest import make_judge
from tests.judging.llm_server import Answer, completion, error


def start(study, judge, **options):
    return runs.start_run(study_id=study.pk, judge_id=judge.pk, enqueue=False, **options)


def judge_all(study, judge, **options):
    run = start(study, judge, **options)
    runs.work_off(run_id=run.pk)
    run.refresh_from_db()
    return run


def make_items(study, count, **overrides):
    return [make_item(study=study, **overrides) for _ in range(count)]


def states(run):
    return Counter(run.judgments.values_list("state", flat=True))


def asked(llm):
    return Counter(body["messages"][0]["content"] for body in llm.requests)


def test_a_run_asks_every_item_once_and_stores_the_answer_by_content(judge, llm):
    study = make_study()
    make_items(study, 7)
    llm.answer = lambda body, n: completion("B]] [[61]]")

    run = judge_all(study, judge, setting="certainty")

    assert (run.state, run.sentence) == ("done", "7 of 7 answered.")
    assert set(asked(llm).values()) == {1}
    for judgment in run.judgments.all():
        assert judgment.choice == {"r1": "r2", "r2": "r1"}[judgment.shown_first]
        assert (judgment.certainty, judgment.replies) == (61, 1)
        assert judgment.model_snapshot == "mock-2024-05-13"
        assert judgment.fingerprint == "fp_1"
        assert judgment.raw_text == "B]] [[61]]"


def test_the_request_carries_the_judges_parameters_and_the_items_words(judge, llm):
    study = make_study()
    item = make_item(study=study, question="Tea or coffee?", r1={"text": "Tea"})

    judge_all(study, judge, orders="r1_first")

    (body,) = llm.requests
    prompt = body["messages"][0]["content"]
    assert (body["model"], body["temperature"], body["top_p"]) == ("mock", 0.7, 0.95)
    assert body["max_tokens"] == 1024
    assert isinstance(body["seed"], int)
    assert "Tea or coffee?" in prompt
    assert prompt.index("Tea\n") < prompt.index(item.r2["text"])
    assert prompt.endswith("[[")


def test_both_orders_ask_twice_and_a_fixed_order_once(judge, llm):
    study = make_study()
    make_item(study=study, key="free")
    make_item(study=study, key="fixed", fixed_first="r2", shuffle_sides=False)

    run = judge_all(study, judge, orders="both", samples=2)

    shown = Counter(run.judgments.values_list("item__key", "shown_first"))
    assert shown == {("free", "r1"): 2, ("free", "r2"): 2, ("fixed", "r2"): 2}


def test_samples_of_one_question_are_asked_with_different_seeds(judge, llm):
    study = make_study()
    make_item(study=study)

    judge_all(study, judge, orders="r1_first", samples=3)

    assert len({body["seed"] for body in llm.requests}) == 3


def test_checks_and_practice_items_are_not_judged(judge, llm):
    study = make_study()
    make_item(study=study)
    make_item(study=study, split=Item.Split.PRACTICE)

    run = judge_all(study, judge)

    assert run.judgments.count() == 1


def test_an_identical_call_asks_nothing_new(judge, llm):
    study = make_study()
    make_items(study, 5)
    first = judge_all(study, judge, setting="tie")

    again = judge_all(study, judge, setting="tie")

    assert again.pk == first.pk
    assert len(llm.requests) == 5


def test_other_parameters_make_another_run(judge, llm):
    study = make_study()
    make_items(study, 2)

    keys = {
        judge_all(study, judge, **options).key
        for options in (
            {},
            {"setting": "certainty"},
            {"features": "none"},
            {"features": "age"},
            {"orders": "both"},
            {"samples": 2},
            {"seed": 12345},
        )
    }

    assert len(keys) == 7


def test_a_limit_takes_the_first_items_by_key_and_a_later_call_the_rest(judge, llm):
    study = make_study()
    for key in ("c", "a", "d", "b"):
        make_item(study=study, key=key)
    run = judge_all(study, judge, limit=2)
    assert sorted(run.judgments.values_list("item__key", flat=True)) == ["a", "b"]

    whole = judge_all(study, judge)

    assert whole.pk == run.pk
    assert (whole.state, len(llm.requests)) == ("done", 4)


def test_items_that_are_added_later_are_all_that_is_asked(judge, llm):
    study = make_study()
    make_items(study, 3)
    judge_all(study, judge)
    make_item(study=study, key="zz-new")

    run = judge_all(study, judge)

    assert (run.sentence, len(llm.requests)) == ("4 of 4 answered.", 4)


def test_an_unparseable_reply_is_asked_again_with_another_seed_until_it_parses(judge, llm):
    study = make_study()
    make_item(study=study)
    llm.answer = lambda body, n: completion("Hm." if n < 3 else "[[A]]")

    run = judge_all(study, judge)

    judgment = run.judgments.get()
    assert (judgment.state, judgment.replies) == ("done", 3)
    assert len({body["seed"] for body in llm.requests}) == 3
    texts = judgment.attempts.order_by("number").values_list("text", flat=True)
    assert list(texts) == ["Hm.", "Hm.", "[[A]]"]


def test_after_five_replies_a_judgment_is_unparseable_and_stays_so(judge, llm):
    study = make_study()
    make_item(study=study)
    llm.answer = lambda body, n: completion("It depends.")

    run = judge_all(study, judge)
    judge_all(study, judge)

    judgment = run.judgments.get()
    assert (judgment.state, judgment.choice, judgment.replies) == ("unparseable", "", 5)
    assert (judgment.raw_text, len(llm.requests)) == ("It depends.", 5)
    assert run.sentence == "0 of 1 answered, 1 unparseable."


@pytest.mark.parametrize(
    ("reply", "requests"),
    [
        (completion(None, refusal="I will not judge."), 1),
        (completion("", finish_reason="content_filter"), 1),
        (completion("I'm sorry, but I can't help with that."), 5),
    ],
)
def test_a_refusal_is_stored_as_one(judge, llm, reply, requests):
    study = make_study()
    make_item(study=study)
    llm.answer = lambda body, n: reply

    run = judge_all(study, judge)

    judgment = run.judgments.get()
    assert (run.state, judgment.state, judgment.choice) == ("done", "refused", "")
    assert len(llm.requests) == requests


def test_a_judge_does_not_judge_its_own_responses(llm, engine):
    judge = make_judge(base_url=llm.url, own_sources=["OpenAI"])
    study = make_study()
    by = {"kind": "model", "name": "gpt-4", "provider": "openai", "family": "gpt"}
    make_item(study=study, key="own", r2={"text": "x", "generated_by": by})
    make_item(study=study, key="other", r2={"text": "y", "generated_by": by | {"provider": "a"}})

    run = judge_all(study, judge)

    own = run.judgments.get(item__key="own")
    assert (own.state, own.error) == (
        "skipped",
        "Response r2 comes from the judge's own provider, openai.",
    )
    assert (run.judgments.get(item__key="other").state, len(llm.requests)) == ("done", 1)


def test_no_more_requests_run_at_once_than_the_judge_allows(llm, engine):
    judge = make_judge(base_url=llm.url, concurrency=4)
    study = make_study()
    make_items(study, 30)
    llm.answer = lambda body, n: Answer(body=completion("[[A]]").body, delay=0.03)

    judge_all(study, judge)

    assert llm.most_at_once == 4


def test_a_429_with_retry_after_makes_everybody_wait_that_long(judge, llm):
    study = make_study()
    make_items(study, 6)
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


def test_a_storm_of_faults_ends_with_every_judgment_answered_and_every_request_in_the_ledger(
    judge, llm
):
    study = make_study()
    make_items(study, 60)
    faults = {
        "server_error": lambda: error(503, "busy"),
        "garbage": lambda: Answer(body=b"<html>gateway</html>"),
        "interrupted": lambda: Answer(drops=True),
        "rate_limited": lambda: error(429, "slow down", retry_after="0"),
    }
    given = Counter[str]()

    def answer(body, n):
        kind = list(faults)[n // 3 % 4] if n % 3 == 0 else "replied"
        given[kind] += 1
        return faults[kind]() if n % 3 == 0 else completion("[[A]]")

    llm.answer = answer

    run = judge_all(study, judge)

    assert (run.state, states(run)) == ("done", {"done": 60})
    outcomes = Counter(run_cost(run).outcomes)
    # A request that meets a connection which is just being reset never reaches the server.
    assert outcomes.pop("interrupted") >= given.pop("interrupted") > 0
    assert outcomes == given


def test_a_server_that_is_down_stops_the_run_with_a_sentence_and_loses_nothing(engine):
    judge = make_judge(base_url="http://127.0.0.1:9/v1", outage_seconds=1)
    study = make_study()
    make_items(study, 3)

    run = judge_all(study, judge)

    assert run.state == "stopped_outage"
    assert "gave no usable answer" in run.sentence
    assert "no connection" in run.sentence
    assert states(run) == {"pending": 3}
    assert set(run_cost(run).outcomes) == {"unreachable"}


def test_a_server_that_comes_back_is_waited_for(judge, llm):
    study = make_study()
    make_items(study, 5)
    llm.answer = lambda body, n: error(500) if n <= 8 else completion("[[B]]")

    run = judge_all(study, judge)

    assert (run.state, states(run)) == ("done", {"done": 5})


@pytest.mark.parametrize(
    "answer",
    [error(500, "broken"), Answer(body=b"not json"), Answer(drops=True), error(429, "busy")],
    ids=["500", "garbage", "reset", "429"],
)
def test_a_server_that_never_gives_an_answer_stops_the_run(llm, engine, answer):
    judge = make_judge(base_url=llm.url, outage_seconds=1)
    study = make_study()
    make_items(study, 3)
    llm.answer = lambda body, n: answer

    run = judge_all(study, judge)

    assert (run.state, states(run)) == ("stopped_outage", {"pending": 3})
    assert run_cost(run).attempts == len(llm.requests)


def test_a_stopped_run_goes_on_where_it_stood(llm, engine):
    judge = make_judge(base_url=llm.url, outage_seconds=1, concurrency=1)
    study = make_study()
    make_items(study, 4)
    llm.answer = lambda body, n: completion("[[A]]") if n <= 2 else error(500)
    run = judge_all(study, judge)
    assert (run.state, states(run)) == ("stopped_outage", {"done": 2, "pending": 2})
    first = dict(run.judgments.filter(state="done").values_list("pk", "answered_at"))

    llm.answer = lambda body, n: completion("[[B]]")
    again = judge_all(study, judge)

    assert (again.pk, again.state) == (run.pk, "done")
    assert dict(again.judgments.filter(pk__in=first).values_list("pk", "answered_at")) == first


def test_a_slow_server_is_waited_for_and_its_lease_renewed(judge, llm, monkeypatch):
    monkeypatch.setattr("judging.services.chunks._RENEW_SECONDS", 0.2)
    study = make_study()
    make_item(study=study)
    leases = []

    def answer(body, n):
        leases.append(Judgment.objects.get().leased_until)
        time.sleep(0.7)
        leases.append(Judgment.objects.get().leased_until)
        connection.close()  # of the server's thread
        return completion("[[A]]")

    llm.answer = answer

    run = judge_all(study, judge)

    assert run.state == "done"
    assert leases[1] > leases[0]


def test_a_request_without_an_answer_in_time_is_tried_again_and_counted_at_its_most(llm, engine):
    judge = make_judge(base_url=llm.url, timeout_seconds=1, price_input=1, price_output=2)
    study = make_study()
    make_item(study=study)
    llm.answer = lambda body, n: Answer(body=completion("[[A]]").body, delay=1.5 if n == 1 else 0)

    run = judge_all(study, judge)

    late, answered = run.judgments.get().attempts.order_by("number")
    assert (late.outcome, answered.outcome) == ("timeout", "replied")
    assert late.cost_is_estimate
    assert late.cost_nano > answered.cost_nano
    assert run.spent_nano == late.cost_nano + answered.cost_nano
    assert run_cost(run).estimated == Decimal(late.cost_nano) / 10**9


def test_the_cost_is_what_the_server_says_times_the_price(llm, engine):
    judge = make_judge(base_url=llm.url, price_input=Decimal("2.5"), price_output=10)
    study = make_study()
    make_items(study, 3)

    run = judge_all(study, judge)

    each = Decimal("2.5") * 100 / 10**6 + Decimal(10) * 10 / 10**6
    assert run.spent == run_cost(run).dollars == 3 * each
    assert run.tokens == 330


def test_a_budget_is_checked_before_every_request(llm, engine):
    judge = make_judge(base_url=llm.url, price_input=1000, price_output=0, concurrency=1)
    study = make_study()
    make_items(study, 10)

    run = judge_all(study, judge, budget=Decimal("0.25"))  # a request costs 0.10

    assert run.state == "stopped_budget"
    assert run.sentence.startswith("The budget of $0.25 is used up: $0.3000 spent.")
    assert len(llm.requests) == 3
    assert states(run) == {"done": 3, "pending": 7}


def test_a_budget_is_exceeded_by_no_more_than_what_is_under_way(llm, engine):
    judge = make_judge(base_url=llm.url, price_input=1000, price_output=0, concurrency=8)
    study = make_study()
    make_items(study, 60)
    llm.answer = lambda body, n: Answer(body=completion("[[A]]").body, delay=0.01)

    run = judge_all(study, judge, budget=Decimal(2))

    assert run.state == "stopped_budget"
    assert 20 <= len(llm.requests) <= 20 + 8


def test_a_higher_budget_continues_the_run(llm, engine):
    judge = make_judge(base_url=llm.url, price_input=1000, price_output=0, concurrency=1)
    study = make_study()
    make_items(study, 4)
    judge_all(study, judge, budget=Decimal("0.15"))

    run = judge_all(study, judge, budget=Decimal(5))

    assert (run.state, len(llm.requests)) == ("done", 4)


def test_a_budget_in_tokens_needs_no_price(judge, llm):
    study = make_study()
    make_items(study, 40)
    make_judge(concurrency=1)

    run = judge_all(study, judge, token_budget=500)

    assert run.state == "stopped_budget"
    assert "500 tokens" in run.sentence
    assert len(llm.requests) == 5


def test_unknown_prices_are_not_free(judge, llm):
    study = make_study()
    make_item(study=study)

    with pytest.raises(BadRun, match="no price, so a budget cannot be kept: unknown is not free"):
        start(study, judge, budget=Decimal(1))


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
    assert run.sentence == "1 of 2 answered, 1 failed, which the same call asks again."


def test_the_same_call_asks_again_what_failed_and_nothing_else(judge, llm):
    study = make_study()
    make_items(study, 3)
    llm.answer = lambda body, n: error(400, "odd") if n == 1 else completion("[[A]]")
    judge_all(study, judge)

    run = judge_all(study, judge)

    assert (run.state, states(run), len(llm.requests)) == ("done", {"done": 3}, 4)


def test_an_item_that_alone_makes_the_server_fail_ends_as_an_error(judge, llm):
    study = make_study()
    make_items(study, 30)
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
    study = make_study()
    make_items(study, 40)
    llm.answer = lambda body, n: answer
    make_judge(concurrency=2)

    run = judge_all(study, judge)

    assert run.state == "stopped_outage"
    assert words in run.sentence
    assert len(llm.requests) <= 4


def test_a_server_that_wants_the_other_name_for_the_token_limit_gets_it(judge, llm):
    study = make_study()
    make_items(study, 20)

    def answer(body, n):
        if "max_tokens" in body:
            return error(400, "Unsupported parameter: use max_completion_tokens not max_tokens.")
        return completion("[[A]]")

    llm.answer = answer

    run = judge_all(study, judge)

    assert states(run) == {"done": 20}
    assert run_cost(run).outcomes["rejected"] <= judge.concurrency


def test_a_server_that_takes_no_seed_is_asked_without(judge, llm):
    study = make_study()
    make_item(study=study)
    llm.answer = lambda body, n: error(422, "seed: extra field") if n == 1 else completion("[[A]]")

    judge_all(study, judge)

    assert "seed" not in llm.requests[-1]


def test_pausing_stops_sending_and_resuming_finishes(llm, engine):
    judge = make_judge(base_url=llm.url, concurrency=1)
    study = make_study()
    make_items(study, 6)
    run = start(study, judge)

    def answer(body, n):
        if n == 3:
            assert runs.pause_run(run_id=run.pk)
            connection.close()  # of the server's thread
        return completion("[[A]]")

    llm.answer = answer
    runs.work_off(run_id=run.pk)
    run.refresh_from_db()
    assert (run.state, states(run)) == ("paused", {"done": 3, "pending": 3})

    assert runs.resume_run(run_id=run.pk)
    runs.work_off(run_id=run.pk)

    run.refresh_from_db()
    assert (run.state, len(llm.requests)) == ("done", 6)


def test_a_cancelled_run_keeps_what_it_has_and_is_not_resumed(llm, engine):
    judge = make_judge(base_url=llm.url, concurrency=1)
    study = make_study()
    make_items(study, 3)
    run = start(study, judge)
    assert runs.cancel_run(run_id=run.pk)

    runs.work_off(run_id=run.pk)

    run.refresh_from_db()
    assert (run.state, len(llm.requests)) == ("cancelled", 0)
    assert not runs.resume_run(run_id=run.pk)
    assert not runs.cancel_run(run_id=run.pk)


def test_the_first_answer_freezes_the_study_and_a_failure_does_not(llm, engine):
    judge = make_judge(base_url=llm.url, outage_seconds=1)
    study = make_study()
    make_item(study=study)
    llm.answer = lambda body, n: error(500)
    judge_all(study, judge)
    study.refresh_from_db()
    assert study.frozen_at is None

    llm.answer = lambda body, n: completion("[[A]]")
    judge_all(study, judge)

    study.refresh_from_db()
    assert study.frozen_at is not None


def test_two_processes_worth_of_threads_never_ask_the_same_question(judge, llm):
    study = make_study()
    make_items(study, 120)
    run = start(study, judge)

    def help_out():
        try:
            runs.work_off(run_id=run.pk)
        finally:
            connection.close()

    helpers = [threading.Thread(target=help_out) for _ in range(2)]

    for helper in helpers:
        helper.start()
    for helper in helpers:
        helper.join()

    run.refresh_from_db()
    assert (run.state, states(run)) == ("done", {"done": 120})
    assert set(asked(llm).values()) == {1}


def test_a_study_without_items_and_unknown_features_are_refused(judge):
    study = make_study()
    with pytest.raises(BadRun, match="has no items to judge"):
        start(study, judge)
    make_item(study=study)

    with pytest.raises(StudyError, match="shoe_size"):
        start(study, judge, features="shoe_size")

    assert not JudgeRun.objects.exists()


def test_a_missing_key_is_told_before_anything_is_stored(llm, engine, monkeypatch):
    monkeypatch.delenv("MY_KEY", raising=False)
    judge = make_judge(base_url=llm.url, api_key_env="MY_KEY")
    study = make_study()
    make_item(study=study)

    with pytest.raises(BadJudge, match="environment variable MY_KEY is empty"):
        start(study, judge)

    assert not JudgeRun.objects.exists()
