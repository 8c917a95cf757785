"""Runs against a real HTTP server: what is asked, how often, and what is left behind."""

import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from unittest.mock import patch

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from judging.errors import BadJudge, BadRun, ConflictingValue
from judging.models import Attempt, JudgeRun, Judgment
from judging.runs import lifecycle, row_creation
from judging.worker import chunks
from studies.errors import StudyError
from studies.models import Item
from tests.factories import make_item, make_items, make_study
from tests.invariants import broken_invariants
from tests.judging.conftest import make_judge
from tests.judging.llm_server import Answer, completion, error
from tests.judging.run_helpers import asked, judge_all, start, states, study_of


def test_a_run_asks_every_item_once_and_stores_the_answer_by_content(judge, llm):
    study = study_of(7)
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


@pytest.mark.parametrize(("items", "threads"), [(5, 1), (11, 3), (30, 3)])
def test_a_run_takes_a_thread_a_chunk_and_two_more_than_its_slots_hold(
    engine, llm, monkeypatch, items, threads
):
    study, judge = make_study(), make_judge(base_url=llm.url, concurrency=5)
    make_items(study, items)
    monkeypatch.setattr(chunks, "CHUNK", 5)
    with patch.object(lifecycle, "ThreadPoolExecutor", wraps=ThreadPoolExecutor) as pool:
        run = judge_all(study, judge)

    assert (run.state, pool.call_args.args) == ("done", (threads,))


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
    requests = [(body["messages"][0]["content"], body["seed"]) for body in llm.requests]
    assert len(set(requests)) == len(requests) == 6


def test_judgments_are_made_in_the_order_of_keys_and_as_the_model_says(judge, monkeypatch):
    monkeypatch.setattr(row_creation, "_ROWS_AT_ONCE", 4)
    study = make_study()
    for key in ("c", "a", "b"):
        make_item(study=study, key=key)

    run = start(study, judge, orders="both", samples=2)

    made = list(run.judgments.order_by("pk"))
    assert [judgment.item.key for judgment in made] == ["a"] * 4 + ["b"] * 4 + ["c"] * 4
    for judgment in made:
        sample, first = judgment.sample, judgment.shown_first
        blank = Judgment(run=run, item=judgment.item, sample=sample, shown_first=first)
        fields = {field.attname for field in Judgment._meta.concrete_fields} - {"id", "created_at"}
        assert {f: getattr(judgment, f) for f in fields} == {f: getattr(blank, f) for f in fields}
        assert timedelta(0) <= timezone.now() - judgment.created_at < timedelta(minutes=5)


def test_checks_and_practice_items_are_not_judged(judge, llm):
    study = study_of(1)
    make_item(study=study, split=Item.Split.PRACTICE)

    run = judge_all(study, judge)

    assert run.judgments.count() == 1


def test_other_parameters_make_another_run(judge, llm):
    study = study_of(2)

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


def test_a_smaller_limit_does_not_go_on_with_a_larger_run(judge, llm):
    study = study_of(4)
    run = start(study, judge, limit=3)
    refusal = rf"{run.public_id} has 2 open questions about other items than the first 1, .* seed "
    with pytest.raises(BadRun, match=refusal):
        start(study, judge, limit=1)

    judge_all(study, judge, limit=3)

    assert judge_all(study, judge, limit=1).pk == run.pk  # nothing is open
    assert len(llm.requests) == 3


def test_no_query_of_a_run_that_continues_grows_with_its_items(judge):
    lengths = []
    for count in (3, 30):
        study = study_of(count)
        start(study, judge)
        make_item(study=study, key="later")
        with CaptureQueriesContext(connection) as queries:
            start(study, judge)
        lengths.append([len(query["sql"]) for query in queries])

    few, many = lengths
    assert all(longer < length + 20 for length, longer in zip(few, many, strict=True))


def test_an_identical_call_asks_nothing_but_items_that_were_added(judge, llm):
    study = study_of(3)
    first = judge_all(study, judge, setting="tie")
    again = judge_all(study, judge, setting="tie")
    assert (again.pk, len(llm.requests)) == (first.pk, 3)
    make_item(study=study, key="zz-new")

    run = judge_all(study, judge, setting="tie")

    assert (run.pk, run.sentence, len(llm.requests)) == (first.pk, "4 of 4 answered.", 4)


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


