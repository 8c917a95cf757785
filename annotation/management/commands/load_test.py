import json
import signal
import sys
from argparse import ArgumentParser
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from types import FrameType
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from annotation.errors import AnnotationError
from annotation.load_test import server
from annotation.load_test.client import Scenario
from annotation.load_test.steps import RULE, Step, carried, climb, numbers
from annotation.load_test.study_copy import copied
from studies.management.progress import progress_bar
from studies.management.study_lookup import find_study

_SITE = "annotation.load_test.participants:SimulatedAnnotator"
_ROW = "{:>6}  {:>9}  {:>17}  {:>17}  {:>10}  {:>6}"


def positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise ValueError
    return number


def seconds(text: str) -> float:
    number = float(text)
    if not 0 <= number <= 3600:
        raise ValueError
    return number


class Command(BaseCommand):
    help = (
        "Measure how many annotators at once this machine carries. Simulated annotators go through "
        "the pages of a copy of the study, which is deleted afterwards; the study itself does not "
        f"change. {RULE} It exits 1 if that many people are not carried."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("study", help="short name of the study")
        parser.add_argument(
            "--people", type=positive, default=40, help="the most people at once (default: 40)"
        )
        parser.add_argument(
            "--think",
            type=seconds,
            default=3.0,
            metavar="SECONDS",
            help="mean time that a person reads an item before answering (default: 3)",
        )
        parser.add_argument(
            "--seconds",
            type=positive,
            default=20,
            help="measured time for each number of people (default: 20)",
        )
        parser.add_argument(
            "--url",
            help="a web server that runs on this machine, for example http://127.0.0.1:8000 "
            "(default: start one for the test, on the same database)",
        )
        parser.add_argument(
            "--without-javascript",
            action="store_true",
            help="load every item as a new page, as browsers without JavaScript do",
        )
        parser.add_argument("--json", action="store_true", help="print the result as JSON")

    def handle(self, *args: Any, **options: Any) -> None:
        study = find_study(options["study"])
        try:
            with ExitStack() as stack:
                stack.enter_context(_ended_by_sigterm())
                given = server.running_server(options["url"]) if options["url"] else None
                copy = stack.enter_context(copied(study))
                target = given or stack.enter_context(server.own_server(copy.study.slug))
                server.check_database(target, copy.study.slug)
                scenario = Scenario(
                    _SITE,
                    target.url,
                    options["people"],
                    options["seconds"],
                    think=options["think"],
                    headers=target.headers,
                    processes=target.processes,
                    options={
                        "slug": copy.study.slug,
                        "quiz": copy.quiz,
                        "script": not options["without_javascript"],
                    },
                )
                steps = self._measure(scenario, show=not options["json"])
        except AnnotationError as error:
            raise CommandError(str(error)) from error
        self._sum_up(steps, options)

    def _measure(self, scenario: Scenario, *, show: bool) -> list[Step]:
        """Measure every number of people, and print a line after each."""
        steps = []
        if show:
            self.stdout.write(RULE)
            head = ("people", "answers/s", "answer p50/p95 ms", "next item p50/p95", "CPU ms each")
            self.stdout.write(_ROW.format(*head, "errors"))
        total = round(scenario.seconds * len(numbers(scenario.people)))
        with progress_bar(sys.stderr, total=total, label="load test") as bar:
            for step in climb(
                scenario,
                on_step=lambda people: bar.set_description(f"{people} people"),
                on_tick=bar.update,
            ):
                steps.append(step)
                if show:
                    self.stdout.write(_line(step))
        return steps

    def _sum_up(self, steps: list[Step], options: dict[str, Any]) -> None:
        most, wanted = carried(steps), options["people"]
        if options["json"]:
            result = {
                "study": options["study"],
                "think_seconds": options["think"],
                "rule": RULE,
                "people_carried": most,
                "steps": [step.as_json() for step in steps],
            }
            self.stdout.write(json.dumps(result, indent=2))
        for message, count in steps[-1].found.errors.items():
            self.stderr.write(f"{count:,} × {message}")
        if most < wanted:
            raise CommandError(
                f"This machine carries {most} people at once; {steps[-1].found.people} are too "
                f"many, with {options['think']:g} seconds of reading before an answer."
            )
        if not options["json"]:
            self.stdout.write(
                f"This machine carries {wanted} people at once, or more, with "
                f"{options['think']:g} seconds of reading before an answer."
            )


def _line(step: Step) -> str:
    found = step.found
    cpu = "–" if found.cpu_ms is None else f"{found.cpu_ms:.1f}"
    errors = sum(found.errors.values())
    return _ROW.format(
        found.people, f"{found.rate:.1f}", str(found.submit), str(found.wait), cpu, errors
    )


@contextmanager
def _ended_by_sigterm() -> Iterator[None]:
    """Let SIGTERM end the command as Ctrl-C does, so that the copy is deleted."""

    def leave(number: int, frame: FrameType | None) -> None:
        raise SystemExit(128 + number)

    before = signal.signal(signal.SIGTERM, leave)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
