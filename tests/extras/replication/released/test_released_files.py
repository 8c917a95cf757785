"""Result files as they were released: every row in the shapes seen there, the words our own."""

import json
from io import StringIO

import pytest
from django.core.management import call_command

from extras.replication.released.result_rows import aligned, parse_released, split_features
from judging.models import Judgment
from studies.exporters.items import item_rows
from studies.importers.files.bundle import File, open_path
from studies.importers.files.faults import Refused
from studies.importers.items.item_bundle import ImportOptions, read_bundle
from studies.importers.items.storage import import_items
from tests.factories import make_study
from tests.studies.files import jsonl, read
from tests.studies.test_import_items import everything, put

PERSON = (
    "The person is female. The person is 25-34 years old. The person is student. The person's "
    "highest education level is some secondary. The person's marital status is never been "
    "married. Racially, The person is Mixed. Religiously, The person is Christian. The person is "
    "born in St. Lucia and currently lives in Canada."
)


def preference(**overrides):
    person = overrides.pop("person", PERSON)
    profile = f"[User Profile]\n{person}\n\n" if person else ""
    row = {
        "prompt": f"Choose. Give a certainty level from 1 to 100.\n{profile}[User Question]\n…",
        "answer": "A",
        "certainty": "81",
        "acc": False,
        "ground_truth": "B",
        "user_info": PERSON,
        "question": "Tea or coffee?\r\nBe brief.",
        "asst_A": "Tea.",
        "asst_B": "Coffee. ",
        "conversation_type": "unguided",
    }
    return row | overrides


def pair(**overrides):
    prompt = (
        "Select the pair. Give a certainty level from 1 to 100.\n[User Profile]\nThe person is 31 "
        "years old. The person is single.\n\n[Question-Answer Pair A]\nQuestion: Where to?\n\n"
        "Answer: North,\nthen east.\n\n\n[Question-Answer Pair B]\nQuestion: Why\x08 go? \n"
        "Answer: To see it.\n\n[Answer]\n[["
    )
    row = {
        "prompt": prompt,
        "answer": "B",
        "certainty": "80",
        "acc": True,
        "ground_truth": "B",
        "user_info": "The person is 99 years old.",
        "res": "B]] [[80]]",
    }
    return row | overrides


def rows(*raw, name="prism_all_features_some-model.jsonl"):
    return parse_released(File(name, jsonl(*raw)))


def test_a_preference_row_is_an_item_and_an_answer():
    (row,) = rows(preference())

    assert (row.line, row.task, row.setting, row.topic) == (
        1,
        "preference",
        "certainty",
        "unguided",
    )
    assert row.question == "Tea or coffee?\nBe brief."
    assert (row.r1.text, row.r2.text) == ("Tea.", "Coffee.")
    assert (row.truth, row.choice, row.raw_answer, row.certainty) == ("r2", "r1", "A", 81)
    assert row.has_persona


def test_a_file_that_shows_the_sides_the_other_way_round_maps_by_content():
    first, other = rows(
        preference(),
        preference(asst_A="Coffee.", asst_B="Tea.", ground_truth="A", answer="A"),
    )

    turned = aligned(other, {"text": first.r1.text, "prompt": None})

    assert first.item_id == other.item_id
    assert (turned.r1.text, turned.truth, turned.choice) == ("Tea.", "r2", "r2")
    assert turned.shown_first == "r2"
    assert aligned(first, {"text": "Tea."}) == first


def test_question_answer_pairs_and_their_person_are_read_from_the_prompt():
    (row,) = rows(pair())

    assert row.task == "question_answer_authorship"
    assert (row.r1.prompt, row.r1.text) == ("Where to?", "North,\nthen east.")
    assert (row.r2.prompt, row.r2.text) == ("Why go?", "To see it.")
    assert row.user_info == "The person is 31 years old. The person is single."
    assert row.raw_text == "B]] [[80]]"


