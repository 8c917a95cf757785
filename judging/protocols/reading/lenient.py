"""Decide which statement of a reply counts, where strict reading finds no verdict."""

from collections.abc import Sequence
from dataclasses import dataclass

from judging.engine.interface import Side
from judging.protocols.reading import words
from judging.protocols.reading.certainties import certainty_in, of_json, with_digits
from judging.protocols.reading.claims import (
    EXPLICIT,
    IN_WORDS,
    Claim,
    in_forms,
    in_json,
    in_words,
    seeming_choices,
)
from judging.protocols.reading.lazy import compiled_when_used
from judging.protocols.reading.leads import is_compared
from judging.protocols.reading.mentions import (
    MENTION,
    Placed,
    plain,
    side_of,
    with_mentions,
    without_quotations,
)
from judging.protocols.reading.voices import is_contradicted
from judging.protocols.verdicts import without_next_turn

_END_OF_SENTENCE = compiled_when_used(r"[.!?;\n。！？；]")


@dataclass(frozen=True, slots=True)
class Reading:
    """A verdict, how it was read, and where in the reply its letter is."""

    side: Side
    certainty: int | None
    code: str
    position: int


def read_leniently(reply: Placed) -> Reading | None:
    """The verdict of a readable reply; None if it states none or contradicts itself."""
    letters, objects = in_json(_own_text(reply))
    letters = with_digits(without_quotations(letters))
    mentions = with_mentions(letters)
    text = mentions.text
    claims = [
        *objects(text),
        *in_forms(text, letters.text),
        *in_words(text),
    ]
    chosen = _chosen(text, sorted(claims, key=lambda claim: claim.start))
    if chosen is None or chosen.side is None or _is_left_open(text, chosen):
        return None
    certainty = _certainty(text, chosen, claims)
    return Reading(chosen.side, certainty, chosen.code, mentions.places[chosen.place - 1])


def added_certainty(reply: Placed, position: int | None = None) -> int | None:
    """The certainty of a reply whose side is read strictly, in a form that only this reads.

    `position` is where the letter of a verdict in brackets is: a number may follow it.
    """
    placed = with_mentions(with_digits(without_quotations(_own_text(reply))))
    behind = placed.places.index(position) + 1 if position in placed.places else None
    return certainty_in(placed.text, behind)


def chooses_otherwise(
    reply: Placed, end: int, side: Side | None, *, is_bracketed: bool = False
) -> bool:
    """Whether what follows a letter that ends at `end` chooses another response, or both.

    Behind a letter without brackets it is enough that it seems so.
    """
    behind = Placed(reply.text[end:], reply.places[end:])
    if not behind.text.strip():
        return False
    text = with_mentions(without_quotations(_own_text(behind))).text
    claims = [claim for claim in in_forms(text, text) if claim.code == "label"]
    if is_bracketed:
        claims += [claim for claim in in_words(text) if claim.weight == IN_WORDS]
    elif _seems_other(text, side):
        return True
    return any(claim.side != side for claim in claims)


def _seems_other(text: str, side: Side | None) -> bool:
    return bool(seeming_choices(text) - {side})


def _own_text(reply: Placed) -> Placed:
    """What the reply says itself, without markup."""
    return plain(reply.until(len(without_next_turn(reply.text))))


def _chosen(text: str, claims: Sequence[Claim]) -> Claim | None:
    explicit = [each for each in claims if each.weight == EXPLICIT]
    worded = [each for each in claims if each.weight == IN_WORDS]
    ties = [each for each in claims if each.weight < IN_WORDS]
    if explicit:
        return _explicit(text, explicit, [*worded, *ties])
    if worded:
        chosen = _last(text, worded)
        if chosen and any(tie.start > chosen.end for tie in ties):
            return None
        return chosen
    return ties[-1] if ties else None


def _explicit(text: str, explicit: Sequence[Claim], others: Sequence[Claim]) -> Claim | None:
    """The explicit claim that counts, unless what follows contradicts it."""
    final = [each for each in explicit if each.is_final]
    chosen = _last(text, final or explicit)
    if chosen is None:
        return None
    if any(each.start > chosen.end and each.side != chosen.side for each in explicit):
        return None
    before = [each for each in others if each.end <= chosen.start and each.side != chosen.side]
    if (
        before
        and not words.FINAL.search(text, chosen.start, chosen.end)
        and not words.CHANGED.search(text, before[-1].end, chosen.start)
    ):
        return None
    later = [each for each in others if each.start > chosen.end and each.side != chosen.side]
    if not later:
        return chosen
    return later[-1] if _is_changed(text, chosen, later[-1], later) else None


def _is_changed(text: str, before: Claim, after: Claim, later: Sequence[Claim]) -> bool:
    """Whether the reply says that it changes its mind, and does so only once."""
    is_single = len({each.side for each in later}) == 1
    return is_single and words.CHANGED.search(text, before.end, after.start) is not None


def _is_left_open(text: str, chosen: Claim) -> bool:
    """Whether the reply turns after the claim, and names another response or breaks off."""
    if chosen.weight == IN_WORDS and words.BROKEN_OFF.search(text, chosen.end):
        return True
    if chosen.weight < EXPLICIT and _is_contradicted(text, chosen):
        return True
    if chosen.code == "label" and not chosen.is_final:
        before = text[: chosen.end]
        if is_contradicted(before, chosen.start, chosen.end, chosen.side or ""):
            return True
    if chosen.weight == EXPLICIT and _seems_other(text[chosen.end :], chosen.side):
        return True
    changed = words.RECONSIDERED.search(text, chosen.end)
    return changed is not None and any(
        side_of(mention) != chosen.side for mention in MENTION.findall(text, changed.end())
    )


def _is_contradicted(text: str, chosen: Claim) -> bool:
    """Whether the words around a choice in words leave it open."""
    side = chosen.side or ""
    rest = _END_OF_SENTENCE.split(text[chosen.end :], maxsplit=1)[0]
    if chosen.weight == IN_WORDS and not is_compared(rest, side):
        return True
    return is_contradicted(text, chosen.start, chosen.end, side)


def _last(text: str, claims: Sequence[Claim]) -> Claim | None:
    """The last claim, if the others agree or the text leads from them to it."""
    last = claims[-1]
    differing = [each for each in claims if each.side != last.side]
    if not differing:
        return last
    behind = differing[-1].end
    if words.CHANGED.search(text, behind, last.start):
        return last
    return None


def _lead(text: str, start: int, end: int) -> str:
    """The sentence before a claim, from `start` at the earliest."""
    return text[max(start, *(text.rfind(sign, start, end) for sign in ".!?;\n。！？；")) : end]


def _certainty(text: str, chosen: Claim, claims: Sequence[Claim]) -> int | None:
    """The certainty of the claim that counts: its own, or the only one of the text."""
    if chosen.certainty is not None:
        return of_json(chosen.certainty)
    opposed = [
        each for each in claims if each.side not in (chosen.side, None) and each.weight >= IN_WORDS
    ]
    start = max((each.end for each in opposed if each.start < chosen.start), default=0)
    end = min((each.start for each in opposed if each.start > chosen.end), default=len(text))
    return certainty_in(text[start:end], chosen.place - start)
