"""The majorities of an export are those of the report."""

import numpy as np
import pytest

from analysis.data.dataset import load_dataset
from analysis.data.item_comparisons import aggregate_rows
from analysis.data.verdicts import people_verdicts, run_verdicts
from analysis.exports.columns import AGGREGATES, in_columns
from tests.analysis.builders import answer, judge_item, make_rater, make_run, random_study
from tests.factories import make_item, make_study

pytestmark = pytest.mark.django_db
CODES = {"r1": 0, "r2": 1, "tie": 2, None: -1}


@pytest.mark.sampled(keep=1)
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_every_verdict_certainty_and_score_is_that_of_the_report(seed):
    study = random_study(seed)
    data = load_dataset(study.slug)
    reported = {"": people_verdicts(data)} | {run.run: run_verdicts(data, run) for run in data.runs}
    keys = [item.key for item in data.items]

    rows = list(in_columns(aggregate_rows(study), AGGREGATES))

    assert {row["run"] or "" for row in rows} == set(reported)
    for row in rows:
        verdicts, index = reported[row["run"] or ""], keys.index(row["item_id"])
        assert CODES[row["verdict"]] == verdicts.answer[index]
        assert {True: 1, False: 0, None: -1}[row["correct"]] == verdicts.correct[index]
        mean = verdicts.certainty[index]
        assert row["certainty"] == (None if np.isnan(mean) else pytest.approx(mean))
        assert row["answers"] == verdicts.majority.n_votes[index]
        assert row["r1"] + row["r2"] + row["tie"] == row["answers"]
        assert (row["verdict"] is None) == (row["verdict_reason"] is not None)


def test_who_is_excluded_counts_nowhere_and_a_shared_maximum_is_no_verdict():
    study = make_study()
    item = make_item(study=study)
    for choice in ("r1", "r2"):
        answer(make_rater(study=study), item, choice)
    answer(
        make_rater(study=study, excluded_at="2026-01-01T00:00Z", exclusion_reason="late"),
        item,
        "r1",
    )

    (row,) = in_columns(aggregate_rows(study), AGGREGATES)

    assert (row["answers"], row["verdict"], row["verdict_reason"]) == (2, None, "tied")
    assert (row["share"], row["certainty"], row["correct"]) == (None, None, None)


def test_a_run_that_said_nothing_has_a_row_that_says_so():
    study = make_study()
    judge_item(make_run(study=study), make_item(study=study), state="refused")

    (row,) = in_columns(aggregate_rows(study), AGGREGATES)

    assert (row["answers"], row["verdict"], row["verdict_reason"]) == (0, None, "no_answers")


def test_a_true_tie_is_a_truth_only_where_a_tie_was_offered():
    study = make_study()
    item = make_item(study=study, first_person="tie")
    judge_item(make_run(study=study, setting="certainty"), item, "r1", 60)
    judge_item(make_run(study=study, setting="tie"), item, "r1")

    rows = {row["setting"]: row["correct"] for row in in_columns(aggregate_rows(study), AGGREGATES)}

    assert rows == {"certainty": None, "tie": False}
