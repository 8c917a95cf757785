"""Items in packed files, workbooks and JSON of several shapes; faulty rows; places of faults."""

import bz2
import csv
import gzip
import io
import json
import lzma
import pickle
import zipfile

import openpyxl
import pytest
from django.core.management import call_command

from studies.exporters import tables
from studies.importers.columns.mapped_items import read_mapped
from studies.importers.columns.mapping import ColumnMapping
from studies.importers.columns.table_file import table_of
from studies.importers.files import packed
from studies.importers.files.bundle import File
from studies.importers.files.faults import Refused
from studies.importers.files.lines import BadLine
from studies.importers.items.item_bundle import ImportOptions
from studies.models import Item
from tests.studies.files import faults, jsonl, raw_item, read, zipped

pytestmark = pytest.mark.usefixtures("read_here")

HEADER = ["id", "persona_id", "persona_text", "question", "response_1", "response_2"]
ROWS = [[n, "p", "A person.", "Soup\nor stew?", "Soup", "SOUP."] for n in (1, 2, 3)]


def csv_text(rows=ROWS):
    out = io.StringIO()
    csv.writer(out).writerows([HEADER, *rows])
    return out.getvalue()


def workbook(rows, header=HEADER, **cells):
    book = openpyxl.Workbook()
    for row in [header, *rows]:
        book.active.append(row)
    for name, value in cells.items():
        book.active[name] = value
    book.create_sheet("Other").append(["not", "read"])
    out = io.BytesIO()
    book.save(out)
    return out.getvalue()


def with_sheet(data, sheet):
    """A workbook with other XML of its first sheet."""
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(out, "w") as new:
        for info in old.infolist():
            is_sheet = info.filename == "xl/worksheets/sheet1.xml"
            new.writestr(info.filename, sheet if is_sheet else old.read(info))
    return out.getvalue()


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("items.xlsx", workbook(ROWS)),
        ("items.csv.gz", gzip.compress(csv_text().encode())),
        ("items.zip", zipped(data__csv=csv_text())),
        ("items.csv", b"sep=,\r\n" + csv_text().encode()),
        ("items.csv", csv_text().replace("\n", "\r").replace("\r\r", "\r").encode()),
    ],
)
def test_the_same_items_are_read_from_any_of_them(name, data):
    found = [(item.key, item.values["question"]) for item in read(data, name=name).items]

    assert [key for key, _ in found] == ["1", "2", "3"]
    assert {question for _, question in found} == {"Soup\nor stew?"}


def test_a_fault_in_a_workbook_names_the_row_of_the_sheet_and_the_item():
    broken = [*ROWS[:2], [], [3.0, "p", "A person.", "Why?", "Soup", None]]

    assert faults(workbook(broken), name="items.xlsx") == [
        "Line 5, item “3”: response r2 is empty."
    ]


def test_cells_of_a_workbook_keep_their_meaning():
    data = workbook([[1.0, 2.5, True, None, "#N/A", "-5"]], header=list("abcdef"))

    assert [found[1] for found in table_of(File("x.xlsx", data)) if isinstance(found, tuple)] == [
        {"a": "1", "b": "2.5", "c": "true", "d": "", "e": "#N/A", "f": "-5"}
    ]


def test_a_formula_without_a_value_is_refused_with_its_cell():
    with pytest.raises(Refused, match="cell F2 of the first sheet has a formula without a value"):
        read(workbook(ROWS, F2='=UPPER("soup")'), name="items.xlsx")


SHEET = (
    '<worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><sheetData>'
    "{}</sheetData></worksheet>"
)


@pytest.mark.parametrize(
    "rows",
    [
        '<row r="1"><c r="XFD1"><v>1</v></c></row>' * 5_000,
        '<row r="1"><c r="ZZZZZZ1"><v>1</v></c></row>',
        '<row r="1"><c r="A1"><v>1</v></c></row><row r="999999999"><c r="A2"><v>1</v></c></row>',
        "<row>" + "<c><v>1</v></c>" * 20_000 + "</row>",
        "<row><c r='A1'>",
    ],
)
def test_a_hostile_sheet_is_refused(rows):
    data = with_sheet(workbook(ROWS), SHEET.format(rows))

    with pytest.raises(Refused, match=r"the sheet has more than|the workbook cannot be read"):
        list(table_of(File("items.xlsx", data)))


