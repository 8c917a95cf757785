"""What a server needs beside the usual: extra fields, query and headers, streams, stated costs."""

import json
from decimal import Decimal
from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from judging.backends.completions import completion_of, read_completion
from judging.engine.interface import Interrupted, JudgeQuestion
from judging.engine.messages import from_user
from judging.errors import BadJudge
from judging.models import Attempt, Judge
from judging.protocols.registry import protocol
from judging.runs.judges import add_judge
from judging.runs.spec import Reuse, RunSpec
from judging.runs.start import start_run
from tests.judging.conftest import make_judge
from tests.judging.llm_server import Answer, completion, error
from tests.judging.run_helpers import judge_all, states, study_of

EXTRA: dict[str, dict[str, Any]] = {
    "extra_body": {"reasoning_effort": "low", "provider": {"order": ["a"]}},
    "extra_query": {"api-version": "2025-01-01"},
    "extra_headers": {"x-title": "study"},
}
SECRET = "s3cret-0123456789"


def add(*arguments):
    call_command("add_judge", "j", *arguments, stdout=StringIO())


def test_extra_fields_are_sent_and_are_among_the_conditions_of_a_run(llm, engine):
    study = study_of(2)
    plain = make_judge(base_url=llm.url, temperature=0.0)
    judge_all(study, plain)
    judge = make_judge(name="extra", base_url=llm.url, temperature=0.0, model_options=EXTRA)
    llm.requests.clear(), llm.headers.clear(), llm.queries.clear()

    run = judge_all(study, judge, reuse=Reuse.IDENTICAL)

    assert states(run) == {"done": 2}
    assert len(llm.requests) == 2  # nothing of the plain judge counts as the same request
    assert {**llm.requests[0], **EXTRA["extra_body"]} == llm.requests[0]
    assert not {*EXTRA} & {*llm.requests[0]}
    assert (llm.headers[0]["x-title"], llm.queries[0]) == ("study", "api-version=2025-01-01")
    sent = run.judgments.select_related("sent_with")[0].sent_with.parameters
    assert {**sent, **EXTRA} == sent
    with pytest.raises(BadJudge, match="has runs, so its model options can no longer change"):
        add_judge(name="extra", model_options={"extra_body": {"reasoning_effort": "high"}})


@pytest.mark.django_db
def test_the_same_command_again_changes_nothing_and_an_empty_text_removes():
    given = ("--extra-query", "a=1", "--extra-header", "X-A=b", "--extra-body", '{"top_k": 4}')
    add("--model", "m", "--base-url", "http://a/v1", *given)
    study = study_of(1)
    judge = Judge.objects.get()
    start_run(RunSpec(study_id=study.pk, judge_id=judge.pk), enqueue=False)
    add(*given)
    assert Judge.objects.get().model_options == {
        "extra_body": {"top_k": 4},
        "extra_query": {"a": "1"},
        "extra_headers": {"x-a": "b"},
    }
    with pytest.raises(CommandError, match="model options can no longer change"):
        add("--extra-query", "")

    call_command("add_judge", "k", "--model", "m", *given, stdout=StringIO())
    call_command("add_judge", "k", "--extra-query", "", "--extra-body", "", stdout=StringIO())
    assert Judge.objects.get(name="k").model_options == {"extra_headers": {"x-a": "b"}}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"extra_body": "x"}, "JSON object"),
        ({"extra_body": {"temperature": 0}}, "“temperature” is set by this program"),
        ({"extra_body": {"stream": True}}, "set by this program"),
        ({"extra_body": {"a": float("nan")}}, "cannot be sent as JSON"),
        ({"extra_body": {"a": "\ud800"}}, "cannot be sent as JSON"),
        ({"extra_body": {"a": "\0"}}, "NUL"),
        ({"extra_body": {"a": [None]}}, "null"),
        ({"extra_body": {"a": "x" * 20_001}}, "more than 20,000 letters"),
        ({"extra_query": {"key": "abc"}}, "looks like a secret"),
        ({"extra_query": {"a": "b\n"}}, "the value of a must be text"),
        ({"extra_headers": {"Authorization": "x"}}, "the header authorization is set"),
        ({"extra_headers": {"HOST": "evil"}}, "the header host is set"),
        ({"extra_headers": {"Content-Length": "1"}}, "the header content-length is set"),
        ({"extra_headers": {"X: y": "1"}}, "cannot be the name"),
        ({"extra_headers": {"x-a": "ä"}}, "the value of x-a must be text"),
        ({"extra_headers": {"x-a": "a\r\nHost: b"}}, "the value of x-a must be text"),
        ({"extra_headers": {"Api-Key": "x"}}, "looks like a secret"),
        ({"extra_headers": {"x-a": "1"}, "secret_headers": ["X-A"]}, "among the other headers"),
    ],
)
@pytest.mark.django_db
def test_what_no_request_can_carry_is_refused(options, message):
    with pytest.raises(BadJudge, match=message):
        add_judge(name="j", model="m", base_url="http://a/v1", model_options=options)
    assert not Judge.objects.exists()


