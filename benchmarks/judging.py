"""Judgments per second, and CPU per judgment, with a server that answers after a fixed time.

    python -m benchmarks judging
    python -m benchmarks.judging --items 2000 --slots 64 --latency-ms 200 20 --rounds 3

It compares three ways to ask the same prompts: a bare AsyncOpenAI loop that stores nothing, the
product in this process, and the product through a Celery worker, both with every attempt and answer
committed to the database that DATABASE_URL names (a fresh SQLite file without it). inspect-ai is
also measured if INSPECT_PYTHON names a Python that has it. The server is a separate process; CPU is
that of the process that judges. With several rounds, every way comes once in each, and a ratio is
the median of those within a round.
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
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
REPLY = "A]] [[73]]"
SLUG = f"bench-{secrets.token_hex(4)}"  # the same database can be measured more than once
WAYS = ("raw", "inline", "worker", "inspect")


@dataclass(frozen=True)
class Result:
    per_second: float
    cpu_ms: float


class MockServer(asyncio.Protocol):
    """A server with minimal work per chat completion, to leave the cores to the client."""

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
            answer = self.head % len(self.body) + self.body
            asyncio.get_running_loop().call_later(self.latency, self.transport.write, answer)


async def serve(latency: float) -> None:
    MockServer.latency = latency
    server = await asyncio.get_running_loop().create_server(MockServer, "127.0.0.1", 0)
    sys.stdout.write(f"{server.sockets[0].getsockname()[1]}\n")
    sys.stdout.flush()
    await server.serve_forever()


def build_study(items: int) -> list[str]:
    """Store a study with prompts of about 3 kB and return them."""
    from studies.models import Item, Persona, Study
    from studies.prompts import build_prompt

    study = Study.objects.create(slug=SLUG, title="Benchmark", seed=7)
    persona = Persona.objects.create(
        study=study,
        key="p",
        features=[{"key": "age", "label": "Age", "value": "40", "text": "The person is 40."}],
    )
    words = "plain words that stand for a response of the usual length " * 18
    stored = Item.everything.bulk_create(
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
    return [build_prompt(i, setting="certainty", shown_first="r1") for i in stored]


def run_raw(url: str, prompts: list[str], slots: int) -> Result:
    """Measure the client alone."""
    import openai

    async def ask_all(prompts: list[str]) -> None:
        client = openai.AsyncOpenAI(base_url=url, api_key="none", max_retries=0)
        gate = asyncio.Semaphore(slots)

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
    return _measure(lambda: asyncio.run(ask_all(prompts)), len(prompts), time.process_time)


def run_inline(url: str, items: int, slots: int, name: str) -> Result:
    from judging.runs import lifecycle
    from judging.worker import runtime

    run_id = _start(url, slots, name, enqueue=False)
    try:
        result = _measure(lambda: lifecycle.work_off(run_id=run_id), items, time.process_time)
    finally:
        runtime.shut_down()
    _verify(run_id, items)
    return result


def run_worker(url: str, items: int, slots: int, name: str) -> Result:
    """Measure a real worker, without its start and its first request, as for the client."""
    from django.conf import settings

    from config.processes import worker_command

    log = Path(settings.VAR_DIR) / "worker.log"
    with log.open("wb") as output:
        worker = subprocess.Popen(  # noqa: S603
            worker_command(beat=False), cwd=ROOT, stdout=output, stderr=output
        )

        def judge(**options: Any) -> int:
            run_id = _start(url, slots, name, enqueue=True, **options)
            _wait_for(run_id, worker, log)
            return run_id

        try:
            deadline = time.monotonic() + 60
            while b" ready." not in log.read_bytes():
                if worker.poll() is not None or time.monotonic() > deadline:
                    raise RuntimeError(f"the worker did not start; see {log}")
                time.sleep(0.1)
            judge(setting="standard", limit=1)
            ids: list[int] = []
            result = _measure(lambda: ids.append(judge()), items, lambda: _cpu_of(worker.pid))
            _verify(ids[0], items)
        finally:
            worker.terminate()
            worker.wait(timeout=60)
    return result


def _wait_for(run_id: int, worker: subprocess.Popen[bytes], log: Path) -> None:
    from judging.models import JudgeRun

    while JudgeRun.objects.get(pk=run_id).is_active:
        if worker.poll() is not None:
            raise RuntimeError(f"the worker ended in mid-run; see {log}")
        time.sleep(0.02)


def run_inspect(url: str, prompts: list[str], slots: int) -> Result:
    """Ask a fourth of the prompts, because inspect-ai takes ten times as long for each."""
    some = prompts[: max(1, len(prompts) // 4)]
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        json.dump(some, file)
        file.flush()
        script = str(ROOT / "benchmarks" / "_inspect.py")
        command = [os.environ["INSPECT_PYTHON"], "-P", script, url, file.name, str(slots)]
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
    limit: int | None = None,
) -> int:
    from judging.runs.judges import add_judge
    from judging.runs.lifecycle import start_run
    from judging.runs.spec import RunSpec
    from studies.models import Study

    study = Study.objects.get(slug=SLUG)
    judge, _ = add_judge(
        name=f"{SLUG} {name}", backend="openai", model="mock", base_url=url, concurrency=slots
    )
    run = start_run(
        RunSpec(study_id=study.pk, judge_id=judge.pk, setting=setting, limit=limit), enqueue=enqueue
    )
    return run.pk


def _measure(work: Callable[[], None], items: int, cpu: Callable[[], float]) -> Result:
    cpu_before, before = cpu(), time.perf_counter()
    work()
    seconds = time.perf_counter() - before
    return Result(items / seconds, (cpu() - cpu_before) / items * 1000)


def _verify(run_id: int, items: int) -> None:
    from judging.models import Attempt, Judgment

    answered = Judgment.objects.filter(run=run_id, state="done", certainty=73).count()
    attempts = Attempt.objects.filter(judgment__run=run_id, outcome="replied").count()
    if (answered, attempts) != (items, items):
        raise RuntimeError(f"{answered} answers and {attempts} attempts instead of {items}")


def _cpu_of(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _run(way: str, name: str, latency_ms: float, slots: int, prompts: list[str]) -> Result:
    command = [sys.executable, "-m", "benchmarks.judging", "--serve", str(latency_ms / 1000)]
    server = subprocess.Popen(  # noqa: S603
        command, cwd=ROOT, stdout=subprocess.PIPE, text=True
    )
    try:
        assert server.stdout is not None  # noqa: S101
        url = f"http://127.0.0.1:{int(server.stdout.readline())}/v1"
        if way == "raw":
            return run_raw(url, prompts, slots)
        if way == "inspect":
            return run_inspect(url, prompts, slots)
        through = run_inline if way == "inline" else run_worker
        return through(url, len(prompts), slots, name)
    finally:
        server.terminate()
        server.wait(timeout=10)


def _measure_all(
    ways: Sequence[str], latency_ms: float, slots: int, prompts: list[str], rounds: int
) -> None:
    """Print the rate of every way in each round, also relative to the bare loop of that round."""
    compared: dict[str, list[tuple[float, float]]] = {}
    for number in range(1, rounds + 1):
        raw: Result | None = None
        for way in ways:
            name = f"{way}, {latency_ms:.0f} ms, round {number}"
            result = _run(way, name, latency_ms, slots, prompts)
            line = f"{result.per_second:6.0f}/s  {result.cpu_ms:.2f} ms CPU per judgment"
            if way == "raw":
                raw = result
            elif raw is not None:
                rate, more = result.per_second / raw.per_second, result.cpu_ms - raw.cpu_ms
                compared.setdefault(way, []).append((rate, more))
                line += f"; {rate:.2f} of the bare loop's rate, {more:+.2f} ms"
            _say(f"{latency_ms:5.0f} ms  {way:7} {line}")
    for way, pairs in compared.items():
        rate, more = (statistics.median(column) for column in zip(*pairs, strict=True))
        words = f"{rate:.2f} of the bare loop's rate, {more:+.2f} ms"
        _say(f"{latency_ms:5.0f} ms  {way:7} median of {rounds}: {words}")


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--items", type=int, default=2000)
    parser.add_argument("--slots", type=int, default=64)
    parser.add_argument("--latency-ms", type=float, nargs="+", default=[200.0, 20.0])
    parser.add_argument("--only", choices=WAYS, nargs="+")
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--serve", type=float, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve is not None:
        asyncio.run(serve(options.serve))
        return 0

    os.environ["VAR_DIR"] = tempfile.mkdtemp(prefix="thirdperson-bench-")
    os.environ["LOG_LEVEL"] = "WARNING"
    os.environ.setdefault("SECRET_KEY", "benchmark-" + "0" * 50)
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings.dev")
    import django
    from django.core.management import call_command
    from django.db import connection

    django.setup()
    call_command("migrate", verbosity=0, skip_checks=True)
    prompts = build_study(options.items)
    size = sum(map(len, prompts)) // len(prompts)
    _say(
        f"{options.items} judgments, {options.slots} slots, prompts of {size} characters, "
        f"{connection.display_name}"
    )
    ways = options.only or list(WAYS)
    if "inspect" in ways and not os.environ.get("INSPECT_PYTHON"):
        ways.remove("inspect")
        _say("inspect-ai: not measured, INSPECT_PYTHON names no Python that has it")
    for latency in options.latency_ms:
        _measure_all(ways, latency, options.slots, prompts, options.rounds)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
