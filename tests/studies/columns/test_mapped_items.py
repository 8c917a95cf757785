"""Items from files with columns of any names."""

import json

import pytest

from studies.importers.columns.mapped_items import feature_names, read_mapped
from studies.importers.columns.mapping import BadMapping, ColumnMapping, guess, meaning_of
from studies.importers.columns.table_file import HEAD_BYTES, read_head, table_of
from studies.importers.files.bundle import File
from studies.importers.files.faults import Refused, place
from studies.importers.files.lines import BadLine
from studies.importers.items.item_bundle import ImportOptions, report_on
from studies.importers.items.records import further_responses
from tests.studies.files import raw_item
from tests.studies.files import read as read_items
from tests.studies.hostile import HOSTILE

FIELDS = {"q": "question", "a": "response_1", "b": "response_2", "age": "feature"}
COLUMN = {"column": "a", "field": "response_1"}
OWN = FIELDS | {"gold": "own_answer"}


def csv_of(*rows: str, header: str = "q,a,b,age,gold") -> File:
    return File("a.csv", "\n".join([header, *rows]).encode())


def read(file: File, fields=OWN, **options):
    return read_mapped(file, ColumnMapping(fields, **options), ImportOptions("preference"))


def labels(found) -> list[str]:
    return [item.values["first_person"] for item in found.items]


@pytest.mark.parametrize(
    ("value", "meaning"),
    [
        *(
            (v, "r1")
            for v in ("A", "a", "1", "first", "Option A", "[[A]]", "model_a", "the left text")
        ),
        *((v, "r2") for v in ("B", "2", "Second", "response_2", "assistant_b", "r2", "right")),
        *((v, "tie") for v in ("tie", "C", "Both", "tie (bothbad)", "No clear difference")),
        *((v, "") for v in ("", "NA", "null", "unknown")),
        *((v, None) for v in ("0", "unsure", "3", "yes", "AB")),
    ],
)
def test_what_values_mean(value, meaning):
    assert meaning_of(value) == meaning


def test_an_own_answer_may_be_the_text_of_a_response_or_its_model():
    by_text = read(csv_of("Q?,Yes,No,30,no", "R?,No,Yes,30,No", "S?,A,B,30,yes"))

    assert labels(by_text) == ["r2", "r1", ""]
    header = "q,a,b,age,gold,m1,m2"
    fields = OWN | {"m1": "generated_by_1", "m2": "generated_by_2"}
    assert labels(read(csv_of("Q?,Yes,No,30,gpt,llama,gpt", header=header), fields)) == ["r2"]


def test_stated_meanings_count_and_other_values_are_reported():
    file = csv_of("Q?,Yes,No,30,0", "R?,Yes,No,30,1", "S?,Yes,No,30,hm", "T?,Yes,No,30,")

    found = read(file, answers={"0": "r1", "1": "r2"})

    assert labels(found) == ["r1", "r2", "", ""]
    assert found.notes == {"own answers that could not be read (“hm” 1)": 1}


def test_pairs_become_items_whose_side_does_not_reveal_the_answer():
    rows = [f"Q{n}?,good {n},bad {n},30,better,worse" for n in range(200)]
    fields = {"q": "question", "c": "chosen", "r": "rejected", "age": "feature"}
    fields |= {"mc": "generated_by_chosen", "mr": "generated_by_rejected"}

    found = read(csv_of(*rows, header="q,c,r,age,mc,mr"), fields)

    for item in found.items:
        chosen = item.values[item.values["first_person"]]
        assert chosen["text"].startswith("good")
        assert chosen["generated_by"]["name"] == "better"
    assert 70 < labels(found).count("r1") < 130


def test_rows_get_ids_by_their_content_and_an_equal_row_is_left_out():
    found = read(csv_of("Q?,Yes,No,30,A", "R?,Yes,No,30,A", "Q?,Yes,No,30,A"))

    assert len(found.items) == 2
    assert found.dropped == {"rows equal to an earlier row": 1}
    again = read(csv_of("R?,Yes,No,30,A"))
    assert again.items[0].content_hash == found.items[1].content_hash


