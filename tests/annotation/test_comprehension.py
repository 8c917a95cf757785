"""Comprehension check, practice and attention checks: what they let pass, and what they touch."""

from datetime import timedelta

import pytest
from django.utils import timezone

from annotation import services
from annotation.content.comprehension import (
    QuestionText,
    as_toml,
    read_questions,
    set_questions,
    standard_questions,
)
from annotation.errors import ComprehensionError
from annotation.models import Annotation, Annotator, ComprehensionAnswer, Ending
from annotation.participants.item_context import progress_of
from annotation.seats import flow
from studies.models import Item, Study, StudyLog
from tests.factories import answer_all, answer_item, make_item, make_items, make_study, walk_in

pytestmark = pytest.mark.django_db


@pytest.fixture
def study() -> Study:
    study = make_study(items_per_annotator=6, annotations_per_item=2)
    make_items(study, 8)
    return study


@pytest.fixture
def asking(study) -> Study:
    set_questions(study_id=study.pk, questions=standard_questions(study))
    return study


def answer(annotator, number, *, right, **kwargs) -> Annotator:
    question = annotator.study.comprehension_questions.get(position=number)
    wrong = (question.right + 1) % len(question.options)
    return services.answer_question(
        annotator_id=annotator.pk,
        number=number,
        option=question.right if right else wrong,
        **kwargs,
    )


def make_checks(study: Study, count: int = 2, **fields) -> list[Item]:
    fields = {"split": "attention_check", "check_answer": "r2"} | fields
    return [make_item(study=study, **fields) for _ in range(count)]


# Comprehension check


def test_one_wrong_try_per_question_is_forgiven(asking):
    annotator = walk_in(asking)

    for number in range(1, 6):
        answer(annotator, number, right=False)
        annotator = answer(annotator, number, right=True)

    assert flow.step_of(annotator) == "task"
    assert ComprehensionAnswer.objects.count() == 10


def test_later_and_finished_questions_store_nothing(asking):
    annotator = walk_in(asking)

    answer(annotator, 2, right=True)
    assert ComprehensionAnswer.objects.count() == 0
    answer(annotator, 1, right=True)
    answer(annotator, 1, right=False)

    assert ComprehensionAnswer.objects.count() == 1


def test_after_a_time_out_the_open_question_is_shown_again(asking):
    annotator = answer(walk_in(asking, "p1"), 1, right=True)
    Annotator.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
    services.release_expired()

    back = services.enter(study=asking, pid="p1")
    for number in range(2, 6):
        back = answer(back, number, right=True)

    assert back.pk == annotator.pk
    assert flow.step_of(back) == "task"


@pytest.mark.parametrize("task", Study._meta.get_field("task").choices)
@pytest.mark.parametrize("fields", [{}, {"ask_certainty": False}, {"allow_tie": True}])
def test_the_standard_questions_point_to_sentences_of_the_standard_instructions(
    client, task, fields
):
    study = make_study(task=task[0], **fields)
    make_items(study, 1)
    client.get(f"/s/{study.slug}/?PROLIFIC_PID=p1")
    client.post(f"/s/{study.slug}/consent/", {"consent": "yes"})
    page = client.get(f"/s/{study.slug}/instructions/").content.decode()

    for question in standard_questions(study):
        assert question.pointer in page
        assert 0 <= question.right < len(question.options)


def test_questions_survive_a_round_trip_through_a_file(study):
    questions = [
        *standard_questions(study),
        QuestionText('Quote " and \\ and newline?', ("a\nb", "ü\x7f", "{x}"), 1, "Tab\there."),
    ]

    assert read_questions(as_toml(questions)) == questions


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[[question", "not valid TOML"),
        ("[question]\ntext = 'x'", "double brackets"),
        ("other = 1", "other"),
        (
            "[[question]]\noptions = ['a', 'b']\nright = 'a'\npointer = 'p'",
            "Question 1 needs text",
        ),
        ("[[question]]\ntext='t'\noptions=['a']\nright='a'\npointer='p'", "options"),
        ("[[question]]\ntext='t'\noptions=['a','a']\nright='a'\npointer='p'", "different"),
        ("[[question]]\ntext='t'\noptions=['a','b']\nright='c'\npointer='p'", "right is not one"),
        ("[[question]]\ntext='t'\noptions=['a', 2]\nright='a'\npointer='p'", "options"),
        ("[[question]]\ntext='t'\noptions=['a','b']\nright='a'\npointer=' '", "pointer"),
    ],
)
def test_a_file_of_questions_with_a_fault_says_what_and_where(text, message):
    with pytest.raises(ComprehensionError, match=message):
        read_questions(text)


