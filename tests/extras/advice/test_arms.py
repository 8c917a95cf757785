"""The chapter on debates and advisers: counted by another way, with beliefs of before."""

import doctest
from datetime import date

import numpy as np
import pytest
from django.utils import timezone

from analysis.report.build import all_sentences, all_tables
from analysis.report.render import render_html
from annotation.models import InitialAnswer, ProlificIdentity
from benchmarks.simulations.of_extras.advice import DEBATE, NONE, ArmWorld, people
from extras.advice import arm_effects
from extras.advice.arm_effects import ArmAnswers, arm_difference
from extras.advice.models import BeliefSource
from studies.services.related_studies import related_studies
from tests.analysis.builders import answer, judge_item, make_rater, make_run
from tests.analysis.partial import report_of
from tests.factories import make_item, make_persona, make_study, store, stored_at_once

DEBATED = {"kind": "debate", "title": "", "text": "They say.", "favors": ""}
ADVISED = {"kind": "consultancy", "title": "", "text": "It says.", "favors": "r2"}
SOURCE = {
    "from": "first",
    "judges": ["writer"],
    "items": 24,
    "left_out": 0,
    "arms": ["none", "consultancy", "debate"],
    "rounds": 1,
}


@pytest.fixture
@stored_at_once()
def study():
    """Thirty-six people: right alone in half of the items, always with a debate, never advised."""
    study = make_study(source={"advice_arms": SOURCE}, state="closed")
    own = make_study(perspective="own", state="closed", slug="own")
    people = [make_rater(study=study) for _ in range(36)]
    earlier = [make_rater(study=own) for _ in range(36)]
    for n, (here, there) in enumerate(zip(people, earlier, strict=True)):
        if n < 30:
            for rater in (here, there):
                store(ProlificIdentity(annotator=rater, pid=f"pid{n}"))
    run = make_run(study=study, setting="advice")
    for q in range(24):
        persona = make_persona(study=study, key=f"p{q}")
        texts = {"question": f"Q{q}?", "r1": {"text": f"Yes {q}"}, "r2": {"text": f"No {q}"}}
        asked = make_item(
            study=own, **texts | {"r1": texts["r2"], "r2": texts["r1"]}, key=f"own{q}"
        )
        for n, rater in enumerate(earlier):
            answer(rater, asked, "r2" if n < 15 else "r1", 60)
        for place, (arm, advice) in enumerate(
            [("none", {}), ("consultancy", ADVISED), ("debate", DEBATED)]
        ):
            item = make_item(
                study=study, key=f"q{q}:{arm}", persona=persona, advice=advice, **texts
            )
            for n in range(4 * place, 4 * place + 4):
                rater = people[(n + 3 * q) % 36]
                choice = {"none": ("r1", "r2")[n % 2], "consultancy": "r2", "debate": "r1"}[arm]
                made = answer(rater, item, choice, 80)
                if advice:
                    first = InitialAnswer(
                        assignment=made.assignment, choice="r2", answered_at=timezone.now()
                    )
                    store(first)
            if advice:
                said = {"before_advice": {"choice": "r2", "certainty": 50}}
                judge_item(run, item, "r1" if arm == "debate" else "r2", 90, details=said)
    BeliefSource.objects.create(study=study, beliefs=own)
    return study


@pytest.mark.nightly
@pytest.mark.django_db
def test_the_chapter_compares_the_arms_and_says_so(study):
    report = report_of(study)

    found = report["arms"]
    people = found["people"]
    assert {arm: each["accuracy"] for arm, each in people["arms"].items()} == {
        "none": 0.5,
        "consultancy": 0.0,
        "debate": 1.0,
    }
    assert people["arms"]["debate"] | {"n": 96, "corrected": 1.0} == people["arms"]["debate"]
    assert people["arms"]["debate"]["misled_reason"] == "empty_group"
    assert people["arms"]["none"]["overconfidence"] == pytest.approx(0.3)
    debate, adviser, both = people["differences"]
    assert (debate["value"], adviser["value"], both["value"]) == (0.5, -0.5, 1.0)
    assert debate["overconfidence"]["value"] == pytest.approx(-0.5)
    (judge,) = found["judges"]
    assert judge["arms"]["none"]["accuracy"] == 0.0
    assert judge["arms"]["debate"]["accuracy"] == 1.0
    assert people["advisers"]["right"]["n"] == 0
    assert people["advisers"]["wrong"] == {"n": 96, "accuracy": 0.0}
    words = [str(each) for each in all_sentences(report)]
    page = render_html(report, date=date(2026, 1, 2))
    assert "People are right more often with a debate than alone" in page, words


@pytest.mark.nightly
@pytest.mark.django_db
def test_beliefs_are_those_of_the_same_person_about_the_same_two_responses(study):
    [earlier] = related_studies(study)
    assert earlier.words == "in which its people say what they believe"
    found = report_of(study)["arms"]["people"]["beliefs"]

    # Fifteen chose “Yes” for themselves, which is the right answer here; six have no known id.
    counts = {name: sum(each["n"] for each in rows) for name, rows in found.items()}
    assert counts == {"right": 120, "wrong": 120, "unknown": 48}
    assert found["wrong"][2]["accuracy"] == 1.0
    assert "arms_beliefs" in all_tables(report_of(study))


@pytest.mark.django_db
def test_a_study_without_answers_or_arms_has_no_chapter():
    plain = make_study()
    answer(make_rater(study=plain), make_item(study=plain), "r1")
    empty = make_study(source={"advice_arms": SOURCE})
    make_item(study=empty, key="q:debate", advice=DEBATED)

    assert "arms" not in report_of(plain)
    assert not any("arms" in name for name in all_tables(report_of(empty)))


def test_the_difference_is_the_mean_of_differences_of_items():
    rng = np.random.default_rng(3)
    answers = people(rng, ArmWorld(items=30))
    known = np.where(rng.random(answers.right.size) < 0.9, answers.right, np.nan)

    found = arm_difference(known, answers, DEBATE, NONE)

    rows = []
    for item in range(30):
        each = [
            [
                v
                for v, i, a in zip(known, answers.item, answers.arm, strict=True)
                if i == item and a == arm and not np.isnan(v)
            ]
            for arm in (DEBATE, NONE)
        ]
        if all(each):
            rows.append(np.mean(each[0]) - np.mean(each[1]))
    assert found.value == pytest.approx(np.mean(rows))
    assert found.n == len(rows)
    nobody = ArmAnswers(*(np.array([], dtype=int),) * 2, *(np.array([]),) * 2)
    assert arm_difference([], nobody, DEBATE, NONE).reason == "empty_group"


def test_the_examples_give_what_they_show():
    found = doctest.testmod(arm_effects)

    assert found.attempted > 3
    assert not found.failed
