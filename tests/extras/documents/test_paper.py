"""What comes with a report for a paper: two pages, their figures, a card, the article’s tables."""

import io
import re
import zipfile
from datetime import date
from html import unescape
from pathlib import Path
from unittest.mock import patch
from urllib.parse import unquote

import pytest
from django.contrib.auth.models import User
from django.core.management import call_command
from django.test import override_settings
from django.urls import reverse
from PIL import Image

from analysis import tasks
from analysis.data.dataset import load_dataset
from analysis.lifecycle.requests import request_report
from analysis.lifecycle.storage import report_dir
from analysis.models import Report
from analysis.report.added_files import MadeReport
from analysis.report.build import all_figures, all_tables, build_report
from extras.documents.files import PAPER
from extras.documents.pictures import write_picture
from extras.documents.two_pages import MOST_ROWS, WIDE
from studies.models import Membership
from tests.analysis.builders import random_study
from tests.stored import path_of

RUNS = [
    {"judge": "steady", "setting": "certainty"},
    {"judge": "other", "setting": "certainty"},
    {"judge": "steady", "setting": "certainty", "features": "age"},
]


@pytest.fixture(scope="module")
def built(module_db, added_files, tmp_path_factory):
    """The id of a report, and the `VAR_DIR` with its files."""
    study = random_study(8, n_items=60, n_raters=14, runs=RUNS, title="Two <pages> & more")
    folder = tmp_path_factory.mktemp("built")
    with override_settings(VAR_DIR=folder), patch.object(tasks.build_report, "delay_on_commit"):
        report = request_report(study_id=study.pk, bootstrap=100)
        tasks.build_report(report.pk)
    return report.pk, folder


@pytest.fixture
def report(db, built, settings):
    settings.VAR_DIR = built[1]
    return Report.objects.select_related("study").get(pk=built[0])


@pytest.fixture
def owner(client, report):
    user = User.objects.create_user("owner")
    Membership.objects.create(user=user, study=report.study, role="owner")
    client.force_login(user)
    return user


def folder_of(report: Report) -> Path:
    return path_of(report_dir(report.public_id))


def body(response) -> bytes:
    return b"".join(response.streaming_content) if response.streaming else response.content


@pytest.mark.nightly
def test_the_two_pages_have_verdict_figures_tables_methods_limits_and_citation(report):
    paper = folder_of(report) / "paper"
    page = (paper / "paper.html").read_text("utf-8")

    assert "Two &lt;pages&gt; &amp; more" in page
    assert report.inputs_hash[:12] in page
    assert page.count("<figure") == 3
    parts = ("Table A. ", "Table B. ", "<h2>Methods</h2>", "<h2>Limits</h2>", "@inproceedings")
    assert [part for part in parts if part not in page] == []
    assert "<script" not in page
    [a, b] = re.findall(r"<tbody>(.*?)</tbody>", page, re.DOTALL)
    assert 1 < a.count("<tr>") <= MOST_ROWS
    # Runs that saw less of the persona are only counted.
    assert "(age)" not in b
    assert "1 more rows in the report" in page
    names = {path.stem for path in paper.glob("*.svg")}
    assert names == {path.stem for path in paper.glob("*.png")}
    assert len(names) == 3
    for path in paper.glob("*.png"):
        with Image.open(path) as picture:
            assert round(picture.info["dpi"][0]) == 300
    for picture in re.findall(r'src="data:image/svg\+xml,([^"]+)"', page):
        turned = re.findall(r"rotate\((-?[0-9.]+)\)", unquote(picture))
        # Only the title of an upright axis is turned, by a right angle.
        assert set(turned) <= {"-90"}


@pytest.mark.parametrize("people", [0, 1])
def test_a_report_without_a_comparison_has_all_of_it_too(tmp_path, db, people):
    study = random_study(
        3, n_items=4, n_raters=people or 1, per_item=(people,), truths=("",), runs=()
    )
    data = load_dataset(study.slug)
    found = build_report(data, seed=1, bootstrap=100)
    tables, figures = all_tables(found), all_figures(found)

    PAPER.write(MadeReport(found, data, tables, figures, date(2026, 11, 27)), tmp_path)

    assert {path.name for path in tmp_path.iterdir()} == {*PAPER.paths}
    assert "<h1>" in (tmp_path / "paper/paper.html").read_text("utf-8")
    written = [path.stem for path in (tmp_path / "article").iterdir()]
    assert sorted(written) == sorted(
        [f"table_{n}" for n in range(1, 9)] * 3 + ["all"] * 2 + ["article"]
    )
    says_so = "No people answered" in (tmp_path / "article/table_5.md").read_text("utf-8")
    assert says_so == (not people)


