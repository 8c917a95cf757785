"""The tier of each judge, in the design of the source."""

import random
from datetime import date

import pytest

from analysis.data.dataset import load_dataset
from analysis.report.build import all_tables, build_report
from analysis.report.render import render_html
from tests.analysis.builders import answer, judge_item, make_rater, make_run
from tests.factories import make_item, make_persona, make_study, stored_at_once

ITEMS, PEOPLE, SAMPLES = 120, 12, 5


pytestmark = pytest.mark.django_db


@pytest.fixture(scope="module")
def data(module_db):
    """The source's design: everybody answers 30 random items, and no two people share 30."""
    rng = random.Random(5)
    study = make_study(slug="tiers", annotations_per_item=3)
    raters = [make_rater(study=study) for _ in range(PEOPLE)]
    run, once = make_run(study=study, samples=SAMPLES), make_run(study=study, judge="once")
    seats = [rater for rater in raters for _ in range(ITEMS * 3 // PEOPLE)]
    rng.shuffle(seats)
    with stored_at_once():
        personas = [make_persona(study=study, key=f"p{n}") for n in range(20)]
        for n in range(ITEMS):
            truth = rng.choice(("r1", "r2"))
            other = {"r1": "r2", "r2": "r1"}[truth]
            item = make_item(
                study=study, key=f"i{n:03}", persona=personas[n % 20], first_person=truth
            )
            for rater in dict.fromkeys(seats[3 * n : 3 * n + 3]):
                answer(rater, item, truth if rng.random() < 0.75 else other)
            knows = rng.choice((0.35, 0.6, 0.95))
            for sample in range(1, SAMPLES + 1):
                choice = truth if rng.random() < knows else other
                judge_item(run, item, choice, rng.randint(50, 100), sample=sample)
            judge_item(once, item, truth, 80)
    return load_dataset("tiers")


@pytest.fixture(scope="module")
def report(data):
    return build_report(data, seed=1, bootstrap=50)


def test_every_judge_has_a_tier_on_the_page_in_the_design_of_the_source(report):
    table = all_tables(report)["tiers"]

    tiers = {row[0].split(" ")[0]: (row[-2], row[-1]) for row in table.rows}
    z, label = tiers["once"]
    assert z >= 1
    assert label == "super-consistent"
    assert tiers["steady"][1] in ("human-like", "super-consistent", "below human")
    page = render_html(report, date=date(2026, 11, 27))
    assert "Tier of each judge by its kappa with people" in page
    assert "super-consistent" in page
