"""Attention checks are fair, or the researcher is told before people come."""

import pytest

from annotation.content.attention_check_rules import unfair_checks
from annotation.content.comprehension import QuestionText, set_questions, standard_questions
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
    make_check(study)

    assert unfair_checks(study) == []


def test_a_study_without_checks_breaks_no_rule(study):
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
def test_what_a_careful_person_may_fail_is_named_with_the_check(study, fault, words):
    make_check(study)
    unfair = make_check(study, **fault)

    (warning,) = unfair_checks(study)

    assert f"“{unfair.key}”" in warning
    assert words in warning


def test_spaces_and_case_of_an_instruction_do_not_matter(study):
    for _ in range(2):
        make_check(study, question=f"Well.\n{ASKED.upper()}")

    assert unfair_checks(study) == []


def test_a_question_that_points_to_no_sentence_of_the_studys_own_instructions(study):
    set_questions(study_id=study.pk, questions=standard_questions(study))
    assert unfair_checks(study) == []
    study.instructions = "Answer as the person would,\nnot as you would yourself."
    study.save()

    found = unfair_checks(study)

    assert len(found) == 2
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


def test_a_question_of_ones_own_may_point_to_ones_own_words(study):
    study.instructions = "Read both texts twice."
    study.save()
    question = QuestionText("How often?", ("Once", "Twice"), 1, "Read both texts twice.")
    set_questions(study_id=study.pk, questions=[question])

    assert unfair_checks(study) == []
