"""A load test works on a copy of a study, and leaves nothing behind."""

import os
import socket

import pytest

from annotation.models import Annotator, ComprehensionQuestion, DemographicQuestion, QuotaGroup
from benchmarks.load.command import NoItemsToCopy, copied, delete_leftovers
from studies.models import Item, Persona, Study
from studies.services.studies import record
from tests.factories import make_item, make_items, make_study, walk_in

pytestmark = pytest.mark.django_db


@pytest.fixture
def study():
    study = make_study(slug="original", entry=Study.Entry.LINK, items_per_annotator=3)
    make_items(study, 6)
    make_item(study=study, split=Item.Split.PRACTICE)
    DemographicQuestion.objects.create(
        study=study, key="sex", label="Sex", options=[{"value": "f", "label": "Female"}]
    )
    QuotaGroup.objects.create(study=study, criteria={"sex": "f"}, target=1)
    ComprehensionQuestion.objects.create(
        study=study, text="?", options=["a", "b"], right=1, pointer=".", position=1
    )
    return study


def rows():
    """Every row of the tables that a copy writes to."""
    models = (Study, Item, Persona, Annotator, DemographicQuestion, QuotaGroup)
    return {model: list(model._base_manager.order_by("pk").values()) for model in models}


def test_a_copy_is_open_simulated_and_has_room_for_everybody(study):
    with copied(study) as copy:
        assert (copy.study.state, copy.study.entry) == (Study.State.OPEN, Study.Entry.PROLIFIC)
        assert copy.study.is_simulated
        assert copy.study.items_per_annotator == 3
        assert copy.quiz == [1]
        assert Item.everything.filter(study=copy.study).count() == 7
        assert set(Item.objects.filter(study=copy.study).values_list("seats_needed")) == {(3,)}
        assert copy.study.quota_groups.get().target > 1000


def test_seats_and_quotas_of_the_study_are_not_taken(study):
    before = rows()

    with copied(study) as copy:
        annotator = walk_in(copy.study, sex="f")
        assert annotator.study_id == copy.study.pk
        assert rows() != before

    assert rows() == before


def test_a_study_without_items_for_annotators_cannot_be_copied():
    empty = make_study(slug="empty")
    make_item(study=empty, split=Item.Split.PRACTICE)

    with pytest.raises(NoItemsToCopy, match=r"“empty” has no items for annotators\. Import items"):
        copied(empty).__enter__()

    assert list(Study.objects.all()) == [empty]


@pytest.mark.parametrize(
    ("host", "pid", "is_deleted"),
    [
        (socket.gethostname(), 2**22 + 1, True),
        (socket.gethostname(), os.getpid(), False),
        ("another machine", 2**22 + 1, False),
    ],
    ids=["it ended", "it runs", "on another machine"],
)
def test_only_copies_that_a_killed_load_test_left_are_deleted(host, pid, is_deleted):
    left = make_study()
    record(left, "copied for a load test", of="original", host=host, pid=pid)

    delete_leftovers()

    assert Study.objects.filter(pk=left.pk).exists() != is_deleted
