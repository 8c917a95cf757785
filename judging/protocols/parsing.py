"""Read a verdict from a reply.

The prompt ends in an open `[[`. A reply may continue it (`A]] [[80]]`), answer in full (`[[A]]
[[80]]`) or be only the letter. Lenient reading also accepts statements in other forms. Unusable
verdicts count too: a judge that ends on `[[C]]` without a tie option is not given the `[[A]]` it
wrote before.
"""

import json
import re
from dataclasses import replace

from judging.engine.interface import ShownSide, Verdict
from judging.engine.messages import without_thoughts
from judging.protocols.reading import (
    Found,
    Placed,
    contradict,
    decide,
    of_json,
    plain,
    readable,
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
            added = stated(plain(without_next_turn(reply.text)), chosen.end)
            if added is not None:
                return replace(strict, certainty=added, details={"read": CERTAINTY})
    return strict


def _decide(reply: Placed) -> tuple[Found | None, int | None]:
    """The verdict in brackets; none without a certainty if its reasons choose another response."""
    chosen, certainty = decide(reply.text)
    if chosen and not chosen.numbers:
        behind = plain(without_next_turn(reply.text, chosen.end)[chosen.end :])
        if any(each.side != chosen.side for each in statements(behind)):
            return None, None
        if not chosen.is_bracketed and chosen.side and contradict(behind, chosen.side):
            return None, None
    return chosen, certainty


def _stated(reply: Placed, offers_tie: bool, asks_certainty: bool) -> Verdict | None:
    """The verdict that a reply states in another form; None if it states none, or several."""
    text = plain(without_next_turn(reply.text))
    if re.search(r"\[\[[^\]\d]+\]\]", text):
        return None  # the content of the brackets was unclear
    found = statements(text)
    if len({each.side for each in found}) != 1:
        return None
    chosen = found[0]
    if contradict(text, chosen.side) or (chosen.side == "C" and not offers_tie):
        return None
    certainty = chosen.certainty if chosen.code == "json" else stated(text, chosen.end)
    place = reply.places[chosen.position]
    verdict = _counted(chosen.side, certainty, place, offers_tie, asks_certainty)
    return replace(verdict, details={"read": chosen.code})


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
    try:
        form = json.loads(without_thoughts(text))
    except (ValueError, RecursionError):
        return None
    if not isinstance(form, dict) or form.get("answer") not in ("A", "B", "C"):
        return None
    return form["answer"], of_json(form.get("certainty"))
