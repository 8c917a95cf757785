"""Templates behind prompts; every word was written for these tests."""

import random
from dataclasses import replace

import pytest

from extras.replication.wordings.recovery import NotRecovered, PromptRow, recover

TEMPLATE = (
    "Pick [[A]] or [[B]] for this person: {{ persona }}\n\n[Ask]\n{{ question_text }}\n"
    "A says: {{ response_a }}\nB says: {{ response_b }}\n[["
)
WORDS = "the a person says bees honey A B [Ask] for Pick tea no yes {{ }} \\1 é 🐝 [[".split()


def rows_of(template, texts):
    rows = []
    for line, each in enumerate(texts, start=1):
        prompt = template
        for name in each:  # marks first: a text may hold the name of a slot
            prompt = prompt.replace(f"{{{{ {name} }}}}", f"\x00{name}\x00")
        for name, text in each.items():
            prompt = prompt.replace(f"\x00{name}\x00", text)
        rows.append(PromptRow(line, prompt, each))
    return rows


def drawn(seed, n=8, most=6):
    draw = random.Random(seed)
    names = ("persona", "question_text", "response_a", "response_b")
    return [
        {name: " ".join(draw.choices(WORDS, k=draw.randint(1, most))) for name in names}
        for _ in range(n)
    ]


@pytest.mark.parametrize("seed", range(30))
def test_a_template_is_found_whatever_the_texts_repeat(seed):
    rows = rows_of(TEMPLATE, drawn(seed))

    found = recover(rows)

    assert [found.fill(row.texts) for row in rows] == [row.prompt for row in rows]
    assert found.text == TEMPLATE


def test_one_letter_answers_that_occur_all_over_the_words_are_found():
    sides = [("A", "B"), ("B", "A"), ("n", "s"), ("s", "n"), ("A", "s")]
    texts = [
        {
            "persona": f"Person {i}",
            "question_text": "Yes or no?"[: i + 3],
            "response_a": a,
            "response_b": b,
        }
        for i, (a, b) in enumerate(sides)
    ]

    assert recover(rows_of(TEMPLATE, texts)).text == TEMPLATE


def test_a_slot_inside_a_text_stays_text():
    texts = drawn(1)
    texts[0]["response_a"] = "Ignore this: {{ response_b }} {{ persona }}"
    texts[3]["persona"] = "{{ question_text }}"
    rows = rows_of(TEMPLATE, texts)

    found = recover(rows)

    assert found.text == TEMPLATE
    assert "{{ response_b }} {{ persona }}" in found.fill(texts[0])


def test_a_text_that_the_prompts_show_twice_is_two_slots():
    template = TEMPLATE + "{{ response_a }} or {{ response_b }}?"

    assert recover(rows_of(template, drawn(2))).text == template


def test_a_text_that_no_prompt_shows_has_no_slot():
    template = TEMPLATE.replace("{{ persona }}", "somebody")
    texts = [each | {"persona": f"Nobody sees {i}"} for i, each in enumerate(drawn(3))]

    assert recover(rows_of(template, texts)).text == template


def test_a_text_that_all_rows_share_has_its_slot():
    texts = [each | {"question_text": "What shall we cook?"} for each in drawn(4)]

    assert recover(rows_of(TEMPLATE, texts)).text == TEMPLATE


def test_an_empty_text_is_filled_with_nothing():
    texts = drawn(5)
    texts[6]["question_text"] = ""

    assert recover(rows_of(TEMPLATE, texts)).text == TEMPLATE


def test_a_shared_text_that_stands_in_several_places_is_refused():
    texts = [each | {"question_text": "a"} for each in drawn(4)]

    with pytest.raises(NotRecovered, match="question_text is the same in every row"):
        recover(rows_of(TEMPLATE, texts))


@pytest.mark.parametrize("line", [1, 2, 5, 39])
def test_a_row_with_another_word_is_named_with_another_row_and_the_place(line):
    rows = rows_of(TEMPLATE, drawn(6, n=40))
    at = rows[line - 1].prompt.index("[Ask]") + 1
    changed = rows[line - 1].prompt.replace("[Ask]", "[Question]", 1)
    rows[line - 1] = replace(rows[line - 1], prompt=changed)

    with pytest.raises(NotRecovered) as refused:
        recover(rows)

    message = str(refused.value)
    assert message.startswith(f"Lines 1 and {2 if line == 1 else line} have no common template.")
    assert f"line {line} at character {at + 1:,} has" in message or (
        f"the prompt of line {line} would have" in message and f"at character {at + 1:,}" in message
    )
    assert "[Question" in message


def test_a_prompt_that_ends_earlier_is_named():
    rows = rows_of(TEMPLATE, drawn(7, n=30))
    rows[20] = replace(rows[20], prompt=rows[20].prompt[:-2])

    with pytest.raises(NotRecovered, match=r"Lines 1 and 21 .* its end"):
        recover(rows)


def test_one_row_is_too_few():
    rows = rows_of(TEMPLATE, drawn(8, n=1))

    with pytest.raises(NotRecovered, match="fewer than two different prompts"):
        recover(rows * 3)


def test_constant_words_with_a_slot_are_refused():
    rows = rows_of("Write {{ name }}.\n" + TEMPLATE, drawn(9))

    with pytest.raises(NotRecovered, match="would be read as a slot"):
        recover(rows)


@pytest.mark.nightly
def test_texts_that_could_be_anywhere_end_the_search():
    rows = [
        PromptRow(i, "ab" * 3_000 + "x" * i, {"response_a": "ab" * i, "response_b": "abab" * i})
        for i in range(1, 4)
    ]

    with pytest.raises(NotRecovered):
        recover(rows)
