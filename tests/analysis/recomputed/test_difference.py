"""The difference between a judge and the people in general, and its verdict, computed again."""

from collections import defaultdict

import pytest

from tests.analysis import brute_force_details as details
from tests.analysis import brute_force_intervals as intervals
from tests.analysis.recomputed.comparing import close, same

pytestmark = pytest.mark.django_db


def belongings(counted, keys):
    """Of every item its people, its persona and its question."""
    items = {item.key: item for item in counted.items}
    people = defaultdict(set)
    for row in counted.answers:
        people[row.assignment.item.key].add(row.assignment.annotator.pseudonym)
    return [
        [people[key] for key in keys],
        [{items[key].persona.key} for key in keys],
        [{items[key].question} for key in keys],
    ]


def test_the_difference_in_general_and_its_verdict(report, counted):
    """Mean, interval, p values, Holm over the runs that compete, and the headline from them."""
    seen = {}
    for versus in report["comparison"]:
        own = counted.judges[versus["run"]]
        keys = sorted(key for key in own if key in counted.people)
        found = versus["difference_general"]
        if not keys:
            assert found["value"] is None
            continue
        gaps = [own[key][0] - counted.people[key][0] for key in keys]
        people = {name for row in belongings(counted, keys)[0] for name in row}
        answers = sum(len(row) for row in belongings(counted, keys)[0])
        if len(people) < max(8, 4 * answers / len(keys)):
            assert found["too_few"] == ["people"]
            assert (found["ci"], found["p"], found["state"]) == (None, None, None)
            continue
        expected = intervals.General(gaps, belongings(counted, keys))
        assert same(found["value"], expected.mean)
        assert close(found["ci"], expected.interval())
        assert close(found["equivalence_ci"], expected.interval(0.9))
        p_equivalence = expected.p_equivalence(report["parameters"]["margin"])
        assert close((found["p"], found["equivalence_p"]), (expected.p(), p_equivalence))
        seen[versus["run"]] = (expected.p(), p_equivalence, found)
    whole = [v["run"] for v in report["comparison"] if v["features"] == "all" and v["run"] in seen]
    for place, key in ((0, "p_holm"), (1, "equivalence_p_holm")):
        adjusted = details.holm([seen[run][place] for run in whole])
        assert close([seen[run][2][key] for run in whole], adjusted)
    if report["headline"]["state"] not in ("no_truth",):
        chosen = seen.get(report["headline"]["run"])
        few = report["headline"]["state"] == "too_few"
        versus = next(v for v in report["comparison"] if v["run"] == report["headline"]["run"])
        assert few == (versus["mcnemar"]["n"] < 30)
        assert few or report["headline"]["state"] == verdict_of(chosen and chosen[2])


def verdict_of(found):
    if found is None:
        return "cannot_tell"
    if found["p_holm"] <= 0.05:
        return "better" if found["value"] > 0 else "worse"
    return "equivalent" if found["equivalence_p_holm"] <= 0.05 else "cannot_tell"


def test_accuracies_of_the_headline_allow_for_all_that_items_share(report, counted):
    sides = [(report["human"]["majority"], counted.people, True)]
    sides += [(judge, counted.judges[judge["run"]], False) for judge in report["judges"]]
    checked = 0
    for side, own, by_people in sides:
        keys = sorted(own)
        found = side["clusters"]
        if not keys or found["ci"] is None:
            continue
        kinds = belongings(counted, keys)[0 if by_people else 1 :]
        right = [float(own[key][0]) for key in keys]
        assert close(found["ci"], intervals.General(right, kinds).wilson())
        checked += 1
    assert checked >= (0 if report["headline"]["state"] == "no_truth" else 2)
