"""A report for readers: two pages, the card of the verdict, and one interval for each accuracy."""

import re
from collections import defaultdict
from datetime import date
from urllib.parse import unquote

import pytest
from PIL import Image

from analysis.data.dataset import load_dataset
from analysis.report.build import all_figures, all_tables, build_report
from analysis.report.card import write_card
from analysis.report.tables import in_general
from analysis.report.two_pages import MOST_ROWS, write_two_pages
from analysis.report.words import run_names
from tests.analysis.builders import random_study

RUNS = [
    {"judge": "steady", "setting": "certainty"},
    {"judge": "other", "setting": "certainty"},
    {"judge": "steady", "setting": "certainty", "features": "age"},
]
DAY = date(2026, 11, 27)


@pytest.fixture(scope="module")
def report(module_db):
    study = random_study(8, n_items=60, n_raters=14, runs=RUNS, title="Two <pages> & more")
    return build_report(load_dataset(study.slug), seed=1, bootstrap=100)


@pytest.fixture(scope="module")
def paper(report, tmp_path_factory):
    folder = tmp_path_factory.mktemp("paper") / "paper"
    tables, figures = all_tables(report), all_figures(report)
    write_two_pages(report, folder, date=DAY, tables=tables, figures=figures)
    return folder


@pytest.mark.nightly
def test_the_two_pages_have_verdict_figures_tables_methods_limits_and_citation(report, paper):
    page = (paper / "paper.html").read_text("utf-8")

    assert "Two &lt;pages&gt; &amp; more" in page
    assert report["inputs"]["hash"][:12] in page
    assert page.count("<figure") == 3
    for words in (
        "Table A. ",
        "Table B. ",
        "<h2>Methods</h2>",
        "<h2>Limits</h2>",
        "@inproceedings",
    ):
        assert words in page
    assert "<script" not in page
    [a, b] = re.findall(r"<tbody>(.*?)</tbody>", page, re.DOTALL)
    assert 1 < a.count("<tr>") <= MOST_ROWS
    # Runs that saw less of the persona are only counted.
    assert "(age)" not in b
    assert "1 more rows in the report" in page


@pytest.mark.nightly
def test_figures_of_the_two_pages_are_files_with_a_key_titles_and_level_labels(paper):
    names = {path.stem for path in paper.glob("*.svg")}
    assert names == {path.stem for path in paper.glob("*.png")}
    assert len(names) == 3
    for path in paper.glob("*.png"):
        with Image.open(path) as picture:
            assert round(picture.info["dpi"][0]) == 300
    page = (paper / "paper.html").read_text("utf-8")
    for picture in re.findall(r'src="data:image/svg\+xml,([^"]+)"', page):
        turned = re.findall(r"rotate\((-?[0-9.]+)\)", unquote(picture))
        # Only the title of an upright axis is turned, by a right angle.
        assert set(turned) <= {"-90"}


def test_an_accuracy_has_one_interval_in_the_whole_report(report):
    sides = {"People": "majority", "People, majority": "majority"}
    sides |= {"People, single answers": "individual", "People, single": "individual"}
    entries = {name: report["human"][key] for name, key in sides.items()}
    entries |= dict(zip(run_names(report), report["judges"], strict=True))
    wanted, found = defaultdict(set), defaultdict(set)
    for name, entry in entries.items():
        for cell in (entry, entry["high"], entry["low"]):
            ends = in_general(cell)["ci"]
            wanted[name, cell["correct"], cell["n"]].add(ends and tuple(ends))
    for table in all_tables(report).values():
        for row in table.rows:
            for column, cell in zip(table.columns, row, strict=True):
                who = column.group if (row[0], 0) == (report["study"]["title"], 0) else row[0]
                if column.kind == "share" and (key := (who, cell["correct"], cell["n"])) in wanted:
                    found[key].add((tuple(cell["ci"]) if cell["ci"] else None, table.name))
    assert len(found) > 8
    for key, shown in found.items():
        intervals = {ends for ends, _ in shown} - {None}
        assert intervals <= wanted[key], (key, shown)


@pytest.mark.parametrize("kind", ["svg", "png"])
def test_the_card_has_the_same_bytes_each_time(report, tmp_path, kind):
    for name in ("a", "b"):
        write_card(report, tmp_path / f"{name}.{kind}", date=DAY)

    one, other = ((tmp_path / f"{name}.{kind}").read_bytes() for name in ("a", "b"))
    assert one == other
    assert one.startswith(b"\x89PNG" if kind == "png" else b"<?xml")


@pytest.mark.sampled(keep=1)
@pytest.mark.parametrize("people", [0, 1])
def test_a_report_without_a_comparison_has_a_card_and_two_pages_too(tmp_path, db, people):
    study = random_study(
        3, n_items=4, n_raters=people or 1, per_item=(people,), truths=("",), runs=()
    )
    found = build_report(load_dataset(study.slug), seed=1, bootstrap=100)

    write_card(found, tmp_path / "card.svg", date=DAY)
    write_two_pages(
        found, tmp_path / "p", date=DAY, tables=all_tables(found), figures=all_figures(found)
    )

    assert "<h1>" in (tmp_path / "p/paper.html").read_text("utf-8")
