"""Items from CSV files and bundles."""

import hashlib
import json

import pytest

from studies.importers.files.bundle import open_path
from studies.importers.files.faults import Refused
from studies.importers.files.lines import IN_FALLBACK
from studies.importers.items.item_bundle import ImportOptions, read_bundle
from tests.studies.files import DATASET, faults, jsonl, raw_item, read, zipped

HEADER = "id,persona_id,feature:age,question,response_1,response_2,first_person"
ROW = "a1,p1,35-44,What now?,Go,Stay,1"


def csv_file(*lines: str) -> bytes:
    return "\n".join(lines).encode()


def test_a_row_becomes_an_item():
    result = read(csv_file(HEADER, ROW), name="items.csv")

    item = result.items[0]
    assert item.values["first_person"] == "r1"
    assert item.values["r2"]["text"] == "Stay"
    assert item.persona.features == [
        {"key": "age", "label": "Age", "value": "35-44", "text": "Age: 35-44."}
    ]


def test_a_label_that_pandas_wrote_as_a_decimal_number_is_that_label():
    labels = ("1.0", "2.0", "")
    rows = [f"a{n},p1,35-44,What now?,Go,Stay,{label}" for n, label in enumerate(labels)]

    result = read(csv_file(HEADER, *rows), name="items.csv")

    assert [item.values["first_person"] for item in result.items] == ["r1", "r2", ""]


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_the_delimiter_is_found_out(delimiter):
    data = csv_file(HEADER.replace(",", delimiter), ROW.replace(",", delimiter))

    assert read(data, name="items.csv").items[0].key == "a1"


def test_cells_may_hold_line_ends_and_lines_are_counted_right():
    data = csv_file(
        HEADER,
        'a1,p1,35-44,"First line',
        'second line, with ""quotes""",Go,Stay,1',
        "a2,p2,35-44,Why?,Go,Stay,9",
    )

    assert faults(data, name="items.csv") == [
        "Line 4, item “a2”: first_person “9” is not allowed; use 1, 2, tie or leave empty. "
        "Sides A and B are decided when the item is shown."
    ]
    sound = data.replace(b"Stay,9", b"Stay,tie")
    assert read(sound, name="items.csv").items[0].values["question"] == (
        'First line\nsecond line, with "quotes"'
    )


def test_a_missing_column_is_named_with_what_there_is():
    header = HEADER.replace("response_2", "response2")

    assert faults(csv_file(header, ROW), name="items.csv") == [
        f"Line 1: There is no column response_2. The file has: {header.replace(',', ', ')}. "
        "Did you mean response2?"
    ]


def test_rows_of_another_length_and_bad_cells_are_faults():
    header = f"{HEADER},score_1,shuffle,metadata"
    data = csv_file(
        header,
        f"{ROW},1,true",
        f"{ROW},many,true,",
        f"{ROW},1,perhaps,",
        f"{ROW},1,false,{{",
    )

    assert faults(data, name="items.csv") == [
        "Line 2: there are 9 cells, the header has 10. Quote cells that hold the delimiter.",
        "Line 3, item “a1”: score_1 “many” is not a number.",
        "Line 4, item “a1”: shuffle “perhaps” is not true or false.",
        "Line 5, item “a1”: metadata “{” is not JSON.",
    ]


def test_a_file_as_spreadsheets_save_it_is_read_and_said_to_be_so():
    data = csv_file(HEADER, ROW) + "\na2,p2,1,Café – “so”?,Go,Stay,1".encode("cp1252")

    found = read(data, name="items.csv")

    assert found.items[1].values["question"] == "Café – “so”?"
    assert found.notes == {IN_FALLBACK: 1}


def test_a_file_in_two_encodings_names_the_line():
    data = csv_file(HEADER, ROW) + "\na2,p2,1,Café?,Go,Stay,1\n".encode("cp1252")
    data += "a3,p3,1,Café?,Go,Stay,1".encode()

    assert faults(data, name="items.csv") == ["Line 4 is not UTF-8. Save the file as ‘CSV UTF-8’."]


