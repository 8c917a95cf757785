"""Which studies belong together, and what a file may claim about that."""

import pytest

from studies.services import related_studies
from tests.factories import make_study

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def copies(monkeypatch):
    changed = related_studies.KindOfCopy("changed", copy="changed", origin="unchanged")
    monkeypatch.setattr(related_studies, "RELATED", [])
    monkeypatch.setattr(related_studies, "COPIES", [changed])


def words_of(study):
    return {each.study.slug: each.words for each in related_studies.related_studies(study)}


def test_a_copy_and_its_origin_name_each_other_and_copies_of_both_belong_to_the_series():
    first = make_study(slug="first")
    second = make_study(slug="second", source={"changed": {"from": "first"}})
    third = make_study(slug="third", source={"changed": {"from": "second"}})
    assert words_of(second) == {"first": "unchanged", "third": "changed"}
    assert related_studies.all_related(first) == {second.pk, third.pk}


@pytest.mark.parametrize("noted", [{"from": "own"}, {"from": ["x"]}, {"from": None}, ["from"], "x"])
def test_a_source_from_a_file_can_say_anything(noted):
    make_study(slug="other")
    assert words_of(make_study(slug="own", source={"changed": noted})) == {}
