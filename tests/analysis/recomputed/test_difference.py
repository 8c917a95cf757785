"""The difference between a judge and the people in general, and its verdict, from plain rows.

Intervals are those of `analysis.stats`, whose own tests hold them against their definition.
"""

import numpy as np
import pytest

from analysis.stats import Sharing, Votes, general_difference, general_proportion
from analysis.stats.core.multiplicity import holm
from tests.analysis.recomputed.comparing import close, same

pytestmark = pytest.mark.django_db


def sharing(counted, keys, *, by_people=True):
    """Of these items their people, personas and questions."""
    items = {item.key: item for item in counted.items}
    place = {key: number for number, key in enumerate(keys)}
    rows = [
        (place[row.assignment.item.key], row.assignment.annotator.pseudonym)
        for row in counted.answers
        if row.assignment.item.key in place
    ]
    names = sorted({name for _, name in rows})
    votes = Votes.from_long(
        [item for item, _ in rows],
        [names.index(name) for _, name in rows],
        [0] * len(rows),
        n_items=len(keys),
    )
    codes = {
        "persona": np.unique([items[key].persona.key for key in keys], return_inverse=True)[1],
        "question": np.unique([items[key].question for key in keys], return_inverse=True)[1],
    }
    return Sharing.of_items(len(keys), codes, *[votes] if by_people else []), names, rows


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
        shared, people, answers = sharing(counted, keys)
        if len(people) < max(8, 4 * len(answers) / len(keys)):
            assert found["too_few"] == ["people"]
            assert (found["ci"], found["p"], found["state"]) == (None, None, None)
            continue
        expected = general_difference(gaps, shared, margin=report["parameters"]["margin"])
        assert same(found["value"], sum(gaps) / len(gaps))
        if expected.interval is None:
            assert (found["ci"], found["p"], found["state"]) == (None, None, None)
            continue
        for key, interval in (("ci", expected.interval), ("equivalence_ci", expected.narrow)):
            assert close(found[key], (interval.low, interval.high))
        assert close((found["p"], found["equivalence_p"]), (expected.p, expected.p_equivalence))
        seen[versus["run"]] = (expected.p, expected.p_equivalence, found)
    whole = [v["run"] for v in report["comparison"] if v["features"] == "all" and v["run"] in seen]
    for place, key in ((0, "p_holm"), (1, "equivalence_p_holm")):
        adjusted = holm([seen[run][place] for run in whole])
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
        shared, *_ = sharing(counted, keys, by_people=by_people)
        expected = general_proportion([own[key][0] for key in keys], shared).interval
        assert close(found["ci"], (expected.low, expected.high))
        checked += 1
    assert checked >= (0 if report["headline"]["state"] == "no_truth" else 2)
