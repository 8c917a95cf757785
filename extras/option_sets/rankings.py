"""Read a ranking of three to five responses from a reply.

Strict reading takes “[[B > A > C]]”, also without its first brackets, or alone; lenient reading
JSON, or a line with only a ranking and words such as “My final ranking:”. All rankings of a reply
have to be the same; a reply with words that may deny one is asked again.
"""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from judging.protocols.reading.certainties import stated
from judging.protocols.reading.text import plain, readable, without_next_turn

_ITEM = r"(?:(?:response|option|answer|antwort|respuesta|opción|réponse)\s+)?[A-E]\b"
_CHAIN = rf"{_ITEM}(?:\s*>\s*{_ITEM})+"
_ANYWHERE = re.compile(_CHAIN, re.IGNORECASE)
# A line with a ranking: before it only the name of the answer, behind it a certainty or a reason.
_LINE = re.compile(
    r"[^\w\n]*(?:(?:so|thus|therefore|my|the|final|overall|ranking|rank|order|answer|is"
    r"|(?:from\s+)?best\s+to\s+worst|meine|endgültige|rangfolge|reihenfolge|von\s+der\s+besten\s+zur"
    r"\s+schlechtesten|mi|clasificación|orden|mon|classement|我的|排名|排序)\b[^\w\n\[]*)*"
    rf"(?P<open>\[\[)?\W*?(?P<chain>{_CHAIN})\s*(?P<close>\]\])?"
    r"[^\w\n?]*(?:certainty|confidence|sicherheit)?[^\w\n?]*(?:\d{1,3}\W*)?(?:(?:because|since|weil|denn)\b.*)?",
    re.IGNORECASE,
)
_UNCLEAR = re.compile(
    r"\b(?:reflection|reconsider\w*|wait|correction|actually|reverse\w*|swap\w*|sorry|oops|ignore"
    r"|disregard|scrap|kidding|example|format|wrong|not|n['’]t|if|most|korrektur|wenn|nicht)\b",
    re.IGNORECASE,
)
_KEYS = {"ranking", "certainty", "confidence", "reason", "reasoning", "explanation"}


@dataclass(frozen=True, slots=True)
class ReadRanking:
    """The letters of a ranking, the best first; `code` says how it was read leniently."""

    letters: tuple[str, ...]
    certainty: int | None
    code: str = ""


def read_ranking(
    text: str, letters: Sequence[str], *, is_lenient: bool = False
) -> ReadRanking | None:
    """The ranking of `letters` in a reply; None if it states none, or several."""
    text = plain(without_next_turn(readable(text).text)).replace("&gt;", ">")
    if text.count(">") > 100 or _UNCLEAR.search(text):
        return None
    lines = [found for line in text.split("\n") if (found := _LINE.fullmatch(line))]
    strict = [x for x in lines if x["close"] or text.strip(" \n.") == x["chain"].strip()]
    code, rankings = "", {_letters(line["chain"]) for line in strict}
    if not rankings and is_lenient:
        code, rankings = "json", set(_in_objects(text))
        if not rankings:
            code, rankings = "label", {_letters(line["chain"]) for line in lines}
    every = rankings | {_letters(chain[0]) for chain in _ANYWHERE.finditer(text)}
    if len(rankings) != 1 or len(every) != 1:
        return None
    ranking = rankings.pop()
    return ReadRanking(ranking, stated(text), code) if sorted(ranking) == sorted(letters) else None


def _letters(chain: str) -> tuple[str, ...]:
    return tuple(re.findall(r"\b[A-E]\b", chain))


def _in_objects(text: str) -> Iterator[tuple[str, ...]]:
    for found in re.finditer(r"\{[^{}]*\}", text):
        try:
            form: dict[str, Any] = json.loads(found[0])
        except (ValueError, RecursionError):
            continue
        value = form.get("ranking") if form.keys() <= _KEYS else None
        if isinstance(value, str) and _ANYWHERE.fullmatch(value.strip()):
            yield _letters(value)
        elif isinstance(value, list) and all(isinstance(each, str) for each in value):
            yield tuple(each.strip() for each in value)