def test_packed_files_are_read_up_to_a_limit(monkeypatch):
    monkeypatch.setattr(packed, "MAX_BYTES", 10_000)
    monkeypatch.setattr(packed, "MAX_SHEETS", 1_000)
    long = ("a,b\n" + "1,2\n" * 10_000).encode()

    for name, data in (
        ("x.csv.gz", gzip.compress(long)),
        ("x.zip", zipped(x__csv=long)),
        ("x.xlsx", workbook(ROWS * 30)),
    ):
        with pytest.raises(Refused, match="unpack"):
            list(table_of(File(name, data)))


def test_a_text_that_a_workbook_repeats_counts_each_time(monkeypatch):
    monkeypatch.setattr(packed, "MAX_BYTES", 10_000)
    data = workbook([["x" * 200, "y"]] * 100, header=["a", "b"])

    with pytest.raises(Refused, match="unpacks to more than"):
        list(table_of(File("x.xlsx", data)))


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        ("x.csv.gz", gzip.compress(b"a,b\n1,2\n")[:-9], "the gzip file cannot be read"),
        ("x.gz", gzip.compress(gzip.compress(b"a")), "holds another packed file"),
        ("x.zip", zipped(x__csv=zipped(y__csv="a,b\n")), "holds another packed file"),
    ],
)
def test_a_damaged_or_doubly_packed_file_is_refused(name, data, message):
    with pytest.raises(Refused, match=message):
        list(table_of(File(name, data)))


def test_a_zip_of_several_tables_is_refused():
    (found,) = table_of(File("x.zip", zipped(x__csv="a,b\n", y__csv="a,b\n")))

    assert isinstance(found, BadLine)
    assert "zip of several files" in str(found.fault)


def test_items_in_a_json_list_are_named_by_entry_and_id():
    rows = [raw_item(1), raw_item(2, question=None), raw_item(1)]

    assert faults(json.dumps(rows).encode(), name="items.json") == [
        "Entry 2, item “x2”: question is missing. Give a question, or a prompt for each response.",
        "Entry 3: id “x1” was already used in entry 1. Give every item its own id.",
    ]


def changed(data, part, *edits):
    """A workbook with edits of one of its parts."""
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(out, "w") as new:
        for info in old.infolist():
            content = old.read(info)
            for before, after in edits if info.filename == part else ():
                assert before in content
                content = content.replace(before, after)
            new.writestr(info.filename, content)
    return out.getvalue()


def test_codes_of_characters_in_a_workbook_are_those_characters():
    data = workbook([["q1", "p", "A_x000D_\nB", "_x005F_x000D_", "Soup", "Stew"]])

    [item] = read(data, name="items.xlsx").items

    assert item.persona.text == "A\nB"
    assert item.values["question"] == "_x000D_"


def test_our_own_workbook_is_read_back_equal(tmp_path):
    texts = ["_x000D_", "a\tb", "_x005F_", "plain"]
    path = tmp_path / "t.xlsx"
    with tables.workbook(path) as book:
        book.sheet("t", ["a", "b", "c", "d"]).rows([texts])

    [(_, row)] = table_of(File(path.name, path))  # type: ignore[misc]

    assert [*row.values()] == texts


def test_errors_of_a_spreadsheet_are_no_texts():
    data = workbook([["q1", "p", "A person.", "Why?", "#NAME?", "Stew"]])

    assert faults(data, name="items.xlsx") == [
        "Line 2, item “q1”: response r1 is #NAME?, the error of a spreadsheet instead of a value. "
        "Correct the cell, or leave it empty."
    ]


BOOK, MAIN = "xl/workbook.xml", b"http://schemas.openxmlformats.org/spreadsheetml/2006/main"
SAVED_BY_OLD_OFFICE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (
            changed(workbook(ROWS), BOOK, (MAIN, b"http://purl.oclc.org/ooxml/spreadsheetml/main")),
            "the workbook is in the form “Strict Open XML”",
        ),
        (
            changed(
                workbook(ROWS),
                BOOK,
                (b'state="visible" r:id="rId1"', b'state="hidden" r:id="rId1"'),
            ),
            "the first sheet of the workbook, “Sheet”, is hidden. The workbook also has the sheets "
            "“Other”.",
        ),
        (
            workbook([["b"]], header=["About"]),
            "Only the first sheet, “Sheet”, was read. The workbook also has the sheets “Other”.",
        ),
        (SAVED_BY_OLD_OFFICE + bytes(9000), "the workbook has a password."),
        (
            SAVED_BY_OLD_OFFICE + bytes(90) + "Workbook".encode("utf-16-le"),
            "this is a workbook of an old program (.xls)",
        ),
    ],
    ids=["strict", "hidden", "about", "password", "old"],
)
def test_a_workbook_that_cannot_be_read_says_why(data, words):
    assert any(words in fault for fault in faults(data, name="items.xlsx"))


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be"])
def test_tables_in_utf_16_are_read_also_without_its_mark(encoding):
    lines = jsonl(raw_item(question="Café?")).decode()

    assert [item.values["question"] for item in read(lines.encode(encoding)).items] == ["Café?"]


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (bz2.compress(b"a,b\n"), "the file is packed by bzip2, which is not read. Unpack it."),
        (lzma.compress(b"a,b\n"), "the file is packed by xz"),
        (b"\xef\xbb\xbf\r\n<!DOCTYPE html><table>", "the file is a web page, which is not read."),
        (b"$FL2@(#) SPSS DATA FILE" + bytes(9), "the file is a data set of SPSS"),
        (gzip.compress(b"X\n\0\0\0\3"), "the file is a data set of R"),
        (pickle.dumps(["a"]), "the file is a pickle of Python"),
    ],
    ids=["bzip2", "xz", "page", "spss", "r", "pickle"],
)
def test_a_file_of_another_form_is_named(data, words):
    assert any(words in fault for fault in faults(data, name="items.csv"))


