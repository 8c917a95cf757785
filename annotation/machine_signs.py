"""Signs that a program or an assistant answers for an annotator: points that decide nothing.

The item page counts what people and programs do differently (`signals`, one set of numbers per
answer). Each sign is a habit over an annotator's answers and has points; from `FLAGGED` points the
annotator is flagged. No sign of answers alone reaches that. `benchmarks/machines.py` simulates how
often people and programs are flagged.
"""

import json
from collections.abc import Collection, Iterable, Iterator, Sequence
from math import log, sqrt
from statistics import NormalDist, fmean, stdev
from typing import Any, NamedTuple

# What the item page counts. Times are milliseconds, `driven` is 1 if a program controls the
# browser, and `scripted` counts clicks, keys and entries that no device made.
COUNTED = (
    "hidden_ms",
    "away_ms",
    "left",
    "copies",
    "pastes",
    "moves",
    "presses",
    "touches",
    "keys",
    "scripted",
    "driven",
)
# What the server adds: an active time longer than the item was open, and an answer that follows the
# instruction that only programs read.
ADDED = ("impossible", "trapped")
_MOST = 10_000_000
_LONGEST = 400
# A claimed active time may exceed the server's by the time of a page that is still loading.
TOLERANCE_MS = 2_000
# The certainty that the hidden instruction in attention checks asks for. Hardly anybody states it.
TRAP_CERTAINTY = 17

FLAGGED = 3
# Fewer answers show no habit.
FEWEST = 10
_HABIT = 0.5
_NEARLY_ALL = 0.8
_OFTEN_COPIED = 0.3
_AWAY_MS = 3_000
# People move the mouse dozens of times before they press it; a program needs one or two.
_MOVES_PER_PRESS = 3
# People take longer for longer texts: time grows with a power of the words, usually .3 to .8.
_FLAT_SLOPE = 0.2
_SPREAD_OF_LENGTHS = 0.2
# Models state high certainties that hardly vary.
_MODEL_CERTAINTY, _MODEL_SPREAD = 65, 8

# The points of each sign and its sentence, with the share or number found.
SIGNS = {
    "driven": (3, "A program controlled the browser in {:.0%} of the answers."),
    "trapped": (3, "Followed the hidden instruction for programs in {:.0f} attention checks."),
    "copied": (3, "Copied text from the page in {:.0%} of the answers."),
    "away": (2, "Left the page for 3 seconds or more in {:.0%} of the answers."),
    "pasted": (2, "Pasted something in {:.0%} of the answers."),
    "scripted": (2, "Clicks or keys came from a script in {:.0%} of the answers."),
    "untouched": (2, "Used no mouse, touch screen or keyboard in {:.0%} of the answers."),
    "jumps": (2, "The mouse jumped to its target in {:.0%} of the answers with a mouse."),
    "even": (2, "Took almost the same time for every item."),
    "fast": (2, "Answered faster than anybody reads."),
    "impossible": (1, "The browser stated more active time than had passed in {:.0%} of answers."),
    "no_script": (1, "The page’s script did not run in {:.0%} of the answers."),
    "length": (1, "Own pace does not follow the length of the texts (exponent {:.2f})."),
    "certainty": (1, "States high certainties that hardly vary (standard deviation {:.1f})."),
    "translated": (0, "Saw a translated page in {:.0%} of the answers, which can explain copying."),
}
# Somebody whose page is translated may copy what is unclear into a translator: together, these have
# at most so many points then.
_OF_TRANSLATORS, _MOST_OF_TRANSLATORS = ("copied", "away"), 2
# Signs of how answers were given, which another rule has found.
_OF_RULES = {"even_times": "even", "speed": "fast"}


class MachineSign(NamedTuple):
    """A sign that was found, with the share or number behind it."""

    name: str
    value: float = 0.0

    @property
    def points(self) -> int:
        return SIGNS[self.name][0]

    def __str__(self) -> str:
        words = SIGNS[self.name][1].format(self.value)
        return words.replace("%", "\u00a0%").replace("-", "\u2212")


def points_of(signs: Iterable[MachineSign]) -> int:
    points = {sign.name: sign.points for sign in signs}
    if "jumps" in points:
        # Whoever steers by voice or eyes makes the mouse jump, and steering takes longer than
        # reading, so that their pace does not follow the length of the texts.
        points.pop("length", 0)
    if "translated" not in points:
        return sum(points.values())
    of_translators = sum(points.pop(name, 0) for name in _OF_TRANSLATORS)
    return min(_MOST_OF_TRANSLATORS, of_translators) + sum(points.values())


class SignedAnswer(NamedTuple):
    """An answer given here: words of the item, milliseconds, certainty, and what was counted.

    With a script, the browser stated an active time. `translated`: on a page that was translated.
    """

    words: int
    milliseconds: int
    certainty: int | None
    signals: dict[str, int] | None
    has_script: bool = True
    translated: bool = False

    @property
    def is_measured(self) -> bool:
        return self.signals is not None and "keys" in self.signals


