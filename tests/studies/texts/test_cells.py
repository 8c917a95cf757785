"""What a cell means, whatever file it is in."""

import pytest

from studies.texts.cells import (
    REMOVED,
    Changes,
    SeveralValues,
    clean,
    decoded,
    is_error,
    literal,
    name_of,
    unlisted,
    value_of,
)

ENGLAND = "\U0001f3f4\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f"


@pytest.mark.parametrize(
    ("given", "kept", "removed"),
    [
        ("e\u0301", "é", 0),
        ("\ufeffyes", "yes", 1),
        ("ye\u200bs\u00ad", "yes", 2),
        ("yes\u200e", "yes", 1),
        ("a\u202eb\u2066c\u2069", "abc", 3),
        ("f\u200cf x\u200dy", "ff xy", 2),
        ("hi\U000e0041\U000e0042", "hi", 2),
        # What decides how a text is written stays.
        ("\u0645\u06cc\u200c\u0631\u0648\u0645", "\u0645\u06cc\u200c\u0631\u0648\u0645", 0),
        ("\u0915\u094d\u200d\u0937", "\u0915\u094d\u200d\u0937", 0),
        ("\U0001f468\u200d\U0001f469", "\U0001f468\u200d\U0001f469", 0),
        ("❤\ufe0f\u200d\U0001f525", "❤\ufe0f\u200d\U0001f525", 0),
        ("\u05e9\u05dc\u05d5\u05dd\u200f!", "\u05e9\u05dc\u05d5\u05dd\u200f!", 0),
        ("\u05e9\u202e\u05dc", "\u05e9\u05dc", 1),
        ("\u0e20\u200b\u0e32", "\u0e20\u200b\u0e32", 0),
        (ENGLAND, ENGLAND, 0),
    ],
)
def test_invisible_characters_that_mean_nothing_are_removed_and_counted(given, kept, removed):
    changes = Changes()

    assert clean(given, changes) == kept
    assert changes[REMOVED] == removed


@pytest.mark.parametrize("hidden", "\u00ad\u200b\u200c\u200d\u200e\u200f\u202e\u2066\ufe0f\ufeff")
def test_names_and_labels_have_nothing_that_cannot_be_seen(hidden):
    assert name_of(f"{hidden} \u0645{hidden}\u06cc\u00a0x {hidden}") == "\u0645\u06cc x"


def test_half_of_a_character_is_named():
    with pytest.raises(ValueError, match=r"q has half of a character, .* U\+D83D, at position 5"):
        clean("bad \ud83d", name="q")


@pytest.mark.parametrize(
    "text", ["['yes']", '["yes"]', "('yes',)", "{'yes'}", " [ 'yes' ] ", "yes", '["yes" ]']
)
def test_a_list_of_one_is_its_value(text):
    assert value_of(text) == "yes"


@pytest.mark.parametrize("text", ["['a', 'b']", '["a", "b"]', "['a' 'b']", "('a', 'b')", "[1, 2]"])
def test_a_list_of_several_is_no_value(text):
    with pytest.raises(SeveralValues, match="a list of 2 values"):
        value_of(text)


@pytest.mark.parametrize("text", ["[[A]]", "[A]", "[", "(yes)", "[no", "{'a': 1}", "[['a']]", ""])
def test_other_texts_in_brackets_stay(text):
    assert value_of(text) == text


def test_only_a_list_as_python_writes_it_is_taken_off_a_text():
    assert unlisted("['A walk.']") == "A walk."
    assert unlisted('["It\'s late."]') == "It's late."
    assert unlisted('["A walk."]') == '["A walk."]'
    assert unlisted("['a', 'b']") == "['a', 'b']"


@pytest.mark.parametrize(
    "text",
    [
        "{[]: 1}",
        "{{}}",
        "[" * 5000,
        "0x" + "f" * 9000,
        "1" * 9000,
        "f()",
        "'",
        "[" * 100 + "1",
        "-",
    ],
)
def test_no_literal_ends_an_import(text):
    assert literal(text) is None


@pytest.mark.parametrize("text", ["#NAME?", "#REF!", "#N/A", "#DIV/0!", "#WERT!", " #NOM? "])
def test_errors_of_spreadsheets_are_known(text):
    assert is_error(text.strip())


@pytest.mark.parametrize("text", ["#1", "#YOLO!", "# Name", "N/A"])
def test_other_texts_are_no_errors(text):
    assert not is_error(text)


def test_codes_of_workbooks_are_characters():
    assert decoded("a_x000D_\nb_x0007_") == "a\r\nb\x07"
    assert decoded("_x005F_x000D_ _xD83D_ _x00_") == "_x000D_ _xD83D_ _x00_"
