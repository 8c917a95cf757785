"""Read a verdict from a reply.

The prompt ends in an open `[[`. A reply may continue it (`A]] [[80]]`), answer in full (`[[A]]
[[80]]`) or be only the letter. Lenient reading also accepts statements in other forms. Unusable
verdicts count too: a judge that ends on `[[C]]` without a tie option is not given the `[[A]]` it
wrote before.

Of several verdicts, one with a certainty counts if the others are only mentioned later in its
reasons, or the last one if only it is on its own. Denials, comparisons and conditions are not
verdicts. Any other reply with several is asked again.
"""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from judging.engine.interface import ShownSide, Verdict
from judging.engine.messages import without_thoughts
from judging.protocols.assertions import asserts
from judging.protocols.statements import (
    CHANGED,
    CHOOSES,
    DENIED,
    NAMED,
    PlacedText,
    Statement,
    contradict,
    of_json,
    plain,
    readable,
    side_of,
    stated,
    statements,
    without_next_turn,
)

CERTAINTY = "certainty"  # only the certainty was read leniently

_STRUCTURED = re.compile(r'"answer"\s*:\s*"([ABC])"')


def parse_reply(
    text: str,
    *,
    offers_tie: bool,
    asks_certainty: bool,
    is_structured: bool = False,
    is_lenient: bool = False,
) -> Verdict:
    """Read side and certainty; C counts if a tie was offered, certainty if it was requested.

    If a structured reply was requested and has the right form, the form is read, otherwise the
    text. Lenient reading adds what strict reading leaves out, and notes in `details` how.
    """
    form = read_form(text) if is_structured else None
    if form is not None:
        letter = _STRUCTURED.search(without_thoughts(text))
        return _counted(*form, letter.start(1) if letter else None, offers_tie, asks_certainty)
    reply = readable(text)
    chosen, certainty = _decide(reply)
    place = reply.places[chosen.position] if chosen else None
    strict = _counted(chosen.side if chosen else None, certainty, place, offers_tie, asks_certainty)
    if not is_lenient:
        return strict
    if strict.side is None:
        return _stated(reply, offers_tie, asks_certainty) or strict
    if chosen and asks_certainty and strict.side != "C" and strict.certainty is None:
        if not chosen.numbers:
            added = stated(plain(without_next_turn(reply.text)), strict.side, chosen.end)
            if added is not None:
                return replace(strict, certainty=added, details={"read": CERTAINTY})
    return strict


