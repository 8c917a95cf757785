"""Files of preferences: what is particular about each, and what several people answered."""

import json
from typing import Any

import openpyxl
import pytest
from django.core.management import CommandError, call_command

from annotation.models import Annotation
from studies.models import Item
from tests.studies.sets.made import changed, fixture, keys, labels, made, refusal

ANSWERS = [
    # item, rater, choice, certainty, milliseconds
    ("multipref-c1", "normal-ada", "r1", 88, 83_000),
    ("multipref-c1", "normal-bob", "r2", 13, 83_000),
    ("multipref-c1", "expert-ada", "tie", None, 83_000),
    ("multipref-c1", "expert-eve", "r1", 63, 83_000),
]


def in_json(change):
    """A change of the first row of a JSON Lines file."""

    def changed_text(text):
        first, _, rest = text.partition("\n")
        row = json.loads(first)
        change(row)
        return f"{json.dumps(row)}\n{rest}"

    return changed_text


def test_multipref_has_items_without_an_own_answer_and_keeps_the_models():
    read = made("multipref")

    assert keys(read) == ["multipref-c1", "multipref-c2", "multipref-c4"]
    assert set(labels(read)) == {""}
    item = next(iter(read.items)).values
    assert item["group"] == "p1"
    assert item["r1"]["generated_by"]["family"] == "alpha"
    assert read.dropped == {"pairs of identical texts": 1}
    assert keys(made("multipref", sources="theirs")) == ["multipref-c4"]


@pytest.mark.django_db
def test_what_raters_of_multipref_answered_is_imported_with_certainty_and_time(capsys):
    path = fixture("multipref/MultiPref-Train.jsonl")
    call_command("import_items", "one", path, "--create")

    call_command("import_annotations", "one", path, format="multipref")
    call_command("import_annotations", "one", path, format="multipref")

    rows = Annotation.objects.filter(assignment__item__key="multipref-c1").order_by("pk")
    names = ("assignment__item__key", "assignment__annotator__pseudonym")
    assert list(rows.values_list(*names, "choice", "certainty", "active_ms")) == ANSWERS
    assert str(rows[0].answered_at) == "2024-05-21 19:18:25.735159+00:00"
    said = capsys.readouterr().out
    assert "Answers imported: 12; there already: 0. Imported raters in the study: 4." in said
    assert "About items that the study lacks: 4." in said
    assert "Answers imported: 0; there already: 12." in said


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"overall_pref": "Better"}, "Line 1: overall_pref “Better” is not known."),
        ({"overall_confidence": "very"}, "Line 1: overall_confidence “very” is not known."),
        ({"evaluator": None}, "Line 1: an annotation of the group normal has no."),
    ],
)
def test_an_unknown_answer_refuses_the_file(tmp_path, change, message):
    call_command("import_items", "one", fixture("multipref"), "--create")
    folder = changed(
        "multipref",
        tmp_path,
        "*.jsonl",
        in_json(lambda row: row["normal_worker_annotations"][0].update(change)),
    )

    with pytest.raises(CommandError, match=message):
        call_command(
            "import_annotations", "one", folder / "MultiPref-Train.jsonl", format="multipref"
        )

    assert not Annotation.objects.exists()


@pytest.mark.django_db
def test_answers_to_other_items_are_not_taken_for_none(tmp_path):
    call_command("import_items", "one", fixture("helpsteer"), "--create")

    with pytest.raises(CommandError, match="none of 16 answers is about an item of the study"):
        call_command(
            "import_annotations",
            "one",
            fixture("multipref/MultiPref-Train.jsonl"),
            format="multipref",
        )


def test_helpsteer_reads_both_editions_and_the_sign_of_the_preference():
    read = made("helpsteer")

    assert labels(read) == ["r1", "tie", "r2", "r1", "r2"]
    german, sort = list(read.items)[3:]
    assert (german.values["language"], german.values["context"]) == ("de", "")
    assert sort.values["question"] == "Sort a list."
    assert sort.values["context"] == "The person: Hi.\n\nThe model: Hello."
    assert set(labels(made("helpsteer", label="none"))) == {""}
    assert len(keys(made("helpsteer", domains="code"))) == 1


@pytest.mark.django_db
def test_annotators_of_helpsteer_without_names_answer_once_each():
    path = fixture("helpsteer/preference.jsonl")
    call_command("import_items", "one", path, "--create")

    call_command("import_annotations", "one", path, format="helpsteer")

    keyed = Annotation.objects.values_list("assignment__item__key", "choice").order_by("pk")
    ids = list(Item.objects.order_by("pk").values_list("key", flat=True))
    assert [(ids.index(key), choice) for key, choice in keyed] == [
        (0, "r1"),
        (0, "r1"),
        (0, "r2"),
        (1, "tie"),
        (1, "r1"),
        (2, "r2"),
    ]
    raters = Annotation.objects.values("assignment__annotator").distinct()
    assert raters.count() == 6


