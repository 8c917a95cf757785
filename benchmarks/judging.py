"""Judgments per second, and CPU per judgment, with a server that answers after a fixed time.

    python -m benchmarks judging
    python -m benchmarks.judging --items 2000 --slots 64 --latency-ms 200 20 --rounds 3

It compares ways to ask the same prompts: a bare AsyncOpenAI loop that stores nothing, the product
in this process, and the product through a Celery worker, both with every attempt and answer
committed to the database that DATABASE_URL names (a fresh SQLite file without it). inspect-ai is
also measured if INSPECT_PYTHON names a Python that has it, with its defaults and with
`log_realtime=False`. The server is a separate process; CPU is that of the process that judges. With
several rounds, every way comes once in each, and a ratio is the median of those within a round.

At the end, two workers are compared with one at the last latency, with few enough slots that the
server's latency is the limit and not the cores: `--slots-each` for each worker. The workers share
the judge's slots, so the judge has twice as many when there are two.
"""

import argparse
import asyncio
import json
import os
import secrets
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
REPLY = "A]] [[73]]"
SLUG = f"bench-{secrets.token_hex(4)}"  # the same database can be measured more than once
WAYS = ("raw", "inline", "worker", "inspect", "inspect-quiet")


@dataclass(frozen=True)
class Result:
    per_second: float
    cpu_ms: float  # per judgment, of all processes that judge
    peak_mb: float = 0.0  # of the largest of them


# As OpenAI answers one choice.
DECISION = {
    "model": "mock-1",
    "answers": [
        {
            "type": "choice",
            "name": "choice",
            "choice": "A",
            "confidence": 0.46,
            "probabilities": [
                {"value": "A", "probability": 0.73},
                {"value": "B", "probability": 0.27},
            ],
        }
    ],
    "usage": {
        "input_tokens": 750,
        "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
        "output_tokens": 0,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": 750,
    },
}


class MockServer(asyncio.Protocol):
    """A server with minimal work per completion or decision, to leave the cores to the client."""

    latency = 0.2
    body = json.dumps(
        {
            "id": "mock",
            "object": "chat.completion",
            "created": 0,
            "model": "mock-1",
            "system_fingerprint": "mock",
            "choices": [
                {
                    "index": 0,
                    "finish_reason": "stop",
                    "message": {"role": "assistant", "content": REPLY},
                }
            ],
            "usage": {"prompt_tokens": 750, "completion_tokens": 8, "total_tokens": 758},
        }
    ).encode()
    decision = json.dumps(DECISION).encode()
    head = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n"

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)  # noqa: S101
        self.transport = transport
        self.received = b""

    def data_received(self, data: bytes) -> None:
        self.received += data
        while (end := self.received.find(b"\r\n\r\n")) >= 0:
            headers = self.received[:end].lower()
            start = headers.index(b"content-length:") + len(b"content-length:")
            length = int(headers[start:].split(b"\r\n", 1)[0])
            if len(self.received) < end + 4 + length:
                return
            self.received = self.received[end + 4 + length :]
            body = self.decision if headers.startswith(b"post /v1/decisions") else self.body
            answer = self.head % len(body) + body
            asyncio.get_running_loop().call_later(self.latency, self.transport.write, answer)


async def serve(latency: float) -> None:
    MockServer.latency = latency
    server = await asyncio.get_running_loop().create_server(MockServer, "127.0.0.1", 0)
    sys.stdout.write(f"{server.sockets[0].getsockname()[1]}\n")
    sys.stdout.flush()
    await server.serve_forever()


def build_study(slug: str, items: int) -> None:
    """Store a study with prompts of about 3 kB."""
    from studies.models import Item, Persona, Study

    study = Study.objects.create(slug=slug, title="Benchmark", seed=7)
    persona = Persona.objects.create(
        study=study,
        key="p",
        features=[{"key": "age", "label": "Age", "value": "40", "text": "The person is 40."}],
    )
    words = "plain words that stand for a response of the usual length " * 18
    rows = (
        Item(
            study=study,
            persona=persona,
            key=f"i{n:06}",
            question=f"Question {n}?",
            r1={"text": f"{n} first {words}"},
            r2={"text": f"{n} second {words}"},
            first_person="r1",
            content_hash=f"{n:064}",
        )
        for n in range(items)
    )
    while some := list(islice(rows, 1000)):
        Item.everything.bulk_create(some)