def read_signals(text: str) -> dict[str, int] | None:
    """What the page counted; None if it is missing or is not ours. Never a reason to refuse."""
    if not text or len(text) > _LONGEST:
        return None
    try:
        counts: Any = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(counts, dict):
        return None
    known: dict[str, int] = {}
    for name in COUNTED:
        value = counts.get(name)
        if type(value) is not int or not 0 <= value <= _MOST:
            return None
        known[name] = value
    return known


def signs_of(
    answers: Sequence[SignedAnswer],
    *,
    rules: Collection[str] = (),
    checks: Iterable[dict[str, int] | None] = (),
) -> list[MachineSign]:
    """The signs in an annotator's answers, those with most points first.

    `rules` are other flags of the annotator, `checks` the signals of their attention checks.
    """
    signs = [
        *_of_any_answer(answers, list(checks)),
        *(_of_habits(answers) if len(answers) >= FEWEST else ()),
        *(MachineSign(sign) for rule, sign in _OF_RULES.items() if rule in rules),
    ]
    return sorted(signs, key=lambda sign: -sign.points)


def _of_any_answer(
    answers: Sequence[SignedAnswer], checks: Sequence[dict[str, int] | None]
) -> Iterator[MachineSign]:
    measured = [row.signals for row in answers if row.is_measured]
    if driven := _share(signals["driven"] for signals in measured if signals):
        yield MachineSign("driven", driven)
    if trapped := sum(signals.get("trapped", 0) for signals in checks if signals):
        yield MachineSign("trapped", trapped)


def _of_habits(answers: Sequence[SignedAnswer]) -> Iterator[MachineSign]:
    measured = [row.signals for row in answers if row.is_measured and row.signals]
    without = _share(not row.has_script for row in answers)
    if without >= _HABIT:
        yield MachineSign("no_script", without)
    if (translated := _share(row.translated for row in answers)) >= _HABIT:
        yield MachineSign("translated", translated)
    if len(measured) >= FEWEST:
        yield from _of_counts(measured)
    slope, upper = slope_of_time([row.words for row in answers], [r.milliseconds for r in answers])
    if upper < _FLAT_SLOPE:
        yield MachineSign("length", slope)
    certainties = [row.certainty for row in answers if row.certainty is not None]
    if len(certainties) >= FEWEST:
        spread = stdev(certainties)
        if spread < _MODEL_SPREAD and fmean(certainties) >= _MODEL_CERTAINTY:
            yield MachineSign("certainty", spread)


def _of_counts(measured: Sequence[dict[str, int]]) -> Iterator[MachineSign]:
    with_mouse = [answer for answer in measured if answer["presses"]]
    shares = {
        "copied": (_share(answer["copies"] > 0 for answer in measured), _OFTEN_COPIED),
        "away": (_share(answer["away_ms"] >= _AWAY_MS for answer in measured), _HABIT),
        "pasted": (_share(answer["pastes"] > 0 for answer in measured), _HABIT),
        "scripted": (_share(answer["scripted"] > 0 for answer in measured), _HABIT),
        "untouched": (_share(not _is_touched(answer) for answer in measured), _NEARLY_ALL),
        "impossible": (_share(answer.get("impossible", 0) for answer in measured), _HABIT),
    }
    if len(with_mouse) >= FEWEST:
        shares["jumps"] = (
            _share(
                answer["moves"] <= _MOVES_PER_PRESS * answer["presses"] for answer in with_mouse
            ),
            _NEARLY_ALL,
        )
    for name, (share, least) in shares.items():
        if share >= least:
            yield MachineSign(name, share)


def _is_touched(signals: dict[str, int]) -> bool:
    return any(signals[name] for name in ("presses", "touches", "keys"))


def slope_of_time(words: Sequence[int], milliseconds: Sequence[int]) -> tuple[float, float]:
    """The exponent with which time grows with length, and its upper limit (95 %, one-sided).

    It compares each answer with the annotator's own pace. If lengths hardly differ, the limit is
    infinite.

    >>> slope_of_time([10, 20, 40, 80], [1_000, 2_000, 4_000, 8_000])
    (1.0, 1.0)
    """
    known = [(log(n), log(ms)) for n, ms in zip(words, milliseconds, strict=True) if n and ms]
    if len(known) < 3 or stdev(x for x, _ in known) < _SPREAD_OF_LENGTHS:
        return 0.0, float("inf")
    mean_x, mean_y = fmean(x for x, _ in known), fmean(y for _, y in known)
    squares = sum((x - mean_x) ** 2 for x, _ in known)
    slope = sum((x - mean_x) * (y - mean_y) for x, y in known) / squares
    left = sum((y - mean_y - slope * (x - mean_x)) ** 2 for x, y in known)
    error = sqrt(left / (len(known) - 2) / squares)
    return round(slope, 9), round(slope + NormalDist().inv_cdf(0.95) * error, 9)


def _share(values: Iterable[float]) -> float:
    shares = list(values)
    return sum(shares) / len(shares) if shares else 0.0
