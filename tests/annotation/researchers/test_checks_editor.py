"""The comprehension check by form, and items that become practice or attention checks."""

import pytest

from annotation.content.comprehension import (
    QuestionText,
    questions_of,
    set_questions,
    unfair_checks,
)
from studies.importers.items.storage import import_items
from studies.models import Item
from studies.services.items import study_content_hash
from tests.factories import make_study, sign_in, walk_in
from tests.studies.files import jsonl, raw_item, read

pytestmark = pytest.mark.django_db

CHECKS = "/studies/one/people/checks/"
OWN = QuestionText("Whose view?", ("Mine", "Theirs"), 1, "Answer as the person would.")


@pytest.fixture
def study():
    study = make_study(slug="one", state="draft")
    import_items("one", [read(jsonl(raw_item(1), raw_item(2), raw_item(3)))])
    study.refresh_from_db()
    return study


@pytest.fixture
def editor(study):
    return sign_in(study)


def question(number, text, options, right, pointer):
    row = {"text": text, "right": right, "pointer": pointer}
    row |= {f"option-{n}": option for n, option in enumerate(options)}
    return {f"quiz-{number}-{name}": value for name, value in row.items()}


FILLED = question(0, "Whose view?", ["Mine", "", "Theirs"], "2", "Answer as the person would.")


def test_questions_are_written_in_a_form(editor, study):
    editor.post(CHECKS, {"quiz-rows": "1", "do": "save", **FILLED})

    assert questions_of(study) == [OWN]
    rows = editor.get(CHECKS).context["rows"]
    assert [option["value"] for option in rows[0]["options"]] == ["Mine", "Theirs", "", ""]
    assert [option["is_right"] for option in rows[0]["options"]] == [False, True, False, False]
    editor.post(CHECKS, {"quiz-rows": "0", "do": "save"})
    assert questions_of(study) == []


def test_rows_are_added_moved_and_removed_without_storing_anything(editor, study):
    set_questions(study_id=study.pk, questions=[OWN])
    two = {"quiz-rows": "2", **FILLED, **question(1, "Second?", ["a", "b"], "0", "s")}

    for action, texts in [
        ("add", ["Whose view?", "Second?", ""]),
        ("down-0", ["Second?", "Whose view?"]),
        ("up-1", ["Second?", "Whose view?"]),
        ("remove-0", ["Second?"]),
        ("up-9", ["Whose view?", "Second?"]),
    ]:
        page = editor.post(CHECKS, two | {"do": action})
        assert [row["text"] for row in page.context["rows"]] == texts, action

    assert questions_of(study) == [OWN]


@pytest.mark.parametrize(
    ("row", "words"),
    [
        (question(0, "", ["a", "b"], "0", "s"), "Question 1 has no text"),
        (question(0, "Q", ["a", "b"], "0", ""), "Question 1 has no sentence of the instructions"),
        (question(0, "Q", ["a"], "0", "s"), "at least two options"),
        (question(0, "Q", ["a", "a"], "0", "s"), "the same option twice"),
        (question(0, "Q", ["a", "b"], "", "s"), "select the right option"),
        (question(0, "Q", ["a", "b"], "5", "s"), "select the right option"),
        (question(0, "Q" * 301, ["a", "b"], "0", "s"), "more than 300 letters"),
    ],
)
def test_missing_parts_are_named_and_typed_text_stays(editor, study, row, words):
    page = editor.post(CHECKS, {"quiz-rows": "1", "do": "save", **row})

    assert page.status_code == 422
    assert words in page.context["fault"]
    assert page.context["rows"][0]["text"] == row["quiz-0-text"]
    assert questions_of(study) == []


def use(editor, **fields):
    page = editor.post(CHECKS, {"action": "items", **fields}, follow=True)
    return [str(message) for message in page.context["messages"]]


