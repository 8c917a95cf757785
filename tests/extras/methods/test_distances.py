"""The chapter on distances from all answers: counts by hand, and a mirrored study."""

from datetime import date

import pytest

from analysis.data.dataset import load_dataset
from analysis.report.build import build_report
from analysis.report.render import render_html
from tests.analysis.builders import random_study
from tests.analysis.partial import computed
from tests.extras.methods.test_disagreement import split_study

pytestmark = pytest.mark.django_db


@pytest.mark.nightly
def test_the_chapter_has_the_figures_of_a_count_by_hand():
    report = build_report(load_dataset(split_study().slug), seed=1, bootstrap=20)

    judges = report["disagreement"]["judges"]
    steady = next(each for each in judges if each["judge"] == "steady")
    contrary = next(each for each in judges if each["judge"] == "contrary")
    readings, alone = steady["distances"]
    assert (readings["source"], alone["source"]) == ("readings", "answer")
    noise = 0.75 * 0.25 / 3
    split = (0.75 - 2 / 3) ** 2 - 2 / 9 / 2 - noise
    same = 0.25**2 - noise
    assert readings["squared"]["value"] == pytest.approx((48 * split + 12 * same) / 60)
    assert alone["squared"]["value"] == pytest.approx(48 * (1 / 9 - 1 / 9) / 60)
    assert [each["source"] for each in contrary["distances"]] == ["answer"]
    page = render_html(report, date=date(2026, 1, 2))
    chapter = page.split('<section id="distances">')[1].split("</section>")[0]
    assert 'id="table-soft_labels"' in chapter


def test_a_mirrored_study_has_the_same_distances():
    runs = ({"judge": "both ways", "setting": "tie", "orders": "both"},)
    one, two = (
        computed(random_study(6, allow_tie=True, runs=runs, mirrored=mirrored), "distances")
        for mirrored in (False, True)
    )

    (here,), (there,) = one["disagreement"]["judges"], two["disagreement"]["judges"]
    for mine, other in zip(here["distances"], there["distances"], strict=True):
        assert mine["squared"]["value"] == pytest.approx(other["squared"]["value"])


def test_without_disagreement_there_is_no_chapter():
    study = random_study(5, n_items=12, per_item=(3,), runs=())

    assert "disagreement" not in computed(study, "distances")
