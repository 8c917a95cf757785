"""The page: nothing imported is markup, nothing is fetched, its policy fits its scripts."""

import base64
import datetime
import hashlib
import json
import re
from html.parser import HTMLParser

import pytest

from analysis.report.build import all_figures, all_tables
from analysis.report.figures import plots_json
from analysis.report.render import content_security_policy, render_html
from analysis.report.table_files import to_tex
from analysis.templatetags.report_words import table_cell
from tests.analysis.builders import (
    answer,
    judge_item,
    little_study,
    make_rater,
    make_run,
    random_study,
)
from tests.analysis.partial import report_of
from tests.factories import make_item, make_persona, make_study, stored_at_once

pytestmark = pytest.mark.django_db

HOSTILE = "</script><script>alert(1)</script><img src=x onerror=alert(2)>\"'&{{ 7 }}"
DATE = datetime.date(2026, 11, 20)


class Page(HTMLParser):
    """What a browser would see: tags with their attributes, and what scripts hold."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.scripts: list[tuple[dict[str, str | None], str]] = []
        self.ids: list[str] = []
        self.in_script = False
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        found = dict(attrs)
        self.tags.append((tag, found))
        if "id" in found:
            self.ids.append(found["id"])
        self.in_script = tag == "script"
        if self.in_script:
            self.scripts.append((found, ""))

    def handle_endtag(self, tag):
        self.in_script = False

    def handle_data(self, data):
        if self.in_script:
            attrs, text = self.scripts[-1]
            self.scripts[-1] = (attrs, text + data)


@stored_at_once()
def hostile_study():
    study = make_study(title=HOSTILE, source={"name": HOSTILE}, is_simulated=True)
    persona = make_persona(
        study=study,
        features=[{"key": "x", "label": HOSTILE, "value": HOSTILE, "text": HOSTILE}],
    )
    other = make_persona(study=study)
    raters = [make_rater(study=study, pseudonym=f"{HOSTILE}{n}") for n in range(2)]
    run = make_run(
        study=study, judge=HOSTILE, features=HOSTILE, sentence=HOSTILE, parameters={"p": HOSTILE}
    )
    for number in range(40):
        item = make_item(
            study=study,
            key=f"{HOSTILE}{number}",
            persona=(persona, other)[number % 2],
            question=HOSTILE,
            topic=HOSTILE,
            r1={"text": HOSTILE},
        )
        for rater in raters:
            answer(rater, item, "r1", 90)
        judge_item(run, item, "r1", 85, model_snapshot=HOSTILE)
    return study


@pytest.fixture(scope="module")
def hostile(module_db):
    return report_of(hostile_study())


@pytest.fixture(scope="module")
def text(hostile):
    return render_html(hostile, date=DATE)


@pytest.fixture(scope="module")
def page(text):
    return Page(text)


def test_hostile_text_stays_text(page):
    assert not [tag for tag, _ in page.tags if tag == "img"]
    assert [attrs.get("type") for attrs, _ in page.scripts] == [
        *["application/json", "module"],
        *["application/json", "application/json"],
    ]
    assert not [attrs for _, attrs in page.tags if any(name.startswith("on") for name in attrs)]


def test_hostile_names_cannot_leave_the_data_of_the_figures(page):
    [data] = [script for attrs, script in page.scripts if attrs.get("id") == "plots"]
    assert "<" not in data
    labels = json.dumps(json.loads(data))
    assert "<script" not in labels
    assert "&lt;/script&gt;" in labels


def test_hostile_links_cannot_be_smuggled_into_a_figure():
    study = make_study()
    run = make_run(study=study, judge='<a href="https://example.com">here</a>')
    with stored_at_once():
        for _ in range(12):
            judge_item(run, make_item(study=study), "r1", 85)

    drawn = json.loads(plots_json(all_figures(report_of(study)).values()))

    assert "here" in str(drawn)
    assert "<a href" not in str(drawn)


def test_the_policy_allows_the_script_of_the_page_and_no_other(page):
    hashes = {
        base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
        for attrs, script in page.scripts
        if attrs.get("type") != "application/json"
    }

    allowed = set(re.findall(r"'sha256-([^']+)'", content_security_policy()))
    assert hashes == allowed
    assert "default-src 'none'" in content_security_policy()
    metas = [attrs for tag, attrs in page.tags if tag == "meta"]
    policies = [m for m in metas if m.get("http-equiv") == "Content-Security-Policy"]
    assert [m["content"] for m in policies] == [content_security_policy()]


def test_nothing_is_fetched(page):
    for tag, attrs in page.tags:
        for name in ("src", "href", "action", "data", "poster", "srcset"):
            value = attrs.get(name)
            assert value is None or value.startswith(("#", "data:", "tables/")), (tag, name, value)


def test_every_id_is_there_once(page):
    assert len(page.ids) == len(set(page.ids))


@pytest.mark.nightly
def test_simulated_data_are_labelled_at_the_top_and_on_every_figure(hostile, text):
    assert text.count('<p class="stamp">Simulated data</p>') == len(all_figures(hostile)) > 3
    assert "<strong>Simulated data.</strong>" in text
    real = report_of(little_study(1))
    assert "Simulated data" not in render_html(real, date=DATE)


@pytest.fixture(scope="module")
def ordinary(module_db):
    return report_of(random_study(2, n_items=60))


@pytest.fixture(scope="module")
def ordinary_text(ordinary):
    return render_html(ordinary, date=DATE)


@pytest.mark.nightly
def test_every_figure_has_title_caption_words_and_numbers(ordinary, ordinary_text):
    report, text = ordinary, ordinary_text
    figures, tables = all_figures(report), all_tables(report)

    assert len(figures) > 6
    for figure in figures.values():
        assert 0 < len(str(figure.title).split()) <= 16  # with what it is about
        assert figure.caption
        assert figure.table in tables
        assert all(panel.alt for panel in figure.panels)
    for figure in figures.values():
        assert f'id="figure-{figure.name}"' in text
        assert f'data-name="{figure.table}"' in text


def test_every_table_is_on_the_page_if_the_study_has_all_extras(ordinary, ordinary_text):
    missing = {name for name in all_tables(ordinary) if f'data-name="{name}"' not in ordinary_text}

    assert missing == {"clusters", "raters", "band_definitions", "personas"}


def test_small_cells_are_in_italics_tiny_ones_have_no_percentage_empty_ones_a_dash():
    study = make_study()
    rater, run = make_rater(study=study), make_run(study=study)
    with stored_at_once():
        for number in range(40):
            item = make_item(study=study, first_person=("r1", "r2")[number % 2])
            answer(rater, item, "r1", 90 if number < 12 else 50)
            judge_item(run, item, "r1", 90 if number < 5 else 50)
    tables = all_tables(report_of(study))

    people, judge = tables["table_b"].cells
    assert (people[1].text, people[1].below[0], people[1].small) == ("50.0", "(6/12)", True)
    assert (judge[1].text, judge[1].below[0]) == ("too few", "(3/5)")
    assert (judge[2].text, judge[2].small) == ("48.6", False)
    assert r"\textit{50.0} (6/12)" in to_tex(tables["table_b"])
    begin = '<td class="number small" data-raw="[0.5,6,12,'
    assert table_cell(people[1]).startswith(begin)
    # One person's answers have no interval that others share.
    assert '">50.0<span class="below">(6/12)</span></td>' in table_cell(people[1])
    assert table_cell(judge[2]).startswith('<td class="number" data-raw="[')


OLD_ANCHORS = ("findings", "glance", "groups", "items", "registered", "downloads", "sources")


def test_a_plain_report_has_eight_chapters_and_old_links_lead_to_their_places(module_db):
    study = random_study(3, n_items=40, truths=("r1", "r2"), extras=[])
    page = render_html(report_of(study), date=datetime.date(2026, 11, 28))

    titles = re.findall(r"<h2[^>]*>(\d+ [^<]+)</h2>", page)
    assert titles == [
        "1 What was found",
        "2 Accuracy",
        "3 Certainty",
        "4 Agreement",
        "5 Sides, length and order",
        "6 Who took part and how",
        "7 Limits",
        "8 Methods",
    ]
    assert [anchor for anchor in OLD_ANCHORS if page.count(f'id="{anchor}"') != 1] == []
