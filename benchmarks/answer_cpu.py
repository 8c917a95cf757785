"""CPU time and queries of one item page, one answer, and one answer with the next page.

    python -m benchmarks answer_cpu
    python -m benchmarks.answer_cpu --people 40 --profile

The pages are asked for within this process, through the WSGI application with the settings of
production, so nothing but the application is measured: neither a socket nor gunicorn nor the
client. The database is the one of DATABASE_URL (a fresh SQLite file without it; the database must
be empty); its own CPU time is not counted if it is a server.
"""

import argparse
import cProfile
import io
import json
import os
import pstats
import random
import re
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode

from annotation.machine_signs import COUNTED

_HIDDEN = re.compile(r'name="(csrfmiddlewaretoken|assignment)" value="([^"]+)"')
_ITEMS_EACH = 30
# What somebody enters, and what the page's script counts.
_ENTERED = {
    "choice": "a",
    "certainty": "70",
    "active_ms": "900",
    "signals": json.dumps(dict.fromkeys(COUNTED, 2)),
}
# What the page's script sends with an answer, to get the next item instead of a redirect.
NEXT_ITEM = "text/vnd.thirdperson.item+html"


@dataclass
class Kind:
    """The measurements of one kind of request."""

    cpu: list[float] = field(default_factory=list)
    queries: int = 0


class Browser:
    """An annotator's browser: cookies, and a way to ask the application for a page."""

    def __init__(self, application: Any, cookies: dict[str, str]) -> None:
        self.application = application
        self.cookies = cookies
        self.profiler: cProfile.Profile | None = None

    def ask(
        self,
        kind: Kind,
        method: str,
        path: str,
        form: dict[str, str] | None = None,
        accept: str = "",
    ) -> tuple[int, dict[str, str], str]:
        """Send one request; return status, headers and page."""
        environ = self._environ(method, path, form, accept)
        answer: dict[str, Any] = {}

        def start_response(status: str, headers: list[tuple[str, str]]) -> None:
            answer.update(status=int(status[:3]), headers=headers)

        with counted(kind):
            if self.profiler:
                self.profiler.enable()
            start = time.thread_time()
            response = self.application(environ, start_response)
            page = b"".join(response)
            response.close()
            kind.cpu.append(time.thread_time() - start)
            if self.profiler:
                self.profiler.disable()
        for name, value in answer["headers"]:
            if name == "Set-Cookie":
                key, _, rest = value.partition("=")
                self.cookies[key] = rest.split(";", 1)[0]
        return answer["status"], dict(answer["headers"]), page.decode()

    def _environ(
        self, method: str, path: str, form: dict[str, str] | None, accept: str
    ) -> dict[str, Any]:
        body = urlencode(form or {}).encode()
        return {
            "REQUEST_METHOD": method,
            "PATH_INFO": path,
            "SCRIPT_NAME": "",
            "QUERY_STRING": "",
            "SERVER_NAME": "localhost",
            "SERVER_PORT": "80",
            "SERVER_PROTOCOL": "HTTP/1.1",
            "REMOTE_ADDR": "127.0.0.1",
            "HTTP_HOST": "localhost",
            "HTTP_ACCEPT": accept or "text/html,application/xhtml+xml,*/*;q=0.8",
            "HTTP_ACCEPT_LANGUAGE": "en",
            "HTTP_USER_AGENT": "Mozilla/5.0 (X11; Linux x86_64) Chrome/130.0 Safari/537.36",
            "HTTP_COOKIE": "; ".join(f"{key}={value}" for key, value in self.cookies.items()),
            "wsgi.version": (1, 0),
            "wsgi.url_scheme": "http",
            "wsgi.input": io.BytesIO(body),
            "wsgi.errors": sys.stderr,
            "wsgi.multithread": True,
            "wsgi.multiprocess": True,
            "wsgi.run_once": False,
            **(
                {
                    "CONTENT_TYPE": "application/x-www-form-urlencoded",
                    "CONTENT_LENGTH": str(len(body)),
                }
                if form is not None
                else {}
            ),
        }


@contextmanager
def counted(kind: Kind) -> Iterator[None]:
    """Count the statements of the first requests of a kind, so that the others pay nothing."""
    if len(kind.cpu) != 2:
        yield
        return
    from django.db import connection
    from django.test.utils import CaptureQueriesContext

    with CaptureQueriesContext(connection) as queries:
        yield
    kind.queries = len(queries)
    kind.cpu.pop()
    kind.cpu.append(kind.cpu[-1])
    if os.environ.get("SHOW_QUERIES"):
        for query in queries.captured_queries:
            sys.stdout.write(f"  {query['sql'][:400]}\n")
        sys.stdout.write("\n")


