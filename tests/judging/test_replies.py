"""Replies that are no answer: asked again, and kept as what they are."""

import json

import pytest

from tests.judging.conftest import make_judge
from tests.judging.llm_server import Answer, completion
from tests.judging.run_helpers import judge_all, study_of


def test_an_unparseable_reply_is_asked_again_with_another_seed_until_it_parses(judge, llm):
    study = study_of(1)
    llm.answer = lambda body, n: completion("Hm." if n < 3 else "[[A]]")

    run = judge_all(study, judge)

    judgment = run.judgments.get()
    assert (judgment.state, judgment.replies) == ("done", 3)
    assert len({body["seed"] for body in llm.requests}) == 3
    texts = judgment.attempts.order_by("number").values_list("text", flat=True)
    assert list(texts) == ["Hm.", "Hm.", "[[A]]"]


def test_after_five_replies_a_judgment_is_unparseable_and_stays_so(judge, llm):
    study = study_of(1)
    llm.answer = lambda body, n: completion("It depends.")

    run = judge_all(study, judge)
    judge_all(study, judge)

    judgment = run.judgments.get()
    assert (judgment.state, judgment.choice, judgment.replies) == ("unparseable", "", 5)
    assert (judgment.raw_text, len(llm.requests)) == ("It depends.", 5)
    assert run.sentence == "0 of 1 answered, 1 unparseable."


@pytest.mark.parametrize(
    ("reply", "is_in_thoughts"),
    [
        (completion("", reasoning_content="They like dogs, so [[A]]"), True),
        (completion(None, reasoning="The person prefers response A."), True),
        (completion("<mm:think>I choose [[A]]</mm:think>"), True),
        (completion("I choose [[A]]</think>\n\nWell."), True),
        (completion("", reasoning_content="They like dogs."), False),
        (completion("Well."), False),
    ],
)
def test_a_choice_that_is_only_in_the_thoughts_is_named_with_what_to_do(
    judge, llm, reply, is_in_thoughts
):
    llm.answer = lambda body, n: reply

    judgment = judge_all(study_of(1), judge).judgments.get()

    assert judgment.state == "unparseable"
    assert ("only in the thoughts" in judgment.error) == is_in_thoughts, judgment.error
    assert ("Switch thinking off" in judgment.error) == is_in_thoughts


def error_as_success(message):
    return Answer(body=json.dumps({"error": {"message": message, "code": 403}}).encode())


@pytest.mark.sampled(keep=1)
@pytest.mark.parametrize(
    ("reply", "requests"),
    [
        (completion(None, refusal="I will not judge."), 1),
        (completion("", finish_reason="content_filter"), 1),
        (completion(None, finish_reason="content_filter: PROHIBITED_CONTENT"), 1),
        (completion(None, finish_reason="SAFETY"), 1),
        (completion(None, finish_reason="guardrail_intervened"), 1),
        (error_as_success("Your input was flagged by the safety system"), 1),
        (completion("I'm sorry, but I can't help with that."), 5),
    ],
)
def test_a_refusal_is_stored_as_one(judge, llm, reply, requests):
    study = study_of(1)
    llm.answer = lambda body, n: reply

    run = judge_all(study, judge)

    judgment = run.judgments.get()
    assert (run.state, judgment.state, judgment.choice) == ("done", "refused", "")
    assert len(llm.requests) == requests


def calls(name, **arguments):
    """A completion that calls a tool instead of answering."""
    function = {"name": name, "arguments": json.dumps(arguments)}
    call = {"id": "t", "type": "function", "function": function}
    return completion(None, finish_reason="tool_calls", tool_calls=[call])


def test_a_tool_call_that_holds_a_choice_is_read(judge, llm):
    study = study_of(1)
    llm.answer = lambda body, n: calls("answer", answer="A", certainty=70)

    judgment = judge_all(study, judge, setting="certainty", orders="r1_first").judgments.get()

    assert (judgment.choice, judgment.certainty, judgment.details) == ("r1", 70, {"read": "json"})


def test_any_other_tool_call_is_named(judge, llm):
    study = study_of(1)
    llm.answer = lambda body, n: calls("web_search", query="dogs")

    judgment = judge_all(study, judge).judgments.get()

    assert judgment.state == "unparseable"
    assert "calls the tool “web_search”" in judgment.error
    assert "dogs" in judgment.raw_text


@pytest.mark.parametrize(
    "message",
    [
        {"reasoning_content": "Perhaps [[B]]. </think> [[B]]"},
        {"reasoning": "Perhaps [[B]]. [[B]]"},
        {
            "content": [
                {"type": "thinking", "thinking": [{"type": "text", "text": "Perhaps [[B]]."}]},
                {"type": "text", "text": "[[A]]"},
            ]
        },
    ],
)
def test_separate_thoughts_are_stored_in_front_of_the_reply_and_never_read_or_sent(
    judge, llm, message
):
    study = study_of(1)
    llm.answer = lambda body, n: completion(message.get("content", "[[A]]"), **without(message))

    run = judge_all(study, judge, setting="second-turn", orders="r1_first")

    judgment = run.judgments.get()
    assert judgment.choice == "r1"
    assert judgment.raw_text.startswith("<think>Perhaps [[B]].")
    assert judgment.raw_text.endswith("</think>\n[[A]]")
    assert judgment.attempts.first().text == judgment.raw_text
    assert "Perhaps" not in json.dumps([body["messages"] for body in llm.requests])


def without(message):
    return {name: value for name, value in message.items() if name != "content"}


@pytest.mark.parametrize("structured", [True, False])
def test_a_certainty_as_a_share_is_read_equally_in_both_kinds_of_reply(llm, engine, structured):
    judge = make_judge(base_url=llm.url, structured=structured)
    llm.answer = lambda body, n: completion(json.dumps({"answer": "A", "certainty": "0.77"}))

    run = judge_all(study_of(1), judge, setting="certainty", orders="r1_first")

    judgment = run.judgments.get()
    assert (judgment.choice, judgment.certainty) == ("r1", 77)
    if structured:
        schema = llm.requests[0]["response_format"]["json_schema"]["schema"]
        assert schema["properties"] == {
            "answer": {"type": "string", "enum": ["A", "B"]},
            "certainty": {"type": "integer", "minimum": 1, "maximum": 100},
        }
