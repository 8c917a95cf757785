"""PRISM, on files in its shapes with words of our own."""

import json

import pytest

from studies.importers.sets.prism import family, refuses
from tests.studies.sets.made import (
    changed,
    fixture,
    keys,
    labels,
    made,
    refusal,
    sentences,
    utterances,
)

SECOND = {"pair": "best_vs_second"}


def of(tmp_path, *rows, **options):
    folder = changed("prism", tmp_path, "utterances.jsonl", lambda _: utterances(*rows))
    return made("prism", folder, **options)


def test_rows_without_an_item_are_counted_by_reason():
    read = made("prism", **SECOND)

    assert keys(read) == ["prism-int0-0-1", "prism-int2-0-1", "prism-int5-0-1"]
    assert read.dropped == {
        "rows of another turn": 2,
        "ties": 1,
        "responses that refuse": 2,
        "responses that are empty": 1,
        "messages with fewer than two responses left": 2,
        "messages with a single response": 1,
        "messages of people without a survey row": 1,
        "pairs of identical texts": 1,
    }
    assert read.rows == {"prism/utterances.jsonl": 21, "prism/survey.jsonl": 4}
    assert read.ties == 1


def test_a_difference_of_exactly_the_margin_is_a_tie_or_a_pair():
    assert "prism-int1-0-1" in keys(made("prism", inclusive="false", **SECOND))
    ties = made("prism", include_ties="true", **SECOND)
    (tie,) = [item for item in ties.items if item.key == "prism-int1-0-1"]
    assert (tie.values["first_person"], tie.values["margin"]) == ("tie", 10)
    assert "prism-int2-0-1" not in keys(made("prism", tie_margin=11, **SECOND))


def test_an_item_has_the_higher_score_as_the_persons_own_answer():
    for item in made("prism", **SECOND).items:
        r1, r2 = item.values["r1"], item.values["r2"]
        better = "r1" if r1["score"] > r2["score"] else "r2"

        assert item.values["first_person"] == better
        assert item.values["margin"] == abs(r1["score"] - r2["score"])
        assert item.values["first_person_source"] == "self_report"


def test_models_have_provider_and_family_so_that_none_judges_its_own():
    (first, *_) = made("prism", **SECOND).items
    makers = [first.values[side]["generated_by"] for side in ("r1", "r2")]

    assert {maker["family"] for maker in makers} == {"command", "gpt"}
    assert {maker["provider"] for maker in makers} == {"x"}
    assert family("meta-llama/Llama-2-70b-chat-hf") == "llama"
    assert family("claude-2.1") == "claude"


def test_persona_features_have_the_order_of_table_6():
    assert sentences(made("prism", **SECOND), "prism-int2-0-1") == [
        "The person is male.",
        "The person is 18-24 years old.",
        "The person's employment status is: student.",
        "The person's highest level of education is: some University but no degree.",
        "The person's marital status is: never been married.",
        "The person's ethnicity is Asian.",
        "The person has no religious affiliation.",
        "The person was born in India.",
        "The person lives in the United Kingdom.",
    ]


def survey(text, user, **values):
    rows = [json.loads(line) for line in text.splitlines()]
    return "".join(
        json.dumps(row | (values if row["user_id"] == user else {})) + "\n" for row in rows
    )


UNSAID = "Prefer not to say"


def test_undisclosed_features_are_left_out_and_empty_personas_make_no_item(tmp_path):
    blank = {
        "age": None,
        "employment_status": UNSAID,
        "education": UNSAID,
        "marital_status": UNSAID,
        "religion": {"simplified": UNSAID},
        "ethnicity": {"simplified": UNSAID},
        "location": {"birth_country": UNSAID, "reside_country": UNSAID},
    }
    folder = changed("prism", tmp_path, "survey.jsonl", lambda t: survey(t, "user0", **blank))
    only_sex = made("prism", folder, **SECOND)
    changed("prism", tmp_path, "survey.jsonl", lambda t: survey(t, "user0", gender=UNSAID))
    nothing = made("prism", folder, **SECOND)

    assert sentences(only_sex, "prism-int0-0-1") == ["The person is female."]
    assert "prism-int0-0-1" not in keys(nothing)
    # int0 and int9 are the messages of that person at the first turn.
    assert nothing.dropped["messages of people with no persona"] == 2


