"""Answers a second of this program, oTree and Potato with one client, in turn, in one run.

    python -m benchmarks peers
    python -m benchmarks.peers --rounds 3 --seconds 10

The workload is “30x3”: 1,000 items, 20 people in a closed loop without think time, each with a
separate cookie jar and a kept-alive connection: open an item, send choice and certainty, 30 times;
then the next person takes the place. Every round starts each server once, on a fresh copy of its
data, waits until everyone has given an answer, and measures it for the given seconds. A ratio is
the median of the ratios within a round, with the smallest and the largest. The people run in one
process on the same machine.

This program runs two web processes, as `make run` starts it; oTree `prodserver1of2`, Potato
`potato start`. CPU is that of the server and, on PostgreSQL, of the database.
"""

import argparse
import statistics
import sys
from collections import defaultdict
from collections.abc import Callable, Sequence
from contextlib import ExitStack

from benchmarks.load.measurement import Measurement, Times
from benchmarks.peers.turns import Turn, cpu, prepare, rate, ratios, take_turn

BUSY = 0.15  # of the machine's cores: rates and times are not printed above this


def main() -> None:
    parser = argparse.ArgumentParser(
        description="Answers a second of this program, oTree and Potato, measured in turn."
    )
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=20, help="of each system in each round")
    parser.add_argument("--people", type=int, default=20)
    options = parser.parse_args()
    with ExitStack() as stack:
        systems = prepare(stack)
        turns = defaultdict(list)
        for number in range(1, options.rounds + 1):
            for system in systems:
                turn = take_turn(system, people=options.people, seconds=options.seconds)
                turns[system.name].append(turn)
                sys.stderr.write(
                    f"round {number}: {system.name}: {turn.rate:.1f} answers/s, "
                    f"{turn.cpu_ms:.1f} ms CPU each, {sum(turn.found.errors.values())} errors\n"
                )
    sys.stdout.write(as_markdown(turns))


def as_markdown(turns: dict[str, list[Turn]]) -> str:
    """One row a system: figures where the machine was quiet, and ratios always."""
    load = statistics.median(turn.other_load for of_one in turns.values() for turn in of_one)
    lines = [
        f"Other programs used {load:.0%} of the machine's cores (median of the turns). "
        + ("So the table has ratios and CPU, no rates and times." if load > BUSY else ""),
        "",
    ]
    head = ["", "CPU ms an answer (of these the database)", "MB of memory"]
    if load <= BUSY:
        head += ["answers/s", "answer, ms", "item page, ms", "until the next item, ms"]
    lines += [row(head), row(["---"] * len(head))]
    for name, of_one in turns.items():
        cells = [name, f"{median(of_one, cpu)} ({median(of_one, database)})", median(of_one, mb, 0)]
        if load <= BUSY:
            cells += [
                spread([turn.rate for turn in of_one], digits=0),
                *(
                    times([pick(turn.found) for turn in of_one])
                    for pick in (submit_of, page_of, wait_of)
                ),
            ]
        lines.append(row(cells))
    errors = sum(sum(turn.found.errors.values()) for of_one in turns.values() for turn in of_one)
    lost = sum(turn.lost for of_one in turns.values() for turn in of_one)
    client = statistics.median(
        turn.found.client_cpu / turn.found.seconds for of_one in turns.values() for turn in of_one
    )
    lines += [
        "",
        "Times are median / 95th percentile. "
        f"Errors: {errors}. Confirmed answers that were not stored: {lost}. "
        f"The simulated people used {client:.0%} of a core.",
        "",
        *ratio_table(turns),
    ]
    return "\n".join(lines) + "\n"


def ratio_table(turns: dict[str, list[Turn]]) -> list[str]:
    """Rates and CPU of this program as a multiple of each peer's, within the same round."""
    peers = [name for name in turns if not name.startswith("Thirdperson")]
    lines = [row(["ratio", *(f"to {name}" for name in peers)]), row(["---"] * (len(peers) + 1))]
    for label, value in (("answers/s", rate), ("CPU an answer", cpu)):
        for name in turns:
            if name in peers:
                continue
            found = [ratios(turns[name], turns[peer], value) for peer in peers]
            lines.append(row([f"{name}: {label}", *(spread(each) for each in found)]))
    return lines


def database(turn: Turn) -> float:
    return turn.database_ms


def mb(turn: Turn) -> float:
    return turn.memory


def submit_of(found: Measurement) -> Times:
    return found.submit


def page_of(found: Measurement) -> Times:
    return found.page


def wait_of(found: Measurement) -> Times:
    return found.wait


def median(turns: Sequence[Turn], value: Callable[[Turn], float], digits: int = 1) -> str:
    return f"{statistics.median(map(value, turns)):.{digits}f}"


def spread(values: Sequence[float], digits: int = 2) -> str:
    """Median, smallest and largest."""
    low, high = min(values), max(values)
    return f"{statistics.median(values):.{digits}f} ({low:.{digits}f} to {high:.{digits}f})"


def times(found: Sequence[Times]) -> str:
    """The medians over the rounds of the median and of the 95th percentile."""
    p50s = [each.p50 for each in found if each.p50 is not None]
    p95s = [each.p95 for each in found if each.p95 is not None]
    return f"{statistics.median(p50s):.0f} / {statistics.median(p95s):.0f}" if p50s else "–"


def row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


if __name__ == "__main__":
    main()