def test_rows_that_differ_only_in_the_own_answer_are_refused():
    with pytest.raises(Refused, match="was already used on line 2"):
        read(csv_of("Q?,Yes,No,30,A", "Q?,Yes,No,30,B"))


def test_ids_with_other_characters_are_replaced_and_stay_apart():
    fields = OWN | {"nr": "id"}

    found = read(
        csv_of("Q?,Y,N,30,A,a b", "R?,Y,N,30,A,a/b", "S?,Y,N,30,A,c", header="q,a,b,age,gold,nr"),
        fields,
    )

    keys = [item.key for item in found.items]
    assert len(set(keys)) == 3
    assert keys[2] == "c"
    assert list(found.notes.values()) == [2]


def test_equal_profiles_are_one_persona():
    found = read(csv_of("Q?,Yes,No,30,A", "R?,Yes,No,30,A", "S?,Yes,No,31,A"))

    assert [item.persona.key == found.items[0].persona.key for item in found.items] == [
        True,
        True,
        False,
    ]
    assert found.items[0].persona.features == [
        {"key": "age", "label": "Age", "value": "30", "text": "Age: 30."}
    ]


def test_keys_of_features_are_allowed_and_unique_whatever_the_columns_are_called():
    columns = ["Age", "age ", "年齢", "3 things", "", "<b>", "\x00", "é"]

    keys = [
        key for key, _ in feature_names(ColumnMapping(dict.fromkeys(columns, "feature"))).values()
    ]

    assert keys == ["age", "age_2", "feature_3", "things", "feature_5", "b", "feature_7", "e"]


def test_constants_replace_missing_columns():
    found = read(
        csv_of("Yes,No", header="a,b"),
        {"a": "response_1", "b": "response_2"},
        question="Which?",
        persona_text="A nurse.",
    )

    item = found.items[0]
    assert (item.values["question"], item.persona.text) == ("Which?", "A nurse.")


def test_the_report_says_what_was_not_imported_and_extra_data_stay():
    file = csv_of("Q?,Yes,No,30,A,x,y", header="q,a,b,age,gold,note,more")

    found = read(file, OWN | {"more": "extra"})

    assert dict(report_on([found]).facts)["Columns not imported"] == "note"
    assert found.items[0].values["metadata"] == {"columns": {"more": "y"}}
    assert found.warnings == []


def test_faults_name_their_lines():
    with pytest.raises(Refused) as refused:
        read(csv_of("Q?,Yes,No,30,A", "R?,,No,30,A", "S?,Yes,No,,A"))

    assert [(f.line, f.rule) for f in refused.value.faults] == [
        (3, "response is empty"),
        (4, "persona is empty"),
    ]


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_cells_and_names_do_no_harm(text):
    row = {f"q{text}": text or "?", "a": f"1 {text}", "b": f"2 {text}", f"age{text}": f"x{text}"}
    file = File("a.json", json.dumps([row]).encode())
    fields = dict(zip(row, ("question", "response_1", "response_2", "feature"), strict=True))

    faults: set[str] = set()
    try:
        item = read(file, fields).items[0]
    except Refused as refused:
        faults = {fault.rule for fault in refused.faults}
    else:
        faults = set() if item.persona.features[0]["label"] else {"no label"}

    assert faults <= {"control character", "question is missing"}


