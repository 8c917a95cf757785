"""Excluding annotators, and taking that back."""

import pytest

from annotation import services
from annotation.files.imports import import_annotations
from annotation.models import Annotation, Annotator
from studies.importers.files.bundle import File
from studies.models import Study
from tests.factories import answer_all, make_items, make_study, walk_in

pytestmark = pytest.mark.django_db


@pytest.fixture
def study() -> Study:
    study = make_study(items_per_annotator=2, annotations_per_item=2)
    make_items(study, 4)
    return study


def seats_taken(study: Study) -> int:
    return sum(study.all_items.values_list("seats_taken", flat=True))


def test_an_exclusion_is_reasoned_logged_and_reversible(study):
    annotator = walk_in(study)
    answer_all(annotator)
    services.complete(annotator_id=annotator.pk)

    services.exclude(annotator_id=annotator.pk, reason="same side 30 of 30")
    kept = seats_taken(study)
    services.include(annotator_id=annotator.pk)
    services.exclude(annotator_id=annotator.pk, reason="again", reopen_seats=True)
    reopened = seats_taken(study)
    back = services.include(annotator_id=annotator.pk)

    assert (kept, reopened, seats_taken(study)) == (2, 0, 2)
    assert back.excluded_at is None
    assert list(annotator.events.order_by("-pk").values_list("event", flat=True)[:4]) == [
        "included",
        "excluded",
        "included",
        "excluded",
    ]


def test_an_imported_rater_can_be_excluded_and_holds_no_seat_to_reopen(study):
    key = study.all_items.first().key
    text = f"rater_id,item_id,choice\nw1,{key},r1\n"
    import_annotations(study_id=study.pk, file=File("a.csv", text.encode()))
    rater = Annotator.objects.get()

    services.exclude(annotator_id=rater.pk, reason="too fast", reopen_seats=True)
    services.include(annotator_id=rater.pk)

    assert rater.assignments.get().state == "answered"
    assert Annotation.objects.get().standing == "imported"


def test_an_exclusion_without_a_reason_is_refused(study):
    annotator = walk_in(study)

    with pytest.raises(ValueError, match="reason"):
        services.exclude(annotator_id=annotator.pk, reason="  ")
