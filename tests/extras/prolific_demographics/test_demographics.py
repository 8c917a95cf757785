"""Prolific's answers beside every question of the groups, and no group for what is not known."""

import pytest
from django.urls import reverse

from annotation import services
from annotation.models import DemographicQuestion
from annotation.prolific.settle.proposals import settlement
from annotation.prolific.sync.demographics import column_of, fetch, groups_of, value_of
from annotation.prolific.sync.sync import follow
from annotation.seats.quotas import Quota, QuotaQuestion, set_quotas
from tests.annotation.prolific.life import make_recruiting, published
from tests.factories import sign_in

pytestmark = pytest.mark.django_db

DIET = QuotaQuestion("diet", "What do you eat?", {"vegan": "Vegan", "vegetarian": "Vegetarian"})
AGE = QuotaQuestion(
    "age", "How old are you?", {"18-30": "18 to 30", "31_50": "31-50", "old": "51+"}
)
MOOD = QuotaQuestion("mood", "How are you?", {"well": "Well", "badly": "Badly"})


def recruit(prolific, question, people):
    """People who say one thing here and another one on Prolific: pairs of here and about there."""
    study = make_recruiting()
    groups = [Quota(1, {question.key: value}) for value in question.options]
    set_quotas(study_id=study.pk, questions=[question], groups=[*groups, Quota(6 - len(groups))])
    row = published(study)
    for here, about in people:
        person = prolific.world.arrive(row.prolific_id, about=about)
        annotator = services.enter(
            study_id=study.pk, pid=person["participant"], session_id=person["submission"]
        )
        services.consent(annotator_id=annotator.pk, version="v1")
        services.record_demographics(annotator_id=annotator.pk, demographics={question.key: here})
    follow(study_id=study.pk)
    fetch(study_id=study.pk)
    return study


def counts(study):
    return {row.name: (row.here, row.there) for row in groups_of(study).rows}


def test_a_question_is_compared_with_the_filter_of_its_name(prolific):
    study = recruit(
        prolific,
        DIET,
        [("vegan", {"diet": "Vegan"}), ("vegan", {"diet": "Vegetarian"})],
    )

    assert counts(study) == {
        "diet: vegan": (2, 1),
        "diet: vegetarian": (0, 1),
        "everyone else": (0, 0),
    }
    differing = [row.mismatch for row in settlement(study).rows]
    assert differing == ["", "diet: here “vegan”, on Prolific “Vegetarian”"]


def test_an_age_is_found_in_the_group_that_holds_it(prolific):
    study = recruit(prolific, AGE, [("18-30", {}), ("31_50", {})])

    # The simulated export says 34 of everybody.
    assert counts(study)["age: 31_50"] == (1, 2)
    assert counts(study)["everyone else"] == (0, 0)


def test_a_question_unknown_to_prolific_puts_nobody_under_everyone_else(prolific):
    study = recruit(prolific, MOOD, [("well", {}), ("badly", {})])

    found = groups_of(study)
    assert counts(study)["everyone else"] == (0, 0)
    assert (found.unknown, found.unasked) == (2, ("How are you?",))
    page = sign_in(study).get(reverse("people:prolific-settle", args=[study.slug]))
    assert "no data on How are you?, so we cannot assign groups" in page.content.decode()


def test_words_that_match_no_value_are_no_answer(prolific):
    study = recruit(prolific, DIET, [("vegan", {"diet": "None of these"})])

    assert counts(study)["everyone else"] == (0, 0)
    assert groups_of(study).unknown == 1
    assert [row.mismatch for row in settlement(study).rows] == [""]


@pytest.mark.parametrize(
    ("key", "label", "column"),
    [
        ("student", "Are you a student?", "student status"),
        ("student_status", "?", "student status"),
        ("ethnicity", "?", "ethnicity simplified"),
        ("q1", "What is your nationality?", "nationality"),
        ("gender", "?", "sex"),
        ("party", "?", "u.s. political affiliation"),
        ("diet", "?", "diet"),
        ("mood", "?", None),
    ],
)
def test_columns_are_found_by_key_or_label(key, label, column):
    columns = [
        "age",
        "sex",
        "ethnicity simplified",
        "nationality",
        "student status",
        "u.s. political affiliation",
        "diet",
    ]

    assert column_of(DemographicQuestion(key=key, label=label), columns) == column


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("17", "under_18"),
        ("18", "18-29"),
        ("29", "18-29"),
        ("30", "30 to 49"),
        ("50", "50+"),
        ("64", "50+"),
        ("65", "50+"),
        ("many", None),
    ],
)
def test_a_number_is_found_in_the_span_that_holds_it(text, value):
    values = ["under_18", "18-29", "30 to 49", "50+"]
    question = DemographicQuestion(key="age", options=[{"value": v, "label": v} for v in values])

    assert value_of(question, text) == value