class TestFiles:
    def test_json_is_flattened_by_path(self):
        row = {"p": {"age": 3, "none": None}, "turns": [{"text": "a"}, "b"], "ok": True}

        (found,) = table_of(File("a.jsonl", json.dumps(row).encode()))

        assert found == (
            1,
            {"p.age": "3", "p.none": "", "turns.0.text": "a", "turns.1": "b", "ok": "true"},
        )

    @pytest.mark.parametrize("indent", [None, 2])
    @pytest.mark.parametrize("text", ["é" * 40_000, "x]},{", "1"])
    def test_one_json_list_is_read_row_by_row(self, indent, text):
        rows = [{"n": str(n), "text": text} for n in range(5)]
        data = json.dumps(rows, indent=indent, ensure_ascii=False).encode()

        found = list(table_of(File("a.json", data)))

        assert [row[1] for row in found] == rows
        assert [place(row[0]) for row in found] == [f"Entry {n}" for n in range(1, 6)]

    @pytest.mark.parametrize(
        "data", [b"[", b"[1,", b'[{"a": 1}', b'[{"a": 1} {"a": 2}]', b"[nonsense]"]
    )
    def test_a_broken_list_is_a_fault(self, data):
        assert isinstance(list(table_of(File("a.json", data)))[-1], BadLine)

    @pytest.mark.parametrize("text", ["[" * 40 + "]" * 40, '{"a": Infinity}', '{"a": 1, "a": 2}'])
    def test_a_list_has_the_limits_of_json_lines(self, text):
        (found,) = table_of(File("a.json", f'[\n{{"x": {text}}}]'.encode()))

        assert isinstance(found, BadLine)
        assert found.fault.line == 2

    def test_only_the_beginning_of_a_file_is_read_for_the_page(self):
        rows = [f"Question {n}?,Yes,No,30,A" for n in range(60_000)]
        file = csv_of(*rows)

        head = read_head(file)

        assert len(file.source) > 2 * HEAD_BYTES
        assert len(head.rows) == 200
        assert head.columns == ("q", "a", "b", "age", "gold")

    def test_columns_without_a_name_are_ignored(self):
        head = read_head(csv_of(",1,Yes,No,,", header=",n,a,b,,"))

        assert head.columns == ("n", "a", "b")

    def test_a_column_that_appears_twice_is_a_fault(self):
        with pytest.raises(Refused, match="the column a appears twice"):
            read(csv_of("1,2", header="a,a"), FIELDS)


def test_items_in_the_item_format_may_be_one_json_list():
    data = json.dumps([raw_item(1), raw_item(2)], indent=1).encode()

    found = read_items(data, name="items.json")

    assert [item.key for item in found.items] == ["x1", "x2"]
    assert found.items[1].line > found.items[0].line


class TestMapping:
    def test_it_comes_back_from_json(self):
        mapping = ColumnMapping(OWN, {"age": "Age group"}, {"x": "r1"}, "Which?", "A nurse.")

        assert ColumnMapping.read(json.dumps(mapping.as_json())) == mapping

    @pytest.mark.parametrize(
        ("changes", "said"),
        [
            ({"format": "x"}, "format “thirdperson-mapping”"),
            ({"more": 1}, "no key “more”"),
            ({"columns": {}}, "list of objects with column and field"),
            ({"columns": [{"column": "a"}]}, "list of objects with column and field"),
            ({"columns": [COLUMN | {"field": 1}]}, "list of objects with column and field"),
            ({"columns": [COLUMN | {"field": "x"}]}, "is mapped to “x”. Use one of: question,"),
            ({"columns": [COLUMN]}, "Choose the columns of response 1 and response 2."),
            ({"answers": []}, "must be an object"),
            ({"answers": {"x": "A"}}, "Use r1, r2 or tie"),
            ({"question": 3}, "must be texts"),
        ],
    )
    def test_a_faulty_one_is_refused(self, changes, said):
        raw = ColumnMapping(OWN).as_json() | changes

        with pytest.raises(BadMapping, match=said):
            ColumnMapping.of(raw)

    @pytest.mark.parametrize(
        ("fields", "said"),
        [
            ({**FIELDS, "x": "question"}, "“Question” has 2 columns"),
            ({**FIELDS, "c": "chosen", "r": "rejected"}, "Choose either"),
            ({"q": "question", "age": "feature", "c": "chosen"}, "both the chosen and"),
            (
                {"c": "chosen", "r": "rejected", "m": "generated_by_1"},
                "needs columns of response 1",
            ),
            ({**FIELDS, "m": "generated_by_chosen"}, "needs columns of a chosen and a rejected"),
            ({"a": "response_1", "b": "response_2", "q": "question"}, "about the persona"),
            ({"a": "response_1", "b": "response_2", "age": "feature"}, "column of the question"),
        ],
    )
    def test_what_is_missing_is_named(self, fields, said):
        assert said in " ".join(ColumnMapping(fields).faults())


