"""Heat maps stand above their tables, and their titles claim only what its test shows."""

import datetime as dt

import pytest

from analysis.report.build import all_figures
from analysis.report.render import render_html
from analysis.report.sentences import TOPICS
from tests.analysis.builders import random_study
from tests.analysis.partial import report_of

pytestmark = [pytest.mark.django_db, pytest.mark.computed]


def test_each_cell_is_a_group_in_points_from_its_sides_accuracy():
    report = report_of(random_study(6, n_items=60, truths=("r1", "r2")))
    figures = all_figures(report)

    people, *_ = figures["heat_topics"].panels[0].drawing["data"]
    rows = {f"0.{code}": row["people"] for code, row in enumerate(report["groups"][0]["rows"])}
    own = report["human"]["majority"]["accuracy"]
    for group, words in zip(people["customdata"], people["text"], strict=True):
        points = 100 * (rows[group]["accuracy"] - own)
        assert words == f"{points:+.1f}<br>n {rows[group]['n']}".replace("-", "−")
    # The hardest for people come first.
    shown = [rows[group]["accuracy"] for group in people["customdata"]]
    assert shown == sorted(shown)
    page = render_html(report, date=dt.date(2026, 5, 1))
    chapter = page.split('<section id="groups">')[1].split("</section>")[0]
    for name in ("heat_topics", "heat_personas"):
        assert chapter.count(f'id="figure-{name}"') == 1
    assert chapter.count('id="table-group_1"') == chapter.count('id="table-personas"') == 1


def test_the_title_names_a_topic_only_where_its_test_holds():
    report = report_of(random_study(6, n_items=60, truths=("r1", "r2")))
    topic = report["groups"][0]["rows"][0]["value"]
    level = {"kind": TOPICS, "level": 0.05}
    harder = {"kind": TOPICS, "who": "majority", "about": topic, "t": 4.0, "p_max": 0.001}

    def title(**claims):
        return all_figures(report | {"claims_tested": claims})["heat_topics"].title

    assert title() == "Accuracy by topics"
    assert title(kinds=[level], members=[harder]) == (
        f"{topic}: the majority of people errs more often than elsewhere"
    )
    chance = harder | {"p_max": 0.2}
    assert title(kinds=[level], members=[chance]) == "Accuracy by topics"
