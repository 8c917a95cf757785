"""Sentences, claims and verdicts of a report, with the sources of their numbers.

A claim has a kind, whose tests are adjusted together, and a neutral text for when its test does not
hold at the level that Holm leaves to its kind. All other sentences are descriptions.
"""

from collections.abc import Iterator, Mapping, Sequence
from string import Formatter
from typing import Any

from analysis.report.quantities import Name, Piece, Population, Quantity, Slot, Text, say
from analysis.report.report_json import Json, ReportJson
from analysis.report.rules import TOO_SMALL
from analysis.report.words import people_words, run_names


def shown(text: object, path: str) -> Text:
    """A number as text, with its path in report.json."""
    return Text((Piece(str(text), path),))


def fill(form: str, **values: object) -> Text:
    """Fill in the fields of `form`; `Text` fields keep their paths.

    >>> filled = fill("{who} on {n} items.", who="People", n=shown("1,200", "inputs.items"))
    >>> str(filled), filled.numbers
    ('People on 1,200 items.', [{'at': 10, 'text': '1,200', 'path': 'inputs.items'}])
    """
    parts: list[Piece] = []
    for literal, name, _, _ in Formatter().parse(form):
        parts.append(Piece(literal))
        if name is not None:
            value = values[name]
            parts += value.parts if isinstance(value, Text) else [Piece(str(value))]
    return Text(tuple(piece for piece in parts if piece.text))


def pieces(sentence: str, numbers: Sequence[Mapping[str, Any]]) -> Iterator[Piece]:
    """Split a sentence of report.json at its numbers into pieces, each with its path or “”."""
    done = 0
    for number in numbers:
        yield Piece(sentence[done : number["at"]])
        done = number["at"] + len(number["text"])
        yield Piece(number["text"], number["path"])
    yield Piece(sentence[done:])


def at(report: Mapping[str, Any], path: str) -> Any:
    """The value at `path` of report.json, such as “judges.0.high.n”.

    A last key may contain dots.
    """
    value: Any = report
    keys = path.split(".")
    for index, key in enumerate(keys):
        if isinstance(value, Mapping) and key not in value:
            return value[".".join(keys[index:])]
        value = value[int(key)] if isinstance(value, list) else value[key]
    return value


GROUPS = "groups of personas"
TOPICS = "features of items"
LANGUAGES = "languages of items"
SIDES = "sides"
LENGTH = "length of responses"
CALIBRATION = "certainty against accuracy"
RANKING = "certainty ranks answers"
TOGETHER = "certainty of judges with that of people"
CERTAIN = "certain answers"
PROBES = "probes"
OWN = "own responses"

# The names for people where runs are named by hash, and for single answers in sentences.
SINGLE, MAJORITY = "people", "majority"
PEOPLE = "people"  # of whom verbs are plural


def level_of(report: ReportJson, kind: str) -> float:
    """The level at which claims of a kind hold; 0 if none holds or was tested."""
    kinds = report.get("claims_tested", {}).get("kinds", ())
    return next((float(entry["level"]) for entry in kinds if entry["kind"] == kind), 0.0)


def holds(tested: ReportJson, level: float, key: str = "p_max") -> bool:
    """Whether a test's adjusted p value is at most the level of its kind."""
    p = tested.get(key)
    return p is not None and p <= level


def claim_p(tested: ReportJson, key: str = "p_holm", *, ci: str = "ci") -> float | None:
    """The adjusted p value of a claim, which needs its own interval too: 1 if that includes 0."""
    p: float | None = tested.get(key)
    if p is None or ci not in tested:
        return p
    ends = tested[ci]
    return p if ends is not None and not ends[0] <= 0 <= ends[1] else 1.0


def single_words(report: ReportJson) -> str:
    """The people who gave single answers, in sentences that are about all of these."""
    return "the only person" if report["human"].get("annotators") == 1 else PEOPLE


def members(report: ReportJson, kind: str) -> list[tuple[str, ReportJson]]:
    """Name and test of every rater, for a kind with individual tests."""
    names = {f"judges.{place}": name for place, name in enumerate(run_names(report))}
    names |= {SINGLE: single_words(report), MAJORITY: people_words(report)}
    tests = report.get("claims_tested", {}).get("members", ())
    return [(names[test["who"]], test) for test in tests if test["kind"] == kind]


# The path of the threshold that a sentence names.
THRESHOLD = "parameters.threshold"

# For notes of tables with a column of detectable differences.
DETECTABLE = (
    "Detectable: the smallest true difference that an equally precise study finds four times out "
    "of five."
)


def state_with(state: str, *sentences: str | Text) -> Json:
    """The state, its sentences, and the paths of their numbers in report.json."""
    return {
        "state": state,
        "sentences": [str(sentence) for sentence in sentences],
        "numbers": [s.numbers if isinstance(s, Text) else [] for s in sentences],
    }


def who_of(judge: Mapping[str, Any]) -> Json:
    return {key: judge[key] for key in ("judge", "run", "setting", "features")}


def order_words(name: str, judge: ReportJson) -> Iterator[Text]:
    """How a run changed its choice when it was asked again, and how often a reply is right.

    A verdict leaves out the items on which readings disagree, so it is right more often.
    """
    both, again = judge["position"]["both_orders"], judge.get("noise", {"flipped": None})
    if both["n"]:
        changed, n = both["n"] - both["consistent"], both["n"]
        form = "With the order of the responses, {name} changed its choice on {x} of {x.of}"
    elif again["flipped"]:
        changed, n = round(again["flipped"] * again["items"]), again["items"]
        form = "Asked again, {name} changed its choice on {x} of {x.of}"
    else:
        return
    readings = Population("item", n=n)
    slots: dict[str, Slot] = {"name": Name(name), "x": Quantity("count", readings, changed)}
    parts = [judge["position"][key] for key in ("right_when_a", "right_when_b")]
    n, correct = (sum(part[key] for part in parts) for key in ("n", "correct"))
    if changed and n >= TOO_SMALL:
        form += "; a single reply is right on {single} of {single.of}"
        # Of several replies to the same question, the first one is scored.
        reply = "first reply" if judge["record"]["samples"] > 1 else "reply"
        slots["single"] = Quantity("share", Population(reply, n=n), correct / n)
    yield say(f"{form}.", **slots)


def texts(verdict: Mapping[str, Any]) -> Iterator[Text]:
    """The sentences of a headline in report.json, with their numbers if stored."""
    places = verdict.get("numbers") or [[] for _ in verdict["sentences"]]
    for sentence, numbers in zip(verdict["sentences"], places, strict=True):
        yield Text(tuple(pieces(sentence, numbers)))
