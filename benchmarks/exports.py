"""Time and memory of exports of a study with a million answers.

    python -m benchmarks.exports [--answers N] [--only annotations-csv …]
    DATABASE_URL=postgresql://… python -m benchmarks.exports

Items with three answers each, annotators with thirty, and a judge that judged a tenth of the items.
The database is that of DATABASE_URL, which must be empty, or a fresh SQLite file in a temporary
folder. Every export runs in a process of its own, so that its peak of memory is measured alone.
CPU is that of this process, without PostgreSQL's; seconds are those of a clock.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

from tests.migrated import copy_migrated

PER_ITEM, PER_PERSON = 3, 30
ANSWERS = 1_000_000
BAR_MB = 300
STEP = 10_000
EXPORTS = (
    ("annotations", "jsonl"),
    ("annotations", "csv"),
    ("annotations", "parquet"),
    ("annotators", "jsonl"),
    ("annotators", "parquet"),
    ("aggregates", "jsonl"),
    ("mt-bench", "jsonl"),
    ("all", "jsonl"),
    ("all", "parquet"),
)


def set_up(folder: Path) -> None:
    """Set up Django on the database of DATABASE_URL, or the embedded one in `folder`."""
    os.environ["VAR_DIR"] = str(folder)
    os.environ.setdefault("SECRET_KEY", "only-for-benchmarks-" * 3)
    os.environ["DJANGO_SETTINGS_MODULE"] = "config.settings.dev"
    import django

    django.setup()


def fill(folder: Path, answers: int) -> None:
    """Create a study with `answers` answers."""
    set_up(folder)
    from annotation.models import Annotation, Annotator, Assignment
    from config.migrate import migrate
    from judging.models import Judge, JudgeRun, Judgment
    from studies.models import Item, Persona, Study
    from studies.statements.bulk import insert_rows

    migrate()
    if Study.objects.exists():
        raise SystemExit("The database of DATABASE_URL has studies. Name an empty one.")
    # Trios share their thirty items, and all annotators answer at the same time.
    n_people = -(-answers // (PER_PERSON * PER_ITEM)) * PER_ITEM
    n_items = n_people // PER_ITEM * PER_PERSON
    study = Study.objects.create(slug="large", title="A million answers", state="closed")
    feature = {"key": "age", "label": "Age", "value": "35-44", "text": "The person is 35-44."}
    Persona.objects.bulk_create(
        Persona(study=study, key=f"p{n}", features=[feature]) for n in range(1_000)
    )
    personas = list(Persona.objects.values_list("pk", flat=True))
    for start in range(0, n_items, STEP):
        insert_rows(
            Item,
            (
                "study",
                "persona",
                "key",
                "question",
                "r1",
                "r2",
                "first_person",
                "content_hash",
                "shuffle_key",
                "seats_needed",
                "seats_taken",
                "answered",
            ),
            [
                (
                    study.pk,
                    personas[n % len(personas)],
                    f"item-{n:07}",
                    f"Question {n}? " + "What would this person say? " * 2,
                    {"text": "One answer of some length. " * 10},
                    {"text": "Another answer of some length. " * 10},
                    ("r1", "r2")[n % 2],
                    f"{n:064}",
                    n,
                    *[PER_ITEM] * 3,
                )
                for n in range(start, min(start + STEP, n_items))
            ],
        )
    Annotator.objects.bulk_create(
        (
            Annotator(
                study=study,
                state="completed",
                demographics={"gender": ("woman", "man")[n % 2], "age": f"{n % 60}"},
            )
            for n in range(n_people)
        ),
        batch_size=2_000,
    )
    items = list(Item.objects.order_by("pk").values_list("pk", flat=True))
    people = list(Annotator.objects.order_by("pk").values_list("pk", flat=True))
    noon = datetime(2026, 1, 1, 12, tzinfo=UTC)
    for start in range(0, answers, STEP):
        numbers = range(start, min(start + STEP, answers))
        insert_rows(
            Assignment,
            ("annotator", "item", "position", "shown_first", "state"),
            [
                (
                    people[n % n_people],
                    items[n % n_people // PER_ITEM * PER_PERSON + n // n_people],
                    1 + n // n_people,
                    ("r1", "r2")[n % 2],
                    "answered",
                )
                for n in numbers
            ],
        )
        last = Assignment.objects.order_by("-pk").values_list("pk", flat=True)[0]
        insert_rows(
            Annotation,
            (
                "assignment",
                "choice",
                "certainty",
                "certainty_asked",
                "standing",
                "shown_at",
                "answered_at",
                "elapsed_ms",
                "active_ms",
                "wording_sha256",
            ),
            [
                (
                    last - numbers[-1] + n,
                    ("r1", "r2")[n % 7 % 2],
                    1 + n % 100,
                    True,
                    "counted",
                    noon + timedelta(seconds=n),
                    noon + timedelta(seconds=n + 20),
                    20_000,
                    19_000,
                    "0" * 64,
                )
                for n in numbers
            ],
        )
    judge = Judge.objects.create(name="judge", model="model")
    run = JudgeRun.objects.create(study=study, judge=judge, key="0" * 64, seed=1)
    Judgment.objects.bulk_create(
        (
            Judgment(
                run=run,
                item_id=item,
                shown_first="r1",
                state="done",
                choice="r1",
                certainty=70,
                raw_text="A]] [[70]]",
                replies=1,
                answered_at=noon,
            )
            for item in items[::10]
        ),
        batch_size=2_000,
    )


def measure(folder: Path, what: str, format: str) -> dict[str, float]:
    """Rows, CPU seconds, seconds, peak megabytes and megabytes written of one export."""
    set_up(folder)
    from analysis.exports.study_export import export_study
    from studies.models import Study

    out = folder / f"{what}-{format}"
    cpu, clock = time.process_time(), time.monotonic()
    counts = export_study(Study.objects.get(), what=what, format=format, out=out)
    cpu, clock = time.process_time() - cpu, time.monotonic() - clock
    files = [out] if out.is_file() else [path for path in out.rglob("*") if path.is_file()]
    return {
        "rows": sum(counts.values()),
        "cpu": cpu,
        "seconds": clock,
        "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**10,
        "written_mb": sum(path.stat().st_size for path in files) / 2**20,
    }


def run(*arguments: str) -> str:
    command = [sys.executable, "-m", "benchmarks.exports", *arguments]
    done = subprocess.run(  # noqa: S603  this very module
        command, check=True, stdout=subprocess.PIPE, text=True, cwd=Path(__file__).parents[1]
    )
    return done.stdout


def main() -> None:
    names = [f"{what}-{format}" for what, format in EXPORTS]
    parser = argparse.ArgumentParser(description="Time and memory of exports of a large study.")
    parser.add_argument("--answers", type=int, default=ANSWERS)
    parser.add_argument("--only", nargs="+", choices=names, default=names, metavar="WHAT-FORMAT")
    options = parser.parse_args()
    row = "{:<28}{:>12}{:>8}{:>9}{:>10}{:>6}{:>9}\n"
    name = f"export of {options.answers:,} answers"
    sys.stdout.write(row.format(name, "rows", "CPU s", "seconds", "peak MB", "bar", "file MB"))
    with tempfile.TemporaryDirectory() as folder:
        copy_migrated(Path(folder))
        run("fill", folder, str(options.answers))
        for what, format in EXPORTS:
            if f"{what}-{format}" not in options.only:
                continue
            found = json.loads(run("measure", folder, what, format).splitlines()[-1])
            sys.stdout.write(
                row.format(
                    f"{what}, {format}",
                    f"{found['rows']:,}",
                    f"{found['cpu']:.1f}",
                    f"{found['seconds']:.1f}",
                    f"{found['peak_mb']:.0f}",
                    f"{BAR_MB}",
                    f"{found['written_mb']:.0f}",
                )
            )
            sys.stdout.flush()


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["fill", folder, answers]:
            fill(Path(folder), int(answers))
        case ["measure", folder, what, format]:
            sys.stdout.write(json.dumps(measure(Path(folder), what, format)) + "\n")
        case _:
            main()