def test_the_flattened_survey_gives_the_same_people(tmp_path):
    def flatten(text):
        rows = []
        for row in map(json.loads, text.splitlines()):
            for outer in ("religion", "ethnicity", "location"):
                row |= {f"{outer}_{inner}": value for inner, value in row.pop(outer).items()}
            rows.append(json.dumps(row) + "\n")
        return "".join(rows)

    folder = changed("prism", tmp_path, "survey.jsonl", flatten)

    assert made("prism", folder).items[0].persona == made("prism").items[0].persona


def test_the_self_description_is_added_on_request_and_cut_where_it_is_too_long(tmp_path):
    folder = changed(
        "prism", tmp_path, "survey.jsonl", lambda t: survey(t, "user0", self_description="x" * 9000)
    )

    assert made("prism").items[0].persona.text == ""
    read = made("prism", folder, persona="with_description", **SECOND)
    assert len(read.items[0].persona.text) == 4_000
    assert read.items[1].persona.text == "I try to be fair and to keep my promises."
    assert read.notes == {"self-descriptions cut to 4,000 characters": 1}


@pytest.mark.parametrize(
    ("text", "is_refusal"),
    [
        ("As an AI language model, I cannot tell you.", True),
        ("I’m sorry,  but I can’t advise on that.", True),
        ("A fair chairman would pay heed to maintaining ratios.", False),
        ("AI is a branch of computer science. Language models are one part.", False),
        ("As an AI engineer you may earn well.", False),
        ("x" * 201 + " I'm sorry, but I can't go on.", False),
    ],
)
def test_a_refusal_is_recognised_by_its_beginning(text, is_refusal):
    assert refuses(text) == is_refusal


def test_refusals_are_kept_on_request():
    assert "prism-int3-1-2" in keys(made("prism", drop_refusals="false", **SECOND))


@pytest.mark.parametrize(
    ("pair", "expected"),
    [
        ("best_vs_second", [(90, 70)]),
        ("best_vs_worst", [(90, 10)]),
        ("all_pairs", [(90, 70), (90, 40), (90, 10), (70, 40), (70, 10), (40, 10)]),
    ],
)
def test_each_rule_takes_its_pairs(tmp_path, pair, expected):
    read = of(tmp_path, *({"score": score} for score in (40, 90, 10, 70)), pair=pair)

    scores = [(item.values["r1"]["score"], item.values["r2"]["score"]) for item in read.items]
    assert sorted(tuple(sorted(pair, reverse=True)) for pair in scores) == sorted(expected)


def test_the_other_response_is_drawn_by_seed(tmp_path):
    rows = [
        {
            "interaction_id": f"int{n}",
            "utterance_id": f"{n}-{k}",
            "within_turn_id": k,
            "score": s,
            "model_response": f"{n} {k}",
        }
        for n in range(60)
        for k, s in enumerate((100, 60, 40, 20))
    ]

    drawn = [key.rsplit("-", 1)[1] for key in keys(of(tmp_path, *rows))]

    assert {drawn.count(other) > 5 for other in "123"} == {True}
    assert keys(of(tmp_path, *rows, seed=5)) != keys(of(tmp_path, *rows))


def test_of_two_best_the_chosen_one_counts_and_they_are_a_tie(tmp_path):
    rows = [{"score": 80}, {"score": 80, "if_chosen": True}, {"score": 20}]

    read = of(tmp_path, *rows, pair="best_vs_worst")

    assert keys(read) == ["prism-int0-1-2"]
    assert of(tmp_path, *rows, include_ties="true", **SECOND).ties == 1