def make_study(items: int) -> Any:
    """An open study with profiles of five facts and texts of the length of real ones."""
    from studies.models import Item, Persona, Study

    rng = random.Random(7)  # noqa: S311
    words = "river market garden letter window summer bicycle teacher kitchen music".split()

    def text(length: int) -> str:
        return " ".join(rng.choices(words, k=length)).capitalize() + "."

    study = Study.objects.create(slug="bench", title="Benchmark", state="open", is_simulated=True)
    keys = ("age", "sex", "work", "education", "country")
    facts = [
        [{"key": k, "label": k.capitalize(), "value": text(2), "text": text(6)} for k in keys]
        for _ in range(50)
    ]
    personas = Persona.objects.bulk_create(
        Persona(study=study, key=f"p{n}", features=features) for n, features in enumerate(facts)
    )
    Item.everything.bulk_create(
        Item(
            study=study,
            persona=personas[n % 50],
            key=f"i{n:05}",
            question=text(20),
            r1={"text": text(60)},
            r2={"text": text(60)},
            first_person="r1",
            seats_needed=3,
            content_hash=f"{n:064}",
        )
        for n in range(items)
    )
    return study


def set_up(people: int) -> list[str]:
    """A study of 1,000 items and annotators who are at their first one; return their cookies."""
    from django.core import signing
    from django.core.management import call_command

    from annotation import services
    from annotation.content.texts import consent_text
    from config.migrate import migrate

    migrate()
    call_command("collectstatic", interactive=False, verbosity=0)
    study = make_study(items=max(1000, people * _ITEMS_EACH // 3 + _ITEMS_EACH))
    text, cookies = consent_text(study), []
    for number in range(people):
        annotator = services.enter(
            study=study, pid=f"{number:024}", prolific_study_id="s", session_id=f"{number}"
        )
        # With the text, as its page stores it: terms that are not stored are looked for each time.
        services.consent(annotator_id=annotator.pk, version=text.version, text=text)
        services.finish_instructions(annotator_id=annotator.pk)
        signer = signing.get_cookie_signer(salt="participant-benchannotation.participant")
        cookies.append(signer.sign(str(annotator.pk)))
    return cookies


def redirected(browser: Browser, page: Kind, answer: Kind) -> None:
    """One annotator without JavaScript: post, redirect, get."""
    location = "/s/bench/task/1/"
    while "/task/" in location:
        status, _, html = browser.ask(page, "GET", location)
        form = dict(_HIDDEN.findall(html)) | _ENTERED
        status, headers, _ = browser.ask(answer, "POST", location, form)
        if status != 303:
            raise SystemExit(f"POST {location}: {status}")
        location = headers["Location"]


def swapped(browser: Browser, answer: Kind) -> None:
    """One annotator with JavaScript: each answer returns the next item."""
    location = "/s/bench/task/1/"
    _, _, html = browser.ask(Kind(), "GET", location)
    while "/task/" in location:
        form = dict(_HIDDEN.findall(html)) | _ENTERED
        status, headers, html = browser.ask(answer, "POST", location, form, NEXT_ITEM)
        if status != 200:
            return
        location = headers["Content-Location"]


def main() -> None:
    parser = argparse.ArgumentParser(description="CPU time of an item page and of an answer.")
    parser.add_argument("--people", type=int, default=12, help="annotators of each kind")
    parser.add_argument("--profile", action="store_true", help="print the dearest functions")
    options = parser.parse_args()

    with tempfile.TemporaryDirectory() as folder:
        os.environ |= {
            "VAR_DIR": folder,
            "DJANGO_SETTINGS_MODULE": "config.settings.base",
            "SECRET_KEY": "benchmark-" + "0" * 50,
            "ALLOWED_HOSTS": "localhost",
        }
        import django

        django.setup()
        cookies = set_up(2 * options.people)
        from config.wsgi import application

        page, answer, both = Kind(), Kind(), Kind()
        profilers = {"redirect": cProfile.Profile(), "swap": cProfile.Profile()}
        for number, cookie in enumerate(cookies):
            browser = Browser(application, {"participant-bench": cookie})
            by_redirect = number % 2 == 0
            if options.profile and number > 1:
                browser.profiler = profilers["redirect" if by_redirect else "swap"]
            if by_redirect:
                redirected(browser, page, answer)
            else:
                swapped(browser, both)
        rows = {"item page": page, "answer": answer, "answer with the next page": both}
        for name, kind in rows.items():
            warm = sorted(kind.cpu[_ITEMS_EACH:])
            if warm:
                sys.stdout.write(
                    f"{name}: {statistics.median(warm) * 1000:.2f} ms CPU (median of {len(warm)}; "
                    f"best tenth {warm[len(warm) // 10] * 1000:.2f}), {kind.queries} queries\n"
                )
        if options.profile:
            for profiler in profilers.values():
                for order in ("cumulative", "tottime"):
                    pstats.Stats(profiler).sort_stats(order).print_stats(70)


if __name__ == "__main__":
    main()