def test_questions_that_people_have_answered_are_fixed(asking):
    answer(walk_in(asking), 1, right=True)

    set_questions(study_id=asking.pk, questions=standard_questions(asking))
    with pytest.raises(ComprehensionError, match="so they cannot change"):
        set_questions(study_id=asking.pk, questions=[])

    assert asking.comprehension_questions.count() == 5
    assert StudyLog.objects.filter(event="comprehension check set").count() == 1


# Practice


def test_practice_comes_before_the_items_and_counts_nowhere(study):
    first, second = (make_item(study=study, split="practice", key=f"p{n}") for n in (1, 2))
    annotator = walk_in(study)
    assert flow.step_of(annotator) == "practice"

    for item in (first, second):
        services.practise(annotator_id=annotator.pk, item_key=item.key, choice="r1", certainty=60)
        annotator = services.finish_practice_item(annotator_id=annotator.pk, item_key=item.key)

    study.refresh_from_db()
    assert flow.step_of(annotator) == "task"
    assert not annotator.assignments.filter(item__split="practice").exists()
    assert not Annotation.objects.exists()
    assert study.frozen_at is None


def test_practice_cannot_be_passed_without_an_answer_nor_twice(study):
    items = [make_item(study=study, split="practice", key=f"p{n}") for n in (1, 2)]
    annotator = walk_in(study)

    services.finish_practice_item(annotator_id=annotator.pk, item_key="p1")
    for _ in range(2):
        services.practise(annotator_id=annotator.pk, item_key="p1", choice="r1", certainty=60)
    for _ in range(2):
        annotator = services.finish_practice_item(annotator_id=annotator.pk, item_key="p1")

    assert flow.step_of(annotator) == "practice"
    assert annotator.events.filter(event="practised").count() == 1
    assert len(items) == 2


# Attention checks


def test_two_checks_are_mixed_in_and_change_nobodys_items(study):
    plain = walk_in(study)
    make_checks(study, 3)
    Annotator.objects.filter(pk=plain.pk).update(state="screened")
    twin = Annotator.objects.get(pk=plain.pk)
    before = list(plain.assignments.values_list("item", "shown_first"))
    plain.assignments.all().delete()
    Item.objects.update(seats_taken=0)

    services.finish_instructions(annotator_id=twin.pk)

    rows = list(twin.assignments.values_list("item", "shown_first", "item__split", "is_surplus"))
    assert [row[:2] for row in rows if row[2] == "main"] == before
    assert [row[3] for row in rows if row[2] == "attention_check"] == [True, True]
    assert rows[0][2] == "main"


def test_checks_look_like_items_in_the_progress_and_count_neither_in_seats_nor_in_freezing(study):
    make_checks(study)
    annotator = walk_in(study)
    places = progress_of(annotator.pk)
    checks = annotator.assignments.filter(item__split="attention_check")
    numbers = [places.number(position) for position in range(1, 9)]

    for check in checks:
        answer_item(check, choice="r2", certainty=50)

    study.refresh_from_db()
    progress = progress_of(annotator.pk)
    assert (progress.total, progress.answered) == (8, 2)
    # A number that came twice would show which of the two is the check.
    assert numbers == [1, 2, 3, 4, 5, 6, 7, 8]
    assert study.frozen_at is None
    assert set(Annotation.objects.values_list("standing", flat=True)) == {"check"}
    assert sum(study.all_items.values_list("answered", flat=True)) == 0


@pytest.mark.parametrize(
    ("minutes", "failed", "ending"),
    [
        (20, 0, Ending.COMPLETED),
        (20, 1, Ending.COMPLETED),
        (20, 2, Ending.FAILED_ATTENTION),
        (4, 1, Ending.FAILED_ATTENTION),
    ],
)
def test_the_number_of_checks_to_fail_depends_on_the_length_of_the_study(
    study, minutes, failed, ending
):
    Study.objects.update(minutes=minutes)
    make_checks(study)
    annotator = walk_in(study)
    checks = annotator.assignments.filter(item__split="attention_check")
    for number, check in enumerate(checks):
        answer_item(
            check,
            choice="r1" if number < failed else "r2",
            certainty=50,
        )
    answer_all(annotator)

    ended = services.complete(annotator_id=annotator.pk)

    assert flow.ending_of(ended) == ending


def test_answers_to_checks_keep_their_standing_when_others_change(study):
    make_checks(study)
    annotator = walk_in(study)
    answer_all(annotator)

    services.time_out(annotator_id=annotator.pk)
    services.complete(annotator_id=annotator.pk)

    standings = Annotation.objects.values_list("assignment__item__split", "standing")
    assert set(standings) == {("main", "counted"), ("attention_check", "check")}
    assert sum(study.all_items.values_list("seats_taken", flat=True)) == 6
