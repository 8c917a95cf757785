"""What is shown after the first answer to an item, in files."""

import pytest

from studies.importers.columns.mapped_items import MappedRows
from studies.importers.columns.mapping import ColumnMapping
from tests.studies.files import faults, jsonl, raw_item, read

HEADER = b"id,persona_id,feature:age,question,response_1,response_2,advice,advice_favors"


def test_only_an_item_with_advice_has_another_hash():
    (bare,) = read(jsonl(raw_item())).items
    (advised,) = read(jsonl(raw_item(advice={"text": "Take the stew.", "favors": "r2"}))).items
    (empty,) = read(jsonl(raw_item(advice={}))).items

    assert advised.values["advice"] == {
        "kind": "advice",
        "title": "",
        "text": "Take the stew.",
        "favors": "r2",
    }
    assert bare.values["advice"] == {}
    assert empty.content_hash == bare.content_hash != advised.content_hash


@pytest.mark.parametrize(
    ("advice", "sentence"),
    [
        ("Take it.", "advice must be an object."),
        ({"favors": "r1"}, "advice has no text."),
        ({"text": "x", "favors": "A"}, "advice.favors “A” is not known"),
        ({"text": "x", "kind": "rumour"}, "advice.kind “rumour” is not known"),
    ],
)
def test_an_advice_that_breaks_a_rule_is_refused(advice, sentence):
    assert sentence in " ".join(faults(jsonl(raw_item(advice=advice))))


def test_an_attention_check_has_no_advice():
    check = raw_item(
        split="attention_check",
        question="Please choose response 2.",
        check={"correct": "r2", "instruction": "choose response 2"},
        advice={"text": "x"},
    )

    assert "advice is only for main items" in " ".join(faults(jsonl(check)))


def test_a_csv_file_has_columns_for_it():
    row = b"a1,p1,35-44,Why?,Go,Stay,Two said: stay.,2"

    (item,) = read(b"\n".join([HEADER, row]), name="items.csv").items

    assert (item.values["advice"]["text"], item.values["advice"]["favors"]) == (
        "Two said: stay.",
        "r2",
    )


def test_a_mapped_column_becomes_the_advice():
    columns = {"one": "response_1", "two": "response_2", "who": "persona_id", "q": "question"}
    fields = columns | {"debate": "advice", "for": "advice_favors"}
    cells = {"one": "Go", "two": "Stay", "who": "p", "q": "Why?", "debate": "Stay!", "for": "2"}

    item = MappedRows(ColumnMapping(fields=fields)).item(cells)

    assert item["advice"] == {"text": "Stay!", "favors": "r2"}
