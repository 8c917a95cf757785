"""Runs with answers that another run asked or read differently."""

import pytest

from extras.administration.doctor.judge_checks import mixed_runs
from judging.models import Judgment
from tests.judging.conftest import engine, llm
from tests.judging.run_helpers import judge_all
from tests.judging.test_reuse import ASKED, judge, study_of

__all__ = ["engine", "judge", "llm"]


@pytest.mark.parametrize("is_old", [True, False])
def test_runs_that_were_mixed_in_the_past_are_found(judge, llm, is_old):
    reflected = judge_all(study_of("one"), judge, **ASKED, bias_probe="none+reflection")
    plain = judge_all(study_of("two"), judge, **ASKED)
    if is_old:  # as runs were before they stored what makes them alike
        for run in (reflected, plain):
            del run.parameters["protocol_sha256"], run.parameters["reading_version"]
            run.save()
    assert not list(mixed_runs())
    Judgment.objects.filter(run=plain).update(reused_from=reflected.judgments.get())

    [fault] = mixed_runs()

    assert fault.study == "two"
    assert fault.sentence == (
        f"Run {plain.public_id}: 1 of its answers were copied from run {reflected.public_id}, "
        "which asked or read differently."
    )
