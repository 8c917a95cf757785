"""Replies that are no answer: asked again, and kept as what they are."""

import pytest

from tests.factories import make_item, make_study
from tests.judging.llm_server import completion
from tests.judging.run_helpers import judge_all


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
