"""Exports as XLSX: what a spreadsheet finds in the cells, and what the format cannot hold."""

import openpyxl
import pytest
from django.core.management import CommandError, call_command

from analysis.exports import table_files
from analysis.exports.columns import ANNOTATIONS, Column
from analysis.exports.table_files import ExportTableFile, write_table
from annotation.models import Annotator
from studies.exporters import tables
from studies.exporters.tables import TooLarge, workbook
from studies.models import Item
from tests.analysis.exports.helpers import export, rows

HOSTILE = ["=1+1", "@SUM(A1)", "-1", "+1", "http://x.org", "mailto:a@x.org", "007", "{=1}", " =1"]


def opened(path):
    return openpyxl.load_workbook(path)


def sheet_rows(sheet):
    heading, *found = sheet.iter_rows(values_only=True)
    return [dict(zip(heading, row, strict=True)) for row in found]


def written(path, *rows):
    with workbook(path) as book:
        book.sheet("one", [f"c{n}" for n in range(len(rows[0]))]).rows(rows)
    return opened(path)["one"]


@pytest.mark.parametrize("text", HOSTILE)
def test_a_text_stays_the_text_that_it_is(tmp_path, text):
    sheet = written(tmp_path / "a.xlsx", [text])

    cell = sheet["A2"]
    assert (cell.value, cell.data_type, cell.hyperlink) == (text, "s", None)


def test_cells_have_the_types_of_their_values(tmp_path):
    values = [1, 0.1, True, None, "", 2**53 + 1, {"a": [1]}]

    sheet = written(tmp_path / "a.xlsx", values)

    cells = [(cell.value, cell.data_type) for cell in sheet[2]]
    assert cells[:3] == [(1, "n"), (0.1, "n"), (True, "b")]
    assert [value for value, _ in cells[3:5]] == [None, None]
    assert cells[5:] == [(str(2**53 + 1), "s"), ('{"a": [1]}', "s")]
    assert sheet.freeze_panes == "A2"
    assert sheet["A1"].font.bold


def test_control_characters_leave_a_file_that_opens(tmp_path):
    sheet = written(tmp_path / "a.xlsx", ["a\x07b\nc", "x\uffffy", "_x0041_", " lead"])

    # Spreadsheets read _x0007_ as the character, and _x005F_ as the underscore.
    found = ["a_x0007_b\nc", "x\ufffdy", "_x005F_x0041_", " lead"]
    assert [cell.value for cell in sheet[2]] == found


def test_an_export_has_the_rows_of_the_other_formats_and_describes_its_columns(study, tmp_path):
    Annotator.objects.update(feedback="=HYPERLINK(1)")
    for what in ("annotations", "annotators", "aggregates", "items"):
        plain = export(study, what, tmp_path / "a.csv", format="csv", free_text=True)
        book = opened(export(study, what, tmp_path / "a.xlsx", format="xlsx", free_text=True))

        assert book.sheetnames == [what, "columns"]
        found = sheet_rows(book[what])
        assert list(found[0]) == plain.read_text("utf-8").splitlines()[0].split(",")
        assert len(found) == len({str(row) for row in found}) > 0
    answers = rows(export(study, "annotations", tmp_path / "a.jsonl"))
    book = opened(export(study, "annotations", tmp_path / "a.xlsx", format="xlsx"))
    for cells, answer in zip(sheet_rows(book["annotations"]), answers, strict=True):
        del answer["persona_features_shown"], cells["persona_features_shown"]
        assert cells == answer
    described = {row["column"]: row["meaning"] for row in sheet_rows(book["columns"])}
    assert described == {column.name: column.meaning for column in ANNOTATIONS}


def test_the_same_rows_give_the_same_bytes(study, tmp_path):
    first = export(study, "items", tmp_path / "a.xlsx", format="xlsx").read_bytes()

    assert export(study, "items", tmp_path / "b.xlsx", format="xlsx").read_bytes() == first


def test_a_text_that_no_cell_holds_is_refused_with_its_place(study, tmp_path):
    # An emoji counts twice.
    Item.objects.filter(key="i2").update(question="😀" * 16_384)

    with pytest.raises(CommandError) as caught:
        call_command(
            *("export", "one", "--what", "items", "--format", "xlsx"),
            *("--out", str(tmp_path / "i.xlsx")),
        )

    said = str(caught.value)
    assert "A cell in the column “question” (row 2) has 16,384 characters" in said
    assert "holds 32,767. Export CSV or JSON Lines instead." in said
    assert list(tmp_path.iterdir()) == []


def test_rows_and_columns_beyond_the_format_are_refused(tmp_path, monkeypatch):
    def table(columns, count):
        shape = tuple(Column(f"c{n}", "integer", "A number.") for n in range(columns))
        row = dict.fromkeys((column.name for column in shape), 1)
        return ExportTableFile("numbers", shape, lambda: iter([row] * count))

    with pytest.raises(TooLarge, match="has 16,385 columns; an XLSX sheet holds 16,384"):
        write_table(table(16_385, 1), {"xlsx": tmp_path / "a.xlsx"})
    assert tables.MOST_ROWS == 1_048_576
    monkeypatch.setattr(tables, "MOST_ROWS", 6)
    monkeypatch.setattr(table_files, "BATCH", 2)
    assert write_table(table(1, 5), {"xlsx": tmp_path / "b.xlsx"}) == 5
    with pytest.raises(TooLarge, match="more than 5 rows"):
        write_table(table(1, 6), {"xlsx": tmp_path / "c.xlsx"})
    assert [path.name for path in tmp_path.iterdir()] == ["b.xlsx"]


def test_names_of_sheets_are_what_spreadsheets_accept(tmp_path):
    with workbook(tmp_path / "a.xlsx") as book:
        for name in ("a/b", "A_B", "x" * 40, "x" * 41):
            book.sheet(name, ["c"])

    found = opened(tmp_path / "a.xlsx").sheetnames
    assert found == ["a_b", "A_B_2", "x" * 31, "x" * 29 + "_2"]
