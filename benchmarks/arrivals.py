"""A thousand people at the door: waves of arrivals, beside oTree and a bare Django view.

    python -m benchmarks arrivals
    python -m benchmarks.arrivals --people 100 --rounds 1 --every 10
    python -m benchmarks.arrivals --earlier 4000

In each round 1,000 people arrive in four waves within two minutes, half of them by links of a
simulated Prolific that takes 0.2 s for each question about them, half by an open link. Each reads
every page for a few seconds, agrees, answers the question of the quota groups, reads the
instructions, answers three items and completes. Seats and group places are as many as people, so
that every one must be filled exactly once. The server is as `make run` starts it, with two web
processes, on a fresh database of PostgreSQL; people, database and Prolific are on the same machine.

The entry of a person is the time that they wait from opening the link until they see the first
item, in all; an answer, from sending it until the next item is there. Time for reading is not
counted. Then twenty people answer without a pause, here and in a Django project with one view that
inserts one row (`benchmarks.peers.bare`). In the first round, the first wave also goes to oTree,
which has neither consent nor groups.

With `--earlier`, so many people have completed the study on Prolific before. That makes no
difference, which `tests/annotation/prolific/test_entry_after_many.py` counts.

Prints the floor as `benchmarks.floor` does; exits 1 if a line is missed. On a machine that others
use too, read the medians: the 95th percentile is that of the busiest moment.
"""

import argparse
import asyncio
import json
import os
import random
import resource
import sys
import tempfile
import time
import urllib.request
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from benchmarks._environments import NotInstalled
from benchmarks._installation import Installation, postmaster
from benchmarks._machine import free_ports
from benchmarks.floor import Line
from benchmarks.load.client import LoadPerson, ServerProcess, cpu_seconds
from benchmarks.load.measurement import Times
from benchmarks.load.participants import (
    Browser,
    Response,
    SimulatedAnnotator,
    UnexpectedResponse,
)
from benchmarks.peers.people import OTreeParticipant
from benchmarks.peers.systems import Bare, OTree, System, Thirdperson
from benchmarks.peers.turns import SCRIPT, Turn, rate, ratios, take_turn
from demo.prolific.server import TOKEN
from tests.servers import postgres

ROOT = Path(__file__).resolve().parent.parent
ITEMS_EACH, ANSWERS_EACH = 3, 3
PROLIFIC, LINK = "door-prolific", "door-link"
SEXES = ("f", "m")
CLOSED_LOOP, SECONDS = 20, 4.0
PROLIFIC_SECONDS = 0.2


@dataclass(frozen=True)
class Waves:
    """When people arrive, and how long they read a page; seconds."""

    people: int = 1000
    waves: int = 4
    every: float = 25.0
    over: float = 10.0  # a wave does not arrive in one instant
    reading: float = 3.0

    def arrivals(self) -> list[float]:
        rng = random.Random(7)  # noqa: S311
        each = self.people // self.waves
        return [
            wave * self.every + rng.uniform(0, self.over)
            for wave in range(self.waves)
            for _ in range(each)
        ]


@dataclass
class Waited:
    """What everybody waited for; seconds."""

    entries: list[float] = field(default_factory=list)
    answers: list[float] = field(default_factory=list)
    done: int = 0
    errors: Counter[str] = field(default_factory=Counter)

    def __str__(self) -> str:
        return (
            f"{self.done} people served, ms at the median / 95th percentile: entry "
            f"{Times.of(self.entries)}, answer {Times.of(self.answers)}; "
            f"{sum(self.errors.values())} errors {', '.join(self.errors)}"
        )


class ReadingBrowser(Browser):
    """Reads a page before its form is sent, and adds up the time without it."""

    def __init__(
        self, base_url: str, headers: dict[str, str], *, reading: float, rng: random.Random
    ) -> None:
        super().__init__(base_url, headers)
        self._reading, self._rng = reading, rng
        self.waited = 0.0

    async def get(self, path: str) -> Response:
        start = time.perf_counter()
        response = await super().get(path)
        self.waited += time.perf_counter() - start
        return response

    async def post(
        self, path: str, form: dict[str, str], headers: dict[str, str] | None = None
    ) -> Response:
        await asyncio.sleep(self._rng.uniform(0.5, 1.5) * self._reading)
        start = time.perf_counter()
        response = await super().post(path, form, headers)
        self.waited += time.perf_counter() - start
        return response


