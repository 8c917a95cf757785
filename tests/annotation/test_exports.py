"""Rows for files."""

import pytest

from annotation import services
from annotation.files.answers_out import annotation_rows, annotator_rows
from annotation.models import Annotation, Annotator
from tests.factories import answer_all, make_item, make_items, make_study, walk_in

pytestmark = pytest.mark.django_db


def test_an_answer_is_exported_by_content_and_as_displayed():
    study = make_study(items_per_annotator=1)
    make_item(study=study, key="k1", fixed_first="r2", shuffle_sides=False)
    annotator = walk_in(study, "secret-pid")
    answer_all(annotator, choice="r1", certainty=81)
    Annotation.objects.update(certainty_control="levels")

    (row,) = annotation_rows(study)

    assert row["rater_id"] == annotator.pseudonym
    assert (row["item_id"], row["shown_first"], row["slot"]) == ("k1", "r2", 1)
    assert (row["choice"], row["choice_side"]) == ("r1", "B")
    assert (row["certainty"], row["certainty_band"]) == (81, "highly_confident")
    assert row["certainty_input"] == "band"
    assert (row["standing"], row["changed_choice"], row["excluded"]) == ("counted", False, False)
    assert "secret-pid" not in str(row)


def test_platform_ids_are_exported_only_when_asked_for():
    study = make_study(items_per_annotator=1)
    make_items(study, 1)
    annotator = walk_in(study, "secret-pid")
    services.exclude(annotator_id=annotator.pk, reason="too fast")

    (plain,) = annotator_rows(study)
    (identified,) = annotator_rows(study, identified=True)

    assert "secret-pid" not in str(plain)
    assert (plain["excluded"], plain["exclude_reason"]) == (True, "too fast")
    assert identified["prolific_pid"] == "secret-pid"
    assert identified["session_ids"] == ["s-secret-pid"]


def test_exports_take_the_same_queries_however_many_people(django_assert_num_queries):
    study = make_study(items_per_annotator=1, annotations_per_item=9)
    make_items(study, 5)
    for _ in range(5):
        answer_all(walk_in(study))
    assert Annotator.objects.count() == 5

    with django_assert_num_queries(7):
        assert len(list(annotation_rows(study))) == 5
        assert len(list(annotator_rows(study, identified=True))) == 5


def test_flags_are_exported_with_value_and_threshold_and_checks_are_not_counted():
    study = make_study(items_per_annotator=10)
    make_items(study, 10)
    make_item(study=study, split="attention_check", check_answer="r1")
    answer_all(walk_in(study), certainty=50)

    (row,) = annotator_rows(study)

    assert row["answers"] == 10
    assert row["flags"] == [{"rule": "flat_certainty", "value": 0, "threshold": 3}]
