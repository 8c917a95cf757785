"""Time and memory of a whole report: one study of each size, three answers per item, four judges.

    DATABASE_URL=postgresql://… python -m benchmarks report
    python -m benchmarks.report 1000 10000

The database must be empty. A study of each size is filled in with COPY. The real job then reads it,
computes, draws and saves, in a process of its own, so that its peak of memory is measured alone.
Chromium opens the page from the disk. Without DATABASE_URL only the statistics are measured, over
arrays in memory. CPU is that of the job with its threads, and `seconds` are those of a
clock.
"""

import io
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

PER_ITEM, PER_PERSON, JUDGES = 3, 30, 4
SIZES = (1_000, 10_000, 100_000)
# The project's promise for the largest, in one process: seconds, megabytes, seconds to open it.
BARS = "100,000 items: 40 s, page 3 MB, scrollable in 1 s"


def simulated(n_items: int, seed: int = 0):
    """A study in trios that share 30 items, two topics, six ages, four judges with certainty."""
    from analysis.data.arrays import (
        Answers,
        Dataset,
        ItemData,
        Judgments,
        Prompt,
        RunData,
        RunMoney,
        StudyFacts,
    )

    rng = np.random.default_rng(seed)
    n_people = -(-n_items // PER_PERSON) * PER_ITEM
    truth = rng.integers(0, 2, n_items)
    ease = rng.beta(3, 2, n_items)
    personas = [f"persona {n}" for n in range(max(1, n_items // 10))]
    items = tuple(
        ItemData(
            f"item {n:06}",
            ("food", "travel")[n % 2],
            personas[n % len(personas)],
            f"Question {n // 3}: what would this person say about the matter?",
            ("r1", "r2")[truth[n]],
            (40, 60),
        )
        for n in range(n_items)
    )

    def answers_of(item: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        right = rng.random(item.size) < ease[item]
        choice = np.where(right, truth[item], 1 - truth[item]).astype(np.int8)
        return choice, np.clip(np.round(rng.normal(55 + 25 * ease[item], 15) / 5) * 5, 1, 100)

    item = np.repeat(np.arange(n_items), PER_ITEM)
    rater = (item // PER_PERSON * PER_ITEM + np.tile(np.arange(PER_ITEM), n_items)) % n_people
    choice, certainty = answers_of(item)
    sides = rng.integers(0, 2, item.size).astype(np.int8)
    seconds = rng.gamma(4, 5, item.size)
    answers = Answers(item, rater, choice, certainty, sides, seconds, position=item % PER_PERSON)

    runs = []
    for number in range(JUDGES):
        every = np.arange(n_items)
        choice, certainty = answers_of(every)
        judgments = Judgments(
            item=every,
            shown_first=rng.integers(0, 2, n_items).astype(np.int8),
            sample=np.ones(n_items, dtype=np.int64),
            choice=choice,
            certainty=certainty,
            status=np.full(n_items, "done"),
            replies=np.ones(n_items, dtype=np.int64),
            probabilities=np.full((n_items, 3), np.nan),
        )
        runs.append(
            RunData(
                run=f"{number:064}",
                judge=f"judge {number}",
                setting="certainty",
                features="all",
                backend="replay",
                snapshots=(),
                orders="random",
                samples=1,
                seed=1,
                parameters={},
                prompt=Prompt("", "", ""),
                state="done",
                state_reason="",
                cost=RunMoney(n_items, 0, None, None, None),
                judgments=judgments,
            )
        )
    return Dataset(
        study=StudyFacts(
            slug="simulated",
            title="Simulated",
            task="preference",
            language="en",
            is_simulated=True,
            allow_tie=False,
            ask_certainty=True,
            certainty_threshold=80,
            equivalence_margin=0.05,
            annotations_per_item=PER_ITEM,
            items_per_annotator=PER_PERSON,
            persona_style="list",
            show_history=0,
            minutes=20,
            reward=450,
            currency="USD",
            source={},
            question="Which?",
        ),
        items=items,
        personas={
            key: (("Age", f"{20 + 10 * (n % 6)}s"), ("Diet", ("any", "vegan", "halal")[n % 3]))
            for n, key in enumerate(personas)
        },
        raters=tuple(f"P-{n:06}" for n in range(n_people)),
        rater_groups=({},) * n_people,
        answers=answers,
        runs=tuple(runs),
    )


def set_up() -> None:
    import django

    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings.dev")
    os.environ.setdefault("SECRET_KEY", "of a benchmark")
    django.setup()


def fill(n_items: int) -> None:
    """Store the simulated study; its title is the number of its items."""
    set_up()
    from annotation.models import Annotation, Annotator, Assignment
    from config.migrate import migrate
    from judging.models import Attempt, Judge, JudgeRun, Judgment
    from studies.models import Item, Persona, Study

    migrate()
    data, name = simulated(n_items), f"items-{n_items}"
    study = Study.objects.create(slug=name, title=f"{n_items:,} items", is_simulated=True)
    shown = [
        [
            {"key": label.lower(), "label": label, "value": value, "text": value}
            for label, value in f
        ]
        for f in data.personas.values()
    ]
    personas = copy_in(Persona, study_id=study.pk, key=list(data.personas), features=shown)
    of_key = dict(zip(data.personas, personas, strict=True))
    text = {"text": "A response of some length, as a person or a model would write it. " * 4}
    items = copy_in(
        Item,
        study_id=study.pk,
        persona_id=[of_key[item.persona] for item in data.items],
        key=[item.key for item in data.items],
        topic=[item.topic for item in data.items],
        question=[item.question for item in data.items],
        r1=text,
        r2=text,
        first_person=[item.truth for item in data.items],
    )
    people = copy_in(
        Annotator,
        study_id=study.pk,
        pseudonym=list(data.raters),
        state="completed",
        identity_hash=None,
        resume_code=None,
        seed=1,
    )
    codes, noon = np.array(["r1", "r2"]), datetime(2026, 1, 1, 12, tzinfo=UTC)
    rows = data.answers
    assignments = copy_in(
        Assignment,
        annotator_id=(people[0] + rows.rater).tolist(),
        item_id=(items[0] + rows.item).tolist(),
        position=(1 + rows.position).tolist(),
        shown_first=codes[rows.shown_first].tolist(),
        state="answered",
    )
    copy_in(
        Annotation,
        assignment_id=assignments,
        choice=codes[rows.choice].tolist(),
        certainty=rows.certainty.astype(int).tolist(),
        certainty_asked=True,
        standing="counted",
        answered_at=noon,
        active_ms=(1000 * rows.seconds).astype(int).tolist(),
    )
    for number, run in enumerate(data.runs):
        judge, _ = Judge.objects.get_or_create(name=run.judge, defaults={"model": "model"})
        stored = JudgeRun.objects.create(
            study=study,
            judge=judge,
            key=f"{n_items * JUDGES + number:064}",
            setting="certainty",
            seed=1,
            state="done",
            sentence="Every question has an answer.",
        )
        made = run.judgments
        judgments = copy_in(
            Judgment,
            run_id=stored.pk,
            item_id=(items[0] + made.item).tolist(),
            shown_first=codes[made.shown_first].tolist(),
            state="done",
            choice=codes[made.choice].tolist(),
            certainty=made.certainty.astype(int).tolist(),
            replies=1,
            model_snapshot="model",
            answered_at=noon,
        )
        copy_in(
            Attempt,
            judgment_id=judgments,
            number=1,
            outcome="replied",
            sent_at=noon,
            prompt_tokens=800,
            completion_tokens=12,
            cost_nano=1000,
        )


def copy_in(model: Any, **values: Any) -> Sequence[int]:
    """Store rows through COPY and return their ids; a value is a list by row, or one for all."""
    from django.db import connection

    n = max(len(value) for value in values.values() if isinstance(value, list | range))
    table, last = model._meta.db_table, model._base_manager.order_by("-pk").first()
    first = last.pk + 1 if last else 1
    ids = range(first, first + n)
    values = {"id": ids, "created_at": datetime.now(UTC)} | values
    plain, columns = model(), []
    for field in model._meta.concrete_fields:
        value = values.get(field.attname, getattr(plain, field.attname))
        if isinstance(value, range) or (isinstance(value, list) and field.attname in values):
            columns.append([_as_text(each) for each in value])
        else:
            columns.append([_as_text(value)] * n)
    lines = io.StringIO("".join("\t".join(row) + "\n" for row in zip(*columns, strict=True)))
    names = ", ".join(f'"{field.column}"' for field in model._meta.concrete_fields)
    with connection.cursor() as cursor:
        cursor.copy_expert(f'COPY "{table}" ({names}) FROM STDIN', lines)
        cursor.execute(f'ANALYZE "{table}"')
    return ids


def _as_text(value: Any) -> str:
    if value is None:
        return "\\N"
    return json.dumps(value) if isinstance(value, dict | list) else str(value)


def measure(n_items: int, folder: Path) -> dict[str, Any]:
    """Build the report of the stored study by its real job; returns what it took and made."""
    os.environ["VAR_DIR"] = str(folder)
    set_up()
    from analysis.lifecycle.build_job import build_queued
    from analysis.lifecycle.storage import report_dir
    from analysis.models import Report
    from studies.models import Study

    study = Study.objects.get(slug=f"items-{n_items}")
    report = Report.objects.create(
        study=study, number=study.reports.count() + 1, threshold=80, bootstrap=1000, seed=1
    )
    start, cpu = time.perf_counter(), _cpu()
    if (report := build_queued(report_id=report.pk)).state != Report.State.DONE:
        raise RuntimeError(report.message)
    with report_dir(report.public_id).local() as folder:
        page = folder / "report.html"
    return {
        "cpu": _cpu() - cpu,
        "seconds": time.perf_counter() - start,
        "peak_mb": _peak_mb(),
        "json_mb": (page.parent / "report.json").stat().st_size / 2**20,
        "html_mb": page.stat().st_size / 2**20,
        "page": str(page),
    }


def measure_statistics(n_items: int) -> dict[str, float]:
    """The same for the numbers alone, from arrays in memory."""
    set_up()
    from analysis.report.build import build_report
    from analysis.report.report_json import to_json

    data = simulated(n_items)
    start, cpu = time.perf_counter(), _cpu()
    report = build_report(data, seed=1)
    return {
        "cpu": _cpu() - cpu,
        "seconds": time.perf_counter() - start,
        "peak_mb": _peak_mb(),
        "json_mb": len(to_json(report)) / 2**20,
    }


def _cell(value: float | None) -> str:
    if value is None:
        return "–"
    return f"{value:.3g}" if value < 100 else f"{value:,.0f}"


def _cpu() -> float:
    """CPU seconds of this process and of those that it started and that have ended."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


def _peak_mb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**10


def open_page(page: Path) -> dict[str, Any]:
    """Open the page from the disk: its elements, and seconds until a reader can scroll it."""
    from playwright.sync_api import sync_playwright

    from tests.servers import chromium

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium(), args=["--no-sandbox"])
        tab = browser.new_page(viewport={"width": 1280, "height": 800})
        tab.add_init_script(
            "addEventListener('DOMContentLoaded', () => requestAnimationFrame(() =>"
            " setTimeout(() => { window.scrollableAt = performance.now(); })))"
        )
        tab.goto(page.as_uri(), wait_until="commit")
        tab.wait_for_selector("body[data-drawn]", timeout=120_000)
        found = {
            "elements": tab.evaluate("document.querySelectorAll('*').length"),
            "scrollable": tab.evaluate("window.scrollableAt") / 1000,
            "drawn": tab.evaluate("performance.now()") / 1000,
        }
        browser.close()
    return found


ROW = "{:<34}{:>9}{:>9}{:>10}{:>9}{:>9}{:>10}{:>13}{:>9}\n"
HEADINGS = (
    "CPU s",
    "seconds",
    "peak MB",
    "JSON MB",
    "page MB",
    "elements",
    "scrollable s",
    "drawn s",
)
FIELDS = ("cpu", "seconds", "peak_mb", "json_mb", "html_mb", "elements", "scrollable", "drawn")


def main(sizes: Sequence[int]) -> None:
    is_whole = "DATABASE_URL" in os.environ
    sys.stdout.write(f"{BARS}\n{ROW.format('', *HEADINGS)}")
    with tempfile.TemporaryDirectory() as folder:
        for n_items in sizes:
            name = f"{n_items:,} items x {PER_ITEM}, {JUDGES} judges"
            if is_whole:
                run("fill", str(n_items))
                found = run("measure", str(n_items), folder)
                found |= run("open", found["page"])
            else:
                found = run("statistics", str(n_items))
            sys.stdout.write(ROW.format(name, *(_cell(found.get(key)) for key in FIELDS)))
            sys.stdout.flush()


def run(*arguments: str) -> dict[str, Any]:
    command = [sys.executable, "-m", "benchmarks.report", *arguments]
    done = subprocess.run(  # noqa: S603  this very module
        command,
        check=True,
        stdout=subprocess.PIPE,
        text=True,
        cwd=Path(__file__).parents[1],
        # This module imports NumPy before the apps, which set this for themselves.
        env=os.environ | {"OPENBLAS_NUM_THREADS": "1"},
    )
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["fill", n_items]:
            fill(int(n_items))
            sys.stdout.write("{}\n")
        case ["measure", n_items, folder]:
            sys.stdout.write(json.dumps(measure(int(n_items), Path(folder))) + "\n")
        case ["statistics", n_items]:
            sys.stdout.write(json.dumps(measure_statistics(int(n_items))) + "\n")
        case ["open", page]:
            sys.stdout.write(json.dumps(open_page(Path(page))) + "\n")
        case sizes:
            main([int(size) for size in sizes] or SIZES)