async def arrive(
    site: type[LoadPerson], url: str, waves: Waves, people: Sequence[dict[str, Any]]
) -> Waited:
    """Let everybody arrive at their moment, answer and leave."""
    waited = Waited()

    async def take_part(number: int, moment: float, options: dict[str, Any]) -> None:
        await asyncio.sleep(moment)
        rng = random.Random(number)  # noqa: S311
        # As a proxy says it: everybody has an address of their own.
        headers = {"X-Forwarded-For": f"10.0.{number // 250}.{number % 250 + 1}"}
        browser = ReadingBrowser(url, headers, reading=waves.reading, rng=rng)
        person = site(browser, number, rng, options)
        try:
            await person.enter()
            await person.open_item()
            waited.entries.append(browser.waited)
            for _ in range(ANSWERS_EACH):
                if not person.has_item:
                    raise UnexpectedResponse("no item where there should be one")
                browser.waited = 0.0
                await person.answer()
                await person.open_item()
                waited.answers.append(browser.waited)
            if not person.has_item:
                await person.leave()
            waited.done += 1
        except (UnexpectedResponse, OSError) as error:
            waited.errors[str(error) or "no answer"] += 1
        finally:
            browser.close()

    moments = waves.arrivals()
    await asyncio.gather(*(take_part(n, moments[n], options) for n, options in enumerate(people)))
    return waited


