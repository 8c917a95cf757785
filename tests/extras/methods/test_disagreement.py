"""The chapter on disagreement: distributions of judges, ceilings, and where it is left out."""

from datetime import date

import numpy as np
import pytest
from django.core.exceptions import ValidationError

from analysis.data.dataset import load_dataset
from analysis.data.verdicts import probability_shares, run_verdicts
from analysis.report.build import all_tables
from analysis.report.render import render_html
from extras.methods.distances import answer_shares, reading_shares
from judging.models import Judgment
from studies.models import Item, Study
from tests.analysis.builders import answer, judge_item, make_rater, make_run, random_study
from tests.analysis.partial import computed, report_of
from tests.factories import make_item, make_persona, make_study, stored_at_once

pytestmark = pytest.mark.django_db


@stored_at_once()
def split_study():
    """Sixty items, each of three people of nine; two of three say r1, at every fifth all do."""
    study = make_study()
    raters = [make_rater(study=study) for _ in range(15)]
    personas = [make_persona(study=study) for _ in range(10)]
    run = make_run(study=study, judge="steady", samples=4)
    other = make_run(study=study, judge="contrary")
    for n in range(60):
        item = make_item(study=study, persona=personas[n % 10], key=f"i{n:02}")
        for k in range(3):
            split = k == n % 3 and n % 5
            answer(raters[(n * 3 + k * 4) % 15], item, "r2" if split else "r1")
        for sample in range(1, 5):
            judge_item(run, item, "r2" if sample == 4 else "r1", 70, sample=sample)
        judge_item(other, item, "r1" if n % 4 else "r2", 70)
    return study


@pytest.fixture(scope="module")
def stored(module_db):
    return split_study()


@pytest.fixture
def study(db, stored):
    return Study.objects.get(pk=stored.pk)


@pytest.fixture(scope="module")
def report(stored):
    return report_of(stored)


@pytest.mark.nightly
def test_the_chapter_has_the_figures_of_a_count_by_hand(report):
    found = report["disagreement"]
    steady = next(each for each in found["judges"] if each["judge"] == "steady")
    contrary = next(each for each in found["judges"] if each["judge"] == "contrary")
    pair = (48 / 3 + 12) / 60
    assert (found["items"], found["answers_per_item"], found["chance"]) == (60, 3.0, 0.5)
    assert found["person"]["agreement"]["value"] == pytest.approx(pair)
    assert found["ceiling"]["low"]["value"] == pytest.approx(pair)
    assert steady["agreement"]["value"] == pytest.approx((48 * 2 / 3 + 12) / 60)
    assert contrary["agreement"]["value"] == pytest.approx((12 / 3 + 9 + 36 * 2 / 3) / 60)


@pytest.mark.nightly
def test_where_people_agree_by_chance_no_judge_has_a_share(report):
    judges = report["disagreement"]["judges"]

    # Pairs agree on 46.7 % of the items.
    assert {each["share"]["value_reason"] for each in judges} == {"at_chance"}


@pytest.mark.sampled(keep=1)
@pytest.mark.parametrize("without", ["second answers", "judges"])
def test_it_is_left_out_without_second_answers_or_judges(without):
    runs = () if without == "judges" else ({"judge": "steady"},)
    per_item = (1, 1, 2) if without == "second answers" else (3,)
    study = random_study(5, n_items=12, per_item=per_item, runs=runs)

    report = report_of(study)

    assert "disagreement" not in report
    assert 'id="disagreement"' not in render_html(report, date=date(2026, 1, 2))


def test_distributions_weigh_orders_alike_and_know_their_noise():
    study = make_study()
    run = make_run(study=study, orders="both", samples=2)
    item, bare = (make_item(study=study, key=key) for key in "ab")
    for choice, first, sample in (
        ("r1", "r1", 1),
        ("r2", "r1", 2),
        ("r1", "r2", 1),
        ("r1", "r2", 2),
    ):
        judge_item(run, item, choice, shown_first=first, sample=sample)
    judge_item(run, bare, "r2")
    Judgment.objects.filter(run=run, shown_first="r1", item=item).update(
        probabilities={"r1": 0.6, "r2": 0.4}
    )
    Judgment.objects.filter(run=run, shown_first="r2", item=item, sample=1).update(
        probabilities={"r1": 0.9, "r2": 0.1}
    )
    data = load_dataset(study.slug)
    loaded = data.runs[0]
    verdicts = run_verdicts(data, loaded)

    readings = reading_shares(data, loaded, verdicts)
    probabilities = probability_shares(data, loaded, verdicts)
    alone = answer_shares(data, loaded, verdicts)

    assert readings.shares[0].tolist() == pytest.approx([0.75, 0.25, 0])
    # Half of the variances: .25 in one order of two, as a share of its two readings.
    assert readings.noise[0] == pytest.approx(0.25 / 1 / 4)
    assert probabilities.shares[0].tolist() == pytest.approx([0.75, 0.25, 0])
    assert alone.shares.tolist() == [[1, 0, 0], [0, 1, 0]]
    assert np.isnan(readings.shares[1]).all()
    assert np.isnan(probabilities.shares[1]).all()


@pytest.mark.nightly
def test_a_stated_retest_makes_accuracies_shares_of_the_possible(study):
    Item.objects.filter(study=study).update(first_person="r1")
    plain = computed(study, "possible_accuracy")
    study.source = {"retest_agreement": 0.82}
    study.full_clean()
    study.save(update_fields=["source"])

    report = report_of(study)

    found = report["possible_accuracy"]
    steady = next(each for each in found["judges"] if each["judge"] == "steady")
    contrary = next(each for each in found["judges"] if each["judge"] == "contrary")
    assert "possible_accuracy" not in plain
    assert found["ceiling"] == pytest.approx(0.9)
    assert contrary["accuracy"]["value"] == 0.75
    assert contrary["share"]["value"] == pytest.approx(0.25 / 0.4)
    assert steady["share"]["value"] == pytest.approx(0.5 / 0.4)
    assert "possible_accuracy" in all_tables(report)


@pytest.mark.sampled(keep=2)
@pytest.mark.parametrize("stated", [0.5, 1.2, "often", None])
def test_a_retest_that_is_no_share_above_one_half_is_refused_or_left_out(study, stated):
    study.source = {"retest_agreement": stated}
    study.save(update_fields=["source"])

    assert "possible_accuracy" not in computed(study, "possible_accuracy")
    if stated is not None:
        with pytest.raises(ValidationError, match="Use a number above"):
            study.full_clean()