def test_a_third_response_is_not_left_out_in_silence():
    file = csv_of("Q?,Yes,No,Maybe,30,A", header="q,a,b,response_3,age,gold")

    found = read(file, OWN)

    facts = dict(report_on([found]).facts)
    assert facts["Columns not imported"] == "response_3"
    assert facts["Only two responses"].startswith("response_3 left out")


@pytest.mark.parametrize(
    ("column", "is_further"),
    [
        ("response_3", True),
        ("Response C", True),
        ("option5", True),
        ("answer.d", True),
        ("response_2", False),
        ("response_6", False),
        ("text_date", False),
        ("comment", False),
        ("score_3", False),
    ],
)
def test_columns_that_look_like_further_responses_are_known(column, is_further):
    assert bool(further_responses([column])) is is_further


EARLIER = {
    "h1": "history_prompt",
    "c1": "history_chosen",
    "r1": "history_rejected",
    "h2": "history_prompt",
    "c2": "history_chosen",
    "r2": "history_rejected",
}


def test_earlier_choices_are_paired_in_the_order_of_their_columns():
    file = csv_of("Q?,x,y,30,A,Tea?,Yes,No,Bus?,No,Yes", header="q,a,b,age,gold,h1,c1,r1,h2,c2,r2")

    (item,) = read(file, OWN | EARLIER).items

    assert item.persona.history == [
        {"prompt": "Tea?", "chosen": "Yes", "rejected": "No"},
        {"prompt": "Bus?", "chosen": "No", "rejected": "Yes"},
    ]


def test_empty_earlier_choices_are_ignored_and_different_ones_make_personas_differ():
    rows = ["Q1?,x,y,30,A,Tea?,Yes", "Q2?,x,y,30,A,,", "Q3?,x,y,30,A,Tea?,Yes"]
    file = csv_of(*rows, header="q,a,b,age,gold,h1,c1")

    found = list(read(file, OWN | {"h1": "history_prompt", "c1": "history_chosen"}).items)
    plain = next(iter(read(csv_of("Q2?,x,y,30,A")).items))

    assert [len(item.persona.history) for item in found] == [1, 0, 1]
    assert found[0].persona.key == found[2].persona.key != found[1].persona.key
    assert found[1].persona.key == plain.persona.key


def test_an_earlier_choice_needs_a_question_and_a_response():
    file = csv_of("Q?,x,y,30,A,Tea?,", header="q,a,b,age,gold,h1,c1")

    with pytest.raises(Refused, match="history entry 1 needs a prompt and the chosen response"):
        read(file, OWN | {"h1": "history_prompt", "c1": "history_chosen"})


def test_earlier_choices_need_as_many_columns_of_each_kind():
    columns = OWN | {name: field for name, field in EARLIER.items() if name != "r2"}
    entries = [{"column": name, "field": field} for name, field in columns.items()]

    with pytest.raises(BadMapping, match="have 2 questions, 2 chosen and 1 rejected responses"):
        ColumnMapping.of({"format": "thirdperson-mapping", "columns": entries})


def test_earlier_choices_exclude_questions_of_the_study():
    file = csv_of("Tea?,x,y,30,A,Tea?,Yes", header="q,a,b,age,gold,h1,c1")

    with pytest.raises(Refused, match="repeats this item's question"):
        read(file, OWN | {"h1": "history_prompt", "c1": "history_chosen"})


def test_a_history_in_json_is_guessed_and_read():
    row = {
        "question": "Walk or bus?",
        "response_1": "Walk",
        "response_2": "Bus",
        "age": "30",
        "persona": {"history": [{"prompt": "Tea?", "chosen": "Yes", "rejected": "No"}]},
    }
    file = File("a.jsonl", json.dumps(row).encode())

    (item,) = read_mapped(file, guess(read_head(file)), ImportOptions("preference")).items

    assert item.persona.history == [{"prompt": "Tea?", "chosen": "Yes", "rejected": "No"}]