def make_studies(people: int, earlier: int) -> None:
    """Two open studies for half of the people each; prints their link options as JSON.

    Run by Python on the data of an installation, as `differences`.
    """
    from annotation.seats.quotas import Quota, QuotaQuestion, set_quotas
    from benchmarks._workload import items as texts
    from studies.models import Study
    from tests.annotation.prolific.life import came_before, published
    from tests.factories import make_item, make_persona, stored_at_once

    each = people // 2
    question = QuotaQuestion("sex", "What is your sex?", {"f": "Female", "m": "Male"})
    for slug in (PROLIFIC, LINK):
        study = Study.objects.create(
            slug=slug,
            title=slug,
            state="open",
            entry="prolific" if slug == PROLIFIC else "link",
            items_per_annotator=ITEMS_EACH,
            minutes=5,
            reward=100,
            currency="USD",
            contact="lab@example.org",
        )
        persona = make_persona(study=study)
        with stored_at_once():
            for text in texts(each):
                r1, r2 = ({"text": text[name]} for name in ("r1", "r2"))
                make_item(study=study, persona=persona, question=text["question"], r1=r1, r2=r2)
        places = [Quota((each + 1 - n) // 2, {"sex": sex}) for n, sex in enumerate(SEXES)]
        set_quotas(study_id=study.pk, questions=[question], groups=places)
    row = published(Study.objects.get(slug=PROLIFIC))
    came_before(row, earlier)
    cards = [_ask_prolific("arrive", {"study": row.prolific_id}) for _ in range(each)]
    _ask_prolific(
        "faults",
        {
            "method": "GET",
            "path": "submissions/",
            "fault": "slow",
            "times": 10**9,
            "seconds": PROLIFIC_SECONDS,
        },
    )
    found = []
    for number in range(each):
        about = {"attr_sex": SEXES[number % 2]}
        link = urlsplit(cards[number]["url"])
        found.append({"link": f"{link.path}?{link.query}", "about": about, "script": True})
        found.append({"link": f"/s/{LINK}/", "about": about, "script": True})
    sys.stdout.write(json.dumps(found))


def _ask_prolific(what: str, body: dict[str, Any]) -> Any:
    request = urllib.request.Request(  # noqa: S310
        f"{os.environ['PROLIFIC_BASE_URL']}/simulate/{what}", json.dumps(body).encode()
    )
    with urllib.request.urlopen(request, timeout=30) as answer:  # noqa: S310
        return json.load(answer)


def differences() -> None:
    """Print how many items and groups are not filled exactly, by counters or by answers."""
    from django.db.models import Count, F, Q

    from annotation.models import Annotation, Annotator, Assignment, QuotaGroup
    from studies.models import Item

    seat = Q(assignments__is_surplus=False) & ~Q(assignments__state=Assignment.State.RELEASED)
    counted = Q(assignments__annotation__standing=Annotation.Standing.COUNTED)
    items = Item.objects.filter(study__slug__in=(PROLIFIC, LINK)).annotate(
        seats=Count("assignments", filter=seat), given=Count("assignments", filter=counted)
    )
    wrong = items.exclude(
        seats=F("seats_taken"), given=F("answered"), seats_needed=F("seats"), answered=F("seats")
    ).count()
    completed = Q(annotators__state=Annotator.State.COMPLETED, annotators__quota="completed")
    groups = QuotaGroup.objects.annotate(people=Count("annotators", filter=completed))
    wrong += groups.exclude(reserved=0, completed=F("people"), target=F("people")).count()
    sys.stdout.write(str(wrong))


_RUN = "import django; django.setup(); from benchmarks import arrivals; arrivals."


def measured(
    stack: ExitStack, waves: Waves, rounds: int, earlier: int, say: Callable[[str], None]
) -> Iterator[Line]:
    """Everything in turn, and then the lines of the floor; `say` gets a line for each part."""
    folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="tp-door-")))
    server = stack.enter_context(postgres(durable=True))
    ports = free_ports(4)
    environment = {
        "PROLIFIC_BASE_URL": f"http://127.0.0.1:{ports[0]}",
        "PROLIFIC_API_TOKEN": TOKEN,
        "TRUSTED_PROXIES": "1",
        "CELERY_BROKER_URL": "",
    }
    prolific = ServerProcess(
        [sys.executable, "-m", "demo.prolific", "--port", str(ports[0])], cwd=ROOT, env=os.environ
    )
    stack.callback(prolific.stop)
    prolific.wait_until_ready(f"{environment['PROLIFIC_BASE_URL']}/simulate/requests")
    own = Installation(folder, port=ports[1], server=server, environment=environment)
    people = json.loads(own.prepare(f"{_RUN}make_studies({waves.people}, {earlier})"))
    anchor = Bare(port=ports[2], server=server)
    systems: list[System] = [
        Thirdperson(SCRIPT, own, server=server, script=True),
        anchor,
    ]
    try:
        peer = OTree(folder, port=ports[3], participants=waves.people // waves.waves)
    except NotInstalled as error:
        peer = None
        say(f"{OTree.name} is left out: {error}")
    bursts: list[Waited] = []
    wrong: list[float] = []
    turns: dict[str, list[Turn]] = defaultdict(list)
    for number in range(1, rounds + 1):
        web = own.start()
        spent = cpu_seconds(web.pid), cpu_seconds(postmaster(server))
        try:
            found = asyncio.run(arrive(SimulatedAnnotator, own.url, waves, people))
            spent = cpu_seconds(web.pid) - spent[0], cpu_seconds(postmaster(server)) - spent[1]
        finally:
            web.stop()
        wrong.append(float(own.ask(f"{_RUN}differences()")))
        say(f"round {number}: {found}; {wrong[-1]:.0f} seats or places differ")
        say(
            f"CPU a person: web {spent[0] * 1e3 / waves.people:.0f} ms, PostgreSQL "
            f"{spent[1] * 1e3 / waves.people:.0f} ms"
        )
        bursts.append(found)
        for system in systems:
            turn = take_turn(system, people=CLOSED_LOOP, seconds=SECONDS)
            turns[system.name].append(turn)
            say(f"{system.name}: {turn.rate:.0f} answers/s, {turn.cpu_ms:.1f} ms of CPU each")
        if peer and number == 1:
            say(f"one wave at {peer.name}: {_wave(peer, waves)}")
    yield Line(
        "people who were not served", [float(waves.people - each.done) for each in bursts], most=0
    )
    yield Line("seats and group places that differ", wrong, most=0)
    yield Line(
        "entry, 95th percentile", [_p95(each.entries) for each in bursts], most=1500, unit=" ms"
    )
    yield Line(
        "answer in mid-work, 95th percentile",
        [_p95(each.answers) for each in bursts],
        most=200,
        unit=" ms",
    )
    ratio = ratios(turns[SCRIPT], turns[anchor.name], rate)
    yield Line("answers a second / a bare Django view", ratio, 0.5)


def _wave(peer: OTree, waves: Waves) -> Waited:
    """The first wave at a peer: people who only answer."""
    running = peer.start()
    try:
        count = waves.people // waves.waves
        one = replace(waves, people=count, waves=1)
        return asyncio.run(arrive(OTreeParticipant, running.url, one, [running.options] * count))
    finally:
        running.server.stop()


def _p95(seconds: list[float]) -> float:
    return Times.of(seconds).p95 or 0.0


def main() -> int:
    parser = argparse.ArgumentParser(description="A thousand people at the door.")
    parser.add_argument("--people", type=int, default=Waves.people)
    parser.add_argument("--every", type=float, default=Waves.every, help="seconds between waves")
    parser.add_argument("--reading", type=float, default=Waves.reading, help="seconds a page")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--earlier", type=int, default=0, help="people who came before")
    options = parser.parse_args()
    waves = Waves(options.people, every=options.every, reading=options.reading)
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    notes: list[str] = []
    load = os.getloadavg()[0]

    def say(line: str) -> None:
        notes.append(line)
        sys.stderr.write(f"{line}\n")

    with ExitStack() as stack:
        lines = list(measured(stack, waves, options.rounds, options.earlier, say))
    sys.stdout.write(
        f"{waves.people:,} people in {waves.waves} waves, one every {waves.every:g} s, who read a "
        f"page for {waves.reading:g} s, after {options.earlier:,} others; {options.rounds} rounds; "
        f"load {load:.1f} before and {os.getloadavg()[0]:.1f} after. Better: 1 is the floor.\n\n"
        "| what | floor | measured | better | |\n| --- | --- | --- | --- | --- |\n"
        + "".join(f"{line}\n" for line in lines)
        + "".join(f"\n- {line}" for line in notes)
        + "\n"
    )
    return 0 if all(line.reached for line in lines) else 1


if __name__ == "__main__":
    raise SystemExit(main())
