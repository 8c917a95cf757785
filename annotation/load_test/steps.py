"""How many people at once a server carries: more and more of them, until it is too slow."""

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace
from typing import Any

from annotation.load_test.client import Scenario
from annotation.load_test.measurement import Measurement, measure

LIMIT_MS = 1000
RULE = (
    "A number of people is carried if no request fails and, for 95 of 100 answers, the next item "
    "is there within one second of sending the answer."
)


@dataclass(frozen=True)
class Step:
    """One number of people."""

    found: Measurement

    @property
    def is_carried(self) -> bool:
        p95 = self.found.wait.p95
        return not self.found.errors and p95 is not None and p95 <= LIMIT_MS

    def as_json(self) -> dict[str, Any]:
        found = self.found
        return {
            "people": found.people,
            "carried": self.is_carried,
            "answers": found.answers,
            "seconds": round(found.seconds, 2),
            "answers_per_second": round(found.rate, 2),
            "answer_ms": _rounded(asdict(found.submit)),
            "next_item_ms": _rounded(asdict(found.wait)),
            "entry_ms": _rounded(asdict(found.entry)),
            "cpu_ms_per_answer": None if found.cpu_ms is None else round(found.cpu_ms, 1),
            "errors": found.errors,
        }


def numbers(people: int) -> list[int]:
    """5, 10, 20, 40 and so on up to `people`, which is the last."""
    found = []
    step = 5
    while step < people:
        found.append(step)
        step *= 2
    return [*found, people]


def climb(
    scenario: Scenario, *, on_step: Callable[[int], Any], on_tick: Callable[[float], Any]
) -> Iterator[Step]:
    """Measure each number of people up to the scenario's; stop after one that is not carried."""
    for people in numbers(scenario.people):
        on_step(people)
        step = Step(measure(replace(scenario, people=people), on_tick=on_tick))
        yield step
        if not step.is_carried:
            return


def carried(steps: list[Step]) -> int:
    """The largest number of people that was carried; 0 if none was."""
    return max((step.found.people for step in steps if step.is_carried), default=0)


def _rounded(times: dict[str, float | None]) -> dict[str, float | None]:
    return {name: None if ms is None else round(ms, 1) for name, ms in times.items()}
