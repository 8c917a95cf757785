"""Runs through trouble, small: benchmarks/judge_faults.py is the same at full size."""

import pytest

from benchmarks import judge_faults
from tests.judging.simulated import demo_study

# As at full size, but over sooner.
FAULTS = {
    name: fault | ({"lasts": 1.5} if "lasts" in fault else {})
    for name, fault in judge_faults.FAULTS.items()
}


@pytest.mark.slow
@pytest.mark.sampled(keep=1)
@pytest.mark.parametrize("name", FAULTS)
def test_every_judgment_ends_and_every_request_is_in_the_ledger(name, engine, tmp_path):
    study = demo_study(tmp_path)

    with judge_faults.server() as url:
        outcome = judge_faults.judge_through(
            url, FAULTS[name], study_id=study.pk, orders="both", limit=60
        )

    assert outcome.is_right, outcome
    assert sum(outcome.judgments.values()) == 120
    assert outcome.judgments["done"] >= 110
    assert sum(outcome.attempts.values()) > 120  # the trouble was there
