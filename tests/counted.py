"""What a request, a report and a start cost, counted in a process of its own and printed as JSON.

    python -m tests.counted setup|requests|report

Counts do not depend on what else the machine does, as times do. `tests/counts.toml` has what they
are allowed to be, and `tests/test_counts.py` compares.
"""

import json
import os
import random
import re
import statistics
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

from tests.migrated import copy_migrated

# Python 3.12 no longer calls these.
_INLINED = {"<listcomp>", "<dictcomp>", "<setcomp>"}
_HIDDEN = re.compile(r'name="(csrfmiddlewaretoken|assignment|start)" value="([^"]+)"')
_ITEMS = 12


class Count:
    """SQL statements, calls of Python functions, and modules that were imported."""

    def __init__(self) -> None:
        self.statements = self.calls = self.modules = 0

    @contextmanager
    def counting(self) -> Iterator[None]:
        before = len(sys.modules)
        sys.setprofile(self._profile)
        try:
            yield
        finally:
            sys.setprofile(None)
            self.modules = len(sys.modules) - before

    def _profile(self, frame: FrameType, event: str, _: object) -> None:
        if event == "call" and frame.f_code.co_name not in _INLINED:
            self.calls += 1

    def wrapper(self, execute: Callable[..., Any], *arguments: Any) -> Any:
        self.statements += 1
        return execute(*arguments)

    @contextmanager
    def with_statements(self) -> Iterator[None]:
        from django.db import connection

        with connection.execute_wrapper(self.wrapper), self.counting():
            yield


def setup() -> dict[str, Count]:
    """A start of Django, with all apps and extras."""
    count = Count()
    import django

    with count.counting():
        django.setup()
    return {"setup": count}


def requests() -> dict[str, Count]:
    """Requests of people who come by Prolific's link, without JavaScript; medians."""
    import django

    django.setup()
    from django.test import Client

    from annotation.models import Annotator
    from config.wsgi import application  # loads the site as a web worker does
    from studies.models import Item
    from tests.factories import make_items, make_study

    assert callable(application)
    study = make_study(items_per_annotator=_ITEMS, slug="counted")
    # What is drawn by chance decides how many statements find the items: here nothing is.
    for number, item in enumerate(make_items(study, _ITEMS)):
        Item.everything.filter(pk=item.pk).update(shuffle_key=number * 2**62 // _ITEMS)
    counts: dict[str, list[Count]] = {}
    client = Client()

    def ask(name: str, method: str, path: str, form: dict[str, str] | None = None) -> Any:
        count = Count()
        with count.with_statements():
            response = getattr(client, method)(path, form, headers={"host": "localhost"})
        assert response.status_code == (200 if name == "item page" else response.status_code), path
        counts.setdefault(name, []).append(count)
        return response

    for number in range(4):
        client.cookies.clear()
        link = f"/s/counted/?PROLIFIC_PID={number:024}&STUDY_ID=s&SESSION_ID={number}"
        assert ask("entry", "get", link).status_code == 302
        Annotator.objects.update(seed=7)
        ask("consent", "post", "/s/counted/consent/", {"consent": "yes"})
        path = ask("seats", "post", "/s/counted/instructions/", {})["Location"]
        while "/task/" in path:
            page = ask("item page", "get", path).content.decode()
            form = dict(_HIDDEN.findall(page)) | {"choice": "a", "certainty": "70"}
            answered = ask("answer", "post", path, form)
            assert answered.status_code == 303
            path = answered["Location"]
    return {name: _median(found) for name, found in counts.items()}


def _median(found: list[Count]) -> Count:
    """The middle of those after the first, which warms up: the modules are what that imported."""
    median = Count()
    for name in vars(median):
        setattr(median, name, statistics.median_high(getattr(one, name) for one in found[1:]))
    median.modules = found[0].modules
    return median


def report() -> dict[str, Count]:
    """A report of 30 items, with three answers to each and one judge, as a button builds it."""
    import django

    django.setup()
    from analysis.lifecycle.build_job import build_queued
    from analysis.models import Report
    from tests.analysis import builders
    from tests.factories import make_items, make_study

    study = make_study(slug="counted")
    draw, items, run = random.Random(7), make_items(study, 30), builders.make_run(study=study)
    raters = [builders.make_rater(study=study) for _ in range(3)]
    for item in items:
        for rater in raters:
            builders.answer(rater, item, draw.choice(["r1", "r2"]), draw.randint(50, 100))
        builders.judge_item(run, item, draw.choice(["r1", "r2"]), draw.randint(50, 100))
    report = Report.objects.create(study=study, number=1, threshold=80, bootstrap=1000, seed=1)
    count = Count()
    with count.with_statements():
        assert build_queued(report_id=report.pk).state == Report.State.DONE
    return {"report": count}


def main(kind: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        os.environ |= {"VAR_DIR": folder, "DJANGO_SETTINGS_MODULE": "config.settings.dev"}
        copy_migrated(Path(folder))
        found = {"setup": setup, "requests": requests, "report": report}[kind]()
    sys.stdout.write(json.dumps({name: vars(count) for name, count in found.items()}))


if __name__ == "__main__":
    main(*sys.argv[1:])
