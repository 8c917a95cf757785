"""Read a verdict from a reply.

The prompt ends in an open `[[`. A reply may continue it (`A]] [[80]]`), answer in full
(`[[A]] [[80]]`) or be only the letter. `verdicts` decides which of several verdicts counts.
An unusable verdict counts too: a judge that ends on `[[C]]` where no tie was offered is not
given the `[[A]]` it wrote before.
"""

import json
import re
from dataclasses import replace

from judging.engine.interface import Side, Verdict
from judging.engine.replies import without_thoughts
from judging.protocols.reading.certainties import of_json
from judging.protocols.reading.lenient import added_certainty, chooses_otherwise, read_leniently
from judging.protocols.reading.mentions import Placed, readable
from judging.protocols.verdicts import Found, decide, names_one_option

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

    If a structured reply was requested and has the right form, the form is read; else the text.
    Lenient reading adds what strict reading leaves out, and says in `details` how it was read.
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
        read = read_leniently(reply)
        if read is None or (read.side == "C" and not offers_tie):
            return strict
        found = _counted(read.side, read.certainty, read.position, offers_tie, asks_certainty)
        is_letter = text[read.position : read.position + 1].upper() == read.side
        return replace(
            found, details={"read": read.code}, position=read.position if is_letter else None
        )
    if asks_certainty and strict.side != "C" and strict.certainty is None:
        behind = strict.position if chosen and chosen.is_bracketed else None
        added = added_certainty(reply, behind) if names_one_option(reply.text) else None
        if added is not None:
            return replace(strict, certainty=added, details={"read": CERTAINTY})
    return strict


def _counted(
    side: Side | None,
    certainty: int | None,
    position: int | None,
    offers_tie: bool,
    asks_certainty: bool,
) -> Verdict:
    """A verdict with what the protocol asked for."""
    if side is None or (side == "C" and not offers_tie):
        return Verdict(None, None)
    has_certainty = asks_certainty and side != "C"
    return Verdict(side, certainty if has_certainty else None, position=position)


def _decide(reply: Placed) -> tuple[Found | None, int | None]:
    """The verdict that counts; not a letter without a certainty whose reasons choose another."""
    chosen, certainty = decide(reply.text)
    if chosen and chosen.number is None:
        if chooses_otherwise(reply, chosen.end, chosen.side, is_bracketed=chosen.is_bracketed):
            return None, None
    return chosen, certainty


def read_form(text: str) -> tuple[Side | None, int | None] | None:
    """The verdict in a structured reply; None if the text does not have the right form."""
    try:
        form = json.loads(without_thoughts(text))
    except (ValueError, RecursionError):
        return None
    if not isinstance(form, dict) or form.get("answer") not in ("A", "B", "C"):
        return None
    return form["answer"], of_json(form.get("certainty"))