def test_arena_keeps_single_turns_and_drops_ties_and_pictures():
    read = made("arena")

    assert keys(read) == ["arena-q1", "arena-q2", "arena-77"]
    assert labels(read) == ["r1", "r2", "r2"]
    assert [item.values["language"] for item in read.items] == ["en", "de", ""]
    assert read.dropped == {
        "ties": 3,
        "conversations with several turns": 1,
        "conversations with pictures": 1,
    }


def test_arena_can_keep_ties_and_several_turns():
    read = made("arena", include_ties="true", turns="all")

    assert keys(read)[2:] == ["arena-q3", "arena-q4", "arena-q5", "arena-77", "arena-78"]
    by_key = {item.key: item.values for item in read.items}
    assert by_key["arena-q4"]["metadata"]["both_bad"] is True
    assert by_key["arena-q4"]["first_person"] == "tie"
    said = "The model: Hello.\n\nThe person: More.\n\nThe model: No."
    assert by_key["arena-q5"]["r1"]["text"] == said
    assert by_key["arena-78"]["question"] == "Name a tree."


@pytest.mark.parametrize(
    ("name", "file", "change", "message"),
    [
        ("arena", "battles.jsonl", {"winner": "me"}, "winner “me” is not known"),
        ("arena", "battles.jsonl", {"winner": None}, "winner is missing"),
        ("arena", "battles.jsonl", {"conversation_a": "Hi"}, "conversation_a is not a list of"),
        ("arena", "battles.jsonl", {"model_a": ""}, "model_a is missing or not text"),
        ("helpsteer", "preference.jsonl", {"preference_strength": 9}, "is out of range|from -3"),
        ("helpsteer", "train.jsonl", {"context": [{"role": "x"}]}, "context is not a list of"),
        ("multipref", "*.jsonl", {"completion_a": 3}, "completion_a is missing or not text"),
        ("personafeedback", "easy.jsonl", {"reject": None}, "reject is missing or not text"),
        ("personafeedback", "easy.jsonl", {"user_id": "3"}, "user_id “3” is no line of the file"),
    ],
)
def test_a_broken_row_is_named(tmp_path, name, file, change, message):
    folder = changed(name, tmp_path, file, in_json(lambda row: row.update(change)))

    (fault,) = refusal(name, folder)

    assert fault.startswith(("Line 1", f"Line 1 of {name}"))
    assert any(part in fault for part in message.split("|"))


def test_the_lists_of_a_table_of_battles_must_have_one_length(tmp_path):
    folder = changed("arena", tmp_path, "train.csv", lambda t: t.replace('[""An oak.""]', "[]"))

    (fault,) = refusal("arena", folder)

    assert "the lists have different lengths" in fault


def test_daily_dilemmas_pairs_the_two_actions_of_a_situation():
    read = made("daily_dilemmas")

    first = next(iter(read.items)).values
    assert first["context"].startswith("A neighbour asks")
    assert (first["r1"]["text"], first["r2"]["text"]) == ("Wait for the parcel", "Leave for work")
    assert first["first_person"] == ""
    assert first["metadata"] == {"to_do": ["honesty", "patience"], "not_to_do": ["duty"]}
    assert read.dropped == {"situations with only one action": 1}
    assert keys(made("daily_dilemmas", topics="strangers")) == ["dilemma-1"]


def test_daily_dilemmas_are_read_from_the_file_of_their_repository_too(tmp_path):
    (tmp_path / "dilemmas_with_detail_by_action.csv").write_text(
        "idx,dilemma_situation,action_type,action,values_direct,values_indirect,topic_group\n"
        "55,A guest is late.,to_do,Begin to eat,\"['Calm']\",\"['Order', 'Calm']\",home\n"
        "55,A guest is late.,not_to_do,Wait for the guest,\"['Respect']\",[],home\n"
    )

    (item,) = made("daily_dilemmas", tmp_path).items

    assert item.values["metadata"] == {"to_do": ["Calm", "Order"], "not_to_do": ["Respect"]}
    assert item.values["topic"] == "home"


def test_values_are_those_that_the_release_counts(tmp_path):
    """Those affected are written about in other words, such as “Respect for resources”."""
    (tmp_path / "dilemmas_with_detail_by_action.csv").write_text(
        "idx,dilemma_situation,action_type,action,values_direct,values_indirect,values_names\n"
        "55,A guest is late.,to_do,Eat,\"['Calm']\",\"['Order', 'A']\",\"['calm', 'order']\"\n"
        "55,A guest is late.,not_to_do,Wait for the guest,\"['Respect for guests']\",[],[]\n"
    )

    (item,) = made("daily_dilemmas", tmp_path).items

    assert item.values["metadata"] == {"to_do": ["calm", "order"], "not_to_do": []}


