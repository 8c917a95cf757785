"""How often people and programs are flagged by signs of programs, in simulated annotators.

    python -m benchmarks.machines                  2,000 of each group, 30 answers each
    python -m benchmarks.machines --people 500 --answers 15

People have a pace and a spread of their own, and take longer for longer texts. Their groups differ
in what they use: a mouse, a touch screen, only a keyboard, a screen reader, a voice, no scripts.
Programs take their time from a model, whatever the length. Prints for each group how many are
flagged, and the rates at every number of points.
"""

import argparse
import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from annotation.machine_signs import COUNTED, FLAGGED, SignedAnswer, points_of, signs_of

SEED = 20261127
WORDS, SPREAD_OF_WORDS = 140, 0.4


@dataclass(frozen=True)
class Group:
    """Annotators who work alike: their share among people or machines, their pace, what they use.

    `seconds`, `exponent` and `spread` are ranges of an annotator's typical time, of how it grows
    with the words, and of the deviation of its logarithm. `use` draws the counts of one answer.
    """

    share: float
    use: Callable[[np.random.Generator, Mapping[str, float]], Mapping[str, Any] | None]
    seconds: tuple[float, float] = (14, 40)
    exponent: tuple[float, float] = (0.3, 0.8)
    spread: tuple[float, float] = (0.35, 0.65)
    certainty: tuple[float, float] = (68, 16)
    habits: Mapping[str, tuple[float, float]] = field(default_factory=dict)


def _mouse(rng: np.random.Generator, habit: Mapping[str, float]) -> dict[str, Any]:
    presses = rng.integers(2, 6)
    return {"presses": presses, "moves": rng.lognormal(3.2, 0.7) * presses, "keys": 2}


def _touch(rng: np.random.Generator, habit: Mapping[str, float]) -> dict[str, Any]:
    return {"touches": rng.integers(3, 9), "keys": rng.integers(0, 3)}


def _keys(rng: np.random.Generator, habit: Mapping[str, float]) -> dict[str, Any]:
    # Some extensions let people click by keys, with clicks made by a script.
    return {"keys": rng.integers(4, 12), "scripted": habit.get("extension", 0) > 0.9}


def _reader(rng: np.random.Generator, habit: Mapping[str, float]) -> dict[str, Any]:
    # In browse mode the reader presses for the person; some dictate the number.
    return {"keys": 0 if habit["dictates"] > 0.8 else rng.integers(2, 30)}


def _voice(rng: np.random.Generator, habit: Mapping[str, float]) -> dict[str, Any]:
    presses = rng.integers(2, 5)
    return {"presses": presses, "moves": presses * rng.integers(1, 3)}


def _no_script(rng: np.random.Generator, habit: Mapping[str, float]) -> None:
    return None


def _jumps(rng: np.random.Generator, habit: Mapping[str, float]) -> dict[str, Any]:
    presses = rng.integers(3, 5)
    return {"presses": presses, "moves": presses + rng.integers(0, 3), "keys": 2}


def _driven(rng: np.random.Generator, habit: Mapping[str, float]) -> dict[str, Any]:
    return _jumps(rng, habit) | {"driven": 1}


_ONE = (0.0, 1.0)
PEOPLE = {
    "mouse": Group(0.40, _mouse),
    "touch screen": Group(0.25, _touch),
    "fast experts": Group(0.08, _keys, (6, 12), (0.4, 0.9), (0.3, 0.5), (80, 12)),
    "round numbers": Group(0.08, _mouse, certainty=(78, 6)),
    "many windows": Group(0.06, _mouse, habits={"away": (0.1, 0.5)}),
    "keyboard only": Group(0.05, _keys, habits={"extension": _ONE}),
    "screen reader": Group(
        0.03, _reader, (30, 90), (0.6, 1.0), (0.3, 0.5), habits={"dictates": _ONE}
    ),
    "no scripts": Group(0.02, _no_script),
    # Steering takes longer than reading.
    "voice or eye control": Group(0.02, _voice, (30, 90), (0, 0.5)),
    # Some translate the page too, so that the product notices it.
    "copies into a translator": Group(
        0.005, _mouse, (30, 70), habits={"away": (0.6, 1), "copies": (0.6, 1)}
    ),
    "copies, page translated": Group(
        0.005,
        _mouse,
        (30, 70),
        habits={"away": (0.6, 1), "copies": (0.6, 1), "translated": (0.8, 1)},
    ),
}
_MODEL = (78, 7)
PASTERS = {
    "copies into another tab": Group(
        0.6, _mouse, (15, 50), (0, 0.3), (0.25, 0.5), _MODEL, {"away": (0.6, 1), "copies": (0.5, 1)}
    ),
    "copies into a window next to it": Group(
        0.2, _mouse, (12, 40), (0, 0.3), (0.25, 0.5), _MODEL, {"away": (0.3, 1), "copies": (0.5, 1)}
    ),
    "takes screenshots": Group(
        0.1, _mouse, (15, 50), (0, 0.3), (0.25, 0.5), _MODEL, {"away": (0.5, 1)}
    ),
    "photographs with a phone": Group(0.1, _mouse, (20, 60), (0, 0.3), (0.25, 0.5), _MODEL),
}
AGENTS = {
    "driven, says so": Group(0.3, _driven, (2, 20), (0, 0.2), (0.1, 0.4), _MODEL, {}),
    "driven, hides it, human delays": Group(
        0.3, _jumps, (10, 40), (0, 0.2), (0.3, 0.5), _MODEL, {}
    ),
    "looks at screenshots": Group(0.25, _jumps, (20, 80), (0, 0.1), (0.15, 0.35), _MODEL, {}),
    "imitates a hand": Group(0.15, _mouse, (10, 40), (0, 0.2), (0.3, 0.5), _MODEL, {}),
}
KINDS = {"people": PEOPLE, "pasters": PASTERS, "agents": AGENTS}


