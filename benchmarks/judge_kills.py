"""Kill worker, broker and database during a run, repeatedly; nothing may be lost or paid twice.

    python -m benchmarks judge_kills
    python -m benchmarks.judge_kills --judgments 2000 --kills 20 --seed 1 --forgetful
    python -m benchmarks.judge_kills --judgments 400 --kills 5 --decisions

PostgreSQL, Redis, the worker and the simulated LLM server are separate processes of this benchmark.
In turn the worker, the broker and the database get SIGKILL at a random moment of the run and are
started again up to three seconds later. Only the product's own schedule recovers the work of a
killed process. With --forgetful the broker stores nothing, and its queue is lost with it.
"""

import argparse
import os
import random
import socket
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psycopg2

from benchmarks._victims import Broker, Database, Worker, manage, wait_for
from benchmarks.judge_faults import call, server
from demo.bundle import write_bundles
from demo.truth import SEED, World

SLOTS = 64
OPEN = ("pending", "leased")
ENDED = ("done", "unparseable", "refused")


@dataclass
class Outcome:
    """The result of a run; `problems` is empty if everything is as promised."""

    kills: Counter[str] = field(default_factory=Counter)
    in_flight: list[int] = field(default_factory=list)  # with each worker that was killed
    judgments: dict[str, int] = field(default_factory=dict)
    attempts: dict[str, int] = field(default_factory=dict)
    received: int = 0
    asked_again: int = 0
    seconds: float = 0.0
    problems: list[str] = field(default_factory=list)

    def check(self, is_so: bool, problem: str) -> None:
        if not is_so:
            self.problems.append(problem)


class Run:
    """A run of a judge, observed through plain SQL and the server's own count."""

    def __init__(self, database_url: str, llm_url: str) -> None:
        self._database_url = database_url
        self._llm_url = llm_url
        self._answers: set[tuple[Any, ...]] = set()
        self._orphans: set[int] = set()

    def query(self, sql: str) -> list[tuple[Any, ...]]:
        with closing(psycopg2.connect(self._database_url)) as database, database:
            with database.cursor() as cursor:
                cursor.execute(sql)
                return cursor.fetchall() if cursor.description else []

    def count(self, sql: str) -> int:
        return int(self.query(f"SELECT count(*) FROM {sql}")[0][0])  # noqa: S608

    def answered(self) -> int:
        return self.count(f"judging_judgment WHERE state IN {ENDED}")

    def has_ended(self) -> bool:
        return self.count("judging_judgerun WHERE state NOT IN ('queued', 'running')") == 1

    def note_answers(self) -> None:
        """Note the stored answers, which must stay stored and unchanged."""
        self._answers |= self._stored()

    def _stored(self) -> set[tuple[Any, ...]]:
        columns = "id, state, choice, certainty, raw_text, replies, answered_at"
        return set(self.query(f"SELECT {columns} FROM judging_judgment WHERE state IN {ENDED}"))  # noqa: S608

    def orphans(self) -> int:
        """The number of requests in flight that have just lost their worker."""
        rows = self.query("SELECT id FROM judging_attempt WHERE outcome = 'sent'")
        new = {pk for (pk,) in rows} - self._orphans
        self._orphans |= new
        return len(new)

    def examine(self, outcome: Outcome, *, judgments: int) -> None:
        """Compare the stored judgments with the ledger, and the ledger with the server's count."""
        check = outcome.check
        by_state = "SELECT state, count(*) FROM judging_judgment GROUP BY state"
        outcome.judgments = dict(self.query(by_state))
        by_outcome = "SELECT outcome, count(*) FROM judging_attempt GROUP BY outcome"
        outcome.attempts = dict(self.query(by_outcome))
        told = call(self._llm_url, "/simulate/requests")
        outcome.received, outcome.asked_again = told["received"], told["repeats"]
        lost = outcome.attempts.get("lost", 0)
        attempts = sum(outcome.attempts.values())

        (state, sentence, retries, tokens, spent), *more = self.query(
            "SELECT state, sentence, retries, tokens, spent_nano FROM judging_judgerun"
        )
        check(state == "done" and not more, f"the run is {state}: {sentence}")
        ended = sum(outcome.judgments.get(state, 0) for state in ENDED)
        check(ended == judgments, f"{ended} of {judgments} judgments ended")
        changed = self._answers - self._stored()
        check(not changed, f"{len(changed)} stored answers are gone or others now")
        asked_late = self.count(
            "judging_attempt a JOIN judging_judgment j ON j.id = a.judgment_id"
            " WHERE a.sent_at > j.answered_at"
        )
        check(asked_late == 0, f"{asked_late} requests were sent after their answer was stored")
        miscounted = self.count(
            "judging_judgment j WHERE replies <> (SELECT count(*) FROM judging_attempt a"
            " WHERE a.judgment_id = j.id AND a.outcome = 'replied')"
        )
        check(miscounted == 0, f"{miscounted} judgments have not as many replies as the ledger")
        check(
            lost == sum(outcome.in_flight),
            f"{lost} requests are lost, {sum(outcome.in_flight)} were in flight at the kills",
        )
        check(
            all(n <= SLOTS for n in outcome.in_flight),
            f"more than {SLOTS} requests in flight at a kill",
        )
        # An attempt is stored before it is sent; after a kill in between, it never arrives.
        arrived = attempts - outcome.attempts.get("unreachable", 0)
        check(
            arrived - lost <= outcome.received <= arrived,
            f"the server counted {outcome.received} requests, the ledger {arrived}",
        )
        check(
            outcome.asked_again <= lost, f"{outcome.asked_again} asked again, {lost} of them lost"
        )
        ((ledger_tokens, ledger_spent),) = self.query(
            "SELECT sum(prompt_tokens + completion_tokens), sum(cost_nano) FROM judging_attempt"
        )
        replied = outcome.attempts.get("replied", 0)
        check(retries == attempts - replied, f"{retries} retries, {attempts} - {replied} requests")
        check(tokens == ledger_tokens, f"{tokens} tokens told, {ledger_tokens} in the ledger")
        check(spent == ledger_spent, f"{spent} spent, {ledger_spent} in the ledger")


