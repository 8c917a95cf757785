"""How often a report's first screen is wrong, in studies with a known truth.

    python -m benchmarks.verdicts [studies of each design, 2000 by default]

Simulates the design of the source article (300 items, three answers each, 30 people) with people in
blocks or seats filled at random, with and without effects of personas and questions, and computes
intervals and verdicts with the functions that reports use. Each line is a share of studies with its
Monte Carlo standard error; methods that hold for these annotators only are there to compare with.
"""

import sys
import time
from collections.abc import Iterator
from dataclasses import replace

from benchmarks._verdict_studies import MARGIN, Design, Tally, measure

STUDIES = 2000
COVERAGE, FALSE = (0.93, 0.97), 0.06
DESIGNS = [
    Design(people=people, personas=personas, sd=sd)
    for people in ("blocks", "seats")
    for personas in (20, 0)
    for sd in (0.0, 0.5)
]
LARGE = Design(personas=60, n_items=900, n_people=90)
AT_MARGIN = [
    replace(design, target=target)
    for design in (DESIGNS[0], DESIGNS[-1], LARGE)
    for target in (-MARGIN, MARGIN)
]


def main() -> int:
    studies = int(sys.argv[1]) if len(sys.argv) > 1 else STUDIES
    start, missed = time.process_time(), 0
    for title, designs, wanted in (
        ("Truth equal", DESIGNS, ("covers", "false", "McNemar")),
        (f"Truth at the margin of {MARGIN:g}", AT_MARGIN, ("covers: difference", "equivalent")),
    ):
        for number, design in enumerate(designs, start=1):
            sys.stdout.write(f"\n{title}: {_named(design)}\n")
            for name, tally, is_met in _lines(design, studies, number, wanted):
                missed += not is_met
                mark = "" if is_met else "  outside"
                sys.stdout.write(f"  {name:<44} {tally.share:.3f} ± {tally.error:.3f}{mark}\n")
            sys.stdout.flush()
    sys.stdout.write(
        f"\n{studies:,} studies of each design, {time.process_time() - start:.0f} CPU seconds; "
        f"{missed} outside {COVERAGE[0]}–{COVERAGE[1]} or above {FALSE} by more than two standard "
        "errors.\n"
    )
    return 1 if missed else 0


def _lines(
    design: Design, studies: int, seed: int, wanted: tuple[str, ...]
) -> Iterator[tuple[str, Tally, bool]]:
    """Name, tally, and whether it is as promised, up to twice its Monte Carlo error."""
    for name, tally in measure(design, studies, seed).items():
        if not name.startswith(wanted):
            continue
        is_met, slack = True, 2 * tally.error
        if not name.endswith("Wilson") and "Tango" not in name:
            if name.startswith("covers"):
                # The best of several, and cells of few items, may be a little too wide.
                wide = name.endswith(("best of three", "certain"))
                is_met = COVERAGE[0] - slack <= tally.share <= (1 if wide else COVERAGE[1] + slack)
            elif name.startswith(("false", "equivalent")):
                is_met = tally.share <= FALSE + slack
        yield name, tally, is_met


def _named(design: Design) -> str:
    people = "people in blocks" if design.people == "blocks" else "seats filled at random"
    crossed = (
        f"{design.personas} personas × {design.questions} questions"
        if design.personas
        else "60 personas and 60 questions at random"
    )
    return (
        f"{design.n_items} items, {design.n_people} people, {people}, {crossed}, SD {design.sd:g}, "
        f"difference {design.target:+g}"
    )


if __name__ == "__main__":
    raise SystemExit(main())
