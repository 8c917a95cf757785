"""Labels as other programs write them: the same people, labels and items from any file."""

import json
import zipfile

import openpyxl
import pytest

from thirdperson.check.command import check, options_of
from thirdperson.check.dataset import choices_of
from thirdperson.check.labels import BadTable
from thirdperson.check.reading import read_labels

PLAIN = [
    {"item": f"q{n}", "human_1": "arrêt", "human_2": ("oui", "arrêt")[n % 2], "judge": "oui"}
    for n in range(12)
]


def csv_of(rows):
    return "\n".join([",".join(rows[0]), *(",".join(map(str, row.values())) for row in rows)])


def labels_of(path, content, *options):
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return read_labels(options_of([str(path), *options]))


def marks(table):
    return [(label.item, label.rater, label.is_judge, label.value) for label in table.labels]


@pytest.fixture
def plain(tmp_path):
    return marks(labels_of(tmp_path / "plain.csv", csv_of(PLAIN)))


def changed(**cells):
    """The rows, with a cell of each second row written in another way."""
    return [
        {name: cells.get(name, str)(value) if n % 2 else value for name, value in row.items()}
        for n, row in enumerate(PLAIN)
    ]


@pytest.mark.parametrize(
    "write",
    [
        lambda value: f"['{value}']",
        "\"('{}',)\"".format,  # quoted, because it has a comma
        lambda value: value.replace("ê", "e\u0302"),
        lambda value: f"\u200b{value}\u200e",
        lambda value: f"\u00a0{value}\ufeff",
    ],
)
def test_labels_that_look_alike_are_one_label(tmp_path, plain, write):
    rows = changed(human_2=write, judge=write, item=write)

    assert marks(labels_of(tmp_path / "a.csv", csv_of(rows))) == plain


def test_names_of_columns_have_nothing_invisible(tmp_path, plain):
    rows = [{f"{name}\u200b": value for name, value in row.items()} for row in PLAIN]

    assert marks(labels_of(tmp_path / "a.csv", csv_of(rows))) == plain
    assert marks(labels_of(tmp_path / "a.jsonl", "\n".join(map(json.dumps, rows)))) == plain


def test_a_list_of_one_in_json_is_its_value(tmp_path, plain):
    rows = [
        {name: value if name == "item" else [value] for name, value in r.items()} for r in PLAIN
    ]

    assert marks(labels_of(tmp_path / "a.json", json.dumps(rows))) == plain


@pytest.mark.parametrize("kind", ["csv", "json"])
def test_a_list_of_several_is_named(tmp_path, kind):
    rows = [*PLAIN, PLAIN[0] | {"item": "q12", "judge": ["oui", "non"]}]
    text = json.dumps(rows)
    if kind == "csv":
        text = csv_of([*PLAIN, rows[-1] | {"judge": "\"['oui', 'non']\""}])

    with pytest.raises(
        BadTable, match=r"judge is a list of several values: oui, non\. Give it one"
    ):
        labels_of(tmp_path / f"a.{kind}", text)
    left = labels_of(tmp_path / f"a.{kind}", text, "--skip-faulty")
    assert (len(left.items), len(left.skipped)) == (12, 1)


def test_columns_whose_names_end_in_a_number_are_no_lists(tmp_path):
    rows = [
        {"item": f"q{n}", "human_1": "yes", "human_2": "no", "claude-3.0": "yes", "gpt-4.1": "no"}
        for n in range(5)
    ]

    for name, text in (("a.csv", csv_of(rows)), ("a.json", json.dumps(rows))):
        table = labels_of(tmp_path / name, text, "--judge", "claude-3.0,gpt-4.1")
        assert table.raters(is_judge=True) == ["claude-3.0", "gpt-4.1"]


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        (
            [*map(list, map(dict.values, PLAIN)), [*PLAIN[0]]],
            "Line 14: this row repeats the header",
        ),
        (
            [["Name of item"] * 4, ['"{""ImportId"":""QID1""}"'] * 4, ["q1", "a", "b", "a"]],
            "Line 3: this row has ImportIds of Qualtrics",
        ),
        (
            [*map(list, map(dict.values, PLAIN)), ["Grand Total", "30", "", "28"]],
            "line 14: the row “Grand Total” is about the rows above it. Remove it.",
        ),
        ([["q1\0", "a", "b", "a"]], "line 2, .*“q1” has the control character U.0000. Remove it."),
    ],
)
def test_rows_that_are_no_items_are_named(tmp_path, rows, words):
    text = "\n".join([",".join(PLAIN[0]), *(",".join(row) for row in rows)])

    with pytest.raises(BadTable, match=words):
        labels_of(tmp_path / "a.csv", text)


@pytest.mark.parametrize("separator", [",", ";", "\t"])
@pytest.mark.parametrize("title", ["Results of May", "Results{}{}{}", "Study{}Pilot{}{}"])
def test_a_title_above_the_table_is_named(tmp_path, title, separator):
    table = csv_of(PLAIN).replace(",", separator)
    title = title.replace("{}", separator)

    with pytest.raises(BadTable, match=r"is a title above the table.* Line 3 may have them"):
        labels_of(tmp_path / "a.csv", f"{title}\n\n{table}")


def test_half_of_a_character_is_named_with_its_line(tmp_path):
    rows = [*PLAIN, PLAIN[0] | {"item": "q\ud83d"}]

    with pytest.raises(BadTable, match=r"Line 13: item has half of a character"):
        labels_of(tmp_path / "a.jsonl", "\n".join(map(json.dumps, rows)))