@pytest.mark.django_db
def test_a_secret_header_comes_from_a_variable_and_needs_stored_keys(settings, monkeypatch):
    arguments = ("--model", "m", "--base-url", "http://a/v1", "--secret-header", "api-key=MINE")
    monkeypatch.setenv("MINE", SECRET)
    settings.JUDGE_STORED_KEYS = False
    with pytest.raises(CommandError, match="JUDGE_STORED_KEYS=1"):
        add(*arguments)
    settings.JUDGE_STORED_KEYS = True
    add(*arguments)
    judge = Judge.objects.get()
    assert judge.sealed_headers
    assert SECRET not in judge.sealed_headers

    add("--base-url", "http://b/v1")
    study = study_of(1)
    with pytest.raises(BadJudge, match="needs the value of the secret header api-key"):
        start_run(RunSpec(study_id=study.pk, judge_id=judge.pk), enqueue=False)


def stream(*pieces, done=True, **last):
    """A stream of chunks of a completion, as servers send them."""
    chunks = [{"id": "c", "model": "m", "choices": [{"index": 0, "delta": p}]} for p in pieces]
    if last:
        chunks.append({"id": "c", "choices": [], **last})
    lines = [f"data: {json.dumps(chunk)}\n\n" for chunk in chunks]
    return ": comment\n\n".join(["", *lines]).encode() + (b"data: [DONE]\n\n" if done else b"")


def test_a_server_that_only_streams_is_asked_so_and_a_cut_stream_is_asked_again(llm, engine):
    study = study_of(3)
    usage = {"prompt_tokens": 100, "completion_tokens": 7}
    pieces = (
        {"role": "assistant", "content": ""},
        {"reasoning_content": "[[B]]"},
        {"content": "[[A"},
    )

    def answer(body, n):
        if not body.get("stream"):
            return error(400, "This model only supports streaming: set stream to true.")
        assert body["stream_options"] == {"include_usage": True}
        if n == 2:
            return Answer(body=stream(*pieces, done=False))
        return Answer(body=stream(*pieces, {"content": "]]"}, usage=usage))

    llm.answer = answer
    judge = make_judge(base_url=llm.url, concurrency=1, price_input=1, price_output=1)

    run = judge_all(study, judge, orders="r1_first")

    assert (states(run), run.state) == ({"done": 3}, "done")
    attempts = Attempt.objects.filter(judgment__run=run)
    assert sorted(attempts.values_list("outcome", flat=True)) == [
        "interrupted",
        "rejected",
        *["replied"] * 3,
    ]
    judgment = run.judgments.first()
    assert (judgment.choice, judgment.thoughts, judgment.reply_text) == ("r1", "[[B]]", "[[A]]")
    assert attempts.filter(outcome="replied").first().completion_tokens == 7


def test_a_text_in_a_stream_may_hold_any_sign_that_ends_a_line_elsewhere():
    content = "A]]\u2028because\x85it"
    chunk = json.dumps({"choices": [{"delta": {"content": content}}]}, ensure_ascii=False)

    whole = completion_of(f"data: {chunk}\n\ndata: [DONE]\n\n".encode())

    assert json.loads(whole)["choices"][0]["message"]["content"] == content


