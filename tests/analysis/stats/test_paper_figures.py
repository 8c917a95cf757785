"""The figures of the released Command R+ judgments on PRISM; see docs/replication.md.

The files may not be part of this project. The tests exist where THIRDPERSON_PAPER_OUTPUTS names
the folder that holds them.
"""

import json
import os
from pathlib import Path

import numpy as np
import pytest

from analysis.stats import (
    brier_score,
    count_pairs,
    discrimination,
    mcnemar,
    paired_difference,
    position_bias_single_order,
    risk_coverage,
    verbosity_bias,
)
from tests.analysis.stats.reference import vector

RELEASED = os.environ.get("THIRDPERSON_PAPER_OUTPUTS")
WITH_PERSONA = "prism_all_features_command-r-plus.jsonl"
WITHOUT_PERSONA = "prism_no_persona_command-r-plus_new.jsonl"


def read(name):
    """Rows of a file; texts hold carriage returns, so lines end at a line feed alone."""
    text = (Path(RELEASED) / name).read_bytes().decode()
    return [json.loads(line) for line in text.split("\n") if line.strip()]


def sides(rows, key):
    return np.array([{"A": 0, "B": 1}.get(row[key], -1) for row in rows])


def right(rows):
    """1 right, 0 wrong, -1 where there is no verdict or the truth is a tie."""
    answer, truth = sides(rows, "answer"), sides(rows, "ground_truth")
    return np.where((answer >= 0) & (truth >= 0), (answer == truth).astype(int), -1)


if RELEASED:

    @pytest.fixture(scope="module")
    def rows():
        return read(WITH_PERSONA)

    @pytest.fixture(scope="module")
    def certainty(rows):
        return np.array([float(row["certainty"]) for row in rows])

    def test_auroc_brier_score_and_risk(rows, certainty):
        expected = vector("prism_command_r_plus_metrics")

        assert discrimination(certainty, right(rows)).auroc == pytest.approx(expected["auroc"])
        assert brier_score(certainty, right(rows)).value == pytest.approx(expected["brier"])
        assert certainty.mean() == pytest.approx(expected["mean_conf"])
        curve = risk_coverage(certainty, right(rows))
        assert 80 not in curve.threshold
        for tau, (k, n) in expected["sweep"].items():
            last = np.flatnonzero(curve.threshold >= int(tau))[-1]
            assert curve.coverage[last] * curve.n == pytest.approx(n)
            assert (1 - curve.risk[last]) * n == pytest.approx(k)

    def test_verbosity(rows):
        """The reference takes the second of two equally long responses for the longer one."""
        expected = vector("verbosity_prism_command_r")
        first, second = ([len(row[key]) for row in rows] for key in ("asst_A", "asst_B"))
        answer, truth = sides(rows, "answer"), sides(rows, "ground_truth")

        ours = verbosity_bias(first, second, answer, truth)
        theirs = verbosity_bias(np.array(first) - 0.5, second, answer, truth)

        assert ours.n_equal == expected["ties_len"]
        assert (round(ours.longer_chosen, 4), round(ours.longer_true, 4)) == (0.6887, 0.6476)
        assert theirs.longer_chosen == pytest.approx(expected["P(longer chosen)"])
        assert theirs.longer_true == pytest.approx(expected["P(longer true)"])
        assert theirs.difference.value == pytest.approx(expected["bias_minus_truth"])

    def test_leaving_the_persona_out_pair_by_pair(rows):
        """Pairs share question and both responses, in whatever order they were shown."""
        expected = vector("persona_ablation_pairs")["prism command-r+: all vs no persona"]

        def by_content(rows):
            return {
                (row["question"], frozenset((row["asst_A"], row["asst_B"]))): row for row in rows
            }

        one, two = by_content(rows), by_content(read(WITHOUT_PERSONA))
        common = sorted(one.keys() & two.keys(), key=lambda key: (key[0], sorted(key[1])))
        first, second = ([side[key] for key in common] for side in (one, two))

        pairs = count_pairs(right(first), right(second))
        difference = paired_difference(pairs)

        assert (pairs.n, pairs.b, pairs.c) == tuple(expected[key] for key in "nbc")
        assert difference.value == pytest.approx(expected["delta"])
        interval = (difference.interval.low, difference.interval.high)
        assert interval == pytest.approx(expected["ci95_tango"], abs=1e-6)
        assert mcnemar(pairs).p == pytest.approx(expected["mcnemar_exact"])
        chosen = [
            [row[{"A": "asst_A", "B": "asst_B"}[row["answer"]]] for row in side]
            for side in (first, second)
        ]
        same = np.mean([a == b for a, b in zip(*chosen, strict=True)])
        assert same == pytest.approx(expected["same_choice"], abs=1e-12)

    @pytest.mark.parametrize("name", sorted(vector("position_bias_single_order_paper_files")))
    def test_the_pull_of_the_place_in_every_released_file(name):
        case, rows = vector("position_bias_single_order_paper_files")[name], read(name)

        result = position_bias_single_order(sides(rows, "answer"), sides(rows, "ground_truth"))

        assert result.share_first == pytest.approx(case["share_A"])
        assert (result.first_when_second, result.second_when_first) == (
            case["n_A_when_B"],
            case["n_B_when_A"],
        )
        assert result.p == pytest.approx(case["mcnemar_marginal_p"], rel=1e-6)
