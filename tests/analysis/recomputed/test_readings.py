"""Lengths, sides, readings again, and a judge in a person's place, computed again."""

import numpy as np
import pytest

from analysis.stats import Votes, alt_test, alt_test_certainty
from tests.analysis import brute_force_details as by_hand
from tests.analysis import brute_force_groups
from tests.analysis.brute_force import CODES
from tests.analysis.builders import random_study
from tests.analysis.partial import computed
from tests.analysis.recomputed.comparing import same

pytestmark = pytest.mark.django_db


def test_longer_responses(report, counted):
    entries = [(report["human"], counted.majority)]
    entries += [(judge, counted.verdicts[judge["run"]]) for judge in report["judges"]]
    for side, said in entries:
        n, chosen, true = by_hand.verbosity(counted.items, said)
        found = side["verbosity"]
        assert found["n"] == n
        if n:
            assert same(found["longer_chosen"], chosen / n)
            assert same(found["longer_true"], true / n)
            assert same(found["difference"]["value"], (chosen - true) / n)


def test_each_persons_longest_run_in_the_order_of_their_items(report, counted):
    for rater in report["human"]["raters"]:
        own = [r for r in counted.answers if r.assignment.annotator.pseudonym == rater["rater"]]
        assert rater["longest_run"] == by_hand.longest_run(own)


def test_noise_and_what_goes_beyond_it(study, report, counted):
    for judge in report["judges"]:
        share, flipped = by_hand.noise(counted.items, counted.rows[judge["run"]])
        if study.judge_runs.get(key=judge["run"]).samples < 2:
            assert judge["noise"]["same_choice_reason"] == "one_sample"
            continue
        assert same(judge["noise"]["same_choice"], share)
        assert same(judge["noise"]["flipped"], flipped)
    assert len(report["ablations"]) == 1
    for entry in report["ablations"]:
        within, across = by_hand.change(
            counted.items, counted.rows[entry["compared_with"]], counted.rows[entry["run"]]
        )
        assert same(entry["beyond_noise"]["within"], within)
        assert same(entry["beyond_noise"]["across"], across)
        assert same(entry["beyond_noise"]["excess"], within - across)


@pytest.mark.nightly
def test_replacing_a_person_by_choice_and_by_certainty():
    runs = [{"judge": judge, "setting": "certainty"} for judge in ("steady", "other")]
    study = random_study(1, n_items=90, n_raters=5, per_item=(2, 3, 4), runs=runs)
    counted = brute_force_groups.Counted(study)
    keys = [item.key for item in counted.items]
    names = sorted({row.assignment.annotator.pseudonym for row in counted.answers})
    votes = Votes.from_long(
        [keys.index(row.assignment.item.key) for row in counted.answers],
        [names.index(row.assignment.annotator.pseudonym) for row in counted.answers],
        [CODES[row.choice] for row in counted.answers],
        [np.nan if row.certainty is None else row.certainty for row in counted.answers],
        n_items=len(keys),
    )

    report = computed(study, "paired_difference", "replacement")

    for versus in report["comparison"]:
        said = [counted.verdicts[versus["run"]][key] for key in keys]
        said = [(None, None) if verdict in (None, "tied") else verdict for verdict in said]
        choice = [CODES.get(choice, -1) for choice, _ in said]
        stated = [np.nan if certainty is None else certainty for _, certainty in said]
        found = versus["alt_test"]
        for ours, theirs in (
            (found, alt_test(votes, choice, epsilon=0.1)),
            (found["certainty"], alt_test_certainty(votes, stated, epsilon=0.1)),
        ):
            assert ours["tested"] == len(theirs.annotators) > 0
            assert (ours["skipped"], ours["passed"]) == (theirs.n_skipped, theirs.passed)
            assert same(ours["omega"], theirs.omega)
            assert same(ours["rho"], theirs.rho)