def test_exactly_n_are_drawn_and_a_limit_takes_the_first_of_them_unchanged(tmp_path):
    rows = [
        {"interaction_id": f"int{n}", "within_turn_id": k, "score": s, "model_response": f"{n} {k}"}
        for n in range(40)
        for k, s in enumerate((100, 20))
    ]

    whole, ten = of(tmp_path, *rows), of(tmp_path, *rows, n=10)
    first = of(tmp_path, *rows, limit=7)

    assert (len(ten.items), ten.dropped["pairs beyond the sample of 10"]) == (10, 30)
    assert set(keys(ten)) < set(keys(whole))
    assert [i.content_hash for i in first.items] == [i.content_hash for i in whole.items][:7]
    assert labels(whole).count("r1") == 20
    assert labels(ten).count("r1") == 5


def test_a_later_turn_comes_with_what_was_said_before(tmp_path):
    before = {"turn": 0, "interaction_id": "int0", "user_prompt": "A walk?", "if_chosen": True}
    later = {"turn": 1, "interaction_id": "int1", "user_prompt": "And with a dog?"}

    read = of(
        tmp_path,
        before | {"score": 90, "model_response": "The hill."},
        before | {"score": 10, "if_chosen": False},
        later | {"score": 90},
        later | {"score": 10},
        turn=1,
    )

    (item,) = read.items
    assert item.values["question"] == "And with a dog?"
    assert item.values["context"] == "The person: A walk?\n\nThe model: The hill."


def test_types_of_conversation_can_be_chosen():
    read = made("prism", conversation_types="values guided,controversy guided", **SECOND)

    assert [item.values["topic"] for item in read.items] == ["values guided"]
    assert read.dropped["rows of another type of conversation"] > 0


def test_invalid_texts_are_repaired_or_left_out(tmp_path):
    read = of(
        tmp_path,
        {"score": 90, "model_response": "Carriage\r\nreturn\x08 and\x00 bell\x07."},
        {"score": 50, "model_response": "y" * 8_001},
        {"score": 10, "model_response": "  plain  "},
        {"score": None},
        **SECOND,
    )

    texts = {read.items[0].values[side]["text"] for side in ("r1", "r2")}
    assert texts == {"Carriage\nreturn and bell.", "plain"}
    assert read.dropped == {
        "responses without a score": 1,
        "responses longer than 8,000 characters": 1,
    }


def test_a_byte_order_mark_and_other_line_ends_change_nothing(tmp_path):
    folder = changed(
        "prism", tmp_path, "utterances.jsonl", lambda t: "\ufeff" + t.replace("\n", "\r\n")
    )
    changed("prism", tmp_path, "survey.jsonl", lambda t: "\ufeff" + t.replace("\n", "\r\n"))

    found = [item.content_hash for item in made("prism", folder).items]
    assert found == [item.content_hash for item in made("prism").items]


def test_the_survey_must_be_there():
    (fault,) = refusal("prism", fixture("prism/utterances.jsonl"))

    assert "PRISM needs the file with a row for each person (survey.jsonl)" in fault
    assert "Given: utterances.jsonl" in fault


def test_a_wrong_file_is_not_read_as_utterances(tmp_path):
    other = tmp_path / "conversations.jsonl"
    other.write_text('{"conversation_id": "c0", "user_id": "user0"}\n')

    (fault,) = refusal("prism", fixture("prism/survey.jsonl"), other)

    assert "a row for each response of a model (utterances.jsonl)" in fault


def test_a_missing_column_is_named(tmp_path):
    folder = changed(
        "prism", tmp_path, "utterances.jsonl", lambda t: t.replace('"score"', '"rating"')
    )

    (fault,) = refusal("prism", folder)

    assert "prism/utterances.jsonl may be it, but has no column score." in fault


