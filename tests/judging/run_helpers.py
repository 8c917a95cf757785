"""Runs that are worked off in the test itself, and what came of them."""

from collections import Counter
from collections.abc import Callable
from typing import Any
from unittest.mock import patch

from django.test import TestCase

from judging.models import Judge, JudgeRun
from judging.runs import lifecycle
from judging.runs.spec import RunSpec
from judging.runs.start import start_run
from studies.models import Study
from tests.factories import make_items, make_study
from tests.judging.llm_server import LlmServer


def new_runs(**changes: Any) -> dict[str, Any]:
    """What the form of new runs sends."""
    fields = {"name": "Web", "judges": ["judge"], "settings": ["standard"], "features": ["all"]}
    limits = dict.fromkeys(("limit", "budget", "token_budget"), "")
    return {**fields, "orders": "both", "samples": "1", **limits, **changes}


def study_of(count: int) -> Study:
    """A new study with so many items."""
    study = make_study()
    make_items(study, count)
    return study


def start(study: Study, judge: Judge, **options: Any) -> JudgeRun:
    """Start a run that no worker is told of; `options` are those of its description."""
    return start_run(RunSpec(study_id=study.pk, judge_id=judge.pk, **options), enqueue=False)


def judge_all(study: Study, judge: Judge, **options: Any) -> JudgeRun:
    run = start(study, judge, **options)
    lifecycle.work_off(run_id=run.pk)
    run.refresh_from_db()
    return run


def called_by(work: Callable[[], Any]) -> list[int]:
    """The runs for which `work` queues tokens, one entry for each, once it is committed."""
    called: list[int] = []
    with patch("judging.tasks.queue_chunk", called.append):
        with TestCase.captureOnCommitCallbacks(execute=True):
            work()
    return called


def states(run: JudgeRun) -> Counter[str]:
    return Counter(run.judgments.values_list("state", flat=True))


def asked(llm: LlmServer) -> Counter[str]:
    """How often the server was asked each prompt."""
    return Counter(body["messages"][0]["content"] for body in llm.requests)
