"""What servers say when they refuse a parameter, each in its own words, and what is then sent.

`refused_parameters.jsonl` has a server a line: status, body, and what requests it refuses.
"""

import json
from pathlib import Path

import pytest

from judging.backends.error_messages import declines_content, error_body
from judging.backends.parameters import SEED, Adjustments
from judging.engine.interface import Parameters

WANTED = {
    "model": "m",
    "temperature": 0.7,
    "top_p": 0.95,
    "max_tokens": 1024,
    "seed": SEED,
    "logprobs": True,
    "top_logprobs": 20,
    "response_format": "json_schema",
}


WORDINGS = [
    json.loads(line)
    for line in Path(__file__).with_name("refused_parameters.jsonl").read_text("utf-8").splitlines()
]


def refusing(what):
    """Whether a server refuses a request with these parameters."""

    def refuses(sent):
        if what == "warm":
            return sent.get("temperature", 1) != 1
        if what == "both":
            return {"temperature", "top_p"} <= sent.keys()
        if isinstance(what, int):  # so many probabilities are the most it gives
            return sent.get("top_logprobs", 0) > what
        return any(name in sent for name in what)

    return refuses


def ask(adjustments, refuses, status, body, *, question, at_most=12):
    """Ask one question until it is answered; return the errors, or None if it is given up."""
    content = body if isinstance(body, str) else json.dumps(body)
    error = error_body(content)
    for errors in range(at_most):
        sent = adjustments.current
        if not refuses(sent.values):
            adjustments.succeeded(sent, question=question)
            return errors
        if declines_content(error):
            return None
        if not adjustments.learn(error, sent, status=status, question=question):
            return None
    raise AssertionError("It is asked for ever.")


@pytest.mark.parametrize("row", WORDINGS, ids=[row["server"] for row in WORDINGS])
def test_a_refused_parameter_is_left_out_whatever_the_words(row):
    adjustments, refuses = Adjustments(Parameters(WANTED)), refusing(row["refuses"])

    errors = [ask(adjustments, refuses, row["status"], row["body"], question=n) for n in range(30)]

    assert None not in errors
    assert sum(errors) <= 14
    assert errors[15:] == [0] * 15  # learnt for good
    sent = adjustments.current.values
    # Everything else is sent: with it back, the request would be refused.
    for name in WANTED.keys() - sent.keys():
        if name not in ("max_tokens", "logprobs", "top_logprobs"):
            assert refuses(sent | {name: WANTED[name]}), name
    if "logprobs" not in sent:
        assert refuses(sent | {"logprobs": True, "top_logprobs": 5})


@pytest.mark.parametrize("status", [400, 422])
@pytest.mark.parametrize("bad", [[0], [0, 1], [0, 1, 2, 3], [4], range(8)])
@pytest.mark.parametrize(
    "message",
    [
        "Bad Request",
        "Cannot answer: at which temperature does a seed grow, and with which top_p?",
        "This prompt asks about an unsupported parameter: seed.",
    ],
)
def test_a_question_that_is_refused_whatever_is_sent_changes_no_later_request(status, bad, message):
    adjustments = Adjustments(Parameters(WANTED))

    errors = [
        ask(adjustments, lambda sent, n=n: n in bad, status, {"message": message}, question=n)
        for n in range(20)
    ]

    assert [n for n in range(20) if errors[n] is None] == list(bad)
    assert adjustments.current.values == WANTED


def test_a_bad_question_in_front_does_not_hide_a_parameter_that_is_refused():
    adjustments = Adjustments(Parameters(WANTED))

    errors = [
        ask(
            adjustments,
            lambda sent, n=n: n == 0 or "seed" in sent,
            400,
            {"message": "Bad Request"},
            question=n,
        )
        for n in range(20)
    ]

    assert errors[0] is None
    assert None not in errors[1:]
    assert adjustments.current.values == {k: v for k, v in WANTED.items() if k != "seed"}


def test_requests_under_way_when_something_was_learnt_are_sent_again():
    adjustments = Adjustments(Parameters(WANTED))
    full, error = adjustments.current, {"message": "Bad Request"}

    assert adjustments.learn(error, full, question=1)
    assert adjustments.learn(error, full, question=2)

    bare = adjustments.current
    assert bare.values == {"model": "m", "max_tokens": 1024}
    adjustments.succeeded(bare, question=2)  # says nothing about what question 1 was refused for
    assert adjustments.current is bare
    adjustments.succeeded(bare, question=1)
    assert len(adjustments.current.values) > 2