def prompts_of(slug: str) -> list[str]:
    from studies.models import Item
    from studies.prompts import build_prompt

    items = Item.objects.filter(study__slug=slug).select_related("study", "persona").order_by("pk")
    return [build_prompt(item, setting="certainty", shown_first="r1") for item in items]


def run_raw(url: str, prompts: list[str], slots: int) -> Result:
    """Measure the client alone."""
    import openai

    async def ask_all(prompts: list[str]) -> None:
        client = openai.AsyncOpenAI(base_url=url, api_key="none", max_retries=0)
        gate = asyncio.Semaphore(slots or 64)

        async def ask(prompt: str) -> None:
            async with gate:
                reply = await client.chat.completions.create(
                    model="mock",
                    messages=[{"role": "user", "content": prompt}],
                    temperature=0.7,
                    top_p=0.95,
                    max_tokens=1024,
                )
                if reply.choices[0].message.content != REPLY:
                    raise RuntimeError("wrong reply")

        await asyncio.gather(*(ask(prompt) for prompt in prompts))
        await client.close()

    asyncio.run(ask_all(prompts[:1]))  # loads what the client needs for its first request
    return measure(lambda: asyncio.run(ask_all(prompts)), len(prompts), time.process_time)


def run_inline(url: str, items: int, slots: int, name: str, **options: Any) -> Result:
    from judging.runs import lifecycle
    from judging.worker import runtime

    run_id = _start(url, slots, name, enqueue=False, **options)
    try:
        result = measure(lambda: lifecycle.work_off(run_id=run_id), items, time.process_time)
    finally:
        runtime.shut_down()
    _verify(run_id, items)
    return result


def run_workers(url: str, items: int, slots: int, name: str, *, count: int = 1) -> Result:
    """Measure real workers, without their start and first requests, as for the client."""

    def judge(**options: Any) -> int:
        run_id = _start(url, slots, name, enqueue=True, **options)
        workers.wait_for(run_id)
        return run_id

    with Workers(count) as workers:
        for sample in range(1, 1 + 4 * count):  # until each of them has asked something
            judge(setting="standard", limit=1, samples=sample)
        ids: list[int] = []
        result = measure(lambda: ids.append(judge()), items, workers.cpu)
        _verify(ids[0], items)
        return replace(result, peak_mb=workers.peak_mb())


class Workers:
    """Celery workers that run as long as the context."""

    def __init__(self, count: int) -> None:
        from django.conf import settings

        self._logs = [Path(settings.VAR_DIR) / f"worker-{number}.log" for number in range(count)]
        self._processes: list[subprocess.Popen[bytes]] = []

    def __enter__(self) -> "Workers":
        from config.processes import worker_command

        for log in self._logs:
            command = [*worker_command(beat=False), "--hostname", f"{log.stem}@%h"]
            with log.open("wb") as output:
                self._processes.append(
                    subprocess.Popen(command, cwd=ROOT, stdout=output, stderr=output)  # noqa: S603
                )
        try:
            self._wait_until_ready()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        for process in self._processes:
            process.terminate()
        for process in self._processes:
            process.wait(timeout=60)

    def _wait_until_ready(self) -> None:
        deadline = time.monotonic() + 60
        while not all(b" ready." in log.read_bytes() for log in self._logs):
            self._check()
            if time.monotonic() > deadline:
                raise RuntimeError(f"a worker did not start; see {self._logs[0].parent}")
            time.sleep(0.1)

    def _check(self) -> None:
        if any(process.poll() is not None for process in self._processes):
            raise RuntimeError(f"a worker ended; see {self._logs[0].parent}")

    def wait_for(self, run_id: int) -> None:
        """Wait for the end of a run."""
        from judging.models import JudgeRun

        active = JudgeRun.objects.filter(pk=run_id, state__in=JudgeRun.ACTIVE)
        while active.exists():
            self._check()
            time.sleep(0.05)  # each look takes CPU from the workers

    def cpu(self) -> float:
        return sum(_cpu_of(process.pid) for process in self._processes)

    def peak_mb(self) -> float:
        return max(_peak_mb(process.pid) for process in self._processes)