def judge_and_kill(
    folder: Path,
    *,
    judgments: int,
    kills: int,
    seed: int,
    latency: float = 1.0,
    forgetful: bool = False,
    decisions: bool = False,
    say: Callable[[str], object] = lambda line: None,
    then: Callable[[str, Run, str], object] = lambda victim, run, broker_url: None,
) -> Outcome:
    """Judge while the processes are killed; `then` is called after every restart."""
    draw = random.Random(seed)  # noqa: S311 - moments of kills, no secret
    outcome = Outcome()
    # A decision has no seed, by which the server tells samples of one question apart.
    kind = ("--backend", "decisions", "--wire", "systemone") if decisions else ()
    samples = 1 if decisions else 4
    with ExitStack() as stack:
        llm_url = stack.enter_context(server(latency))
        (folder / "broker").mkdir(parents=True)
        database = Database(folder / "pg")
        stack.callback(database.stop)
        broker = Broker(folder / "broker", _free_port(), keeps=not forgetful)
        stack.callback(broker.stop)
        environment = _environment(folder, database.url, broker.url)
        manage(environment, "migrate", "-v", "0")
        items, _ = write_bundles(folder, World(SEED))
        manage(environment, "import_items", "kills", str(items), "--create")
        manage(
            environment,
            "add_judge",
            "j",
            *kind,
            "--model",
            "demo-steady",
            "--base-url",
            llm_url,
            "--concurrency",
            str(SLOTS),
            "--price-input",
            "1",
            "--price-output",
            "2",
        )
        worker = Worker(environment, folder / "worker.log")
        stack.callback(worker.stop)
        manage(
            environment,
            "judge",
            "kills",
            "--judge",
            "j",
            "--orders",
            "both",
            "--samples",
            str(samples),
            "--limit",
            str(judgments // (2 * samples)),
            "--yes",
        )
        started = time.monotonic()
        run = Run(database.url, llm_url)
        victims: dict[str, Any] = {"worker": worker, "broker": broker, "database": database}
        for number in range(kills):
            name = list(victims)[number % len(victims)]
            target = judgments * (number + draw.random()) / (kills + 1)
            wait_for(f"answer {target:.0f}", lambda: run.answered() > target, seconds=300)  # noqa: B023
            time.sleep(draw.random())
            run.note_answers()
            victims[name].kill()
            outcome.kills[name] += 1
            away = draw.uniform(0, 3)
            if name == "worker":
                outcome.in_flight.append(run.orphans())
            say(
                f"{time.monotonic() - started:5.0f} s: killed the {name} for {away:.1f} s"
                + (f", {outcome.in_flight[-1]} requests in flight" if name == "worker" else "")
            )
            time.sleep(away)
            victims[name].start()
            wait_for("the database", lambda: run.answered() >= 0)
            run.note_answers()
            then(name, run, broker.url)
        wait_for("the end of the run", run.has_ended, seconds=300)
        outcome.seconds = time.monotonic() - started
        run.examine(outcome, judgments=judgments)
    return outcome


def _environment(folder: Path, database_url: str, broker_url: str) -> dict[str, str]:
    return {
        **os.environ,
        "DJANGO_SETTINGS_MODULE": "config.settings.dev",
        "VAR_DIR": str(folder / "var"),
        "SECRET_KEY": "benchmark-" + "0" * 50,
        "DATABASE_URL": database_url,
        "CELERY_BROKER_URL": broker_url,
    }


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--judgments", type=int, default=2000, help="a multiple of 8")
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--latency", type=float, default=1.0)
    parser.add_argument("--forgetful", action="store_true", help="a broker that keeps nothing")
    parser.add_argument("--decisions", action="store_true", help="a judge that decides")
    parser.add_argument("--folder", type=Path, help="empty; kept for its logs")
    options = parser.parse_args()
    folder = options.folder or Path(tempfile.mkdtemp(prefix="tp-kills-", dir="/tmp"))
    outcome = judge_and_kill(
        folder,
        judgments=options.judgments,
        kills=options.kills,
        seed=options.seed,
        latency=options.latency,
        forgetful=options.forgetful,
        decisions=options.decisions,
        say=_say,
    )
    _say(
        f"{'WRONG' if outcome.problems else 'right'} after {outcome.seconds:.0f} s and "
        f"{outcome.kills.total()} kills {dict(outcome.kills)}: {outcome.judgments}; in flight at "
        f"the worker's {outcome.in_flight}; ledger {sum(outcome.attempts.values()):,} "
        f"{outcome.attempts}, server counted {outcome.received:,}, of them asked again "
        f"{outcome.asked_again:,}"
    )
    for problem in outcome.problems:
        _say(f"- {problem}")
    return 1 if outcome.problems else 0


if __name__ == "__main__":
    raise SystemExit(main())