_SIDES: dict[str, ShownSide] = {"A": "A", "B": "B", "C": "C", "TIE": "C"}
_MARK = r"[*_`\"']{0,3}"
_WORD = (
    rf"{_MARK}(?:(?:answer|response|assistant|pair|option|antwort)\s+)?"
    rf"([A-WYZ]|tie|both|neither|none|equal){_MARK}"
)
_OPEN, _CLOSE = r"\\?\[\\?\[", r"\\?\]\\?\]"
_VERDICT = re.compile(rf"{_OPEN}\s*{_WORD}\s*{_CLOSE}", re.IGNORECASE)
_CONTINUED = re.compile(rf"[\s*_`\"']*{_WORD}\s*{_CLOSE}", re.IGNORECASE)
# The letter alone, alone on the first line, or followed only by the certainty.
_BARE = re.compile(
    r"[^\w\[]*(?:(?:[Aa]nswer|[Rr]esponse|[Aa]ntwort)\s*:?\s*)?\[?([ABC])\]?"
    r"[^\w\n\[?？+]*(?:\Z|\n|(?=\[\[\s*\d))"
)
_RANGE = r"(?:-|–|—|/|to|and|or|bis|und|oder|\.\.)"
# A number in brackets; a second one, in or after them, makes it a range.
_NUMBER = re.compile(
    rf"{_OPEN}\s*{_MARK}(\d{{1,3}})\s*(?:%|/\s*100|(?P<tenths>/\s*10))?{_MARK}"
    rf"\s*(?:{_CLOSE}|(?P<range>{_RANGE}[\s%\d]+{_CLOSE}))",
    re.IGNORECASE,
)
_SCALE = re.compile(rf"{_OPEN}1{_CLOSE}\s*\w*\s*{_OPEN}100{_CLOSE}")
_BEHIND = re.compile(
    r"[\s\-–—:,]{0,4}[(\[]?(?:about |around |approx\.? |ca\. |[~≈] ?)?(\d{1,3})"
    r"\s*%?[\s.)\]]*(?:\n|\Z)"
)
_NOT_MEANT = re.compile(
    r"\b(?:not|never|neither|nor|\w+n['’]t|nicht|kein\w*|than|over|versus|vs\.?"
    r"|unlike|against|instead\s+of|compared\s+(?:to|with)|als|statt|anstatt|gegenüber)"
    r"(?:[ \t]+(?:choose|pick|prefer|the|die|response|answer|option|antwort)){0,3}[ \t*_`\"'“(]*\Z",
    re.IGNORECASE,
)
_NOT_MEANT_BEHIND = re.compile(
    r"[*_`\"'”)]*[ \t,]*(?:if|wenn|falls)\b"
    r"|[*_`\"'”)]*[ \t]+(?:is|was|would|does|ist|wäre|würde)(?:n['’]t\b|[ \t]+(?:not|nicht)\b)",
    re.IGNORECASE,
)
_CORRECTS = re.compile(
    r"[\W\d]*(?:(?:on\s+(?:second\s+thought|reflection)|correction|wait|actually|sorry|edit"
    r"|i\s+meant(?:\s+to\s+(?:say|write))?|ich\s+meinte|korrektur|doch)\b\W*)+",
    re.IGNORECASE,
)
_SENTENCE = re.compile(r"[^.!?;\n。！？；]+")
_ALONE = re.compile(
    r"(?:^|(?<=[.!?\n]))[\s*_#>`]*(?:(?:my|the|meine|die|final|so|therefore|thus|daher)\s+)*"
    r"(?:(?:answer|verdict|choice|decision|conclusion|antwort|entscheidung|fazit)(?:\s+is)?)?"
    r"[\s*_:]*\Z",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Found:
    """A verdict in a text: its word, where its letter is, and where it starts and ends.

    `numbers` are the certainties behind it, 0 for one that is not from 1 to 100. `is_bracketed` is
    false for a letter alone.
    """

    word: str
    position: int
    start: int
    end: int
    numbers: frozenset[int]
    is_bracketed: bool

    @property
    def side(self) -> ShownSide | None:
        return _SIDES.get(self.word)


def decide(text: str) -> tuple[Found | None, int | None]:
    """The verdict that counts, and its certainty; None if there is none or it is ambiguous."""
    text = _SCALE.sub(lambda scale: " " * len(scale[0]), text)
    verdicts = _found(text)
    if not verdicts:
        return None, None
    text = without_next_turn(text, verdicts[0].end)
    verdicts = _found(text)
    meant = [verdict for verdict in verdicts if not _is_given_up(text, verdict)]
    chosen = _asserted(text, meant, _chosen(text, meant))
    if chosen is None:
        return None, None
    if not chosen.numbers and any(
        verdict.numbers for verdict in verdicts if verdict.word != chosen.word
    ):
        return None, None  # the number of a letter that is given up may be that of the other one
    numbers = chosen.numbers or frozenset(map(_value, _NUMBER.finditer(text)))
    if not numbers:
        return chosen, stated(plain(text[chosen.end :]), chosen.side, only_whole=True)
    return chosen, next(iter(numbers)) or None if len(numbers) == 1 else None


def _found(text: str) -> list[Found]:
    opening = _CONTINUED.match(text)
    matches = [*([opening] if opening else []), *_VERDICT.finditer(text)]
    bare = None if matches else _BARE.match(text)
    ends = [*(m.start() for m in matches[1:]), len(text)]
    return [
        Found(m[1].upper(), m.start(1), *m.span(), _numbers(text, m.end(), end), bare is None)
        for m, end in zip([bare] if bare else matches, ends, strict=False)
    ]


def _numbers(text: str, start: int, end: int) -> frozenset[int]:
    """The numbers on the line of a verdict, or on the next one with words if nothing else is."""
    if (alone := _BEHIND.match(text, start, end)) is not None:
        return frozenset({_value(alone)})
    behind = re.match(r"\s*[^\n]*", text[start:end])
    return frozenset(map(_value, _NUMBER.finditer(behind[0] if behind else "")))


def _value(number: "re.Match[str]") -> int:
    signs = number.groupdict()
    value = int(number[1]) * (10 if signs.get("tenths") else 1)
    return value if 1 <= value <= 100 and not signs.get("range") else 0


def _is_given_up(text: str, verdict: Found) -> bool:
    line = text[max(0, verdict.start - 60) : verdict.start].rpartition("\n")[2]
    return bool(_NOT_MEANT.search(line) or _NOT_MEANT_BEHIND.match(text, verdict.end))


def _asserted(text: str, meant: Sequence[Found], chosen: Found | None) -> Found | None:
    """The chosen verdict, or the last of its letter, whose sentence asserts it; None if none does.

    One with a certainty is only replaced by another one with a certainty.
    """
    if chosen is None or not chosen.is_bracketed or asserts(text, chosen.start, chosen.end):
        return chosen
    others = (
        verdict
        for verdict in reversed(meant)
        if verdict.word == chosen.word and (verdict.numbers or not chosen.numbers)
    )
    return next((verdict for verdict in others if asserts(text, verdict.start, verdict.end)), None)


def _chosen(text: str, meant: Sequence[Found]) -> Found | None:
    certain = [verdict for verdict in meant if verdict.numbers]
    if len({verdict.word for verdict in meant}) == 1:
        return (certain or meant)[-1]
    if not certain:
        alone = [
            verdict
            for verdict in meant
            if _ALONE.search(text, max(0, verdict.start - 80), verdict.start)
        ]
        return alone[0] if alone and alone == [meant[-1]] else None
    if len({verdict.word for verdict in certain}) > 1:
        return None
    for verdict in meant:
        between = text[verdict.end : certain[0].start]
        if verdict.word == certain[0].word:
            continue
        if verdict.start > certain[-1].end:
            between = text[certain[-1].end : verdict.start]
            if CHANGED.search(between) or not re.search(r"[^\W\d_]", between):
                return None  # “[[A]] [[70]] … wait, [[B]]”, “[[A]] [[70]] / [[B]]”
        elif not re.search(r"[.:;!?\n]", between):
            return None  # “[[A]] beats [[B]] [[70]]”
    return certain[-1]


def _decide(reply: PlacedText) -> tuple[Found | None, int | None]:
    """The verdict in brackets; none without a certainty if its reasons choose another response."""
    chosen, certainty = decide(reply.text)
    if chosen is None:
        return None, None
    behind = plain(without_next_turn(reply.text, chosen.end)[chosen.end :])
    if chosen.numbers:
        is_doubtful = chosen.side is not None and _is_withdrawn(behind, chosen.side)
    else:
        is_doubtful = any(statement.side != chosen.side for statement in statements(behind))
        if not chosen.is_bracketed and chosen.side:
            is_doubtful |= contradict(behind, chosen.side)
    return (None, None) if is_doubtful else (chosen, certainty)


def _is_withdrawn(behind: str, side: ShownSide) -> bool:
    """Whether a sentence behind a verdict corrects it: “On reflection, I meant B.”"""
    for sentence in _SENTENCE.finditer(behind):
        if not (corrects := _CORRECTS.match(sentence[0])):
            continue
        rest = sentence[0][corrects.end() :]
        named = {side_of(name[1] or name[2]) for name in NAMED.finditer(rest)}
        words = NAMED.sub(" ", rest)
        if len(named) == 1 and side not in named and not DENIED.search(words):
            if CHOOSES.search(words) or not re.search(r"\w", words) or "meant" in corrects[0]:
                return True
    return False


def _stated(reply: PlacedText, offers_tie: bool, asks_certainty: bool) -> Verdict | None:
    """The verdict that a reply states in another form; None if it states none, or several."""
    text = plain(without_next_turn(reply.text))
    if re.search(r"\[\[[^\]\d]+\]\]", text):
        return None  # the content of the brackets was unclear
    asserted = [statement for statement in statements(text) if _is_asserted(text, statement)]
    if len({statement.side for statement in asserted}) != 1:
        return None
    chosen = asserted[0]
    if contradict(text, chosen.side) or (chosen.side == "C" and not offers_tie):
        return None
    certainty = chosen.certainty if chosen.code == "json" else stated(text, chosen.side, chosen.end)
    place = reply.places[chosen.position]
    verdict = _counted(chosen.side, certainty, place, offers_tie, asks_certainty)
    return replace(verdict, details={"read": chosen.code})


def _is_asserted(text: str, statement: Statement) -> bool:
    """Whether a sentence around an object or a tag asserts it; others are sentences themselves."""
    if statement.code not in ("json", "tag"):
        return True
    signs = ("{",) if statement.code == "json" else ("<", "boxed")
    start = max(text.rfind(sign, 0, statement.position) for sign in signs)
    return asserts(text, start, statement.end)


def _counted(
    side: ShownSide | None,
    certainty: int | None,
    position: int | None,
    offers_tie: bool,
    asks_certainty: bool,
) -> Verdict:
    """A verdict reduced to what the protocol asked for."""
    if side is None or (side == "C" and not offers_tie):
        return Verdict(None, None)
    has_certainty = asks_certainty and side != "C"
    return Verdict(side, certainty if has_certainty else None, position=position)


def read_form(text: str) -> tuple[ShownSide | None, int | None] | None:
    """The verdict in a structured reply; None if the text does not have the right form."""
    form = read_object(text)
    if form.get("answer") not in ("A", "B", "C"):
        return None
    return form["answer"], of_json(form.get("certainty"))


def read_object(text: str) -> dict[str, Any]:
    """The JSON object that a reply is; empty if it is none."""
    try:
        form = json.loads(without_thoughts(text))
    except (ValueError, RecursionError):
        return {}
    return form if isinstance(form, dict) else {}
