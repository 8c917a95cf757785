"""Option probabilities: read from a server's logprobs, stored by content."""

import json
import math

import pytest

from judging.backends.completions import option_probabilities
from judging.engine.interface import JudgeQuestion
from judging.engine.messages import from_user
from judging.protocols.standard import Standard
from judging.protocols.tie import Tie
from tests.factories import make_item, make_study
from tests.judging.conftest import make_judge
from tests.judging.llm_server import Answer, completion, error
from tests.judging.run_helpers import judge_all


def told(*tokens):
    """Logprobs as a server gives them; each token with its alternatives' probabilities."""
    return {
        "content": [
            {
                "token": token,
                "logprob": 0.0,
                "top_logprobs": [
                    {"token": word, "logprob": math.log(share)} for word, share in shares.items()
                ],
            }
            for token, shares in tokens
        ]
    }


def read(text, logprobs, *, offers_tie=False):
    question = JudgeQuestion(1, from_user("?"), Tie() if offers_tie else Standard(), seed=0)
    return option_probabilities(
        text, logprobs, options=question.options, position=question.option_position(text)
    )


VERDICT = ("A", {"A": 0.6, "B": 0.2, "C": 0.1, " A": 0.1})


@pytest.mark.parametrize(
    ("tokens", "offers_tie", "expected"),
    [
        ([VERDICT, ("]]", {})], False, {"A": 7 / 9, "B": 2 / 9}),
        ([VERDICT, ("]]", {})], True, {"A": 0.7, "B": 0.2, "C": 0.1}),
        ([("[[", {"[[": 1.0}), VERDICT, ("]]", {})], False, {"A": 7 / 9, "B": 2 / 9}),
        # The last verdict counts, and with it the probabilities of its letter.
        (
            [("[[", {}), ("B", {"B": 0.9, "A": 0.1}), ("]] no, [[", {}), VERDICT, ("]]", {})],
            False,
            {"A": 7 / 9, "B": 2 / 9},
        ),
        ([("[[A", {"[[A": 0.5, "[[B": 0.5}), ("]]", {})], False, {"A": 0.5, "B": 0.5}),
        ([("A", {"A": 1.0}), ("]]", {})], False, {"A": 1.0, "B": 0.0}),
        # Thinking aloud is no verdict.
        (
            [("<think>[[", {}), ("B", {"B": 1.0}), ("]]</think>", {}), VERDICT, ("]]", {})],
            False,
            {"A": 7 / 9, "B": 2 / 9},
        ),
    ],
)
def test_the_token_of_the_verdict_tells_the_probabilities(tokens, offers_tie, expected):
    text = "".join(token for token, _ in tokens)

    found = read(text, told(*tokens), offers_tie=offers_tie)

    assert found == pytest.approx(expected)


@pytest.mark.parametrize(
    ("text", "logprobs"),
    [
        ("[[A]]", None),
        ("[[A]]", {"content": None}),
        ("[[A]]", {"content": []}),
        ("[[A]]", {"content": [{"token": "[[A]]"}]}),
        ("[[A]]", told(("[[B]]", {}))),
        ("Hm.", told(("Hm.", {"Hm.": 1.0}))),
        ("[[A]]", told(("[[A]]", {"The": 1.0}))),
        ("A]]", told(("A", {"A": math.exp(700)}), ("]]", {}))),
        ("A]]", told(("A", {"A": math.nan}), ("]]", {}))),
    ],
)
def test_what_was_not_told_is_missing(text, logprobs):
    assert read(text, logprobs) is None


def with_logprobs(text, logprobs):
    body = json.loads(completion(text).body)
    body["choices"][0]["logprobs"] = logprobs
    return Answer(body=json.dumps(body).encode())


def test_a_run_stores_them_by_content_for_both_orders(llm, engine):
    judge = make_judge(base_url=llm.url, probabilities="beside")
    study = make_study()
    make_item(study=study)
    llm.answer = lambda body, n: with_logprobs(
        "A]]", told(("A", {"A": 0.75, "B": 0.25}), ("]]", {}))
    )

    run = judge_all(study, judge, orders="both")

    assert {body["logprobs"] for body in llm.requests} == {True}
    assert run.judgments.get(shown_first="r1").probabilities == pytest.approx(
        {"r1": 0.75, "r2": 0.25}
    )
    assert run.judgments.get(shown_first="r2").probabilities == pytest.approx(
        {"r2": 0.75, "r1": 0.25}
    )


def test_a_server_that_gives_fewer_alternatives_or_none_is_asked_so(llm, engine):
    judge = make_judge(base_url=llm.url, probabilities="beside", concurrency=1)
    study = make_study()
    make_item(study=study)

    def answer(body, n):
        return (
            error(400, "Unsupported parameter: top_logprobs")
            if "logprobs" in body
            else completion("[[A]]")
        )

    llm.answer = answer

    run = judge_all(study, judge)

    assert [body.get("top_logprobs") for body in llm.requests] == [20, 5, None]
    judgment = run.judgments.get()
    assert (judgment.choice != "", judgment.probabilities) == (True, None)


def test_a_judge_that_is_not_asked_for_them_does_not_send_for_them(judge, llm):
    study = make_study()
    make_item(study=study)

    judge_all(study, judge)

    assert "logprobs" not in llm.requests[0]