def test_a_run_can_be_asked_about_the_items_with_one_response_of_its_own(llm, engine):
    judge = make_judge(base_url=llm.url, own_sources=["GPT"])
    study = make_study()
    mine = {"kind": "model", "name": "gpt-4", "family": "gpt"}
    other = {"kind": "model", "name": "llama", "family": "llama"}
    for key, makers in (("one", (other, mine)), ("both", (mine, mine)), ("none", (other, None))):
        texts = {"r1": f"{key} one", "r2": f"{key} two"}
        sides = {
            side: {"text": text, "generated_by": maker}
            for (side, text), maker in zip(texts.items(), makers, strict=True)
        }
        make_item(study=study, key=key, **sides)

    plain = judge_all(study, judge)
    own = judge_all(study, judge, bias_probe="own-responses")

    assert (own.bias_probe, own.key == plain.key) == ("own-responses", False)
    assert {j.item.key: (j.state, j.error) for j in own.judgments.select_related("item")} == {
        "one": ("done", ""),
        "both": ("skipped", "Both responses are the judge's own."),
        "none": ("skipped", "No response is the judge's own."),
    }
    assert plain.judgments.get(item__key="one").state == "skipped"
    assert plain.judgments.get(item__key="none").state == "done"
    no_sources = make_judge(name="other", base_url=llm.url)
    with pytest.raises(ConflictingValue, match="has no own responses set"):
        start(study, no_sources, bias_probe="own-responses")


def test_no_more_requests_run_at_once_than_the_judge_allows(llm, engine):
    judge = make_judge(base_url=llm.url, concurrency=4)
    study = study_of(30)
    llm.answer = lambda body, n: Answer(body=completion("[[A]]").body, delay=0.03)

    judge_all(study, judge)

    assert llm.most_at_once == 4


def test_pausing_stops_sending_and_resuming_finishes(llm, engine):
    judge = make_judge(base_url=llm.url, concurrency=1)
    study = study_of(6)
    run = start(study, judge)

    def answer(body, n):
        if n == 3:
            assert lifecycle.pause_run(run_id=run.pk)
            connection.close()  # of the server's thread
        return completion("[[A]]")

    llm.answer = answer
    lifecycle.work_off(run_id=run.pk)
    run.refresh_from_db()
    assert (run.state, states(run)) == ("paused", {"done": 3, "pending": 3})

    assert lifecycle.resume_run(run_id=run.pk)
    lifecycle.work_off(run_id=run.pk)

    run.refresh_from_db()
    assert (run.state, len(llm.requests)) == ("done", 6)


def test_a_cancelled_run_keeps_what_it_has_and_is_not_resumed(llm, engine):
    judge = make_judge(base_url=llm.url, concurrency=1)
    study = study_of(3)
    run = start(study, judge)
    assert lifecycle.cancel_run(run_id=run.pk)

    lifecycle.work_off(run_id=run.pk)

    run.refresh_from_db()
    assert (run.state, len(llm.requests)) == ("cancelled", 0)
    assert not lifecycle.resume_run(run_id=run.pk)
    assert not lifecycle.cancel_run(run_id=run.pk)


def test_the_first_answer_freezes_the_study_and_a_failure_does_not(llm, engine):
    judge = make_judge(base_url=llm.url, outage_seconds=1)
    study = study_of(1)
    llm.answer = lambda body, n: error(500)
    judge_all(study, judge)
    study.refresh_from_db()
    assert study.frozen_at is None

    llm.answer = lambda body, n: completion("[[A]]")
    judge_all(study, judge)

    study.refresh_from_db()
    assert study.frozen_at is not None


def test_two_processes_worth_of_threads_never_ask_the_same_question(judge, llm):
    study = study_of(120)
    run = start(study, judge)

    def help_out():
        try:
            lifecycle.work_off(run_id=run.pk)
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
    study = study_of(1)

    with pytest.raises(BadJudge, match="environment variable MY_KEY is empty"):
        start(study, judge)

    assert not JudgeRun.objects.exists()


def test_a_run_does_not_ask_about_an_item_that_is_taken_out_and_asks_if_it_returns(judge, llm):
    study = study_of(3)
    llm.answer = lambda body, n: completion("A]]")
    run = start(study, judge)
    out = Item.objects.filter(study=study).first()
    Item.objects.filter(pk=out.pk).update(split=Item.Split.LEFT_OUT)

    lifecycle.work_off(run_id=run.pk)

    run.refresh_from_db()
    words = "2 of 3 answered, 1 not asked, because the item was taken out."
    assert (run.state, run.sentence) == ("done", words)
    assert states(run) == {"done": 2, "pending": 1}
    assert broken_invariants("runs") == []
    assert (len(llm.requests), Attempt.objects.filter(judgment__run=run).count()) == (2, 2)

    Item.everything.filter(pk=out.pk).update(split=Item.Split.MAIN)
    run = judge_all(study, judge)

    assert (run.sentence, len(llm.requests)) == ("3 of 3 answered.", 3)