def test_nan_is_named_or_read_as_missing(tmp_path):
    rows = [*PLAIN, PLAIN[0] | {"item": "q12", "human_1": float("nan")}]

    with pytest.raises(BadTable, match=r"record 13: human_1 is NaN.* Write null"):
        labels_of(tmp_path / "a.json", json.dumps(rows))
    table = labels_of(tmp_path / "a.json", json.dumps(rows), "--skip-faulty")
    assert ("q12", "human_1") not in {(label.item, label.rater) for label in table.labels}


@pytest.mark.parametrize("item", ["NaN", "#N/A", ""])
def test_a_missing_id_is_no_item(tmp_path, item):
    rows = [*PLAIN, PLAIN[0] | {"item": item}]

    with pytest.raises(BadTable, match=r"line 14.*: item is .*Name the item in every row"):
        labels_of(tmp_path / "a.csv", csv_of(rows))


def test_letters_in_utf_8_are_no_change(tmp_path):
    assert "Windows-1252" not in "\n".join(labels_of(tmp_path / "a.csv", csv_of(PLAIN)).reading)


def test_errors_of_a_spreadsheet_are_named(tmp_path):
    rows = [*PLAIN, PLAIN[0] | {"item": "q12", "human_1": "#REF!"}]

    with pytest.raises(BadTable, match="line 14, item “q12”: #REF! is the error of a spreadsheet"):
        labels_of(tmp_path / "a.csv", csv_of(rows))


def test_another_encoding_is_said_and_can_be_named(tmp_path):
    text = csv_of([row | {"human_1": "да", "human_2": "нет", "judge": "да"} for row in PLAIN])

    found = labels_of(tmp_path / "a.csv", csv_of(PLAIN).encode("cp1252"))
    assert "read as Windows-1252" in "\n".join(found.reading)
    found = labels_of(tmp_path / "a.csv", text.encode("cp1251"), "--encoding", "cp1251")
    assert {label.value for label in found.labels} == {"да", "нет"}
    with pytest.raises(BadTable, match="--encoding latin-9: use one of: utf-8"):
        labels_of(tmp_path / "a.csv", text, "--encoding", "latin-9")


def test_the_other_sheets_of_a_workbook_are_named(tmp_path, capsys):
    book = openpyxl.Workbook()
    book.active.title = "README"
    book.active.append(["column", "meaning"])
    book.active.append(["judge", "a model"])
    book.create_sheet("labels")
    book.save(tmp_path / "a.xlsx")

    assert check([str(tmp_path / "a.xlsx")]) == 2
    assert "Only the first sheet, “README”, was read." in (said := capsys.readouterr().err)
    assert "The workbook also has the sheets “labels”." in said


def test_an_error_suggests_no_empty_list_of_columns(tmp_path):
    rows = [{"item": "q1", "annotator": "a", "label": "yes", "judge": "no"}] * 2

    with pytest.raises(BadTable) as error:
        labels_of(tmp_path / "a.csv", csv_of(rows))
    assert "a second label of “a”" in str(error.value)
    assert "--on ." not in str(error.value)


def test_a_workbook_of_another_program_is_named(tmp_path):
    with zipfile.ZipFile(tmp_path / "a.ods", "w") as archive:
        archive.writestr("content.xml", "<x/>")

    with pytest.raises(BadTable, match=r"this kind of workbook is not read. Save it again as"):
        read_labels(options_of([str(tmp_path / "a.ods")]))


def test_an_item_may_be_called_total(tmp_path):
    table = labels_of(tmp_path / "a.csv", csv_of([*PLAIN, PLAIN[0] | {"item": "total"}]))

    assert "total" in table.items


def test_letters_of_full_width_are_the_same_labels(tmp_path):
    rows = [{**row, "human_1": "１", "human_2": "2", "judge": "1"} for row in PLAIN]

    choices_of(labels_of(tmp_path / "a.csv", csv_of(rows)))  # which refuses a third label


def test_numbers_are_read_as_spreadsheets_write_them(tmp_path):
    head = "item;human_1;human_2;judge;judge certainty\n"
    cells = head + "".join(f"q{n};{n % 5},5;3;2,25;{n}0 %\n" for n in range(1, 10))

    table = labels_of(tmp_path / "a.csv", cells, "--level", "score")

    assert {label.value for label in table.labels if label.rater == "human_1"} >= {"0.5", "4.5"}
    assert [label.certainty for label in table.labels if label.is_judge] == [*range(10, 100, 10)]
    assert "decimal commas read as points: 18" in table.reading
    classes = labels_of(tmp_path / "a.csv", cells, "--level", "nominal")
    assert "0,5" in {label.value for label in classes.labels}


@pytest.mark.parametrize(
    ("cell", "options", "words"),
    [
        ("the text of response {}", [], "It has 12 different values, such as “the text of resp"),
        (
            "{}/10",
            ["--level", "score"],
            "It has values that are no numbers .*Write labels of a few",
        ),
    ],
)
def test_a_column_of_people_that_has_no_labels_is_named(tmp_path, cell, options, words):
    rows = [{"item": n, "human_1": cell.format(n), "judge": n} for n in range(12)]

    with pytest.raises(BadTable, match=rf"Is it human_1\? {words}"):
        labels_of(tmp_path / "a.csv", csv_of(rows), *options)


def test_items_of_one_file_only_are_counted(tmp_path):
    people, judge = tmp_path / "people.csv", tmp_path / "judge.csv"
    people.write_text("id,human_1,human_2\n" + "".join(f"{n},a,b\n" for n in range(12)))
    judge.write_text("id,label\n" + "".join(f"{n:02},a\n" for n in range(12)))

    table = read_labels(options_of([str(people), str(judge), "--on", "id"]))

    assert "  10 items only in people.csv, such as “0”" in table.reading
    assert "  10 items only in judge.csv, such as “00”" in table.reading