def test_false_and_na_are_missing_and_other_letters_are_kept():
    missing, tie_not_offered, bracket = rows(
        pair(answer=False, certainty=False),
        preference(answer="C", certainty="NA"),
        preference(answer="[", certainty="0"),
    )

    assert (missing.choice, missing.raw_answer, missing.certainty) == ("", "", None)
    assert (tie_not_offered.choice, tie_not_offered.raw_answer) == ("", "C")
    assert (bracket.choice, bracket.raw_answer, bracket.certainty) == ("", "[", None)


def test_a_tie_is_an_answer_where_the_prompt_offers_one():
    (row,) = rows(preference(prompt="… or [[C]] for a tie.", answer="C", ground_truth="C"))

    assert (row.setting, row.choice, row.truth) == ("tie", "tie", "tie")


def test_certainty_on_another_scale_is_no_certainty_from_1_to_100():
    (row,) = rows(preference(prompt="… certainty level from 1 to 5 …", certainty="4"))

    assert (row.certainty, row.raw_certainty, row.certainty_max) == (None, "4", 5)
    assert not row.has_persona
    assert row.feature_keys == []


def test_an_article_makes_the_task_authorship():
    raw = preference(article="A fire broke out.")
    del raw["question"], raw["conversation_type"]

    (row,) = rows(raw, name="ec_all_features_x.jsonl")

    assert (row.task, row.context, row.question) == ("authorship", "A fire broke out.", "")


def test_a_person_is_split_into_recognised_features():
    features = {feature["key"]: feature for feature in split_features(PERSON)}

    assert list(features) == [
        "sex",
        "age",
        "employment",
        "education",
        "marital_status",
        "ethnicity",
        "religion",
        "birth_country",
        "residence_country",
    ]
    assert features["birth_country"]["value"] == "St. Lucia"
    assert features["residence_country"]["text"] == "The person currently lives in Canada."
    assert features["employment"]["value"] == "Student"


@pytest.mark.parametrize(
    ("sentence", "key", "value"),
    [
        ("The person is non-binary / third gender.", "sex", "Non-binary / third gender"),
        ("The person is 65+ years old.", "age", "65+"),
        ("The person is 41 years old.", "age", "41"),
        ("The person is unemployed, seeking work.", "employment", "Unemployed, seeking work"),
        ("The person has a two year associate degree.", "education", "Two year associate degree"),
        ("The person earns 42000 dollar per year.", "income", "42000 dollar per year"),
        ("The person's income is 35 thousand euros.", "income", "35 thousand euros"),
        ("The person has no religious affiliation.", "religion", "No religious affiliation"),
        ("The person is living at Rome, Italy.", "residence_country", "Rome, Italy"),
        ("The person's occupation is chef.", "occupation", "Chef"),
        ("The person is divorced.", "marital_status", "Divorced"),
        ("The person keeps bees.", "fact", "The person keeps bees."),
    ],
)
def test_sentences_are_recognised(sentence, key, value):
    (feature,) = split_features(sentence)

    assert (feature["key"], feature["value"], feature["text"]) == (key, value, sentence)


def test_a_key_that_occurs_twice_is_numbered():
    keys = [f["key"] for f in split_features("The person likes tea. The person likes cake.")]

    assert keys == ["fact", "fact_2"]


def test_identical_responses_are_kept_with_a_warning():
    data = jsonl(preference(asst_A="Tea.", asst_B="Tea."))

    result = read(data, name="prism_x.jsonl")

    assert result.format == "personalized-judge"
    assert result.items[0].values["warnings"] == ["identical_responses"]


def test_every_row_that_is_no_released_result_is_named():
    raw = preference()
    del raw["asst_B"]
    broken = pair(prompt="[User Profile]\nThe person is 31.\n\nno pairs here")

    with pytest.raises(Refused) as caught:
        rows(preference(), raw, preference(ground_truth="D"), broken, "{")

    found = [str(fault) for fault in caught.value.faults]
    assert found[0].startswith("Line 2: asst_B is missing or not text.")
    assert found[1].startswith("Line 3: ground_truth “D” is not A, B or C.")
    assert found[2].startswith("Line 4: the prompt does not show two question-answer pairs.")
    assert found[3].startswith("Line 5: this is not JSON")


