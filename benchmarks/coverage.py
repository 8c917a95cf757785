"""What the statistics promise, in simulations whose truth is known and on published tables.

    python -m benchmarks.coverage                      every family, with few studies
    python -m benchmarks.coverage --only agreement     some families
    python -m benchmarks.coverage --thorough           as many studies as `verify_methods`

Prints one line for each family: how many promises were checked, how many were kept, and the
interval that came closest to breaking its promise.
"""

import argparse
import os
import sys
import time
from collections import defaultdict
from typing import Any

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings.test")

SEED = 20240701


def main() -> int:
    import django

    django.setup()
    from analysis.lifecycle.method_checks import check_methods, chosen_checks
    from analysis.planted_truth.registry import FAMILIES

    parser = argparse.ArgumentParser(description="Check what the statistics promise.")
    parser.add_argument("--only", action="append", default=[], choices=FAMILIES, metavar="FAMILY")
    parser.add_argument("--thorough", action="store_true", help="half an hour instead of minutes")
    parser.add_argument("--seed", type=int, default=SEED)
    options = parser.parse_args()
    rows, broken = [], []
    for family in options.only or FAMILIES:
        start = time.process_time()
        result = check_methods(
            chosen_checks([family]), quick=not options.thorough, seed=options.seed
        )
        rows.append(_row(family, result["findings"], time.process_time() - start))
        broken += [f for f in result["findings"] if f["kept"] is False]
        sys.stderr.write(f"{family} done\n")
    _print(rows, broken)
    return 1 if broken else 0


def _row(family: str, findings: list[dict[str, Any]], seconds: float) -> list[str]:
    """A line of the table: the family's promises and its tightest interval."""
    by_kept: dict[Any, int] = defaultdict(int)
    for finding in findings:
        by_kept[finding["kept"]] += 1
    covered = [f for f in findings if f["kind"] == "coverage" and f["kept"] is not None]
    studies = sum(f["n"] for f in findings)
    tightest = min(covered, key=lambda f: f["found"] - f["least"], default=None)
    return [
        family,
        f"{by_kept[True]} of {by_kept[True] + by_kept[False]}",
        f"{studies:,}",
        "–" if tightest is None else f"{tightest['check']}, {tightest['design']}",
        "–" if tightest is None else f"{tightest['stated']:.2f}",
        "–" if tightest is None else f"{tightest['found']:.3f} ± {tightest['error']:.3f}",
        f"{seconds:.0f}",
    ]


def _print(rows: list[list[str]], broken: list[dict[str, Any]]) -> None:
    heading = (
        "family",
        "promises kept",
        "simulated studies counted",
        "tightest interval",
        "stated coverage",
        "found ± Monte Carlo error",
        "CPU s",
    )
    lines = [heading, ["---"] * len(heading), *rows]
    sys.stdout.write("".join(f"| {' | '.join(line)} |\n" for line in lines))
    for finding in broken:
        sys.stdout.write(
            f"\nBroken: {finding['check']}, {finding['design']}: {finding['promise']}\n"
        )


if __name__ == "__main__":
    sys.exit(main())
