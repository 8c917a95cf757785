"""The chapter on adjudicated labels: two truths side by side, and what it claims."""

from datetime import date

import numpy as np
import pytest

from analysis.report.render import render_html
from analysis.stats import Sharing, Votes
from analysis.stats.comparison.general_difference import general_difference
from extras.label_models.adjudication_chapter import gaps_of, mean_by_item
from extras.label_models.models import Expert, ExpertDecision, SplitItem
from studies.statements import clock
from tests.analysis.builders import answer, judge_item, make_rater, make_run
from tests.analysis.partial import report_of
from tests.factories import make_item, make_study, stored_at_once

OTHER = {"r1": "r2", "r2": "r1"}


@stored_at_once()
def fill(study, items, raters=20):
    """Every second item is split; the judge never takes the side of the own answer."""
    rng = np.random.default_rng(5)
    run = make_run(study=study, judge="contrary")
    for n in range(raters):
        rater = make_rater(study=study)
        for place, item in [*enumerate(items)][n % 5 :: 5]:
            is_own = n % 2 == 0 if place % 2 else rng.random() < 0.95
            side = item.first_person
            answer(rater, item, side if is_own else OTHER[side], 60)
    for item in items:
        judge_item(run, item, OTHER[item.first_person], None)


def expert(study, items, name, *, chooses):
    row = Expert.objects.create(study=study, name=name, key_hash=name)
    ExpertDecision.objects.bulk_create(
        ExpertDecision(
            expert=row,
            item=item,
            position=place,
            shown_first="r1",
            choice=chooses(place, item),
            decided_at=clock.now(),
        )
        for place, item in enumerate(items, 1)
    )


@pytest.fixture
def study(db):
    study = make_study()
    items = [
        make_item(
            study=study,
            key=f"i{n:03}",
            question=f"Q{n}?",
            first_person="r1r2"[n % 4 // 2 * 2 :][:2],
        )
        for n in range(80)
    ]
    fill(study, items)
    split = items[1::2]
    SplitItem.objects.bulk_create(SplitItem(item=item, reason="no_majority") for item in split)
    expert(study, split, "Ada", chooses=lambda place, item: OTHER[item.first_person])
    expert(
        study,
        split[:20],
        "Ben",
        chooses=lambda place, item: item.first_person if place <= 4 else OTHER[item.first_person],
    )
    return study


def test_two_truths_stand_side_by_side_and_are_never_mixed(study):
    before = report_of(study)["human"]["majority"]
    report = report_of(study)
    found = report["adjudication"]

    assert (found["split"], found["labelled"], found["disagree"]) == (40, 36, 4)
    assert (found["experts"], found["decisions"], found["by_two"]) == (2, 60, 20)
    assert found["agreement"]["value"] == pytest.approx(16 / 20)
    assert (found["own_answers"]["n"], found["own_answers"]["value"]) == (36, 0.0)
    [judge] = found["judges"]
    assert (judge["experts"]["value"], judge["own"]["value"]) == (1.0, 0.0)
    assert judge["difference"]["value"] == 1.0
    assert judge["all_labels"]["n"] > judge["experts"]["n"] == 36
    people = found["people"]
    assert people["experts"]["value"] == pytest.approx(1 - people["own"]["value"])
    assert report["human"]["majority"] == before
    page = render_html(report, date=date(2026, 1, 1))
    assert "40 items (no majority) went to experts" in page
    assert "36 of 40 have a label; 2 experts took part; on 4 items experts disagree" in page
    assert "contrary chose the experts’ label more often than the persona’s own answer" in page
    assert "it is not closed" in page
    assert "whose pages show no answers or judgments" in page
    Expert.objects.filter(name="Ben").update(way="file")
    page = render_html(report_of(study), date=date(2026, 1, 1))
    assert "1 expert of 2 decided elsewhere, in a file." in page


@pytest.mark.nightly
def test_a_study_without_decisions_or_own_answers_has_a_chapter(db):
    study = make_study()
    item = make_item(study=study, first_person="")
    assert "adjudication" not in report_of(study)
    for side in OTHER:
        answer(make_rater(study=study), item, side)
    SplitItem.objects.create(item=item, reason="no_majority")

    page = render_html(report_of(study), date=date(2026, 1, 1))

    assert "0 of 1 has a label; 0 experts took part" in page
    expert(study, [item], "Ada", chooses=lambda place, item: "r1")
    report = report_of(study)
    assert report["adjudication"]["people"]["own"]["n"] == 0
    page = render_html(report, date=date(2026, 1, 1))
    assert "a person chose the experts’ label in 1 of 2 answers" in page
    assert "1 of 1 has a label; 1 expert took part" in page


def drawn(seed, *, lean=0.0, items=100, people=30):
    """p of people being nearer to experts than to own answers, who both err alike."""
    rng = np.random.default_rng(seed)
    item = np.repeat(np.arange(items), 3)
    person = np.argsort(rng.random((items, people)), axis=1)[:, :3].ravel()
    latent = rng.integers(0, 2, items)
    own, label = (np.where(rng.random(items) < 0.3, 1 - latent, latent) for _ in range(2))
    skill = rng.beta(8, 4, people)[person]
    meant = np.where(rng.random(items) < lean, label, latent)[item]
    choice = np.where(rng.random(3 * items) < skill, meant, 1 - meant)
    gaps = mean_by_item(gaps_of(choice, label[item], own[item]), item, items)
    votes = Votes.from_long(item, person, choice, n_options=2)
    sharing = Sharing.of_items(items, {"persona": np.arange(items) // 4}, votes)
    return general_difference(gaps, sharing).p


def test_people_as_near_to_experts_as_to_own_answers_are_rarely_said_to_differ():
    false = sum((p := drawn(seed)) is not None and p <= 0.05 for seed in range(60))
    found = sum((p := drawn(seed, lean=1.0)) is not None and p <= 0.05 for seed in range(20))

    assert false <= 6
    assert found >= 15