def test_faults_of_a_list_are_named():
    rows = json.dumps([raw_item(1), raw_item(2, metadata={"a": float("inf")})])

    assert faults(rows.encode(), name="items.json") == [
        "Line 1: Infinity is not a number. Write one JSON object a line, or a CSV file."
    ]


def test_items_by_id_and_in_an_object_are_read():
    rows = [raw_item(n) for n in (1, 2)]
    by_id = {row["id"]: {k: v for k, v in row.items() if k != "id"} for row in rows}

    for document in (by_id, {"version": 1, "items": rows}, rows):
        data = json.dumps(document, indent=1).encode()
        assert [item.key for item in read(data, name="items.json").items] == ["x1", "x2"]


def test_rows_of_another_format_are_refused_in_one_sentence():
    rows = [{"input": "Why?", "output_1": "a", "output_2": "b", "label": 1}] * 50

    (found,) = faults(json.dumps(rows).encode(), name="dataset.json")

    assert "the rows have “input”, “output_1”, “output_2”, “label”" in found
    assert "Import items" in found


@pytest.mark.parametrize("key", [5, 5.0, "5.0", "5"])
def test_a_number_is_an_id_with_and_without_a_point(key):
    assert [item.key for item in read(jsonl(raw_item(1, id=key))).items] == ["5"]


@pytest.mark.parametrize("second", ["a soup.", "A soup", "A Soup.", "A  soup."])
def test_responses_that_differ_in_capitals_or_punctuation_are_an_item(second):
    responses = [{"key": "r1", "text": "A soup."}, {"key": "r2", "text": second}]

    assert faults(jsonl(raw_item(1, responses=responses))) == []


def test_the_own_answer_distinguishes_texts_that_differ_only_in_capitals():
    table = b"q,one,two,gold\nWhich?,a b,A B,A B\nWhich way?,a b,A B,a b\n"
    fields = {"q": "question", "one": "response_1", "two": "response_2", "gold": "own_answer"}
    mapping = ColumnMapping(fields, persona_text="Somebody.")

    found = read_mapped(File("x.csv", table), mapping, ImportOptions("preference")).items

    assert [item.values["first_person"] for item in found] == ["r2", "r1"]


class TestFaultyRows:
    DATA = jsonl(raw_item(1), raw_item(2, question=None), "{", raw_item(4), [5])

    def test_a_file_with_faulty_rows_only_is_refused(self):
        (found,) = faults(jsonl(raw_item(1, question=None)), skip_faulty=True)

        assert found.startswith("Line 1, item “x1”: question is missing.")

    def test_a_fault_that_ends_the_reading_is_never_left_out(self):
        data = b"id,persona_id,question\n1,p,Why?\n"

        assert "There is no column response_1" in faults(data, name="x.csv", skip_faulty=True)[0]

    @pytest.mark.django_db
    def test_the_command_lists_them_and_stores_the_others(self, tmp_path, capsys):
        path = tmp_path / "items.jsonl"
        path.write_bytes(self.DATA)

        call_command("import_items", "s", path, "--create", "--skip-faulty")

        assert {item.key for item in Item.objects.all()} == {"x1", "x4"}
        said = capsys.readouterr().out
        assert "Faulty rows left out: 3. Line 2, item “x2”: question is missing." in said


def test_letters_in_utf_8_are_counted_as_no_change():
    rows = [[*row[:3], "Crème?", *row[4:]] for row in ROWS]
    file = File("items.csv", csv_text(rows).encode())

    assert len([*table_of(file)]) == len(ROWS)
    assert [*file.changes] == []
