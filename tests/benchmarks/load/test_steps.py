"""More and more people, until they are too many."""

import pytest

from benchmarks.load import measurement
from benchmarks.load.client import Scenario
from benchmarks.load.measurement import Measurement, Step, Times, carried, climb


def measured(people, *, wait=200.0, errors=None):
    times = Times(wait / 2, wait)
    return Measurement(
        people=people,
        answers=10,
        seconds=2.0,
        confirmed=12,
        errors=errors or {},
        entry=times,
        page=times,
        submit=times,
        wait=times,
        cpu=[0.25],
        client_cpu=0.1,
    )


@pytest.mark.parametrize(
    ("fields", "is_carried"),
    [({"wait": 1000.0}, True), ({"wait": 1000.1}, False), ({"errors": {"answer: 500": 1}}, False)],
)
def test_the_rule(fields, is_carried):
    assert Step(measured(5, **fields)).is_carried == is_carried


def test_climbing_stops_at_the_first_number_that_is_not_carried(monkeypatch):
    waits = {5: 100.0, 10: 500.0, 20: 1500.0}
    monkeypatch.setattr(
        measurement, "measure", lambda plan, on_tick: measured(plan.people, wait=waits[plan.people])
    )

    found = list(
        climb(Scenario("", "", 40, 1.0), on_step=lambda people: None, on_tick=lambda seconds: None)
    )

    assert [step.found.people for step in found] == [5, 10, 20]
    assert carried(found) == 10


def test_figures_as_json():
    assert Step(measured(5)).as_json() == {
        "people": 5,
        "carried": True,
        "answers": 10,
        "seconds": 2.0,
        "answers_per_second": 5.0,
        "answer_ms": {"p50": 100.0, "p95": 200.0},
        "next_item_ms": {"p50": 100.0, "p95": 200.0},
        "entry_ms": {"p50": 100.0, "p95": 200.0},
        "cpu_ms_per_answer": 25.0,
        "errors": {},
    }
