"""Time and memory of the command `import_items`, by the number of items.

    python -m benchmarks.imports [items …]
    DATABASE_URL=postgresql://… python -m benchmarks.imports 1000 100000

Each import creates a study from a JSON Lines file of items of about 1,900 bytes, ten of a persona,
in a process of its own. The database is that of DATABASE_URL, or a fresh SQLite file. CPU is that
of this process, without PostgreSQL's, from the start of the command on, so without loading Django;
“grown” is by how much the peak of memory exceeds that of the loaded program.
"""

import io
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
import uuid
from pathlib import Path
from typing import Any

from benchmarks.exports import set_up
from tests.migrated import copy_migrated

SIZES = (1_000, 10_000, 100_000)
PER_PERSONA = 10
FEATURES = ("age", "gender", "employment", "education", "religion", "residence_country")


def item(number: int) -> dict[str, Any]:
    persona = number // PER_PERSONA
    features = [
        {
            "key": key,
            "label": key.replace("_", " ").capitalize(),
            "value": f"{key} {persona % 7}",
            "text": f"The person's {key} is {key} {persona % 7}.",
        }
        for key in FEATURES
    ]
    return {
        "id": f"item-{number:06}",
        "group": f"group-{number // 3}",
        "persona": {"id": f"p{persona}", "features": features, "text": f"Person {persona}."},
        "question": f"Question {number}: what should I cook tonight – something quick?",
        "responses": [
            {
                "key": key,
                "text": f"Answer {key} of {number}. {text * 5}",
                "score": score,
                "generated_by": {"kind": "model", "name": f"model-{key}", "provider": "someone"},
            }
            for key, text, score in (
                ("r1", "A lentil soup with red lentils is quick. ", 90),
                ("r2", "A roast needs an hour — or two. ", 55),
            )
        ],
        "first_person": {"label": "r1", "margin": 35, "source": "self_report"},
        "topic": f"topic {number % 12}",
        "language": "en",
        "metadata": {"turn": 0},
    }


def measure(folder: Path, path: Path) -> dict[str, float]:
    """CPU seconds, seconds, peak megabytes and what they grew by, of one import."""
    set_up(folder)
    from django.core.management import call_command

    from config.migrate import migrate

    migrate()
    before = _peak_mb()
    cpu, clock = time.process_time(), time.monotonic()
    slug = f"import-{uuid.uuid4().hex[:8]}"
    call_command("import_items", slug, path, create=True, stdout=io.StringIO())
    cpu, clock = time.process_time() - cpu, time.monotonic() - clock
    return {"cpu": cpu, "seconds": clock, "peak_mb": _peak_mb(), "grown_mb": _peak_mb() - before}


def _peak_mb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**10


def main(sizes: list[int]) -> None:
    row = "{:>10}{:>10}{:>8}{:>9}{:>10}{:>10}\n"
    sys.stdout.write(row.format("items", "file MB", "CPU s", "seconds", "peak MB", "grown MB"))
    where = "PostgreSQL" if os.environ.get("DATABASE_URL") else "SQLite"
    for size in sizes:
        with tempfile.TemporaryDirectory() as folder:
            copy_migrated(Path(folder))
            path = Path(folder) / "items.jsonl"
            with path.open("w", encoding="utf-8") as file:
                for number in range(size):
                    file.write(f"{json.dumps(item(number), ensure_ascii=False)}\n")
            command = [sys.executable, "-m", "benchmarks.imports", "measure", folder, str(path)]
            done = subprocess.run(  # noqa: S603  this very module
                command,
                check=True,
                stdout=subprocess.PIPE,
                text=True,
                cwd=Path(__file__).parents[1],
            )
            found = json.loads(done.stdout.splitlines()[-1])
            cells = (found["cpu"], found["seconds"], found["peak_mb"], found["grown_mb"])
            digits = (2, 2, 0, 0)
            sys.stdout.write(
                row.format(
                    f"{size:,}",
                    f"{path.stat().st_size / 2**20:.1f}",
                    *(f"{cell:.{n}f}" for cell, n in zip(cells, digits, strict=True)),
                )
            )
            sys.stdout.flush()
    sys.stdout.write(f"On {where}.\n")


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["measure", folder, path]:
            sys.stdout.write(json.dumps(measure(Path(folder), Path(path))) + "\n")
        case sizes:
            main([int(size) for size in sizes] or list(SIZES))
