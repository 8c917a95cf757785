"""What holds a report's numbers to account: clusters, groups, several judges, thresholds."""

import datetime
from collections import Counter

import pytest

from analysis.data.dataset import load_dataset
from analysis.report.build import all_tables, build_report
from analysis.report.render import render_html
from analysis.stats import holm
from tests.analysis.builders import answer, judge_item, make_rater, make_run, random_study
from tests.analysis.partial import computed
from tests.factories import make_item, make_persona, make_study, stored_at_once

pytestmark = pytest.mark.django_db

TWO_JUDGES = (
    {"judge": "steady", "setting": "certainty", "features": "all"},
    {"judge": "other", "setting": "certainty", "features": "all"},
    {"judge": "third", "setting": "certainty", "features": "all"},
    {"judge": "third", "setting": "standard", "features": "none"},
)


def built(study, **options):
    return build_report(load_dataset(study.slug), **{"seed": 1, "bootstrap": 100} | options)


def page_of(report):
    return render_html(report, date=datetime.date(2026, 11, 20))


def scored_rows(report, side):
    """Items of a report that the side, "people" or the number of a run, got right or wrong."""
    rows = []
    for row in report["items"]:
        verdict = row["people"] if side == "people" else row["judges"][side]
        if verdict["correct"] is not None:
            rows.append((row, verdict))
    return rows


def test_every_main_cell_says_how_many_personas_and_questions_it_rests_on():
    study = random_study(5, n_items=60, truths=("r1", "r2"))
    report = computed(study, "accuracies", "items_one_by_one")

    for side, cells in (("people", report["human"]["majority"]), (0, report["judges"][0])):
        rows = scored_rows(report, side)
        high = [(r, v) for r, v in rows if v["certainty"] is not None and v["certainty"] >= 80]
        for cell, chosen in ((cells, rows), (cells["high"], high)):
            assert cell["n"] == len(chosen) > 0
            assert cell["clusters"]["personas"] == len({row["persona"] for row, _ in chosen})
            assert cell["clusters"]["questions"] == len({row["question"] for row, _ in chosen})
    assert report["human"]["individual"]["clusters"]["people"] == 8


def test_groups_of_30_are_compared_with_holm_and_smaller_ones_are_not():
    study = make_study()
    run, other = (make_run(study=study, judge=judge) for judge in ("a", "b"))
    with stored_at_once():
        for topic, n, right in (
            ("a", 40, 36),
            ("b", 40, 12),
            ("c", 30, 18),
            ("d", 29, 29),
            ("e", 9, 9),
        ):
            for number in range(n):
                item = make_item(
                    study=study,
                    topic=topic,
                    persona=make_persona(study=study),
                    question=f"{topic}{number}",
                    first_person="r1",
                )
                judge_item(run, item, "r1" if number < right else "r2", 70)
                judge_item(other, item, "r1" if number % 3 else "r2", 70)

    report = built(study)

    table = report["groups"][0]
    support = {row["value"]: row["judges"][0]["support"] for row in table["rows"]}
    assert support == {
        "a": "comparison",
        "b": "comparison",
        "c": "comparison",
        "d": "share",
        "e": "nothing",
    }
    pairs = {(p["first"], p["second"]): p for p in table["differences"]["judges"][0]}
    assert set(pairs) == {("a", "b"), ("a", "c"), ("b", "c")}
    assert pairs["a", "b"]["difference"] == pytest.approx(36 / 40 - 12 / 40)
    family = [
        pair
        for grouping in report["groups"]
        for side in (grouping["differences"]["people"], *grouping["differences"]["judges"])
        for pair in side
    ]
    assert len(family) > len(pairs)
    adjusted = holm([pair["p"] for pair in family])
    assert [pair["p_holm"] for pair in family] == pytest.approx(adjusted)
    cells = {row[0].text: row[3] for row in all_tables(report)["group_1"].cells}
    assert (cells["e"].text, cells["e"].small) == ("too few", True)
    assert (cells["d"].small, cells["c"].small) == (True, False)
    assert "Differences by Topic" in page_of(report)


def test_table_a_splits_every_topic_by_certainty():
    report = built(random_study(6, n_items=60, truths=("r1", "r2")))

    counted = Counter(
        (row["topic"], verdict["certainty"] >= 80, verdict["correct"])
        for row, verdict in scored_rows(report, "people")
        if verdict["certainty"] is not None
    )
    rows = {row[0]: row[1:3] for row in all_tables(report)["table_a"].rows}
    for topic in ("food", "travel"):
        for cell, is_high in zip(rows[topic], (True, False), strict=True):
            right, wrong = counted[topic, is_high, True], counted[topic, is_high, False]
            assert (cell["correct"], cell["n"]) == (right, right + wrong)


def test_how_each_person_worked_needs_ten_right_and_ten_wrong_for_an_area():
    study = make_study()
    short, long = make_rater(study=study, pseudonym="P-1"), make_rater(study=study, pseudonym="P-2")
    with stored_at_once():
        for number in range(24):
            item = make_item(study=study, first_person="r1")
            choice = "r1" if number % 2 else "r2"
            answer(long, item, choice, 90 if number % 2 else 20)
            if number < 8:
                answer(short, item, choice, 90 if number % 2 else 20)

    rows = {row["rater"]: row for row in computed(study, "annotators")["human"]["raters"]}

    assert (rows["P-1"]["auroc"], rows["P-1"]["auroc_reason"]) == (None, "too_few_items")
    assert rows["P-2"]["auroc"] == 1.0
    assert (rows["P-2"]["n"], rows["P-2"]["correct"], rows["P-2"]["share_a"]) == (24, 12, 0.5)