def test_an_item_becomes_practice_and_an_ordinary_item_again(editor, study):
    before = study_content_hash(study)

    assert use(editor, item="x1", use="practice") == ["“x1” is now a practice item."]

    item = Item.everything.get(key="x1")
    assert (item.split, item.seats_needed) == ("practice", 0)
    study.refresh_from_db()
    assert study.content_hash == study_content_hash(study) != before
    assert study.log.filter(event="item used otherwise", user__isnull=False).exists()
    use(editor, item="x1", use="main")
    item.refresh_from_db()
    assert (item.split, item.seats_needed) == ("main", 3)
    assert study_content_hash(study) == before


def test_an_attention_check_gets_its_instruction_into_the_question_and_loses_it_again(
    editor, study
):
    before = Item.everything.get(key="x2").question
    words = "Please choose the first response."

    use(editor, item="x2", use="attention_check", correct="r1", instruction=words)

    check = Item.everything.get(key="x2")
    assert (check.split, check.check_answer, check.check_instruction) == (
        "attention_check",
        "r1",
        words,
    )
    assert check.question == f"{before} {words}"
    use(editor, item="x2", use="main")
    check.refresh_from_db()
    assert (check.question, check.check_answer) == (before, "")


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"item": "x1"}, "Select a use for the item."),
        ({"item": "x9", "use": "practice"}, "This study has no item “x9”."),
        ({"item": "x1", "use": "attention_check"}, "needs its right response"),
        ({"item": "x1", "use": "example"}, "Select a use for the item."),
    ],
)
def test_impossible_input_is_refused(editor, study, fields, words):
    assert words in use(editor, **fields)[0]
    assert set(Item.everything.values_list("split", flat=True)) == {"main"}


def test_items_keep_their_use_once_annotators_have_them(editor, study):
    type(study).objects.update(state="open", items_per_annotator=1)
    study.refresh_from_db()
    walk_in(study)

    assert "annotators have been given some of them" in use(editor, item="x1", use="practice")[0]
    assert editor.get(CHECKS).context["fixed"]


@pytest.mark.parametrize("language", ["en", "de"])
def test_one_press_adds_the_standard_checks_in_the_language_of_the_study(editor, study, language):
    type(study).objects.update(language=language)
    assert "Add the standard checks" in editor.get(CHECKS).text

    said = use(editor, everything="yes")

    study.refresh_from_db()
    assert "5 comprehension questions, 2 practice items, 2 attention checks" in said[0]
    added = Item.everything.filter(study=study).exclude(split="main")
    assert (
        sorted(added.values_list("split", flat=True)) == ["attention_check"] * 2 + ["practice"] * 2
    )
    assert set(added.filter(split="practice").values_list("language", flat=True)) == {language}
    assert all(item.first_person for item in added.filter(split="practice"))
    assert Item.objects.filter(study=study).count() == 3
    assert unfair_checks(study) == []
    text = editor.get(CHECKS).text
    for item in added:
        assert all(str(item.response(side)["text"])[:60] in text for side in ("r1", "r2"))
    # What is there stays, and a second press adds nothing.
    assert "Add the standard checks" not in editor.get(CHECKS).text
    assert "nothing, because" in use(editor, everything="yes")[0]


def test_a_draft_gets_its_checks_after_a_judge_was_asked(editor, study):
    type(study).objects.update(frozen_at="2026-11-01T00:00Z")

    assert "Add the standard checks" in editor.get(CHECKS).text
    assert "2 attention checks" in use(editor, everything="yes")[0]
    assert "cannot be edited" in use(editor, item="x1", use="practice")[0]

    Item.everything.filter(split="attention_check").delete()
    type(study).objects.update(state="open")
    assert "Add two ready-made" not in editor.get(CHECKS).text
    assert "cannot be edited" in use(editor, everything="yes")[0]


def test_the_form_shows_both_texts_and_the_key_of_the_chosen_item(editor, study):
    page = editor.get(CHECKS, {"item": "x2"}).text

    item = Item.objects.get(key="x2")
    assert all(item.response(side)["text"] in page for side in ("r1", "r2"))
    assert f"response {item.first_person[1]}, the persona’s own answer" in page
    assert "This study has no ordinary item “x9”" in editor.get(CHECKS, {"item": "x9"}).text
