"""Filters are found by what they say; nothing is ever dropped."""

import pytest

from annotation.prolific.api.types import Filter, WantedFilter, resolve

LIVE = [
    Filter("sex", "Sex", "select", {"7": "Male", "9": "Female"}, None, None),
    Filter("new-id", "U.S. Political Affiliation", "select", {"5": "Democrat"}, None, None),
    Filter("age", "Age", "range", {}, 18, 100),
]


def test_choices_are_found_by_label_whatever_their_id():
    found = resolve([WantedFilter("sex", ["female", "Male"])], LIVE)

    assert found.filters == [{"filter_id": "sex", "selected_values": ["9", "7"]}]


def test_a_filter_with_a_new_id_is_found_by_its_title():
    found = resolve([WantedFilter("us-political-affiliation", ["Democrat"])], LIVE)

    assert found.filters == [{"filter_id": "new-id", "selected_values": ["5"]}]


@pytest.mark.parametrize(
    ("wanted", "words"),
    [
        (WantedFilter("sex", ["Male", "Other"]), "no choice “Other”"),
        (WantedFilter("handedness", ["Left"]), "no filter “handedness”"),
        (WantedFilter("age", low=10), "from 18 to 100"),
        (WantedFilter("age", low=60, high=20), "from 18 to 100"),
        (WantedFilter("sex", low=1), "no longer takes a range"),
    ],
)
def test_filters_missing_from_the_live_list_are_problems_never_dropped(wanted, words):
    found = resolve([wanted], LIVE)

    assert found.filters == []
    assert words in found.problems[0]
