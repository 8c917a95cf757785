"""The chapter of the report: the ranking by people and judges, draws and money."""

import datetime as dt
import random
from decimal import Decimal

import numpy as np
import pytest

from analysis.report.build import all_sentences, all_tables
from analysis.report.render import render_html
from extras.arena.models import Arena, ArenaAnswer, ArenaPair, ArenaQuestion, ArenaSystem
from tests.analysis.builders import answer, judge_item, make_rater, make_run
from tests.analysis.partial import report_of
from tests.factories import make_item, make_persona, make_study

pytestmark = pytest.mark.django_db
LIKED = {"best": 0.9, "middle": 0.5, "worst": 0.1}


def arena_study(*, n_items=90):
    """People who like systems by `LIKED`, and a judge that nearly always says the same."""
    rng = random.Random(5)
    study = make_study(extras=["arena"])
    personas = [make_persona(study=study) for _ in range(15)]
    raters = [make_rater(study=study) for _ in range(12)]
    run = make_run(study=study, judge="judge")
    arena = Arena.objects.create(study=study, budget=Decimal(9), state="done")
    systems = {name: ArenaSystem.objects.create(arena=arena, name=name) for name in LIKED}
    for number in range(n_items):
        one, two = rng.sample([*LIKED], 2)
        item = make_item(study=study, key=f"arena-{number}", persona=personas[number % 15])
        question = ArenaQuestion.objects.create(
            arena=arena, persona=item.persona, key=str(number), question=item.question
        )
        pair = ArenaPair.objects.create(
            arena=arena,
            question=question,
            first=systems[one],
            second=systems[two],
            chance=1 / 3,
            item=item,
            state="stored",
        )
        for name in (one, two):
            ArenaAnswer.objects.create(
                job=arena, pair=pair, system=systems[name], state="written", spent_nano=10**7
            )
        for rater in rng.sample(raters, 3):
            liked = rng.random() < 0.5 + (LIKED[one] - LIKED[two]) / 2
            answer(rater, item, "r1" if liked else "r2", 70)
        judge_item(run, item, "r1" if LIKED[one] > LIKED[two] else "r2", 80)
    return study


@pytest.mark.nightly
def test_the_chapter_ranks_systems_by_single_answers():
    study = arena_study()
    report = report_of(study)
    found = report["arena"]

    assert (found["pairs"], found["answers"]) == (90, 270)
    assert found["spent"] == pytest.approx(1.8)
    assert [entry["system"] for entry in found["ranking"]] == ["best", "middle", "worst"]
    assert np.mean([entry["strength"] for entry in found["ranking"]]) == pytest.approx(0, abs=1e-6)
    assert sum(entry["pairs"] for entry in found["met"]) == 90
    [judge] = found["judges"]
    assert judge["n_both"] == 90
    names = set(all_tables(report))
    assert {"arena_ranking", "arena_agreement", "arena_draws", "arena_costs"} <= names
    words = " ".join(str(each.text) for each in all_sentences(report, "methods"))
    assert "90 pairs of responses were written while people took part, for $1.80" in words
    assert "Ranking of the systems" in render_html(report, date=dt.date(2026, 11, 29))


def test_a_study_without_pairs_has_no_chapter():
    study = make_study(extras=["arena"])
    item = make_item(study=study)
    answer(make_rater(study=study), item, "r1", 70)

    assert "arena" not in report_of(study)