@pytest.mark.nightly
def test_the_page_of_a_report_shows_the_card_and_sends_all_as_files(client, report, owner):
    def address(name: str) -> str:
        return reverse(name, args=[report.study.slug, report.public_id])

    page = client.get(address("analysis:report")).content.decode()
    assert f'src="{address("analysis:card")}"' in page
    assert "For a paper" in page
    for name in ("documents:paper", "documents:article", "analysis:card-png"):
        assert body(client.get(address(name)))
    with zipfile.ZipFile(io.BytesIO(body(client.get(address("documents:paper-zip"))))) as archive:
        names = set(archive.namelist())
    assert {"paper/paper.html", "report.json", "cite.bib", "card.png", "card.svg"} <= names
    assert {f"tables/table_a.{kind}" for kind in ("csv", "tex", "md")} <= names
    assert "tables/all.xlsx" in names
    assert any(name.endswith(".png") and name.startswith("paper/") for name in names)
    with zipfile.ZipFile(io.BytesIO(body(client.get(address("documents:article-zip"))))) as archive:
        assert {"article/table_8.tex", "article/all.xlsx"} <= set(archive.namelist())

    card = folder_of(report) / "card.svg"
    card.rename(card.with_suffix(".old"))
    assert "For a paper" not in client.get(address("analysis:report")).content.decode()
    assert client.get(address("analysis:card")).status_code == 404
    card.with_suffix(".old").rename(card)


def test_a_preview_of_a_share_link_shows_the_card_to_nobody_without_the_key(client, report, owner):
    links = pytest.importorskip("extras.report_readers.links.links")
    link, key = links.share_report(report_id=report.pk, user=owner)
    shared = reverse("shared:report", args=[link.public_id])

    head = client.get(f"{shared}?key={key}&utm_source=chat").content.decode()
    (card,) = re.findall('og:image" content="([^"]+)"', head)

    assert report.study.title in unescape(re.findall('og:title" content="([^"]+)"', head)[0])
    assert body(client.get(card)).startswith(b"\x89PNG")
    assert card.endswith(f"/card.png?key={key}")
    for guess in ("", "?key=", f"?key={key[:-1]}"):
        page = client.get(shared + guess)
        assert page.status_code == 404
        assert "og:" not in page.content.decode()


# `test_article.py` has the tables of several studies by default.
@pytest.mark.sampled(keep=0)
def test_reports_of_several_studies_have_the_articles_tables_with_a_row_for_each(db, tmp_path):
    slugs = [random_study(seed, n_items=8, title=f"Set {seed}").slug for seed in (4, 9)]

    call_command("report", *slugs, "--paper", "--out", str(tmp_path), "--bootstrap", "100")

    assert 'href="article/article.html"' in (tmp_path / "report.html").read_text("utf-8")
    table = (tmp_path / "article" / "table_1.csv").read_text("utf-8")
    assert "Set 4" in table
    assert "Set 9" in table


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("judges", "truths", "wide"),
    [
        (("one", "two"), ("r1", "r2"), {"histograms": 2}),
        (("one",), ("r1", "r2"), {"histograms": 3}),
        ((), ("",), {"sheets": 1}),
    ],
)
def test_no_row_of_figures_or_panels_is_half_empty(db, tmp_path, judges, truths, wide):
    runs = [{"judge": name, "setting": "certainty"} for name in judges]
    study = random_study(5, n_items=40, truths=truths, runs=runs)
    data = load_dataset(study.slug)
    found = build_report(data, seed=1, bootstrap=100)
    tables, figures = all_tables(found), all_figures(found)
    for name in () if judges else ("certainty_curves", "position"):
        figures.pop(name, None)

    with patch("extras.documents.two_pages.write_picture", wraps=write_picture) as drawn:
        PAPER.write(MadeReport(found, data, tables, figures, date(2026, 11, 27)), tmp_path)

    columns = {
        call.args[0].name: call.kwargs["columns"]
        for call in drawn.call_args_list
        if call.kwargs["width"] == WIDE
    }
    assert columns == wide
    page = (tmp_path / "paper/paper.html").read_text("utf-8")
    assert page.count('<figure class="wide">') == 1
    # Tables in which nothing is measured are left out; the others have rules between their groups.
    assert page.count("<caption>Table ") == (2 if judges else 0)
    assert page.count('<colgroup class="group" span="2">') == (len(judges) + 1 if judges else 0)
