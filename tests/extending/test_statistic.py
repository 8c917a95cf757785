"""docs/extending/statistic.md, followed word for word: number, table, figure, sentence appear."""

import datetime
import doctest
import importlib
import json
import sys

import pytest
from django.template import engines

import analysis.stats.accuracy
from analysis.data.dataset import load_dataset
from analysis.lifecycle.build_job import write_report
from analysis.report import build, sections
from analysis.report.build import all_tables, analyses, build_report
from analysis.report.registration import mark_of
from analysis.report.render import render_html
from analysis.report.rules import USUAL_ANALYSES
from annotation.models import Annotation
from studies.extra import manifests
from tests.analysis.builders import answer, make_rater
from tests.extending.page import blocks, modules
from tests.factories import make_item, make_study, stored_at_once

pytestmark = pytest.mark.django_db
PAGE = "statistic.md"
STATISTIC = "analysis/stats/accuracy/pace.py"
SECTION, REGISTRY = "analysis/report/sections/pace.py", "analysis/report/build.py"
RIGHT_MS, WRONG_MS = 12_000, 31_000


@pytest.fixture
def registered(tmp_path, monkeypatch):
    """The modules and the template of the page, and its list of sections."""
    code = modules(PAGE)
    for package, path in ((analysis.stats.accuracy, STATISTIC), (sections, SECTION)):
        folder = tmp_path / package.__name__
        folder.mkdir()
        (folder / "pace.py").write_text(code[path], encoding="utf-8")
        monkeypatch.setattr(package, "__path__", [*package.__path__, str(folder)])
    add_template(tmp_path / "templates", monkeypatch)
    names = dict(vars(build))
    exec(compile(code[REGISTRY], REGISTRY, "exec"), names)
    kinds = [type(section) for section in names["OWN"]]
    assert [kind for kind in kinds if kind.__name__ != "Pace"] == [
        type(section) for section in build.OWN
    ]
    monkeypatch.setitem(USUAL_ANALYSES, "pace", "How long right and wrong answers took")
    monkeypatch.setattr(build, "OWN", names["OWN"])
    manifests.cache_clear()
    yield
    monkeypatch.undo()
    manifests.cache_clear()
    for name in ("analysis.stats.accuracy.pace", "analysis.report.sections.pace"):
        del sys.modules[name]


def add_template(folder, monkeypatch):
    (block,) = blocks(PAGE, "html")
    first, _, html = block.partition("\n")
    path = folder / first.removeprefix("{# templates/").removesuffix(" #}")
    path.parent.mkdir(parents=True)
    path.write_text(html, encoding="utf-8")
    engine = engines["django"].engine
    monkeypatch.setattr(engine, "dirs", [*engine.dirs, folder])


@pytest.fixture
def study():
    """Right answers take 12 seconds, wrong ones 31."""
    study = make_study()
    raters = [make_rater(study=study) for _ in range(3)]
    with stored_at_once():
        for number in range(12):
            item = make_item(study=study, first_person="r1")
            for rater in raters:
                choice = "r2" if rater is raters[number % 3] else "r1"
                answer(rater, item, choice, 70)
    Annotation.objects.filter(choice="r1").update(active_ms=RIGHT_MS)
    Annotation.objects.filter(choice="r2").update(active_ms=WRONG_MS)
    return study


@pytest.mark.usefixtures("registered")
def test_the_number_the_table_the_figure_and_the_sentence_are_in_the_files(study, tmp_path):
    out = tmp_path / "out"

    write_report(study.slug, out=out, seed=1, bootstrap=50)

    report = json.loads((out / "report.json").read_text("utf-8"))
    assert report["pace"] == {"right": 12.0, "wrong": 31.0, "n_right": 24, "n_wrong": 12}
    table = (out / "tables/pace.csv").read_text("utf-8")
    assert table.splitlines()[1:] == ["Right answers,24,12.0", "Wrong answers,12,31.0"]
    (drawing,) = json.loads((out / "figures/pace-1.json").read_text("utf-8"))["data"]
    assert drawing["y"] == [12.0, 31.0]
    page = (out / "report.html").read_text("utf-8")
    chapter = page.split('<section id="pace">')[1].split("</section>")[0]
    assert "6 Pace</h2>" in chapter
    assert 'id="figure-pace"' in chapter
    assert 'id="table-pace"' in chapter
    link = '<a class="number-link" href="#from-pace.right">12.0</a>'
    assert f"The median time was {link} seconds in " in chapter
    assert 'id="from-pace.right"' in page
    assert '<a href="#pace">Pace</a>' in page


@pytest.mark.usefixtures("registered")
def test_a_plan_can_name_the_analysis_and_its_numbers_are_explored_without_one(study):
    report = build_report(load_dataset(study.slug), seed=1, bootstrap=50)

    assert "pace" in [analysis.code for analysis in analyses()]
    assert mark_of(report, ["pace", "right"]) == "explored"
    sources = {row[2]: row[3] for row in all_tables(report)["methods"].rows}
    assert sources["pace.right"] == "pace"


@pytest.mark.usefixtures("registered")
def test_what_is_undefined_has_a_reason_and_is_named_as_missing():
    study = make_study()
    answer(make_rater(study=study), make_item(study=study, first_person="r1"), "r1", 70)

    report = build_report(load_dataset(study.slug), seed=1, bootstrap=50)

    assert report["pace"]["right_reason"] == "empty_group"
    page = render_html(report, date=datetime.date(2026, 11, 20))
    missing = page.split("What is missing here")[1].split('id="accuracy"')[0]
    assert "Pace: there are no right or no wrong answers to compare." in missing
    assert 'id="figure-pace"' not in page


@pytest.mark.usefixtures("registered")
def test_the_example_of_the_statistic_gives_what_it_shows():
    module = importlib.import_module("analysis.stats.accuracy.pace")

    result = doctest.testmod(module)

    assert (result.attempted, result.failed) == (1, 0)
