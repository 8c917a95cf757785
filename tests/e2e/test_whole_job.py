"""Items go to people and to models as processes on one machine, and the report is right."""

import json
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest

from demo.annotators import SimulatedAnnotator
from demo.bundle import write_bundles
from demo.truth import World
from tests.e2e import raw
from tests.e2e.checks import check_report
from tests.e2e.stack import Stack

STUDY = "whole-job"
PEOPLE, ITEMS, ITEMS_EACH = 15, 50, 10

pytestmark = pytest.mark.e2e


def make_study(stack: Stack, world: World) -> None:
    items, _ = write_bundles(stack.folder / "bundles", world)
    settings = stack.folder / "study.toml"
    settings.write_text(f'title = "Whole job"\nitems_per_annotator = {ITEMS_EACH}\n', "utf-8")
    stack.manage(
        ["create_study", STUDY, "--from", str(settings)],
        ["import_items", STUDY, str(items), "--limit", str(ITEMS)],
    )


def arrive_all(stack: Stack, world: World) -> list[SimulatedAnnotator]:
    """Everybody arrives at the same moment and gets items."""
    people = [
        SimulatedAnnotator(number, STUDY, stack.base_url, world) for number in range(1, PEOPLE + 1)
    ]

    def come_in(person: SimulatedAnnotator) -> None:
        person.arrive()
        person.take_seat()

    with ThreadPoolExecutor(PEOPLE) as pool:
        list(pool.map(come_in, people))
    return people


def acknowledged(people: list[SimulatedAnnotator]) -> set[tuple[str, str, str, int | None]]:
    return {
        (person.pid, answer.item, answer.choice, answer.certainty)
        for person in people
        for answer in list(person.acknowledged)
    }


def wait_until(is_so: Callable[[], bool], *, seconds: float = 600) -> None:
    deadline = time.monotonic() + seconds
    while not is_so():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_fifteen_people_and_two_judges_and_a_killed_web_server_give_a_true_report(stack):
    world = World()
    stack.start()
    make_study(stack, world)

    people = arrive_all(stack, world)
    with ThreadPoolExecutor(PEOPLE) as pool:
        work = [pool.submit(person.finish) for person in people]
        wait_until(lambda: len(acknowledged(people)) >= PEOPLE * ITEMS_EACH // 3)
        stack.kill_web()
        time.sleep(0.5)  # what was under way has failed, and everybody is trying again
        before = acknowledged(people)
        survived = raw.stored_by_person(stack, STUDY)
        stack.start_web()
        codes = {each.result(timeout=600) for each in work}

    assert len(before) < PEOPLE * ITEMS_EACH
    assert before <= survived
    assert raw.stored_by_person(stack, STUDY) == acknowledged(people)
    assert len(codes) == 1
    seats = stack.query("SELECT seats_taken, answered FROM studies_item WHERE seats_needed = 3")
    assert seats == [(3, 3)] * ITEMS

    openai = ["--backend", "openai", "--base-url", stack.llm_url]
    for name in ("steady", "lefty"):
        stack.manage(
            ["add_judge", name, "--model", f"demo-{name}", *openai],
            ["judge", STUDY, "--judge", name, "--setting", "certainty", "--wait"],
        )
    out = stack.folder / "report"
    stack.manage(["report", STUDY, "--out", str(out)])

    report = json.loads((out / "report.json").read_text("utf-8"))
    check_report(stack, STUDY, report)
    assert {judge["judge"] for judge in report["judges"]} == {"steady", "lefty"}
    assert (out / "report.html").stat().st_size > 10_000
