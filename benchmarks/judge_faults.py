"""Runs through every kind of fault: each ends in the right state, with all requests in the ledger.

    python -m benchmarks judge_faults
    python -m benchmarks.judge_faults --judgments 2000 --only storm gone --worker

The simulated LLM server counts its requests and spoils part of them; afterwards its count must
equal the ledger's, and no judgment may be left open. Storage is as for the other benchmarks of
judging. With --worker a Celery worker does the work, otherwise this process does.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks._victims import ROOT, Worker

SLOTS = 64
TIMEOUT = 3

# Faults of the requests; `lasts` is in seconds, without it a share of all requests is spoilt.
FAULTS: dict[str, dict[str, Any]] = {
    "429 with Retry-After": {"fault": "rate_limit", "share": 0.5, "lasts": 5, "seconds": 2},
    "429 without": {"fault": "storm", "share": 0.5, "lasts": 5},
    "30 % errors": {"fault": "server_error", "share": 0.3},
    "20 % unparseable": {"fault": "unparseable", "share": 0.2},
    "hangs": {"fault": "hang", "share": 0.02, "seconds": TIMEOUT * 2},
    "resets": {"fault": "down", "share": 0.1},
    "gone for a minute": {"fault": "down", "lasts": 60, "after": 100},
}


@dataclass(frozen=True)
class Outcome:
    """The final state of a run, and the requests that the server and the ledger count."""

    state: str
    judgments: dict[str, int]
    received: int
    attempts: dict[str, int]
    seconds: float

    @property
    def is_right(self) -> bool:
        """Whether nothing is open or missing; requests that never arrived are `unreachable`."""
        arrived = sum(self.attempts.values()) - self.attempts.get("unreachable", 0)
        ended = not self.judgments.keys() & {"pending", "leased"}
        return self.state == "done" and ended and arrived == self.received


@contextmanager
def server(latency: float = 0.05) -> Iterator[str]:
    """Start the simulated LLM server as a process; yield its address, with /v1."""
    command = [sys.executable, "-m", "demo.llm_server", "--port", "0", "--latency", str(latency)]
    process = subprocess.Popen(  # noqa: S603
        command, cwd=ROOT, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None  # noqa: S101
    try:
        yield process.stdout.readline().strip()
    finally:
        process.terminate()
        process.wait(timeout=10)
        process.stdout.close()


def call(url: str, path: str, body: dict[str, Any] | None = None) -> Any:
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(url.removesuffix("/v1") + path, data=data)  # noqa: S310
    with urllib.request.urlopen(request, timeout=10) as response:  # noqa: S310
        return json.load(response)


def judge_through(
    url: str, fault: dict[str, Any], *, study_id: int, worker: Worker | None = None, **run: Any
) -> Outcome:
    """Judge while requests are spoilt, and return the outcome."""
    from judging.models import Attempt
    from judging.runs import lifecycle
    from judging.runs.judges import add_judge
    from judging.runs.spec import RunSpec
    from judging.runs.start import start_run
    from judging.worker import runtime

    judge, _ = add_judge(
        name=f"through {fault['fault']} {url}",
        backend="openai",
        model="demo-steady",
        base_url=url,
        structured=False,
        concurrency=SLOTS,
        timeout_seconds=TIMEOUT,
        outage_seconds=300,
    )
    call(url, "/simulate/faults", fault)
    before = time.monotonic()
    enqueue = worker is not None
    started = start_run(RunSpec(study_id=study_id, judge_id=judge.pk, **run), enqueue=enqueue)
    if worker is not None:
        while started.is_active:
            worker.check()
            time.sleep(0.5)
            started.refresh_from_db()
    else:
        try:
            lifecycle.work_off(run_id=started.pk)
        finally:
            runtime.shut_down()
        started.refresh_from_db()
    attempts = Attempt.objects.filter(judgment__run=started)
    return Outcome(
        state=started.state,
        judgments=dict(Counter(started.judgments.values_list("state", flat=True))),
        received=call(url, "/simulate/requests")["received"],
        attempts=dict(Counter(attempts.values_list("outcome", flat=True))),
        seconds=time.monotonic() - before,
    )


def _study(folder: Path) -> int:
    from django.core.management import call_command

    from demo.bundle import write_bundles
    from demo.truth import SEED, World
    from studies.models import Study

    items, _ = write_bundles(folder, World(SEED))
    with Path(os.devnull).open("w") as nowhere:
        call_command("import_items", "faults", str(items), "--create", stdout=nowhere)
    return Study.objects.get(slug="faults").pk


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--judgments", type=int, default=2000, help="a multiple of 8")
    parser.add_argument("--only", nargs="+", metavar="WORD", help="faults whose name holds a word")
    parser.add_argument("--worker", action="store_true", help="through a Celery worker")
    options = parser.parse_args()

    folder = tempfile.mkdtemp(prefix="thirdperson-bench-")
    os.environ |= {"VAR_DIR": folder, "LOG_LEVEL": "ERROR"}
    os.environ.setdefault("SECRET_KEY", "benchmark-" + "0" * 50)
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings.dev")
    import django

    from config.migrate import migrate

    django.setup()
    migrate()
    study_id = _study(Path(folder))
    with ExitStack() as stack:
        worker = None
        if options.worker:
            worker = Worker(dict(os.environ), Path(folder) / "worker.log")
            stack.callback(worker.stop)
        all_right = _run_all(study_id, options, worker)
    return 0 if all_right else 1


def _run_all(study_id: int, options: argparse.Namespace, worker: Worker | None) -> bool:
    all_right = True
    for name, fault in FAULTS.items():
        if options.only and not any(word in name for word in options.only):
            continue
        with server() as url:
            outcome = judge_through(
                url,
                fault,
                study_id=study_id,
                worker=worker,
                orders="both",
                samples=4,
                limit=options.judgments // 8,
            )
        all_right &= outcome.is_right
        sys.stdout.write(
            f"{name:22} {'right' if outcome.is_right else 'WRONG'} after {outcome.seconds:4.0f} s: "
            f"{outcome.judgments}, server counted {outcome.received:,}, ledger "
            f"{sum(outcome.attempts.values()):,} {outcome.attempts}\n"
        )
        sys.stdout.flush()
    return all_right


if __name__ == "__main__":
    raise SystemExit(main())
