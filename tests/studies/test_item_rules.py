"""Every rule of the item format: what breaks it, and what the person is told."""

import json

import pytest

from studies.importers.files.faults import Refused, faults_csv, group
from tests.studies.files import faults, jsonl, raw_item, read

R1 = {"key": "r1", "text": "One."}
R2 = {"key": "r2", "text": "Two."}
MODEL = {"kind": "model", "name": "m", "provider": None, "family": None}
AGE = {"key": "age", "value": "40"}
FORTY_ONE = [{"key": f"f{n}", "value": "1"} for n in range(41)]
CHECK = {"correct": "r1", "instruction": "Choose response 1."}


@pytest.mark.parametrize(
    ("change", "rule"),
    [
        ({"id": None}, "id is missing"),
        ({"id": "NaN"}, "id is missing"),
        ({"id": "a b"}, "id has other characters"),
        ({"id": True}, "id has other characters"),
        ({"id": "x" * 121}, "id is too long"),
        ({"group": 5}, "group is not text"),
        ({"task": "x"}, "task is not known"),
        ({"persona": None}, "persona without id"),
        ({"persona": {"features": [AGE]}}, "persona without id"),
        ({"persona": {"id": "p"}}, "persona is empty"),
        ({"persona": {"id": "p", "features": [AGE, AGE]}}, "feature appears twice"),
        ({"persona": {"id": "p", "text": "x" * 5_120}}, "persona text is too long"),
        ({"persona": {"id": "p", "features": [{"key": "Age", "value": "4"}]}}, "feature key"),
        (
            {"persona": {"id": "p", "features": [{"key": "age", "value": ""}]}},
            "feature without value",
        ),
        ({"persona": {"id": "p", "features": FORTY_ONE}}, "too many features"),
        (
            {
                "question": "Why?",
                "persona": {
                    "id": "p",
                    "text": "x",
                    "history": [
                        {"prompt": "How?", "chosen": "So."},
                        {"prompt": " WHY? ", "chosen": "So."},
                    ],
                },
            },
            "history repeats the item",
        ),
        ({"question": None}, "question is missing"),
        ({"question": "x" * 4_001}, "question is too long"),
        ({"context": "x" * 20_001}, "context is too long"),
        ({"responses": [R1, R2, R2]}, "number of responses"),
        ({"responses": None}, "number of responses"),
        ({"responses": [R1, {"key": "r2", "text": " One. "}]}, "identical responses"),
        ({"responses": [R1, {"key": "r2", "text": "  "}]}, "response is empty"),
        ({"responses": [R1, {"key": "r2", "text": "x" * 8_001}]}, "response r2 is too long"),
        ({"responses": [R1, R1]}, "response keys"),
        ({"responses": [R1, R2 | {"generated_by": {"kind": "bot"}}]}, "unknown generator"),
        ({"responses": [R1 | {"generated_by": {"kind": "model"}}, R2]}, "model without a name"),
        ({"responses": [R1 | {"score": "9"}, R2]}, "score is not a number"),
        ({"responses": [R1 | {"score": True}, R2]}, "score is not a number"),
        ({"responses": [R1 | {"score": 10**400}, R2]}, "score is not a number"),
        ({"first_person": {"label": "A"}}, "label is not allowed"),
        ({"first_person": {"label": "r1", "tie": True}}, "tie and label disagree"),
        ({"first_person": {"label": "tie", "tie": False}}, "tie and label disagree"),
        (
            {
                "first_person": {"label": "r1", "margin": 30},
                "responses": [R1 | {"score": 90}, R2 | {"score": 55}],
            },
            "margin and scores disagree",
        ),
        ({"first_person": {"margin": -1}}, "margin is negative"),
        ({"order": {"shuffle": True, "fixed_first": "r1"}}, "fixed_first with shuffle"),
        (
            {
                "split": "attention_check",
                "question": CHECK["instruction"],
                "check": CHECK | {"correct": None},
            },
            "check without answer",
        ),
        ({"split": "attention_check", "check": CHECK}, "check without instruction"),
        ({"metadata": {"x": "y" * 20_000}}, "metadata is too long"),
        ({"metadata": {"_x": 1}}, "reserved key"),
        ({"question": "What\x08now?"}, "control character"),
        ({"language": "x" * 36}, "language is too long"),
    ],
)
def test_a_broken_rule_is_one_fault(change, rule):
    row = raw_item() | change if None not in change.values() else raw_item(**change)

    with pytest.raises(Refused) as caught:
        read(jsonl(row))

    assert [(fault.line, fault.rule) for fault in caught.value.faults] == [(1, rule)]


def test_a_fault_says_where_what_and_the_remedy():
    long = raw_item(1, persona={"id": "p", "text": "x" * 5_120})
    check = raw_item(2, split="attention_check", check=CHECK)

    assert faults(jsonl(long, check)) == [
        "Line 1, item “x1”: persona text has 5,120 characters; the limit is 4,000.",
        "Line 2, item “x2”: the instruction of an attention check must be inside the question. "
        "Write it there word for word, so that nobody has to guess.",
    ]


def test_text_that_no_database_can_store_is_refused():
    line = json.dumps(raw_item(question="Why\ud800?"))

    assert faults(jsonl(line)) == [
        "Line 1: question has half of a character, the surrogate U+D800, at position 4. Write the "
        "whole character, or remove it."
    ]


def test_a_number_that_is_too_long_is_refused_in_words():
    """Python refuses one in words about its own settings."""
    line = json.dumps(raw_item(metadata={"turn": 0})).replace('"turn": 0', '"turn": ' + "9" * 5_000)

    assert faults(jsonl(line)) == [
        "Line 1: a number has more than 1,000 digits; write it as text. Write one JSON object a "
        "line."
    ]


