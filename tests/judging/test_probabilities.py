"""Option probabilities: read from a server's logprobs, stored by content."""

import json
import math

import pytest

from judging.backends.completions import LEAST_MASS, read_probabilities
from judging.engine.interface import JudgeQuestion
from judging.engine.messages import from_user
from judging.protocols.protocol import Standard, Tie
from tests.judging.conftest import make_judge
from tests.judging.llm_server import Answer, completion, error
from tests.judging.run_helpers import judge_all, study_of


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


def read(text, logprobs, *, offers_tie=False, is_lenient=False, is_cut=False):
    protocol = Tie() if offers_tie else Standard()
    question = JudgeQuestion(1, from_user("?"), protocol, seed=0, is_lenient=is_lenient)
    return read_probabilities(question, text, logprobs, is_structured=False, is_cut=is_cut)


VERDICT = ("A", {"A": 0.6, "B": 0.2, "C": 0.1, " A": 0.1})


@pytest.mark.parametrize(
    ("tokens", "offers_tie", "expected"),
    [
        ([VERDICT, ("]]", {})], False, {"A": 7 / 9, "B": 2 / 9}),
        ([VERDICT, ("]]", {})], True, {"A": 0.7, "B": 0.2, "C": 0.1}),
        ([("[[", {"[[": 1.0}), VERDICT, ("]]", {})], False, {"A": 7 / 9, "B": 2 / 9}),
        # The last verdict counts, and with it the probabilities of its letter.
        (
            [("Not [[", {}), ("B", {"B": 0.9, "A": 0.1}), ("]] but [[", {}), VERDICT, ("]]", {})],
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

    found, _ = read(text, told(*tokens), offers_tie=offers_tie)

    assert found == pytest.approx(expected)


# What a model writes before its verdict; a first token that names the wrong letter.
FIRST = {"The": 0.97, "A": 0.02, "B": 0.01}
CERTAIN_B = {" B": 0.9, " A": 0.1}


@pytest.mark.parametrize(
    ("words", "behind"),
    [
        (("The", " person", " prefers", " response"), "."),
        (("The", " answer", " is", ":"), ""),
        (("**Answer", ":**"), "\n\nIt is short."),
        (("{", '"choice":', ' "'), '"}'),
        (("Option",), ""),
        (("I", " would", " choose"), " because A is long…"),
        (("| Tone | A |\n| Answer |",), " |"),
    ],
)
def test_a_verdict_that_is_read_leniently_has_the_probabilities_of_its_letter(words, behind):
    letter = "B" if words[-1].endswith('"') else " B"
    shares = CERTAIN_B if letter == " B" else {"B": 0.9, "A": 0.1}
    tokens = [*((word, FIRST) for word in words), (letter, shares), (behind, FIRST)]

    found, reason = read("".join(token for token, _ in tokens), told(*tokens), is_lenient=True)

    assert (found, reason) == (pytest.approx({"A": 0.1, "B": 0.9}), "")


def test_an_article_is_not_the_letter():
    tokens = [("The answer is", {}), (" A", {" A": 0.6, " a": 0.3, " B": 0.1})]

    found, _ = read("The answer is A", told(*tokens), is_lenient=True)

    assert found == pytest.approx({"A": 6 / 7, "B": 1 / 7})


@pytest.mark.parametrize(
    ("tokens", "reason"),
    [
        ([("Hello", {"Hello": 0.99, "A": 8e-7}), (" there", {})], "no letter"),
        ([("[[", {}), ("A", {"[": 0.6, "A": 0.4}), ("]]", {})], "only 0.4"),
        ([("The first one is better.", FIRST)], "no letter"),
        ([("It is a tie.", FIRST)], "no letter"),
    ],
)
def test_without_a_letter_or_enough_probability_there_are_none_and_a_reason(tokens, reason):
    text = "".join(token for token, _ in tokens)

    found, why = read(text, told(*tokens), is_lenient=True)

    assert found is None
    assert reason in why
    assert LEAST_MASS == 0.5


def test_tokens_of_thoughts_and_halves_of_a_character_do_not_move_the_letter():
    reply = [("[[", {}), ("B", {"B": 0.8, "A": 0.2}), ("]]", {})]
    thinking = [("<think>", {}), ("A", {"A": 1.0}), ("</think>\n", {})]

    assert read("[[B]]", told(*thinking, *reply))[0] == pytest.approx({"A": 0.2, "B": 0.8})
    halves = [*reply, (" \ufffd", {}), ("\ufffd", {})]
    assert read("[[B]] 🌱", told(*halves))[0] == pytest.approx({"A": 0.2, "B": 0.8})


def test_a_letter_that_may_be_cut_off_has_no_probabilities():
    tokens = [("The answer is", {}), (" A", {" A": 1.0})]

    assert read("The answer is A", told(*tokens), is_lenient=True, is_cut=True)[0] is None


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
        ("A", {"content": [{"token": "A", "top_logprobs": [{"token": "A", "logprob": 10**400}]}]}),
    ],
)
def test_what_was_not_told_is_missing(text, logprobs):
    assert read(text, logprobs)[0] is None


def with_logprobs(text, logprobs):
    body = json.loads(completion(text).body)
    body["choices"][0]["logprobs"] = logprobs
    return Answer(body=json.dumps(body).encode())


def test_a_run_stores_them_by_content_for_both_orders(llm, engine):
    judge = make_judge(base_url=llm.url, probabilities="beside")
    study = study_of(1)
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
    study = study_of(1)

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
    study = study_of(1)

    judge_all(study, judge)

    assert "logprobs" not in llm.requests[0]


def test_a_run_says_where_its_probabilities_are_from_or_why_there_are_none(llm, engine):
    judge = make_judge(base_url=llm.url, probabilities="beside")
    study = study_of(1)
    tokens = [("The answer is", FIRST), (" B", CERTAIN_B)]
    llm.answer = lambda body, n: with_logprobs("The answer is B", told(*tokens))

    right = judge_all(study, judge, orders="r1_first").judgments.get()
    llm.answer = lambda body, n: with_logprobs("[[B]]", told(("Hm", {"Hm": 1.0})))
    wrong = judge_all(study, judge, orders="r1_first", seed=2).judgments.get()

    assert right.probabilities == pytest.approx({"r1": 0.1, "r2": 0.9})
    assert right.details == {"read": "words", "probabilities_at": "letter"}
    assert wrong.probabilities is None
    assert "not those of the reply" in wrong.details["no_probabilities"]
