"""A judge that commits first: what it is shown and when, and how it is compared."""

import random

import pytest

from analysis.data.dataset import load_dataset
from analysis.report.study import ReportedStudy
from extras.judges_compared.protocols import COMMITTED
from extras.judges_compared.usual_question import compared_with_usual
from extras.judges_compared.wording import WORDINGS
from judging.models import Judgment
from judging.protocols.registry import protocol
from tests.analysis.builders import answer, judge_item, make_rater, make_run
from tests.factories import make_item, make_items, make_persona, make_study, stored_at_once
from tests.judging.conftest import engine, judge, llm
from tests.judging.llm_server import completion
from tests.judging.run_helpers import judge_all

__all__ = ["engine", "judge", "llm"]


def test_only_the_second_reply_chooses():
    assert protocol("committed").read("They want a short answer.").continues
    assert not COMMITTED.read("   ").continues
    verdict = COMMITTED.read("[[B]]", earlier=("[[A]] is short. ",))
    assert (verdict.side, verdict.details) == ("B", {"statement": "[[A]] is short."})
    assert COMMITTED.read("Neither.", earlier=("Short.",)).side is None


@pytest.mark.django_db(transaction=True)
def test_the_responses_are_shown_after_the_statement_and_it_is_kept(judge, llm):
    study = make_study()
    make_items(study, 1)
    asked = []

    def answers(body, number):
        words = [message["content"] for message in body["messages"]]
        asked.append(words)
        return completion("They want it short." if len(words) == 1 else "[[A]]")

    llm.answer = answers
    judge_all(study, judge, setting="committed", orders="r1_first")

    (first,), second = asked
    assert "[Person]" in first
    assert "First response" not in first
    assert "Second response" not in first
    assert second[:2] == [first, "They want it short."]
    assert "First response" in second[2]
    assert Judgment.objects.get().details == {"statement": "They want it short."}


@stored_at_once()
def compared_study(committed, usual, *, items=150, seed=1):
    draw = random.Random(seed)
    study = make_study()
    personas = [make_persona(study=study) for _ in range(25)]
    rater = make_rater(study=study)
    runs = {
        name: make_run(study=study, judge="j", setting=name, orders="r1_first")
        for name in ("committed", "certainty")
    }
    for n in range(items):
        item = make_item(study=study, persona=personas[n % 25], first_person="r1")
        answer(rater, item, "r1")
        for name, share in (("committed", committed), ("certainty", usual)):
            choice = "r1" if draw.random() < share else "r2"
            judge_item(runs[name], item, choice, 60 if name == "certainty" else None)
    return study


def entry_of(study):
    reported = ReportedStudy(load_dataset(study.slug), threshold=80, seed=1, draws=50)
    [entry] = compared_with_usual(reported, "committed")
    return entry


@pytest.mark.django_db
def test_a_planted_gain_is_shown_and_the_numbers_are_plain_shares():
    study = compared_study(0.9, 0.5)
    entry = entry_of(study)

    right = Judgment.objects.filter(run__setting="committed", choice="r1").count()
    assert entry["n"] == 150
    assert entry["committed_right"] == pytest.approx(right / 150)
    assert entry["difference"]["value"] == pytest.approx(
        entry["committed_right"] - entry["usual_right"]
    )
    assert entry["difference"]["p_holm"] < 0.001
    report = {
        "committed": [entry],
        "wording": [],
        "with_reference": [],
        "claims_tested": {"kinds": [{"kind": "committing first", "level": 0.05}]},
        "inputs": {"items": 150},
    }
    [sentence] = WORDINGS.sentences(report)
    assert str(sentence.text).startswith("j is right more often if it commits first: ")


@pytest.mark.nightly
@pytest.mark.django_db
def test_without_a_gain_none_is_claimed():
    false = sum(
        entry_of(compared_study(0.7, 0.7, items=60, seed=seed))["difference"]["p"] <= 0.05
        for seed in range(12)
    )

    assert false <= 2