def test_an_action_that_appears_twice_is_refused(tmp_path):
    folder = changed("daily_dilemmas", tmp_path, "*.csv", lambda t: t.replace("not_to_do", "to_do"))

    assert "to_do of 0 is on line 2 too." in refusal("daily_dilemmas", folder)[0]


def test_mena_takes_the_majority_of_a_country_and_leaves_out_divided_ones():
    read = made("mena")

    own = [item.values[item.values["first_person"]]["text"] for item in read.items]
    assert own == ["Yes", "No", "Hayır"]
    countries = [item.persona.features[0]["value"] for item in read.items]
    assert countries == ["Egypt", "Turkey", "Turkey"]
    assert [item.values["language"] for item in read.items] == ["en", "en", "tr"]
    shares = [
        (item.values["metadata"]["survey_shares"], item.values["first_person"])
        for item in read.items
    ]
    assert all(share[own] == max(share.values()) for share, own in shares)
    assert read.dropped["questions that divide a country"] == 1
    assert len(keys(made("mena", perspective="persona"))) == 1
    assert len(keys(made("mena", tie_margin="0.45"))) == 1


def benchmark(path):
    """A workbook in the shape of llm-lab-org's “MenaValues Benchmark.xlsx”, invented questions."""
    columns: dict[str, list[Any]] = {
        "Source": ["WVS 7", "WVS 7", "The 2022 Arab Opinion Index", "WVS 7", "WVS 7"],
        "Sub Question": ["Q1: Tea", "Q2: Walks", None, "Q4: Rain", "Q5: Snow"],
        "Min": [1, 1, 1, 1, 1],
        "MAX": [2, 4, 2, 2, 2],
        "Scale": ["y", "y", "y", "y", "y"],
        "Category": ["FOOD", "SPORT", "FOOD", "WEATHER", "WEATHER"],
        "Sub Category": ["DRINK"] * 5,
        "Full Question": [
            "Do you drink tea? With '1' being 'Yes', and '2' being 'No'. Provide a number only.",
            "How often do you walk? With '1' being 'Often' and '4' being 'Never'.",
            "What do you prefer? 1: Food of (country), if hot, 2: Other food.",
            "Do you like rain? Please answer with '1' for 'Yes' and '2' for 'No'.",
            "Do you like snow? Provide a number only.",
        ],
        "Egypt": [
            "(1.0, {'1': '99.67%', '2': '0.33%'})",
            "(2.0, {'2': '100%'})",
            "(1.70, {'2.0': '69.54%', '1.0': '30.46%'})",
            "(No data, {})",
            None,
        ],
        "Iran": ["(2.0, {'2': '100.00%'})", None, None, "(1.4, {'1': '60%', '2': '40%'})", None],
    }
    book = openpyxl.Workbook()
    for name, cells in columns.items():
        book.active.append([name, *cells])
    book.save(path)
    return path


def test_the_workbook_of_mena_has_a_column_for_each_question(tmp_path):
    path = benchmark(tmp_path / "MenaValues Benchmark.xlsx")

    read = made("mena", path)

    told = [
        (v["question"], item.persona.features[0]["value"], v[v["first_person"]]["text"])
        for item in read.items
        for v in [item.values]
    ]
    assert told == [
        ("Do you drink tea?", "Egypt", "Yes"),
        ("Do you drink tea?", "Iran", "No"),
        ("What do you prefer?", "Egypt", "Other food"),
        ("Do you like rain?", "Iran", "Yes"),
    ]
    third = list(read.items)[2].values
    assert {third["r1"]["text"], third["r2"]["text"]} == {"Food of Egypt, if hot", "Other food"}
    assert third["metadata"]["shares"] == [0.3046, 0.6954]
    assert read.dropped == {
        "questions with other than two answers": 1,
        "questions without data of a country": 1,
        "questions whose answers have no text": 1,
    }


def test_a_question_of_mena_with_several_answers_is_a_pair_of_a_set(tmp_path):
    path = benchmark(tmp_path / "book.xlsx")
    book = openpyxl.load_workbook(path)
    book.active["C8"] = "How often do you walk? 1: Often, 2: Rarely, 3: When it rains, 4: Never"
    book.active["C9"] = "(2.0, {'3': '45%', '2': '35%', '1': '20%'})"
    book.save(path)

    read = made("mena", path, most_answers="4")

    (of_set,) = [item.values for item in read.items if item.values["option_set"]]
    assert of_set[of_set["first_person"]]["text"] == "When it rains"
    shown = of_set["option_set"]
    assert (shown["chosen"], shown["rule"]) == (3, "chosen_vs_random")
    assert shown["place"][of_set["first_person"]] == 3
    texts = {response["text"] for response in (of_set["r1"], of_set["r2"], *shown["others"])}
    assert texts == {"Often", "Rarely", "When it rains", "Never"}
    assert of_set["metadata"]["shares"] == [0.2, 0.35, 0.45, 0]
    assert of_set["metadata"]["survey_shares"][of_set["first_person"]] == 0.45
    assert len(keys(read)) == 5
    assert "questions with other than two answers" not in read.dropped

    book.active["D8"] = book.active["C8"].value
    book.active["C10"] = "(No values <= 3, {})"
    book.save(path)
    again = made("mena", path, most_answers="4")
    assert len(keys(again)) == 4
    assert again.dropped["columns that repeat a question"] == 1
    assert again.dropped["questions without data of a country"] == 2


