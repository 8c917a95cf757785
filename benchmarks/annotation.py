"""Answers per second through the real pages: 30 items per annotator, 3 answers per item.

    python -m benchmarks annotation
    python -m benchmarks.annotation --people 20 --seconds 60 --items 1000

Twenty virtual annotators in a closed loop without think time, each with a separate cookie jar and
a kept-alive connection: link, consent, instructions, then up to 30 times {open the item, send
choice and certainty}, completion; then the next annotator follows. The server is gunicorn as
`make run` starts it, on the database that DATABASE_URL names (a fresh SQLite file without it; the
database must be empty). An answer counts as acknowledged when its redirect has arrived; half way
through a second run the server is killed with SIGKILL, and the stored answers are compared with
the acknowledged ones. The annotators run on the same cores as the server, so the rate is that of
both together; CPU per answer is the server's alone.
"""

import argparse
import http.client
import itertools
import os
import random
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlencode, urlsplit

from config.processes import web_command

ROOT = Path(__file__).resolve().parent.parent
_CLOCK = os.sysconf("SC_CLK_TCK")
_HIDDEN = re.compile(r'name="(csrfmiddlewaretoken|assignment)" value="([^"]+)"')

_SET_UP = """
import random, sys
import django
django.setup()
from django.core.management import call_command
call_command("migrate", verbosity=0)
from studies.models import Item, Persona, Study
count = int(sys.argv[1])
rng = random.Random(7)
words = "river market garden letter window summer bicycle teacher kitchen music".split()
text = lambda n: " ".join(rng.choices(words, k=n)).capitalize() + "."
study = Study.objects.create(slug="bench", title="Benchmark", state="open", is_simulated=True)
keys = ("age", "sex", "work", "education", "country")
personas = Persona.objects.bulk_create(
    Persona(study=study, key=f"p{n}", features=[
        {"key": k, "label": k.capitalize(), "value": text(2), "text": text(6)} for k in keys
    ]) for n in range(50)
)
Item.everything.bulk_create(
    Item(study=study, persona=personas[n % 50], key=f"i{n:05}", question=text(20),
         r1={"text": text(60)}, r2={"text": text(60)}, first_person="r1", seats_needed=3,
         content_hash=f"{n:064}")
    for n in range(count)
)
"""

_COUNT = """
import django
django.setup()
from annotation.models import Annotation
from studies.models import Item
print(Annotation.objects.count(), Item.objects.filter(answered__gt=3).count())
"""


class ServerError(Exception):
    """A response with a status that no page of the path can have."""


@dataclass
class Log:
    """Measurements of the virtual annotators; all threads append to it."""

    pages: list[float] = field(default_factory=list)
    submits: list[float] = field(default_factory=list)
    entries: list[float] = field(default_factory=list)
    acknowledged: int = 0
    errors: list[str] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)


class Visitor:
    """An annotator's browser: cookies, a connection, and the forms' hidden fields."""

    def __init__(self, port: int, log: Log) -> None:
        self.connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        self.cookies: dict[str, str] = {}
        self.log = log

    def request(self, method: str, path: str, form: dict[str, str] | None = None) -> str:
        """Send one request and follow its redirects; return the last page."""
        status, location, page = self._send(method, path, form)
        while status in (302, 303):
            status, location, page = self._send("GET", location, None)
        if status != 200:
            raise ServerError(f"{method} {path}: {status}")
        return page

    def _send(self, method: str, path: str, form: dict[str, str] | None) -> tuple[int, str, str]:
        headers = {"Cookie": "; ".join(f"{k}={v}" for k, v in self.cookies.items())}
        body = None
        if form is not None:
            body = urlencode(form)
            headers["Content-Type"] = "application/x-www-form-urlencoded"
        self.connection.request(method, path, body=body, headers=headers)
        response = self.connection.getresponse()
        page = response.read()
        for header, value in response.getheaders():
            if header.lower() == "set-cookie":
                name, _, rest = value.partition("=")
                self.cookies[name] = rest.split(";", 1)[0]
        target = urlsplit(response.getheader("Location") or "")
        location = target.path + (f"?{target.query}" if target.query else "")
        return response.status, location, page.decode()

    def submit(self, path: str, **fields: str) -> tuple[int, str]:
        """Send one form; return the status and the address it leads to."""
        status, location, _ = self._send("POST", path, fields)
        return status, location

    def take_part(self, pid: str, rng: random.Random, deadline: float) -> None:
        """Go through the whole path, or as far as time allows."""
        start = time.perf_counter()
        query = urlencode({"PROLIFIC_PID": pid, "STUDY_ID": "s", "SESSION_ID": pid})
        hidden = dict(_HIDDEN.findall(self.request("GET", f"/s/bench/?{query}")))
        page = self.request("POST", "/s/bench/consent/", {**hidden, "consent": "yes"})
        hidden = dict(_HIDDEN.findall(page))
        status, location = self.submit("/s/bench/instructions/", **hidden)
        if status != 303:
            raise ServerError(f"instructions: {status}")
        self.log.entries.append(time.perf_counter() - start)
        while "/task/" in location and time.monotonic() < deadline:
            start = time.perf_counter()
            hidden = dict(_HIDDEN.findall(self.request("GET", location)))
            shown = time.perf_counter()
            status, location = self.submit(
                location, **hidden, choice=rng.choice("ab"), certainty=str(rng.randint(1, 100))
            )
            if status != 303:
                raise ServerError(f"answer: {status}")
            with self.log.lock:
                self.log.acknowledged += 1
            self.log.pages.append(shown - start)
            self.log.submits.append(time.perf_counter() - shown)
        if "/feedback/" in location:
            hidden = dict(_HIDDEN.findall(self.request("GET", location)))
            self.request("POST", location, {**hidden, "comments": ""})


