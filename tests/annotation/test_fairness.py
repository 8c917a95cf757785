"""Attention checks are fair, or the researcher is told before people come."""

import re

import pytest

from annotation.content.comprehension import (
    QuestionText,
    set_questions,
    standard_questions,
    texts_of,
    unfair_checks,
)
from annotation.models import Annotator, Assignment
from studies.models import Item, Study
from tests.factories import make_item, make_items, make_study, sign_in

pytestmark = pytest.mark.django_db

ASKED = "Please choose the response that begins with “Mend”."


def make_check(study: Study, **overrides) -> Item:
    return make_item(
        study=study,
        **{
            "split": "attention_check",
            "check_answer": "r1",
            "question": f"Our clock has stopped. {ASKED}",
            "check_instruction": ASKED,
            "r1": {"text": "Mend it, and hang it up again."},
            "r2": {"text": "Get a new one that is quiet."},
        }
        | overrides,
    )


@pytest.fixture
def study() -> Study:
    study = make_study(minutes=15)
    make_items(study, 4, r1={"text": "x" * 40}, r2={"text": "y" * 40})
    return study


def test_two_checks_that_say_what_to_do_are_fair(study):
    make_check(study)
    make_check(study, question=f"Spaces and case do not matter.\n{ASKED.upper()}")

    assert unfair_checks(study) == []


def test_one_check_is_too_few_from_five_minutes_on(study):
    make_check(study)
    (warning,) = unfair_checks(study)
    study.minutes = 4

    assert "15 minutes needs 2 attention checks and has 1" in warning
    assert unfair_checks(study) == []


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        ({"check_instruction": ""}, "it has no instruction"),
        ({"question": "Our clock has stopped."}, "the instruction is not in the question"),
        ({"fixed_first": "r1", "shuffle_sides": False}, "always on the same side"),
        ({"warnings": ["illness"]}, "has a content warning"),
        ({"r1": {"text": "Mend"}, "r2": {"text": "New"}}, "much shorter than the items"),
    ],
)
def test_unfair_checks_are_named_with_the_reason(study, fault, words):
    make_check(study)
    unfair = make_check(study, **fault)

    (warning,) = unfair_checks(study)

    assert f"“{unfair.key}”" in warning
    assert words in warning


@pytest.mark.parametrize(
    ("instruction", "right", "words"),
    [
        (ASKED, "r2", "(“Mend”) choose the response that counts as wrong"),
        (
            'Choose the response that begins with "get a new".',
            "r1",
            "choose the response that counts as wrong",
        ),
        (
            "Wählen Sie die Antwort, die mit „Get“ beginnt.",
            "r1",
            "choose the response that counts as wrong",
        ),
        (
            "Whatever it says, pick the text that ends with “quiet”.",
            "r1",
            "choose the response that counts as wrong",
        ),
        (
            "Do not choose the response with “hang it up”.",
            "r1",
            "choose the response that counts as wrong",
        ),
        ("Please choose the response that begins with “Repair”.", "r1", "are in neither response"),
        ("Please choose the response with “it”.", "r1", "fit both responses"),
        (ASKED, "r1", ""),
        ("Do not choose the response with “hang it up”.", "r2", ""),
        ("Show that you are “here”: choose the response with “hang it up”.", "r1", ""),
        ("Please choose the first response.", "r2", ""),
    ],
)
def test_a_key_that_contradicts_the_quoted_words_is_shown_with_both_texts(
    study, instruction, right, words
):
    make_check(study)
    make_check(
        study,
        key="keyed",
        question=f"Our clock has stopped. {instruction}",
        check_instruction=instruction,
        check_answer=right,
        r2={"text": "Get a new one that does not need it, and is quiet."},
    )

    found = unfair_checks(study)

    assert len(found) == bool(words)
    for warning in found:
        assert "“keyed”" in warning
        assert words in warning
        assert "“Mend it, and hang it up again.”" in warning
        assert "“Get a new one that does not need it, and is quiet.”" in warning


@pytest.mark.parametrize(
    ("length", "language", "perspective"),
    [
        *((5, "en", "persona"), (100, "de", "own"), (400, "en", "own"), (900, "de", "persona")),
        *((400, "es", "own"), (100, "fr", "persona"), (5, "it", "own"), (100, "nl", "persona")),
        *((400, "pl", "own"), (100, "pt", "persona"), (5, "ar", "own"), (100, "zh-cn", "persona")),
    ],
)
def test_two_ready_made_checks_are_fair_and_use_up_no_item(length, language, perspective):
    study = make_study(
        minutes=15, language=language, perspective=perspective, state="draft", slug="one"
    )
    make_items(study, 6, r1={"text": "x" * length}, r2={"text": "y" * length})
    before = list(Item.objects.values_list("key", "seats_needed", "content_hash"))
    client = sign_in(study)

    page = client.post(
        "/studies/one/people/checks/", {"action": "items", "ready": "yes"}, follow=True
    )

    text = page.content.decode()
    words = re.sub(r"<[^>]+>", "", text)
    assert "Attention checks added" in text
    assert unfair_checks(study) == []
    assert list(Item.objects.values_list("key", "seats_needed", "content_hash")) == before
    checks = Item.everything.filter(split="attention_check").order_by("key")
    assert [(check.check_answer, check.seats_needed) for check in checks] == [("r1", 0), ("r2", 0)]
    for check in checks:
        right, wrong = texts_of(check)
        assert f"Right: {right[:60]}" in words
        assert f"Wrong: {wrong[:60]}" in words
    assert "Add two ready-made" not in text


def test_a_question_that_points_to_no_sentence_of_the_studys_own_instructions(study):
    set_questions(study_id=study.pk, questions=standard_questions(study))
    assert unfair_checks(study) == []
    study.instructions = "Answer as the person would,\nnot as you would yourself."
    study.save()

    found = unfair_checks(study)

    # The first is about a sentence that is there, and the page itself says the last.
    assert len(found) == 3
    assert found[0].startswith("Comprehension question 2 refers to")


def test_the_preview_and_the_page_of_checks_warn(study):
    make_check(study, question="Our clock has stopped.")
    client = sign_in(study)

    for page in ("preview/", "checks/"):
        text = client.get(f"/studies/{study.slug}/people/{page}").content.decode()
        assert "Unfair checks" in text
        assert "the instruction is not in the question" in text


def test_the_preview_shows_the_checks_as_people_meet_them_and_stores_nothing(study):
    for _ in range(2):
        make_check(study)
    client = sign_in(study)

    frames = client.get(f"/studies/{study.slug}/people/preview/attention/").content.decode()
    page = client.get(f"/s/{study.slug}/preview/attention/").content.decode()
    sent = {"choice": "a", "certainty": "90"}
    second = client.post(f"/s/{study.slug}/preview/attention/", sent)
    after = client.post(f"{second['Location']}", sent)

    assert "Prompt sent to a judge" not in frames
    assert "begins with “Mend”" in page
    assert second["Location"].endswith("/preview/attention/?item=2")
    assert after["Location"].endswith("/preview/feedback/")
    assert not Annotator.objects.exists()
    assert not Assignment.objects.exists()


def test_own_questions_may_quote_own_instructions(study):
    study.instructions = "Read both texts twice."
    study.save()
    question = QuestionText("How often?", ("Once", "Twice"), 1, "Read both texts twice.")
    set_questions(study_id=study.pk, questions=[question])

    assert unfair_checks(study) == []