@pytest.mark.parametrize(
    "change",
    [
        {"question": None, "responses": [R1 | {"prompt": "P?"}, R2 | {"prompt": "Q?"}]},
        {"question": None, "task": "authorship", "context": "An article."},
        {"responses": [R1, R1 | {"key": "r2"}], "warnings": ["identical_responses"]},
        {"split": "attention_check", "question": "Now: Choose response 1.", "check": CHECK},
        {"first_person": None},
        {"first_person": {"label": "tie", "tie": True, "margin": 3}},
        {"order": {"shuffle": False, "fixed_first": "r2"}},
        {"metadata": {"turn": 0, "nested": {"a": [1, None]}}},
        {"persona": {"id": "p", "text": "Someone."}},
    ],
)
def test_what_the_format_allows_is_imported(change):
    assert faults(jsonl(raw_item(**change))) == []


def test_a_number_that_no_database_can_store_is_refused():
    line = json.dumps(raw_item(metadata={"a": 1})).replace('"a": 1', '"a": 1e999')

    assert faults(jsonl(line)) == [
        "Line 1, item “x1”: metadata.a is too large a number. Write it as text."
    ]


def test_an_id_used_twice_names_the_first_line():
    data = jsonl(raw_item(1), "", raw_item(2), raw_item(1))

    assert faults(data) == [
        "Line 4: id “x1” was already used on line 1. Give every item its own id."
    ]


@pytest.mark.parametrize(
    ("other", "difference"),
    [
        ({"features": [{"key": "age", "value": "18-24"}]}, "“Age”"),
        ({"text": "Other."}, "text"),
    ],
)
def test_a_persona_that_changes_within_a_file_is_refused(other, difference):
    first = raw_item(1)
    changed = first["persona"] | other

    assert faults(jsonl(first, raw_item(2, persona=changed))) == [
        f"Line 2, item “x2”: persona “p1” differs from the one on line 1 in {difference}. Give the "
        "same features, text and history, or another persona id."
    ]


def test_every_fault_of_a_file_is_found_and_grouped_by_rule():
    broken = [raw_item(n, question=None) for n in range(1, 131)]
    data = jsonl("not json", *broken, raw_item(200, first_person={"label": "B"}))

    with pytest.raises(Refused) as caught:
        read(data)

    groups = {found.rule: (found.count, len(found.listed)) for found in group(caught.value.faults)}
    assert groups == {
        "question is missing": (130, 99),
        "not JSON": (1, 1),
        "label is not allowed": (1, 0),
    }
    assert "132 faults found. Nothing was imported." in str(caught.value)
    assert "… and 31 more" in str(caught.value)
    assert len(faults_csv(caught.value.faults).splitlines()) == 133


def test_unknown_keys_are_kept_and_reported():
    responses = [R1 | {"colour_of": "x"}, R2]

    own = {"choice": "r1"}
    result = read(
        jsonl(raw_item(colour="red", responses=responses, first_person=own, metadata={"turn": 1}))
    )

    assert result.items[0].values["metadata"] == {
        "turn": 1,
        "_extra": {"colour": "red", "responses.r1.colour_of": "x", "first_person.choice": "r1"},
    }
    assert [warning.line for warning in result.warnings] == [1, 1, 1]
    assert "“colour” is not part of the format" in result.warnings[0].message
    assert "first_person.label" in result.warnings[2].message


def test_text_is_brought_to_one_form():
    item = raw_item(question=" Cafe\u0301\r\nnow?\rYes. ")

    result = read(b"\xef\xbb\xbf" + jsonl(item).replace(b"\n", b"\r\n"))

    assert result.items[0].values["question"] == "Café\nnow?\nYes."


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("{", "this is not JSON"),
        ('{"id": "a", "id": "b"}', "the key “id” appears twice"),
        ('{"id": Infinity}', "Infinity is not a number"),
        ("[" * 100_000, "the line holds more than 50,000 values"),
        ("[1]", "the line is not a JSON object"),
    ],
)
def test_a_line_that_is_not_an_object_is_an_ordinary_fault(line, reason):
    found = faults(jsonl(raw_item(1), line, raw_item(3, question=None)))

    assert found[0].startswith("Line 2: ")
    assert reason in found[0]
    assert found[1].startswith("Line 3, item “x3”: question is missing.")


def test_a_line_in_another_encoding_is_named():
    data = jsonl(raw_item(1)) + b'{"id": "caf\xe9"}\n'

    assert faults(data) == ["Line 2 is not UTF-8. Save it as UTF-8."]


def test_an_empty_file_is_refused():
    assert faults(b"\n\n") == ["There are no items in the file. Add one item a line."]


def test_responses_are_stored_by_key_whatever_their_order():
    result = read(jsonl(raw_item(responses=[R2 | {"generated_by": MODEL}, R1])))

    assert result.items[0].values["r1"]["text"] == "One."
    assert result.items[0].values["r2"]["generated_by"] == MODEL


def test_a_limit_reads_the_first_items_only():
    data = jsonl(raw_item(1), raw_item(2), "not json")

    assert [item.key for item in read(data, limit=2).items] == ["x1", "x2"]


@pytest.mark.parametrize("blank", ["", " ", None, [], {}])
def test_one_empty_value_is_one_fault(blank):
    persona = {
        "id": "p",
        "features": [{"key": "age", "label": "Age", "value": "4", "text": "Aged 4."}],
        "history": [{"prompt": "Why?", "chosen": "So."}],
    }
    for part, name in (("features", "value"), ("history", "prompt"), ("history", "chosen")):
        changed = persona | {part: [persona[part][0] | {name: blank}]}

        assert len(faults(jsonl(raw_item(1, persona=changed)))) == 1, (part, name)