def test_every_broken_row_is_named_with_its_line(tmp_path):
    def broken(text):
        lines = text.splitlines()
        lines[1] = lines[1].replace('"score": 55', '"score": "high"')
        lines[2] = lines[2].replace('"Stay in."', "null")
        lines[3] = "{"
        lines[4] = "[1]"
        return "\n".join(lines)

    faults = refusal("prism", changed("prism", tmp_path, "utterances.jsonl", broken))

    of = "of prism/utterances.jsonl"
    assert [f.split(":")[0] for f in faults] == [f"Line {n} {of}" for n in (2, 3, 4, 5)]
    assert "score must be a number" in faults[0]
    assert "model_response is missing or not text" in faults[1]
    assert "this is not JSON" in faults[2]
    assert "not a JSON object" in faults[3]


def test_without_items_the_reasons_are_listed():
    (fault,) = refusal("prism", conversation_types="controversy guided")

    assert fault.startswith("prism: no item could be made. Left out:")
    assert "messages with fewer than two responses left" in fault


def test_the_first_conversations_are_taken_by_their_number_as_the_paper_did(tmp_path):
    rows = [(f"int{n}", [(f"One {n}", 90), (f"Two {n}", 10)]) for n in (10, 2, 1)]
    lines = [row for key, texts in rows for row in _rated(key, texts)]

    read = of(tmp_path, *lines, n=2, sample="first", **SECOND)

    assert {key.split("-")[1] for key in keys(read)} == {"int1", "int2"}
    assert read.dropped["pairs beyond the sample of 2"] == 1


def test_the_papers_rule_drops_every_response_that_mentions_ai(tmp_path):
    texts = [("A talk about AI in schools.", 90), ("A poem.", 60), ("A recipe.", 20)]
    lines = _rated("int0", texts)

    assert keys(of(tmp_path, *lines, **SECOND)) == ["prism-int0-0-1"]
    assert keys(of(tmp_path, *lines, refusals="substrings", **SECOND)) == ["prism-int0-1-2"]


def _rated(key, texts):
    return [
        {
            "interaction_id": key,
            "utterance_id": f"{key}-{n}",
            "within_turn_id": n,
            "model_response": text,
            "score": score,
        }
        for n, (text, score) in enumerate(texts)
    ]


def messages(count, better=90):
    """Rows of several messages of one person, each with two responses."""
    return [
        {
            "interaction_id": f"int{n}",
            "user_prompt": f"Which walk on day {n}?",
            "within_turn_id": within,
            "model_response": f"{word} {n}.",
            "score": score,
        }
        for n in range(count)
        for within, (word, score) in enumerate([("Hill", better), ("Lake", 10)])
    ]


def test_other_choices_of_a_person_become_the_history_the_last_first(tmp_path):
    read = of(tmp_path, *messages(5), n=2, history=2)

    questions = {item.values["question"] for item in read.items}
    others = [n for n in range(4, -1, -1) if f"Which walk on day {n}?" not in questions]
    assert len(others) == 3
    for item in read.items:
        assert item.persona.history == [
            {"prompt": f"Which walk on day {n}?", "chosen": f"Hill {n}.", "rejected": f"Lake {n}."}
            for n in others[:2]
        ]


def test_a_history_never_holds_a_question_of_an_item_or_a_tie(tmp_path):
    rows = [row | {"user_prompt": "The same walk?"} for row in messages(2)]
    (item,) = of(tmp_path, *rows, n=1, history=5).items
    assert item.persona.history == []

    ties = messages(3, better=12)
    (item,) = of(tmp_path, *ties, n=1, history=5, include_ties="true").items
    assert item.persona.history == []


def test_without_the_option_there_is_no_history_and_the_items_stay_the_same():
    plain, with_history = made("prism"), made("prism", history=3)

    assert all(item.persona.history == [] for item in plain.items)
    assert [item.values for item in plain.items] == [item.values for item in with_history.items]
