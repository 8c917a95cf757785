"""What annotators, researchers and workers wait for, in studies of 10³ to 10⁶ items and answers.

    python -m benchmarks growth
    python -m benchmarks.growth --sizes 1000 1000000 --times 100

Each size gets an empty database next to the one that DATABASE_URL names (PostgreSQL; one of the
tests' without it), which the database fills itself. Every operation runs through the real pages or
services in this process. The table shows the median and the 95th percentile in milliseconds, and
the ratio of the percentiles to those of the smallest study: elapsed, and CPU time of this process
and of its PostgreSQL session. On a busy machine, use the CPU time.
"""

import argparse
import contextlib
import itertools
import os
import re
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from django.test import Client

SIZES = (1_000, 10_000, 100_000)
ROWS = 50  # of a list on one page; every study has as many annotators with thirty answers each
OTHERS = 199  # studies in the list next to the measured one
# An operation that takes seconds is measured less often.
_PATIENCE, _FEWEST = 20.0, 5
_TOKEN = re.compile(r'name="assignment" value="([^"]+)"')


def set_up() -> None:
    """Set up Django on the PostgreSQL of DATABASE_URL."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings.test")
    import django

    django.setup()
    from django.test.utils import setup_test_environment

    setup_test_environment()


@contextmanager
def empty_database(template: str) -> Iterator[None]:
    """Work on a copy of a migrated database that is deleted afterwards."""
    from django.db import connection

    connection.settings_dict["TEST"]["TEMPLATE"] = template
    connection.creation.create_test_db(verbosity=0, autoclobber=True)
    name = connection.settings_dict["NAME"]
    try:
        yield
    finally:
        connection.creation.destroy_test_db(name, verbosity=0)


Operation = tuple[str, Callable[[], Any]]


def add_studies(number: int) -> None:
    """Studies that are only listed: drafts, open and closed ones, with a line of log each."""
    from studies.models import Study, StudyLog

    states = (Study.State.DRAFT, Study.State.OPEN, Study.State.CLOSED)
    studies = Study.objects.bulk_create(
        Study(slug=f"other-{n}", title=f"Study {n}", state=states[n % 3]) for n in range(number)
    )
    StudyLog.objects.bulk_create(StudyLog(study=study, event="created") for study in studies)


def people(slug: str) -> Iterator[Operation]:
    """An annotator's way: the seats of an arrival, the item page, an answer, a return, an end."""
    from django.test import Client

    from annotation import services
    from annotation.models import Annotator
    from studies.models import Study

    study = Study.objects.get(slug=slug)
    numbers = itertools.count()
    arrived: list[int] = []

    def arrive() -> None:
        annotator = services.enter(study=study, pid=f"pid{next(numbers)}", session_id="s")
        services.consent(annotator_id=annotator.pk, version="v1")
        arrived.append(annotator.pk)

    def take_seats() -> None:
        services.finish_instructions(annotator_id=arrived[-1])

    def alternating(prepare: Callable[[], Any], work: Callable[[], Any]) -> Callable[[], Clock]:
        """The work alone is timed."""

        def timed() -> Clock:
            prepare()
            start = Clock.now()
            work()
            return Clock.now() - start

        return timed

    yield "entry and consent", arrive
    yield "30 seats", alternating(arrive, take_seats)

    client = Client()
    client.get(f"/s/{slug}/", {"PROLIFIC_PID": "clicks", "STUDY_ID": "s", "SESSION_ID": "s"})
    client.post(f"/s/{slug}/consent/", {"consent": "yes"})
    client.post(f"/s/{slug}/instructions/")
    page = {"text": ""}

    def open_item() -> None:
        page["text"] = client.get(f"/s/{slug}/task/1/").content.decode()

    def answer() -> None:
        form = {
            "assignment": _TOKEN.findall(page["text"])[0],
            "choice": "ab"[next(numbers) % 2],
            "certainty": "60",
        }
        if client.post(f"/s/{slug}/task/1/", form).status_code != 303:
            raise RuntimeError("The answer was refused.")

    yield "item page", open_item
    yield "answer", answer

    def leave_seats() -> None:
        services.time_out(annotator_id=arrived[-1])

    def hold_seats() -> None:
        arrive()
        take_seats()

    def come_and_leave() -> None:
        hold_seats()
        leave_seats()

    def return_to_seats() -> None:
        services.resume(annotator_id=arrived[-1])

    yield "release of 30 seats", alternating(hold_seats, leave_seats)
    yield "return to 30 seats", alternating(come_and_leave, return_to_seats)
    yield "sweep of expired seats", services.release_expired
    Annotator.objects.filter(pk__in=arrived).update(expires_at=None)


