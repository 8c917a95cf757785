"""Time and memory of exports of a study with a million answers, from a real SQLite database.

    python -m benchmarks exports [answers]

Items with three answers each, annotators with thirty, and a judge that judged a tenth of the items.
The database is made first, in a temporary folder; every export runs in a separate process, so that
its peak of memory is measured alone. Times are CPU time.
"""

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

PER_ITEM, PER_PERSON = 3, 30
ANSWERS = 1_000_000
BAR_MB = 300
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
    """Set up Django on the embedded database in `folder`."""
    os.environ["VAR_DIR"] = str(folder)
    os.environ.pop("DATABASE_URL", None)
    os.environ["DJANGO_SETTINGS_MODULE"] = "config.settings.dev"
    import django

    django.setup()


def fill(folder: Path, answers: int) -> None:
    """Create a study with `answers` answers."""
    set_up(folder)
    from django.core.management import call_command

    from annotation.models import Annotation, Annotator, Assignment
    from judging.models import Judge, JudgeRun, Judgment
    from studies.models import Item, Persona, Study

    call_command("migrate", verbosity=0)
    # Trios share their thirty items, and all annotators answer at the same time.
    n_people = -(-answers // (PER_PERSON * PER_ITEM)) * PER_ITEM
    n_items = n_people // PER_ITEM * PER_PERSON
    study = Study.objects.create(slug="large", title="A million answers", state="closed")
    feature = {"key": "age", "label": "Age", "value": "35-44", "text": "The person is 35-44."}
    Persona.objects.bulk_create(
        Persona(study=study, key=f"p{n}", features=[feature]) for n in range(1_000)
    )
    personas = list(Persona.objects.values_list("pk", flat=True))
    Item.everything.bulk_create(
        (
            Item(
                study=study,
                persona_id=personas[n % len(personas)],
                key=f"item-{n:07}",
                question=f"Question {n}? " + "What would this person say? " * 2,
                r1={"text": "One answer of some length. " * 10},
                r2={"text": "Another answer of some length. " * 10},
                first_person=("r1", "r2")[n % 2],
                content_hash=f"{n:064}",
                seats_needed=PER_ITEM,
                seats_taken=PER_ITEM,
                answered=PER_ITEM,
            )
            for n in range(n_items)
        ),
        batch_size=2_000,
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
    for start in range(0, answers, 20_000):
        made = Assignment.objects.bulk_create(
            [
                Assignment(
                    annotator_id=people[n % n_people],
                    item_id=items[n % n_people // PER_ITEM * PER_PERSON + n // n_people],
                    position=1 + n // n_people,
                    shown_first=("r1", "r2")[n % 2],
                    state="answered",
                )
                for n in range(start, min(start + 20_000, answers))
            ],
            batch_size=2_000,
        )
        Annotation.objects.bulk_create(
            [
                Annotation(
                    assignment=assignment,
                    choice=("r1", "r2")[n % 7 % 2],
                    certainty=1 + n % 100,
                    certainty_asked=True,
                    standing="counted",
                    shown_at=noon + timedelta(seconds=n),
                    answered_at=noon + timedelta(seconds=n + 20),
                    elapsed_ms=20_000,
                    active_ms=19_000,
                    wording_sha256="0" * 64,
                )
                for n, assignment in enumerate(made, start=start)
            ],
            batch_size=2_000,
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
    """CPU seconds, peak megabytes and megabytes written of one export."""
    set_up(folder)
    from analysis.exports.delivery.study_export import export_study
    from studies.models import Study

    out = folder / f"{what}-{format}"
    start = time.process_time()
    counts = export_study(Study.objects.get(), what=what, format=format, out=out)
    seconds = time.process_time() - start
    files = [out] if out.is_file() else [path for path in out.rglob("*") if path.is_file()]
    return {
        "rows": sum(counts.values()),
        "seconds": seconds,
        "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**10,
        "written_mb": sum(path.stat().st_size for path in files) / 2**20,
    }


def run(*arguments: str) -> str:
    command = [sys.executable, "-m", "benchmarks.exports", *arguments]
    done = subprocess.run(  # noqa: S603  this very module
        command, check=True, stdout=subprocess.PIPE, text=True, cwd=Path(__file__).parents[1]
    )
    return done.stdout


def main(answers: int) -> None:
    row = "{:<28}{:>12}{:>10}{:>10}{:>8}{:>10}\n"
    name = f"export of {answers:,} answers"
    sys.stdout.write(row.format(name, "rows", "CPU s", "peak MB", "bar", "file MB"))
    with tempfile.TemporaryDirectory() as folder:
        run("fill", folder, str(answers))
        for what, format in EXPORTS:
            found = json.loads(run("measure", folder, what, format).splitlines()[-1])
            sys.stdout.write(
                row.format(
                    f"{what}, {format}",
                    f"{found['rows']:,}",
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
        case [answers]:
            main(int(answers))
        case _:
            main(ANSWERS)
