"""Numbers about certainty, computed again."""

import pytest

from analysis.stats import wilson_interval
from analysis.stats.core.multiplicity import holm
from tests.analysis import brute_force_details as details
from tests.analysis import brute_force_groups as by_hand
from tests.analysis import brute_force_sides as by_side
from tests.analysis.recomputed.comparing import close, ends, pair, same

pytestmark = pytest.mark.django_db


def scorable(study, truth):
    return truth in ("r1", "r2") or (truth == "tie" and study.allow_tie)


def stated(side):
    """Item, certainty and whether it is right, of every scored answer with a certainty."""
    return [
        (key, certainty, right) for key, (right, certainty) in side.items() if certainty is not None
    ]


@pytest.mark.parametrize("threshold", [50, 60, 79, 80, 81, 95])
def test_high_and_low_at_every_threshold(report, counted, threshold):
    expected = by_hand.at_threshold(counted, threshold)
    steps = report["by_threshold"]
    sides = {"majority": steps["majority"], "individual": steps["individual"]}
    sides |= {j["run"]: s for j, s in zip(report["judges"], steps["judges"], strict=True)}

    for name, found in sides.items():
        step = next(step for step in reversed(found) if step["from"] <= threshold)
        assert (pair(step["high"]), pair(step["low"])) == expected[name], name
        for cell in (step["high"], step["low"]) if name in counted.judges else ():
            n, right = pair(cell)
            assert cell["ends"] is None or close(cell["ends"], ends(wilson_interval(right, n)))
    for topic in steps["topics"]:
        keys = [item.key for item in counted.items if item.topic == topic["value"]]
        topic_sides = [(topic["people"], counted.people)]
        for judge, found in zip(report["judges"], topic["judges"], strict=True):
            topic_sides.append((found, counted.judges[judge["run"]]))
        for found, side in topic_sides:
            step = next(step for step in reversed(found) if step["from"] <= threshold)
            for band, high in (("high", True), ("low", False)):
                assert pair(step[band]) == by_hand.count(side, keys, threshold, high=high)


def test_use_of_certainty(report, counted):
    for found, rows in by_side.all_sides(report, counted):
        stated = [(certainty, right) for right, certainty in rows if certainty is not None]
        for key, value in by_side.calibration(stated).items():
            assert same(found["calibration"][key], value), key
        certainty = found["certainty"]
        assert [pair(bar) for bar in certainty["histogram"]] == by_side.histogram(stated)
        assert [pair(band) for band in certainty["bands"]] == by_side.bands(stated)


def test_who_is_certain_where(report, counted):
    for versus in report["comparison"]:
        own = counted.judges[versus["run"]]
        cells = versus["certainty"]["high_sets"]["cells"]
        for name, (people, judge) in by_side.high_cells(own, counted.people).items():
            assert (pair(cells[name]["people"]), pair(cells[name]["judge"])) == (people, judge)


def test_certainties_item_by_item(report, counted):
    for versus in report["comparison"]:
        said = counted.verdicts[versus["run"]]
        pairs = details.certainty_pairs(counted.items, said, counted.majority)
        assert versus["certainty"]["items"] == len(pairs)
        if len(pairs) >= 3:
            mean = sum(judge - people for people, judge in pairs) / len(pairs)
            assert same(versus["certainty"]["mean_difference"], mean)


def test_bands_on_common_items(study, report, counted):
    whole = [versus for versus in report["comparison"] if versus["features"] == "all"]
    runs = {run.key: run for run in study.judge_runs.all()}
    expected = [
        details.by_band(
            counted.items, counted.verdicts[v["run"]], counted.majority, runs[v["run"]], study
        )
        for v in whole
    ]
    adjusted = iter(holm([b[band]["p"] for b in expected for band in ("high", "low")]))
    for versus, bands in zip(whole, expected, strict=True):
        for band in ("high", "low"):
            found, theirs = versus["by_band"][band], bands[band]
            assert {key: found[key] for key in "nbc"} == {key: theirs[key] for key in "nbc"}
            assert same(found["p"], theirs["p"])
            assert same(found["p_holm"], next(adjusted))
