"""Memory and speed by the size of a run: a worker judges 1,000 to 100,000 questions in one run.

    python -m benchmarks.judging_size --sizes 1000 10000 100000 --latency-ms 5

The command `judge` starts each run, and a Celery worker asks it, both as processes of their own.
The database is that of DATABASE_URL, or a fresh SQLite file without it. Peaks are those of the
resident memory of each process.
"""

import argparse
import os
import subprocess
import sys
import time
from datetime import UTC, datetime

from benchmarks.judging import ROOT, SLUG, Workers, build_study, mock_server, set_up


def measure(size: int, latency_ms: float, slots: int) -> None:
    """Print one row of the table."""
    from django.db.models import Min

    from judging.models import Attempt, JudgeRun
    from judging.runs.judges import add_judge

    slug = f"{SLUG}-{size}"
    build_study(slug, size)
    with mock_server(latency_ms) as (url, _), Workers(1) as workers:
        judge, _ = add_judge(
            name=slug,
            backend="openai",
            model="mock",
            base_url=url,
            concurrency=slots,
            structured=False,
        )
        began, clock, cpu = datetime.now(UTC), time.perf_counter(), workers.cpu()
        command_mb, command_cpu = judge_by_command(slug)
        run = JudgeRun.objects.get(judge=judge)
        workers.wait_for(run.pk)
        seconds, cpu = time.perf_counter() - clock, workers.cpu() - cpu
        peak_mb = workers.peak_mb()
    done = run.judgments.filter(state="done").count()
    if done != size:
        raise RuntimeError(f"{done} answers instead of {size}")
    first = Attempt.objects.filter(judgment__run=run).aggregate(first=Min("sent_at"))["first"]
    sys.stdout.write(
        f"{size:9,} judgments: worker {peak_mb:4.0f} MB, command {command_mb:4.0f} MB and "
        f"{command_cpu:4.1f} s CPU, first request after {(first - began).total_seconds():4.1f} s, "
        f"{size / seconds:4.0f}/s, {cpu / size * 1000:.2f} ms CPU per judgment\n"
    )
    sys.stdout.flush()


def judge_by_command(name: str) -> tuple[float, float]:
    """Start a run of the judge and study of this name; the command's peak memory and CPU."""
    command = [sys.executable, "manage.py", "judge", name, "--judge", name]
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL)  # noqa: S603
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise RuntimeError("the command `judge` failed")
    return used.ru_maxrss / 1024, used.ru_utime + used.ru_stime


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", type=int, nargs="+", default=[1000, 10_000])
    parser.add_argument("--slots", type=int, default=64)
    parser.add_argument("--latency-ms", type=float, default=5.0)
    options = parser.parse_args()
    set_up()
    for size in options.sizes:
        measure(size, options.latency_ms, options.slots)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