@pytest.mark.parametrize("byte", [b"\x81", b"\x9d"])
def test_bytes_that_no_known_encoding_has_name_the_line(byte):
    data = csv_file(HEADER, ROW) + b"\na2,p2,1,Caf" + byte + b"?,Go,Stay,1"

    assert faults(data, name="items.csv") == ["Line 3 is not UTF-8. Save the file as ‘CSV UTF-8’."]


def test_cells_that_begin_like_a_formula_are_kept_as_typed():
    data = csv_file(HEADER, "a1,p1,35-44,=1+1?,-Go,+Stay,1")

    assert read(data, name="items.csv").items[0].values["question"] == "=1+1?"
    assert read(data, name="items.csv").items[0].values["r1"]["text"] == "-Go"


def test_a_folder_gives_words_for_feature_columns(tmp_path):
    (tmp_path / "dataset.json").write_text(json.dumps(DATASET))
    (tmp_path / "items.csv").write_bytes(csv_file(HEADER, ROW))
    (tmp_path / "persona_features.csv").write_text(
        "key,label,template,order\nage,Age group,The person is {value} years old.,1\n"
    )

    result = read_bundle(open_path(tmp_path), ImportOptions("preference"))

    assert result.dataset["title"] == "Choices"
    assert result.items[0].persona.features == [
        {
            "key": "age",
            "label": "Age group",
            "value": "35-44",
            "text": "The person is 35-44 years old.",
        }
    ]


def test_a_zip_may_list_personas_apart():
    items = jsonl(raw_item(1, persona={"id": "p9"}), raw_item(2, persona={"id": "p9"}))
    personas = jsonl({"id": "p9", "text": "Someone who cooks."})
    about = json.dumps(DATASET)
    data = zipped("bundle/", items__jsonl=items, personas__jsonl=personas, dataset__json=about)

    result = read(data, name="bundle.zip")

    assert [item.persona.text for item in result.items] == ["Someone who cooks."] * 2


def test_a_bundle_whose_items_were_changed_is_refused():
    items = jsonl(raw_item())
    described = DATASET | {"sha256": hashlib.sha256(items).hexdigest()}
    sound = zipped(items__jsonl=items, dataset__json=json.dumps(described))
    changed = zipped(items__jsonl=items + b"\n", dataset__json=json.dumps(described))

    assert faults(sound, name="b.zip") == []
    assert "their sha256 differ" in faults(changed, name="b.zip")[0]


@pytest.mark.parametrize(
    ("dataset", "message"),
    [
        ("{", "dataset.json is not JSON"),
        (json.dumps({"format": "other"}), "has no format “thirdperson-items”"),
        (
            json.dumps(DATASET | {"format_version": "2.0"}),
            "format_version “2.0”; this program reads 1",
        ),
        (json.dumps(DATASET | {"source": "web"}), "source in dataset.json must be an object"),
        (
            json.dumps(DATASET | {"source": {"redistribution": "Forbidden"}}),
            "redistribution in dataset.json is “Forbidden”. Use one of: allowed, unknown,",
        ),
    ],
)
def test_a_description_that_cannot_be_read_refuses_the_bundle(dataset, message):
    data = zipped(items__jsonl=jsonl(raw_item()), dataset__json=dataset)

    assert message in faults(data, name="b.zip")[0]


def test_a_bundle_without_its_parts_says_which(tmp_path):
    with pytest.raises(Refused, match=r"the bundle has no items\.jsonl"):
        open_path(tmp_path)
    (tmp_path / "items.jsonl").write_bytes(jsonl(raw_item()))
    with pytest.raises(Refused, match=r"the bundle has no dataset\.json"):
        open_path(tmp_path)


def test_a_zip_that_unpacks_to_more_than_the_limit_is_refused(monkeypatch):
    monkeypatch.setattr("studies.importers.files.bundle.MAX_BYTES", 1_000)
    data = zipped(items__jsonl=b"x" * 100_000, dataset__json=json.dumps(DATASET))

    assert faults(data, name="b.zip") == [
        "the file is larger than 200 MB. Split it and import the parts."
    ]