def test_a_cell_of_the_workbook_that_is_no_distribution_is_named(tmp_path):
    path = benchmark(tmp_path / "book.xlsx")
    book = openpyxl.load_workbook(path)
    book.active["B9"] = "(1.0, {'3': '99.67%'})"
    book.save(path)

    (fault,) = refusal("mena", path)

    assert "Line 9" in fault
    assert "is no mean with the shares of the answers 1 to 2" in fault


def test_percentages_are_percentages_in_both_columns(tmp_path):
    folder = changed("mena", tmp_path, "*.csv", lambda t: t.replace("35,65", "0.8,99.2"))

    item = list(made("mena", folder).items)[1].values

    assert item["metadata"]["shares"] == [0.008, 0.992]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("0.7,0.3", "most,few", "share_1 must be a share from 0 to 1, or a percentage."),
        ("0.7,0.3", "170,30", "share_1 must be a share"),
        ("Turkish", "Klingon", "language “Klingon” is not known."),
        ("neutral,Turkish", "mine,Turkish", "perspective “mine” is not known."),
    ],
)
def test_a_broken_cell_of_mena_is_named(tmp_path, old, new, message):
    folder = changed("mena", tmp_path, "*.csv", lambda text: text.replace(old, new))

    assert message in refusal("mena", folder)[0]


@pytest.mark.parametrize("name", ["mena", "personafeedback"])
def test_a_file_with_other_columns_is_refused_with_the_ones_that_it_needs(name, tmp_path):
    path = tmp_path / "other.csv"
    path.write_text("question,option_1,option_2,country,percent\na,b,c,d,e\n")

    (fault,) = refusal(name, path)

    lacks = {
        "mena": "has no column share_1, share_2",
        "personafeedback": "Its columns are: user_id, question, chosen, reject",
    }
    assert lacks[name] in fault


def test_gold_judgments_of_several_judges_are_one_label_of_a_pair():
    # The shape of zhiyuanc2001/self-preference: its readme, and what its scripts write.
    read = made("self_preference")

    assert labels(read) == ["r1", "", "r2"]
    first, divided, last = (item.values for item in read.items)
    assert first["r1"]["generated_by"]["name"] == "Llama-3.1-8B"
    assert [one["metadata"]["gold_votes"] for one in (first, divided, last)] == [
        [4, 2],
        [2, 2],
        [0, 2],
    ]
    assert (first["question"], last["question"]) == ("Which tea keeps me awake?", "Is tea a metal?")
    assert len(keys(made("self_preference", data="truthful_qa"))) == 1


def test_gold_judgments_without_their_instruction_are_refused(tmp_path):
    folder = changed(
        "self_preference", tmp_path, "truthful_qa.jsonl", lambda t: t.replace("0", "7")
    )

    (fault,) = refusal("self_preference", folder)

    assert "id “0” is not in the file of instructions of truthful_qa" in fault


def test_a_case_of_personafeedback_has_the_person_of_its_line_and_the_kind_of_its_file():
    # The shape of PersonalAILab/PersonaFeedback, as public code reads it.
    first, last = made("personafeedback").items

    assert first.persona.text.splitlines() == [
        "Name: Ada",
        "Demographics, Age: 34",
        "Demographics, Occupation: Nurse",
        "Demographics, Location, City: Leeds",
        "Personality, Traits: calm, brief",
        "Preference, Food: soup",
        "Bias: none",
    ]
    assert last.persona.key == first.persona.key == "pf-1"
    assert (first.values["topic"], last.values["topic"]) == ("general, easy", "specific, hard")
    assert first.values[first.values["first_person"]]["text"] == "Soup and bread, an hour before."


def test_a_persona_that_is_too_long_is_left_out_or_cut():
    (reason,) = made("personafeedback").dropped
    assert reason == "cases with a persona longer than 4,000 characters"
    read = made("personafeedback", cut_persona="true")
    assert read.notes == {"personas cut to 4,000 characters": 1}
    assert max(len(item.persona.text) for item in read.items) == 4_000