def test_errors_and_foreign_bodies_in_a_stream_are_what_they_are():
    assert completion_of(b'{"choices": []}') == b'{"choices": []}'
    failed = b'data: {"error": {"message": "no", "code": 429}}\n\n'
    assert json.loads(completion_of(failed))["error"]["code"] == 429
    with pytest.raises(Interrupted):
        completion_of(stream({"content": "[["}, done=False))


QUESTION = JudgeQuestion(id=1, messages=from_user("?"), protocol=protocol("standard"), seed=1)


@pytest.mark.parametrize(
    ("usage", "more", "cached", "cost"),
    [
        ({"prompt_tokens_details": {"cached_tokens": 40}}, {}, 40, None),
        ({"prompt_cache_hit_tokens": 40, "prompt_cache_miss_tokens": 60}, {}, 40, None),
        ({"cached_tokens": 40}, {}, 40, None),
        ({"cache_read_input_tokens": 40}, {}, 40, None),
        ({}, {"timings": {"cache_n": 40, "prompt_n": 60}}, 40, None),
        ({"cached_tokens": 4000}, {}, 100, None),
        ({"cost": 0.0123}, {}, 0, Decimal("0.0123")),
        (
            {"cost": 0.001, "is_byok": True, "cost_details": {"upstream_inference_cost": 0.02}},
            {},
            0,
            Decimal("0.021"),
        ),
        ({"cost": {"total": 1}}, {}, 0, None),
        ({"cost": -1}, {}, 0, None),
        ({"cost": True}, {}, 0, None),
    ],
)
def test_cached_tokens_and_costs_are_read_of_every_kind_of_server(usage, more, cached, cost):
    body = json.loads(completion("[[A]]").body) | more
    body["usage"] |= usage
    read = read_completion(
        json.dumps(body), QUESTION, status=200, request_id="", is_structured=False
    )
    assert (read.usage.cached_tokens, read.usage.cost) == (cached, cost)


FREE = {"price_input": 0, "price_output": 0}


@pytest.mark.parametrize("prices", [{}, {"price_input": 1000, "price_output": 1000}])
def test_a_stated_cost_counts_more_than_the_prices(llm, engine, prices):
    body = json.loads(completion("[[A]]").body)
    body["usage"]["cost"] = 0.25
    llm.answer = lambda _, n: Answer(body=json.dumps(body).encode())

    run = judge_all(study_of(2), make_judge(base_url=llm.url, **prices))

    assert (run.spent, run.is_billed) == (Decimal("0.5"), True)


@pytest.mark.parametrize(
    ("prices", "spent"),
    [({"price_input": 1000, "price_output": 1000}, "0.22"), ({}, "0"), (FREE, "0")],
)
def test_a_stated_cost_of_nothing_is_not_believed_of_a_judge_with_prices(
    llm, engine, prices, spent
):
    body = json.loads(completion("[[A]]").body)
    body["usage"]["cost"] = 0
    llm.answer = lambda _, n: Answer(body=json.dumps(body).encode())

    run = judge_all(study_of(2), make_judge(base_url=llm.url, **prices))

    assert run.spent == Decimal(spent)


def test_the_limit_of_tokens_can_be_left_out(llm, engine):
    judge = make_judge(base_url=llm.url, model_options={"leave_out": "max_tokens"})
    judge_all(study_of(1), judge)
    assert not {"max_tokens", "max_completion_tokens"} & {*llm.requests[0]}


@pytest.mark.parametrize("half", [b"\\ud83d", b"\xf0\x9f"])
def test_half_of_a_character_leaves_the_rest_of_a_reply_readable(half):
    body = completion("[[A]] [[70]] @").body.replace(b"@", half)

    read = read_completion(body, QUESTION, status=200, request_id="", is_structured=False)

    assert read.text == "[[A]] [[70]] \ufffd"
    assert QUESTION.read(read.text, is_structured=False).side == "A"