def monitor(slug: str, size: int) -> Iterator[Operation]:
    """A researcher's pages."""
    from django.contrib.auth.models import User
    from django.core.cache import cache
    from django.test import Client

    from annotation.models import Annotator
    from judging.models import JudgeRun
    from studies.models import Item

    client = Client()
    client.force_login(User.objects.get(username=f"owner of {slug}"))
    run = JudgeRun.objects.get(study__slug=slug).public_id
    last = Annotator.objects.filter(study__slug=slug).count() // ROWS
    item = Item.objects.filter(study__slug=slug).earliest("key").key
    somebody = Annotator.objects.filter(study__slug=slug).earliest("pk").pseudonym
    pages = {
        "studies": "/studies/",
        "study": f"/studies/{slug}/",
        "monitor": f"/studies/{slug}/monitor/",
        "disagreements": f"/studies/{slug}/disagreements/",
        "disagreements, a feature": f"/studies/{slug}/disagreements/?feature=age%3D40",
        "an item": f"/studies/{slug}/items/{item}/",
        "panel of annotators": f"/studies/{slug}/people/panel/",
        "annotators": f"/studies/{slug}/people/",
        "annotators, last page": f"/studies/{slug}/people/?page={last}",
        "an annotator": f"/studies/{slug}/people/annotator/?rater={somebody}",
        "places": f"/studies/{slug}/people/places/",
        "items": f"/studies/{slug}/items/",
        "items, last page": f"/studies/{slug}/items/?page={size // 50}",
        "panel of judges": f"/studies/{slug}/judges/panel/",
        "a run": f"/studies/{slug}/judges/{run}/",
        "a run, last page": f"/studies/{slug}/judges/{run}/?page={size // 20}",
        "a run's panel": f"/studies/{slug}/judges/{run}/panel/",
    }

    def count_again() -> None:
        cache.clear()
        client.get(pages["monitor"])

    yield "monitor, counted again", count_again
    compare(client, pages["disagreements"])
    for name, address in pages.items():

        def open_page(address: str = address) -> None:
            status = client.get(address).status_code
            if status != 200:
                raise RuntimeError(f"{address}: {status}")

        yield name, open_page


def compare(client: "Client", address: str) -> None:
    """Do the work that the first visit of the page of disagreements leaves to a worker."""
    from analysis.disagreements.comparisons import compare_queued
    from analysis.models import Comparison

    client.get(address)
    compare_queued(comparison_id=Comparison.objects.latest("pk").pk)


def workers(slug: str) -> Iterator[Operation]:
    """A judging worker's claim of the next questions, and its look whether the run has ended."""
    import secrets
    from datetime import timedelta

    from django.utils import timezone

    from judging.models import JudgeRun
    from judging.worker import chunks, run_states

    run = JudgeRun.objects.get(study__slug=slug)

    def claim() -> None:
        chunks.claim(
            run,
            secrets.token_hex(16),
            most=5,
            until=timezone.now() + timedelta(seconds=30),
        )

    yield "claim of 5 questions", claim
    yield "end of a chunk", lambda: run_states.end_if_done(run_id=run.pk)


@dataclass(frozen=True)
class Clock:
    """Seconds so far: by the clock, and of CPU here and in a local database's session."""

    elapsed: float
    cpu: float

    @classmethod
    def now(cls) -> "Clock":
        from django.db import connection

        connection.ensure_connection()
        session = Path(f"/proc/{connection.connection.info.backend_pid}/schedstat")
        own, its = time.process_time(), 0.0
        with contextlib.suppress(OSError):
            its = int(session.read_text().split()[0]) / 1e9
        return cls(time.perf_counter(), own + its)

    def __sub__(self, earlier: "Clock") -> "Clock":
        return Clock(self.elapsed - earlier.elapsed, self.cpu - earlier.cpu)


def measure(work: Callable[[], Any], times: int) -> list[Clock]:
    """The time of each repetition, without the first."""
    work()
    found: list[Clock] = []
    end = time.monotonic() + _PATIENCE
    while len(found) < times and (len(found) < _FEWEST or time.monotonic() < end):
        start = Clock.now()
        own = work()
        found.append(own if isinstance(own, Clock) else Clock.now() - start)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description="What grows with a study.")
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES)
    parser.add_argument("--times", type=int, default=50)
    parser.add_argument("--only", nargs="+", default=[""], help="operations that contain a word")
    options = parser.parse_args()
    from tests.migrated import migrated_postgres
    from tests.servers import postgres

    with postgres() as url, migrated_postgres(url) as template:
        os.environ["DATABASE_URL"] = url
        set_up()
        smallest: dict[tuple[str, str], float] = {}
        for size in options.sizes:
            with empty_database(template):
                run(size, options.times, options.only, smallest)


def run(size: int, times: int, only: list[str], smallest: dict[tuple[str, str], float]) -> None:
    """Measure one size, and print a row for each operation."""
    from benchmarks._grown_study import grow

    start = time.monotonic()
    slug = grow(size, fewest_people=ROWS).study.slug
    add_studies(OTHERS)
    sys.stdout.write(f"\n{size:,} items and answers, filled in {time.monotonic() - start:.0f} s\n")
    sys.stdout.write(f"{'milliseconds':28}{'elapsed':>10}{'p95':>10}{'ratio':>8}")
    sys.stdout.write(f"{'CPU':>10}{'p95':>10}{'ratio':>8}\n")
    for name, work in itertools.chain(monitor(slug, size), people(slug), workers(slug)):
        if not any(word in name for word in only):
            continue
        found = measure(work, times)
        line = f"{name:28}"
        for kind in ("elapsed", "cpu"):
            cuts = statistics.quantiles([1000 * getattr(clock, kind) for clock in found], n=20)
            ratio = cuts[18] / smallest.setdefault((name, kind), cuts[18])
            line += f"{cuts[9]:10.1f}{cuts[18]:10.1f}{ratio:8.2f}"
        sys.stdout.write(line + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
