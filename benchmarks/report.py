"""Time and memory of a whole report's statistics: one study of each size, four judges.

    python -m benchmarks report

Each size is computed once in a separate process, so that its peak of memory is measured alone. The
data are simulated in memory; reading them from a database and drawing the page are not counted.
"""

import json
import os
import resource
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

PER_ITEM, PER_PERSON, JUDGES = 3, 30, 4
# Items, and the project's promise on two cores: seconds and gigabytes.
SIZES = ((300, 3.0, 4.0), (100_000, 60.0, 4.0))


def simulated(n_items: int, seed: int = 0):
    """A study in trios that share 30 items, two topics, six ages, four judges with certainty."""
    from analysis.data.arrays import (
        Answers,
        Cost,
        Dataset,
        Item,
        Judgments,
        Prompt,
        Run,
        StudyFacts,
    )

    rng = np.random.default_rng(seed)
    n_people = max(PER_ITEM, n_items * PER_ITEM // PER_PERSON)
    truth = rng.integers(0, 2, n_items)
    ease = rng.beta(3, 2, n_items)
    personas = [f"persona {n}" for n in range(max(1, n_items // 10))]
    items = tuple(
        Item(
            f"item {n:06}",
            ("food", "travel")[n % 2],
            personas[n % len(personas)],
            f"Question {n // 3}?",
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
            Run(
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
                cost=Cost(n_items, 0, None, None, None),
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


def measure(n_items: int) -> dict[str, float]:
    """Seconds, peak gigabytes and megabytes of report.json for a study of `n_items`."""
    import django

    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings.dev")
    django.setup()
    from analysis.lifecycle.build_job import to_json
    from analysis.report.build import build_report

    data = simulated(n_items)
    start = time.perf_counter()
    report = build_report(data, seed=1)
    seconds = time.perf_counter() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    return {"seconds": seconds, "peak_gb": peak, "json_mb": len(to_json(report)) / 2**20}


def main() -> None:
    row = "{:<44}{:>10}{:>8}{:>10}{:>8}{:>12}\n"
    sys.stdout.write(
        row.format("a report's statistics", "seconds", "bar", "peak GB", "bar", "JSON MB")
    )
    for n_items, bar, memory in SIZES:
        command = [sys.executable, "-m", "benchmarks.report", str(n_items)]
        done = subprocess.run(  # noqa: S603  this very module
            command, check=True, capture_output=True, text=True, cwd=Path(__file__).parents[1]
        )
        found = json.loads(done.stdout.splitlines()[-1])
        name = f"{n_items:,} items x {PER_ITEM}, {JUDGES} judges"
        sys.stdout.write(
            row.format(
                name,
                f"{found['seconds']:.2f}",
                f"{bar:g}",
                f"{found['peak_gb']:.2f}",
                f"{memory:g}",
                f"{found['json_mb']:.1f}",
            )
        )
        sys.stdout.flush()


if __name__ == "__main__":
    if len(sys.argv) > 1:
        sys.stdout.write(json.dumps(measure(int(sys.argv[1]))) + "\n")
    else:
        main()