def test_an_item_shown_twice_in_a_file_is_one_item():
    data = jsonl(preference(), preference(asst_A="Coffee.", asst_B="Tea.", ground_truth="A"))

    assert len(read(data, name="prism_x.jsonl").items) == 1


def test_an_item_with_two_truths_in_one_file_is_refused():
    data = jsonl(preference(), preference(ground_truth="A"))

    with pytest.raises(Refused, match="ground_truth contradicts line 1"):
        read(data, name="prism_x.jsonl")


def test_the_format_can_be_forced(tmp_path):
    path = tmp_path / "prism.txt"
    path.write_text(json.dumps(preference()) + "\n")

    result = read_bundle(open_path(path), ImportOptions("preference", "personalized-judge"))

    assert result.items[0].values["first_person"] == "r2"


def result_row(question, first, second, *, answer, certainty="80", truth="A"):
    prompt = (
        "assigning a certainty level from 1 to 100 [[A]] [[B]]\n[User Profile]\n"
        f"The person is 40 years old.\n\n[User Question]\n{question}\n"
    )
    return {
        "prompt": prompt,
        "answer": answer,
        "certainty": certainty,
        "acc": answer == truth,
        "ground_truth": truth,
        "user_info": "The person is 40 years old.",
        "question": question,
        "asst_A": first,
        "asst_B": second,
        "conversation_type": "unguided",
    }


@pytest.mark.django_db
def test_released_result_files_bring_items_and_judgments_whatever_side_was_shown_first(tmp_path):
    rows = [
        result_row("Tea?", "yes", "no", answer="A"),
        result_row("Coffee?", "yes", "no", answer="N", certainty="NA"),
    ]
    turned = [result_row("Tea?", "no", "yes", answer="A", truth="B", certainty="100")]
    first, second = tmp_path / "prism_a_gpt.jsonl", tmp_path / "prism_b_gpt.jsonl"
    first.write_text("".join(json.dumps(row) + "\n" for row in rows))
    second.write_text("".join(json.dumps(row) + "\n" for row in turned))
    call_command("import_items", "pj", str(first), "--create", stdout=StringIO())

    for name, file in (("one", first), ("two", second)):
        call_command("import_judgments", "pj", str(file), "--judge", name, stdout=StringIO())

    def of(judge):
        found = Judgment.objects.filter(run__judge__name=judge).order_by("item__question")
        return list(found.values_list("state", "choice", "certainty", "shown_first"))

    assert of("one") == [("unparseable", "", None, "r1"), ("done", "r1", 80, "r1")]
    assert of("two") == [("done", "r2", 100, "r2")]


def put_released(study, *rows):
    return import_items(study.slug, [read(jsonl(*rows), name="prism_x.jsonl")])


@pytest.mark.django_db
def test_a_released_file_that_turns_the_sides_round_adds_nothing():
    study = make_study()
    put_released(study, preference())
    before = everything()

    result = put_released(
        study,
        preference(asst_A="Coffee.", asst_B="Tea.", ground_truth="A", person=PERSON.split(". ")[0]),
    )

    assert (result.created, result.unchanged) == (0, 1)
    assert everything() == before


@pytest.mark.django_db
def test_a_released_file_that_tells_another_truth_is_refused():
    study = make_study()
    put_released(study, preference())

    with pytest.raises(
        Refused, match=r"response 2 \(“Coffee.”\) there, response 1 \(“Tea.”\) here"
    ):
        put_released(study, preference(ground_truth="A"))


@pytest.mark.django_db
def test_the_same_item_from_an_ordinary_file_must_be_the_same():
    study = make_study()
    put_released(study, preference())
    (row,) = item_rows(study)

    assert put(study, row).unchanged == 1
    with pytest.raises(Refused, match="another persona"):
        put(study, row | {"persona": {"id": "other", "text": "Somebody else."}})