def annotator(rng: np.random.Generator, group: Group, answers: int) -> list[SignedAnswer]:
    """The answers of one simulated annotator."""
    habit = {name: rng.uniform(*ends) for name, ends in group.habits.items()}
    # Anybody looks away now and then, and some copy a word.
    away, copies = habit.get("away", rng.beta(1, 12)), habit.get("copies", rng.beta(1, 100))
    words = np.maximum(20, rng.lognormal(np.log(WORDS), SPREAD_OF_WORDS, answers))
    pace = np.exp(rng.uniform(*np.log(group.seconds)))
    growth = (words / WORDS) ** rng.uniform(*group.exponent)
    seconds = pace * growth * np.exp(rng.normal(0, rng.uniform(*group.spread), answers))
    center = rng.normal(group.certainty[0], 5)
    certainty = np.clip(np.round(rng.normal(center, group.certainty[1], answers) / 5) * 5, 1, 100)
    found = []
    for n in range(answers):
        counted = group.use(rng, habit)
        signals = None
        if counted is not None:
            is_away = rng.random() < away
            more = {
                "left": int(is_away),
                "away_ms": int(is_away * rng.uniform(2, 30) * 1000),
                "copies": int(rng.random() < copies),
            }
            signals = {name: int({**more, **counted}.get(name, 0)) for name in COUNTED}
        found.append(
            SignedAnswer(
                int(words[n]),
                int(seconds[n] * 1000),
                int(certainty[n]),
                signals,
                has_script=counted is not None,
                translated="translated" in habit and rng.random() < habit["translated"],
            )
        )
    return found


def rules_of(answers: list[SignedAnswer]) -> set[str]:
    """The flags about times, as for stored answers."""
    from annotation.quality import FASTEST_WORDS_PER_MINUTE, least_spread

    logs = np.log([row.milliseconds for row in answers])
    pace = np.median([row.words * 60_000 / row.milliseconds for row in answers])
    found = {"even_times"} if np.std(logs, ddof=1) < least_spread(len(answers)) else set()
    return found | ({"speed"} if pace > FASTEST_WORDS_PER_MINUTE else set())


def points(rng: np.random.Generator, group: Group, people: int, answers: int) -> list[int]:
    """The points of so many annotators of a group."""
    out = []
    for _ in range(people):
        own = annotator(rng, group, answers)
        signs = signs_of(own, rules=rules_of(own))
        out.append(points_of(signs))
    return out


def rates(scores: Mapping[str, list[int]], groups: Mapping[str, Group], least: int) -> float:
    """The share of the groups' mixture with at least so many points."""
    return sum(
        group.share * float(np.mean([p >= least for p in scores[name]]))
        for name, group in groups.items()
    )


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")


def main() -> None:
    import django

    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings.test")
    django.setup()
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--people", type=int, default=2_000)
    parser.add_argument("--answers", type=int, default=30)
    parser.add_argument("--seed", type=int, default=SEED)
    args = parser.parse_args()
    rng = np.random.default_rng(args.seed)
    scores = {
        kind: {
            name: points(rng, group, args.people, args.answers) for name, group in groups.items()
        }
        for kind, groups in KINDS.items()
    }
    for kind, groups in KINDS.items():
        for name, group in groups.items():
            flagged = np.mean([p >= FLAGGED for p in scores[kind][name]])
            _say(f"  {kind:8} {name:32} {group.share:4.0%}  flagged {flagged:6.1%}")
    for least in range(1, 7):
        row = ", ".join(f"{kind} {rates(scores[kind], KINDS[kind], least):.1%}" for kind in KINDS)
        _say(f"  from {least} points: {row}")


if __name__ == "__main__":
    main()
