"""Measure how many simultaneous annotators a server can serve, on a copy of a study."""

import json
import os
import secrets
import signal
import socket
import sys
import time
from argparse import ArgumentParser
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from types import FrameType
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.db import IntegrityError, transaction

from annotation.errors import AnnotationError
from annotation.models import ComprehensionQuestion, QuotaGroup
from benchmarks.load import measurement
from benchmarks.load.client import Scenario
from benchmarks.load.measurement import RULE, Step, carried, climb, numbers
from studies.management.terminal import find_study, progress_bar
from studies.models import Item, Study, StudyLog
from studies.services.studies import record
from studies.services.whole_studies import copy_study, delete_rows

_EVENT = "copied for a load test"
_PLACES = 1_000_000  # in each quota group of the copy, so that nobody is turned away
_ATTEMPTS = 5  # to delete the copy while the server may still store a last answer


class NoItemsToCopy(AnnotationError):
    """The study has no items for annotators."""


@dataclass(frozen=True)
class Copy:
    """An open copy of a study, and the right option of each of its comprehension questions."""

    study: Study
    quiz: list[int]


@contextmanager
def copied(study: Study) -> Iterator[Copy]:
    """A copy of the study, which is deleted at the end, also after an error or Ctrl-C.

    It takes nothing from the study: it has its own seats, quota places, settings, texts and
    questions, and no connection to Prolific. Copies left by killed load tests are deleted first.
    """
    delete_leftovers()
    copy = _create(study)
    try:
        yield copy
    finally:
        delete(copy.study)


def delete_leftovers() -> None:
    """Delete copies of load tests on this machine that are no longer running."""
    for entry in StudyLog.objects.filter(event=_EVENT).select_related("study"):
        if entry.detail["host"] == socket.gethostname() and not _runs(entry.detail["pid"]):
            delete(entry.study)


def delete(study: Study) -> None:
    """Delete a copy with everything that simulated annotators stored in it."""
    Study.objects.filter(pk=study.pk).update(state=Study.State.CLOSED)
    for attempt in range(1, _ATTEMPTS + 1):
        try:
            delete_rows(study)
            return
        except IntegrityError:
            if attempt == _ATTEMPTS:
                raise
            time.sleep(1)


@transaction.atomic
def _create(study: Study) -> Copy:
    if not Item.objects.filter(study=study, seats_needed__gt=0).exists():
        raise NoItemsToCopy(f"“{study.slug}” has no items for annotators. Import items first.")
    copy = copy_study(
        study_id=study.pk,
        slug=f"load-test-{secrets.token_hex(4)}",
        title=f"Load test of “{study.slug}”"[:200],
        with_items=True,
        entry=Study.Entry.PROLIFIC,
        is_simulated=True,
    )
    record(copy, _EVENT, of=study.slug, host=socket.gethostname(), pid=os.getpid())
    Study.objects.filter(pk=copy.pk).update(state=Study.State.OPEN)
    copy.state = Study.State.OPEN
    QuotaGroup.objects.filter(study=copy).update(target=_PLACES)
    questions = ComprehensionQuestion.objects.filter(study=copy)
    return Copy(copy, [question.right for question in questions])


def _runs(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return True


_SITE = "benchmarks.load.participants:SimulatedAnnotator"
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
        "Measure how many simultaneous annotators this machine can serve. Simulated annotators go "
        "through the pages of a copy of the study, which is deleted afterwards; the study itself "
        f"does not change. {RULE} Exits with 1 if it cannot serve that many people."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("study", help="short name of the study")
        parser.add_argument(
            "--people",
            type=positive,
            default=40,
            help="maximum number of simultaneous people (default: 40)",
        )
        parser.add_argument(
            "--think",
            type=seconds,
            default=3.0,
            metavar="SECONDS",
            help="mean reading time per item before answering (default: 3)",
        )
        parser.add_argument(
            "--seconds",
            type=positive,
            default=20,
            help="measured time for each number of people (default: 20)",
        )
        parser.add_argument(
            "--url",
            help="a web server running on this machine, for example http://127.0.0.1:8000 "
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
                given = measurement.running_server(options["url"]) if options["url"] else None
                copy = stack.enter_context(copied(study))
                target = given or stack.enter_context(measurement.own_server(copy.study.slug))
                measurement.check_database(target, copy.study.slug)
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
        """Measure every number of people, and print a line for each."""
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
                f"This machine can serve {most} people at once; {steps[-1].found.people} are too "
                f"many, with {options['think']:g} seconds of reading before an answer."
            )
        if not options["json"]:
            self.stdout.write(
                f"This machine can serve {wanted} people at once, or more, with "
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
