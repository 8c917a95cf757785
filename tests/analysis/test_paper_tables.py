"""Tables for papers: LaTeX that a parser accepts and pdfLaTeX compiles, Markdown, CSV."""

import shutil
import string
import subprocess

import openpyxl
import pytest

from analysis.report.build import all_tables
from analysis.report.table_files import tex, to_document, to_markdown, to_tex, write_tables
from analysis.report.tables import Table, TableColumn
from tests.analysis import latex
from tests.analysis.builders import random_study
from tests.analysis.partial import report_of

HOSTILE = (
    r"50% & \input{x} #1 a_b ~^ $x$ {y} <b> |p| “q” … ≥ τ Ω 中 é ß ł \\ "
    + string.punctuation
    + "\nline\ttab\u00a0\x07"
)


@pytest.fixture(scope="module")
def tables(module_db):
    study = random_study(3, n_items=60, title=HOSTILE)
    return list(all_tables(report_of(study)).values())


def test_every_table_is_latex_that_a_parser_accepts(tables):
    for table in tables:
        text = to_tex(table)

        latex.check(text)
        head = 2 if table.groups else 1
        assert len(latex.rows(text)) == head + len(table.rows), table.name
    [table_a] = [to_tex(table) for table in tables if table.name == "table_a"]
    assert r"\multicolumn{2}{c}{" in table_a
    assert "\\cmidrule(lr){2-3} \\cmidrule(lr){4-5}" in table_a
    document = to_document(tables)
    latex.check(document)
    assert r"\input{table_a.tex}" in document
    assert "% items.tex has 60 rows" not in document


def test_a_table_too_long_for_a_page_is_not_in_the_document():
    table = Table("long", "Long", (TableColumn("A"),), [["x"]] * 61)

    text = to_document([table])

    assert r"\input" not in text
    assert "% long.tex has 61 rows: too long for a page." in text


def test_a_table_that_no_paper_prints_is_a_csv_file_only(tmp_path):
    rows = [[f"item {n}", n / 7, {"accuracy": 0.5, "correct": 1, "n": 2}] for n in range(2_001)]
    columns = (TableColumn("Item"), TableColumn("Mean", "number"), TableColumn("Right", "tally"))

    write_tables([Table("long", "Long", columns, rows)], tmp_path / "tables")

    written = sorted(path.name for path in (tmp_path / "tables").iterdir())
    assert written == ["all.tex", "all.xlsx", "long.csv"]
    book = openpyxl.load_workbook(tmp_path / "tables" / "all.xlsx")
    assert book.sheetnames == ["contents"]
    assert book["contents"]["D2"].value == "Too long for a sheet: long.csv."
    assert "% long.csv has 2001 rows" in (tmp_path / "tables" / "all.tex").read_text()
    text = (tmp_path / "tables" / "long.csv").read_bytes().decode()
    assert text.splitlines()[0] == "Item,Mean,Right accuracy,Right correct,Right n"
    assert text.splitlines()[4] == f"item 3,{3 / 7!r},0.5,1,2"
    assert text.count("\r\n") == 2_002


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="needs pdfLaTeX and booktabs")
def test_the_document_compiles_as_it_is(tables, tmp_path):
    write_tables(tables, tmp_path / "tables")

    done = subprocess.run(
        ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "all.tex"],
        cwd=tmp_path / "tables",
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
    )

    assert done.returncode == 0, done.stdout[-2000:]


def test_letters_without_a_font_are_written_as_their_code_point():
    assert tex("é ł 中 Ω") == "é ł [U+4E2D] [U+03A9]"


def test_markdown_shows_text_as_it_is_and_small_cells_in_italics():
    share = {"n": 12, "correct": 6, "accuracy": 0.5, "ci": None}
    table = Table(
        "t", "A | b", (TableColumn("Who"), TableColumn("High", "share", "People")), [["*x*", share]]
    )

    lines = to_markdown(table).splitlines()

    assert lines == [
        r"**A \| b**",
        "",
        "| Who | People High |",
        "|:--|--:|",
        r"| \*x\* | *50.0* (6/12) |",
    ]


def test_a_name_in_a_heading_of_a_csv_is_no_formula(tmp_path):
    table = Table("t", "T", (TableColumn("High", "share", "=HYPERLINK(1)"), TableColumn("@x")), [])

    write_tables([table], tmp_path / "tables")

    heading = (tmp_path / "tables" / "t.csv").read_text().strip().split(",")
    assert (heading[0], heading[-1]) == ("'=HYPERLINK(1) High accuracy", "'@x")
