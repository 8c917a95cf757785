"""Which field a column is guessed to have, from its name and the other columns."""

import pytest

from studies.importers.columns.mapping import ColumnMapping, guess, repeated_id
from studies.importers.columns.table_file import Head


def guessed(*columns: str, rows=()) -> dict[str, str]:
    numbered = tuple((n, dict(zip(columns, cells, strict=True))) for n, cells in enumerate(rows))
    return {c: f for c, f in guess(Head("a.csv", columns, numbered)).fields.items() if f}


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("response_1", "response_2"),
        ("Response A", "Response B"),
        ("option_a", "option_b"),
        ("text_a", "text_b"),
        ("answerA", "answerB"),
        ("left text", "right text"),
        ("response_0", "response_1"),
        ("first_response", "second_response"),
        ("responses.0", "responses.1"),
        ("model_a_response", "model_b_response"),
        ("conversation_a.1.content", "conversation_b.1.content"),
    ],
)
def test_both_sides_are_found(first, second):
    assert guessed(first, second) == {first: "response_1", second: "response_2"}


@pytest.mark.parametrize(
    ("column", "field"),
    [
        *((name, "own_answer") for name in ("label", "gold", "Preferred", "winner", "truth")),
        *((name, "own_answer") for name in ("chosen", "Own answer", "human_preference")),
        *((name, "question") for name in ("prompt", "Question", "survey question", "instruction")),
        *((name, "feature") for name in ("age", "Party ID", "job", "persona_hobby")),
        *((name, "feature") for name in ("feature:mood", "persona.mood", "Marital status")),
        ("persona", "persona_text"),
        ("user_id", "persona_id"),
        ("Topic", "topic"),
        *((name, "generated_by_1") for name in ("model_a", "Generator 1", "llm_1", "system_a")),
        *((name, "generated_by_2") for name in ("response_b_model_name", "Response 2 written by")),
        *((name, "group") for name in ("conversation_id", "conversationId", "dialogue_id")),
        *((name, "group") for name in ("conversation_hash", "conv uuid")),
        *((name, "extra") for name in ("persona_certainty", "certainty", "own_confidence")),
        *((name, "extra") for name in ("persona_certainty_1_100", "How sure are you", "model")),
        ("score_2", "score_2"),
    ],
)
def test_names_of_fields_are_found(column, field):
    assert guessed(column) == {column: field}


@pytest.mark.parametrize(
    "column", ["first_name", "email", "notes", "", "年齢", "<script>", "\u202e"]
)
def test_other_names_are_not_imported(column):
    assert guessed(column) == {}


def test_a_pair_is_the_chosen_and_the_rejected_response():
    assert guessed("prompt", "chosen", "rejected") == {
        "prompt": "question",
        "chosen": "chosen",
        "rejected": "rejected",
    }


@pytest.mark.parametrize(
    ("of_chosen", "of_rejected"),
    [
        ("chosen_model", "rejected_model"),
        ("Model chosen", "Model rejected"),
        ("chosen_response_model_name", "rejected_response_generated_by"),
        ("winner_model", "loser_model"),
    ],
)
def test_the_models_of_a_pair_are_found(of_chosen, of_rejected):
    pair = ("chosen", "rejected")
    found = guessed(*pair, of_chosen, of_rejected, "model_a", "score_b")

    assert found[of_chosen] == "generated_by_chosen"
    assert found[of_rejected] == "generated_by_rejected"
    assert found.keys() == {*pair, of_chosen, of_rejected}
    assert "generated_by_chosen" not in guessed(of_chosen, "response_1").values()


def test_with_both_responses_the_chosen_one_is_the_own_answer():
    found = guessed("response_1", "response_2", "chosen", "rejected")

    assert found["chosen"] == "own_answer"
    assert "rejected" not in found


def test_single_fields_are_guessed_once_and_features_often():
    assert guessed("prompt", "question", "age", "job") == {
        "prompt": "question",
        "age": "feature",
        "job": "feature",
    }


def test_codes_of_people_are_ids_and_no_text_that_annotators_see():
    assert guessed("person", rows=[("P00",), ("p-17",), ("",)])["person"] == "persona_id"
    assert guessed("person", rows=[("P00",), ("likes tea",)])["person"] == "persona_text"
    both = guessed("person", "user_id", rows=[("P00", "1")])
    assert both == {"person": "persona_text", "user_id": "persona_id"}


def test_repeated_ids_are_not_used_as_ids():
    assert guessed("id", "age", rows=[("1", "3"), ("2", "3")])["id"] == "id"
    assert "id" not in guessed("id", "age", rows=[("1", "3"), ("1", "4")])

    rows = tuple((line, {"Item ID": key}) for line, key in ((2, "a7"), (3, "b"), (5, "a7")))
    head = Head("a.csv", ("Item ID",), rows)
    words = repeated_id(head, guess(head))
    assert words.startswith(
        "Line 5: the id “a7” in the column “Item ID” was already used on line 2."
    )
    assert repeated_id(head, ColumnMapping({"Item ID": "id"})) == ""


@pytest.mark.parametrize(
    ("columns", "texts", "question"),
    [
        (("Wording", "Extra"), ("What now?", "a"), "Wording"),
        (("Wording", "Extra"), ("いつですか？", "a"), "Wording"),
        (("Wording", "Extra"), ("What now?", "Who then?"), None),
        (("Wording", "Extra"), ("Say more.", "a"), None),
        (("Wording", "Question"), ("What now?", "Who?"), "Question"),
    ],
)
def test_a_column_of_questions_is_the_question_unless_two_could_be(columns, texts, question):
    rows = ((number, dict(zip(columns, texts, strict=True))) for number in (1, 2))
    fields = guess(Head("a.csv", columns, tuple(rows))).fields

    assert next((c for c, field in fields.items() if field == "question"), None) == question