class Server:
    """gunicorn as `make run` starts it, in a process group of its own."""

    def __init__(self, port: int, environment: dict[str, str]) -> None:
        self.port = port
        self.process = subprocess.Popen(  # noqa: S603
            web_command(port=port),
            cwd=ROOT,
            env=environment,
            start_new_session=True,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        self._wait()

    def _wait(self) -> None:
        """Return when every worker has imported the site and served pages."""
        deadline = time.monotonic() + 60
        answered = 0
        while answered < 40:
            try:
                connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
                connection.request("GET", "/s/bench/")
                connection.getresponse().read()
                answered += 1
            except OSError:
                if time.monotonic() > deadline:
                    raise ServerError("the server did not start within 60 seconds") from None
                time.sleep(0.1)
            finally:
                connection.close()

    def cpu_seconds(self) -> float:
        """User and system time of the server's processes so far."""
        total = 0
        for stat in Path("/proc").glob("[0-9]*/stat"):
            try:
                fields = stat.read_text().rpartition(")")[2].split()
            except OSError:
                continue
            if int(fields[2]) == self.process.pid:
                total += int(fields[11]) + int(fields[12])
        return total / _CLOCK

    def stop(self, number: int = signal.SIGTERM) -> None:
        os.killpg(self.process.pid, number)
        self.process.wait()


def work(port: int, *, people: int, seconds: float, first: int, log: Log) -> None:
    """Run `people` threads, each with one annotator after another, until time is up."""
    deadline = time.monotonic() + seconds
    numbers = itertools.count(first)

    def run(seed: int) -> None:
        rng = random.Random(seed)  # noqa: S311
        while time.monotonic() < deadline:
            try:
                Visitor(port, log).take_part(f"person{next(numbers)}", rng, deadline)
            except (ServerError, OSError, http.client.HTTPException) as error:
                log.errors.append(f"{type(error).__name__}: {error}")
                if isinstance(error, OSError | http.client.HTTPException):
                    return

    threads = [threading.Thread(target=run, args=(seed,)) for seed in range(people)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def quantiles(seconds: list[float]) -> str:
    """Median and 95th percentile in milliseconds."""
    if len(seconds) < 20:
        return "–"
    cuts = statistics.quantiles(seconds, n=100)
    return f"{cuts[49] * 1000:.0f} / {cuts[94] * 1000:.0f} ms"


def main() -> None:
    parser = argparse.ArgumentParser(description="Answers a second through the real pages.")
    parser.add_argument("--people", type=int, default=20)
    parser.add_argument("--seconds", type=float, default=45)
    parser.add_argument("--items", type=int, default=1000)
    parser.add_argument("--port", type=int, default=8917)
    options = parser.parse_args()

    with tempfile.TemporaryDirectory() as folder:
        environment = os.environ | {
            "VAR_DIR": folder,
            "DJANGO_SETTINGS_MODULE": "config.settings.base",
            "SECRET_KEY": "benchmark-" + "0" * 50,
            "PUBLIC_BASE_URL": f"http://127.0.0.1:{options.port}",
        }

        def python(code: str, *arguments: str) -> str:
            return subprocess.run(  # noqa: S603
                [sys.executable, "-c", code, *arguments],
                cwd=ROOT,
                env=environment,
                check=True,
                capture_output=True,
                text=True,
            ).stdout

        python(_SET_UP, str(options.items))
        python(
            "import django; django.setup(); from django.core.management import call_command; "
            "call_command('collectstatic', interactive=False, verbosity=0)"
        )
        server = Server(options.port, environment)
        log = Log()
        before, start = server.cpu_seconds(), time.monotonic()
        work(options.port, people=options.people, seconds=options.seconds, first=0, log=log)
        elapsed, cpu = time.monotonic() - start, server.cpu_seconds() - before
        server.stop()
        stored, above = map(int, python(_COUNT).split())
        everything = [*log.pages, *log.submits]
        print_report(log, elapsed=elapsed, cpu=cpu, stored=stored, above=above, times=everything)

        server = Server(options.port, environment)
        second = Log()
        killer = threading.Timer(8, server.stop, args=(signal.SIGKILL,))
        killer.start()
        work(options.port, people=options.people, seconds=12, first=10**6, log=second)
        killer.join()
        after, above = map(int, python(_COUNT).split())
        lost = max(0, log.acknowledged + second.acknowledged - after)
        sys.stdout.write(
            f"SIGKILL in mid-work: {second.acknowledged} answers acknowledged, {lost} lost; "
            f"{above} items above 3\n"
        )


def print_report(
    log: Log, *, elapsed: float, cpu: float, stored: int, above: int, times: list[float]
) -> None:
    rate = log.acknowledged / elapsed
    lines = [
        f"{log.acknowledged} answers in {elapsed:.0f} s: {rate:.1f} answers/s",
        f"latency, all: {quantiles(times)} (median / 95th percentile)",
        f"  item page: {quantiles(log.pages)}",
        f"  answer: {quantiles(log.submits)}",
        f"  entry, consent and instructions: {quantiles(log.entries)}",
        f"server CPU: {cpu / max(log.acknowledged, 1) * 1000:.1f} ms per answer",
        f"stored {stored}, acknowledged {log.acknowledged}; {above} items above 3; "
        f"{len(log.errors)} errors",
        *sorted(set(log.errors))[:5],
    ]
    sys.stdout.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
