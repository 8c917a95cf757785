"""No CSV file holds a live formula, and no cell begins a row of its own."""

import io

import pytest

from analysis.exports.columns import Column as ExportColumn
from analysis.exports.table_files import ExportTableFile as ExportTable
from analysis.exports.table_files import write_table
from analysis.report.table_files import write_tables
from analysis.report.tables import Table, TableColumn
from studies.exporters.tables import CsvWriter, as_typed, csv_cell, csv_cells, spreadsheet_text
from studies.importers.files.faults import Fault, faults_csv
from tests.studies.hostile import HOSTILE, looks_like_a_formula, rows_of

NUMBERS = ("-1",)


def written(rows, **options):
    out = io.StringIO()
    CsvWriter(out, **options).rows(rows)
    return out.getvalue()


def is_safe(text: str, *, rows: int, columns: int) -> None:
    found = rows_of(text)
    assert len(found) == rows
    assert {len(row) for row in found} == {columns}
    for row in found:
        assert not [c for c in row if looks_like_a_formula(c) and c not in NUMBERS]


@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
@pytest.mark.parametrize("texts", [["a", "b"], ["a", "b\nc"], ["a", "b\rc"], HOSTILE])
def test_columns_are_written_as_the_same_rows(line_end, texts):
    by_row, by_column = io.StringIO(), io.StringIO()
    rows = [[n, cell, None, 0.1, True] for n, cell in enumerate(texts)]

    CsvWriter(by_row, line_end=line_end).rows(rows)
    CsvWriter(by_column, line_end=line_end).columns(map(csv_cells, zip(*rows, strict=True)))

    assert by_column.getvalue() == by_row.getvalue()


@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
def test_a_hostile_text_stays_one_cell_and_no_formula(line_end):
    text = written(([1, cell, "end"] for cell in HOSTILE), line_end=line_end)

    is_safe(text, rows=len(HOSTILE), columns=3)
    assert [as_typed(row[1]) for row in rows_of(text)] == [
        cell.replace("\r\n", "\n") for cell in HOSTILE
    ]


@pytest.mark.parametrize("text", HOSTILE, ids=ascii)
def test_reading_removes_exactly_the_added_quote(text):
    assert as_typed(spreadsheet_text(text)) == text


def test_numbers_stay_numbers_and_other_values_are_texts():
    values = [-1, -0.25, None, True, False, {"=a": "-b"}, ["=1"]]

    assert [csv_cell(value) for value in values] == [
        -1,
        -0.25,
        "",
        "true",
        "false",
        '{"=a": "-b"}',
        '["=1"]',
    ]


def test_the_files_of_a_report_hold_no_formula(tmp_path):
    table = Table(
        "t", "T", (TableColumn("Words"), TableColumn("n", "count")), [[c, -1] for c in HOSTILE]
    )

    write_tables([table], tmp_path / "tables")

    with (tmp_path / "tables" / "t.csv").open(newline="") as file:
        is_safe(file.read(), rows=1 + len(HOSTILE), columns=2)


def test_an_export_holds_no_formula(tmp_path):
    columns = (ExportColumn("\r=judge", "text", "Named by somebody."),)
    rows = [{"\r=judge": cell} for cell in HOSTILE if cell]
    path = tmp_path / "t.csv"

    write_table(ExportTable("t", columns, lambda: iter(rows)), {"csv": path})

    with path.open(newline="") as file:
        is_safe(file.read(), rows=1 + len(rows), columns=1)


def test_the_faults_of_a_file_hold_no_formula():
    faults = [Fault(None, cell, cell, cell, cell, cell, cell) for cell in HOSTILE]

    is_safe(faults_csv(faults), rows=1 + len(HOSTILE), columns=8)


@pytest.mark.parametrize("end", ["\r", "\n", "\r\n", "\u2028", "\x0b", "\x85"])
@pytest.mark.parametrize(
    "line", ["=1+1", "= 1", "@SUM(A1)", "  =1", "\ufeff=1", "\n=1", "-2+3", "+1", "'=1", "＝1"]
)
def test_no_line_inside_a_cell_begins_like_a_formula(end, line):
    cell = f"Nice study!{end}{line}"

    text = written([[cell]])

    assert not [each for each in text.splitlines() if looks_like_a_formula(each)]
    assert [as_typed(row[0]) for row in rows_of(text)] == [cell.replace("\r\n", "\n")]


def test_entries_of_a_list_stay_as_they_are():
    assert spreadsheet_text("Buy:\n- milk\n+ bread") == "Buy:\n- milk\n+ bread"