def run_inspect(url: str, prompts: list[str], slots: int, *options: str) -> Result:
    """Ask a fourth of the prompts, because inspect-ai takes ten times as long for each."""
    some = prompts[: max(1, len(prompts) // 4)]
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        json.dump(some, file)
        file.flush()
        script = str(ROOT / "benchmarks" / "_inspect.py")
        command = [os.environ["INSPECT_PYTHON"], "-P", script, url, file.name, str(slots or 64)]
        command += options
        output = subprocess.run(  # noqa: S603
            command, check=True, capture_output=True, text=True
        ).stdout
    told = json.loads(output.splitlines()[-1])
    if not told["done"]:
        raise RuntimeError("inspect-ai did not finish")
    return Result(len(some) / told["seconds"], told["cpu"] / len(some) * 1000)


def _start(
    url: str,
    slots: int,
    name: str,
    *,
    enqueue: bool,
    setting: str = "certainty",
    backend: str = "openai",
    wire: str = "",
    **options: Any,
) -> int:
    from judging.runs.judges import add_judge
    from judging.runs.spec import RunSpec
    from judging.runs.start import start_run
    from studies.models import Study

    study = Study.objects.get(slug=SLUG)
    judge, _ = add_judge(
        name=f"{SLUG} {name}",
        backend=backend,
        model_options={"wire": wire} if wire else {},
        model="mock",
        base_url=url,
        concurrency=slots or None,
        structured=False,
    )
    run = start_run(
        RunSpec(study_id=study.pk, judge_id=judge.pk, setting=setting, **options), enqueue=enqueue
    )
    return run.pk


def measure(work: Callable[[], None], items: int, cpu: Callable[[], float]) -> Result:
    cpu_before, before = cpu(), time.perf_counter()
    work()
    seconds = time.perf_counter() - before
    return Result(items / seconds, (cpu() - cpu_before) / items * 1000)


def _verify(run_id: int, items: int) -> None:
    from django.db.models import Q

    from judging.models import Attempt, Judgment

    read = Q(certainty=73) | Q(probabilities__isnull=False)
    answered = Judgment.objects.filter(read, run=run_id, state="done").count()
    attempts = Attempt.objects.filter(judgment__run=run_id, outcome="replied").count()
    if (answered, attempts) != (items, items):
        raise RuntimeError(f"{answered} answers and {attempts} attempts instead of {items}")


def _cpu_of(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _peak_mb(pid: int) -> float:
    status = Path(f"/proc/{pid}/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0]) / 1024


@contextmanager
def mock_server(latency_ms: float) -> Iterator[tuple[str, int]]:
    """The address and the process id of a server that answers after so long."""
    command = [sys.executable, "-m", "benchmarks.judging", "--serve", str(latency_ms / 1000)]
    server = subprocess.Popen(  # noqa: S603
        command, cwd=ROOT, stdout=subprocess.PIPE, text=True
    )
    try:
        assert server.stdout is not None  # noqa: S101
        yield f"http://127.0.0.1:{int(server.stdout.readline())}/v1", server.pid
    finally:
        server.terminate()
        server.wait(timeout=10)


def _run(way: str, name: str, latency_ms: float, slots: int, prompts: list[str]) -> Result:
    with mock_server(latency_ms) as (url, _):
        if way == "raw":
            return run_raw(url, prompts, slots)
        if way == "inspect":
            return run_inspect(url, prompts, slots)
        if way == "inspect-quiet":
            return run_inspect(url, prompts, slots, "quiet")
        through = run_inline if way == "inline" else run_workers
        return through(url, len(prompts), slots, name)


def _measure_all(
    ways: Sequence[str], latency_ms: float, slots: int, prompts: list[str], rounds: int
) -> dict[str, list[float]]:
    """Print the rate of every way in each round, and return it relative to the bare loop's."""
    results: dict[str, list[Result]] = {}
    compared: dict[str, list[tuple[float, float]]] = {}
    for number in range(1, rounds + 1):
        raw: Result | None = None
        for way in ways:
            name = f"{way}, {latency_ms:.0f} ms, round {number}"
            result = _run(way, name, latency_ms, slots, prompts)
            results.setdefault(way, []).append(result)
            line = in_words(result)
            if way == "raw":
                raw = result
            elif raw is not None:
                rate, more = result.per_second / raw.per_second, result.cpu_ms - raw.cpu_ms
                compared.setdefault(way, []).append((rate, more))
                line += f"; {rate:.2f} of the bare loop's rate, {more:+.2f} ms"
            _say(f"{latency_ms:5.0f} ms  {way:14} {line}")
    for way, measured in results.items():
        line = in_words(_median(measured))
        if pairs := compared.get(way):
            rates, mores = zip(*pairs, strict=True)
            line += f"; {statistics.median(rates):.2f} ({min(rates):.2f} to {max(rates):.2f})"
            line += f" of the bare loop's rate, {statistics.median(mores):+.2f} ms"
        _say(f"{latency_ms:5.0f} ms  {way:14} median of {rounds}: {line}")
    return {way: [rate for rate, _ in pairs] for way, pairs in compared.items()}


def _measure_two(latency_ms: float, slots_each: int, items: int, rounds: int) -> None:
    """Print how many times the rate of one worker two workers reach."""
    ratios = []
    for number in range(1, rounds + 1):
        rates = []
        for count in (1, 2):
            name = f"{count} of {slots_each} slots, {latency_ms:.0f} ms, round {number}"
            with mock_server(latency_ms) as (url, pid):
                result = run_workers(url, items, count * slots_each, name, count=count)
                server_ms = _cpu_of(pid) / items * 1000
            rates.append(result.per_second)
            line = f"{in_words(result)}, and {server_ms:.2f} ms of the server"
            _say(f"{latency_ms:5.0f} ms  {count} × {slots_each} slots   {line}")
        ratios.append(rates[1] / rates[0])
    span = f"{min(ratios):.2f} to {max(ratios):.2f}"
    _say(f"two workers: {statistics.median(ratios):.2f} times the rate of one ({span})")


def _median(results: Sequence[Result]) -> Result:
    return Result(
        statistics.median(result.per_second for result in results),
        statistics.median(result.cpu_ms for result in results),
    )


def in_words(result: Result) -> str:
    return f"{result.per_second:6.0f}/s  {result.cpu_ms:.2f} ms CPU per judgment"


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def set_up() -> None:
    """Prepare Django and the tables, in a folder of their own without DATABASE_URL."""
    os.environ["VAR_DIR"] = tempfile.mkdtemp(prefix="thirdperson-bench-")
    os.environ["LOG_LEVEL"] = "WARNING"
    os.environ.setdefault("SECRET_KEY", "benchmark-" + "0" * 50)
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings.dev")
    import django

    from config.migrate import migrate

    django.setup()
    migrate()
    # A database that is used again expects its files elsewhere than in a new folder.
    from studies.file_storage.storage import adopt_location

    adopt_location()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--items", type=int, default=2000)
    parser.add_argument("--slots", type=int, default=64, help="0: the product finds their number")
    parser.add_argument("--slots-each", type=int, default=8)
    parser.add_argument("--latency-ms", type=float, nargs="+", default=[200.0, 20.0])
    parser.add_argument("--only", choices=[*WAYS, "two"], nargs="+")
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--json", action="store_true", help="end with the rates as JSON")
    parser.add_argument("--serve", type=float, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve is not None:
        asyncio.run(serve(options.serve))
        return 0

    set_up()
    from django.db import connection

    build_study(SLUG, options.items)
    prompts = prompts_of(SLUG)
    size = sum(map(len, prompts)) // len(prompts)
    _say(
        f"{options.items} judgments, {options.slots} slots, prompts of {size} characters, "
        f"{connection.display_name}"
    )
    ways = options.only or [*WAYS, "two"]
    if not os.environ.get("INSPECT_PYTHON"):
        ways = [way for way in ways if not way.startswith("inspect")]
        _say("inspect-ai: not measured, INSPECT_PYTHON names no Python that has it")
    alone = [way for way in ways if way != "two"]
    compared = {
        latency: _measure_all(alone, latency, options.slots, prompts, options.rounds)
        for latency in options.latency_ms
    }
    if "two" in ways:
        _measure_two(options.latency_ms[-1], options.slots_each, options.items, options.rounds)
    if options.json:
        _say(json.dumps(compared))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
