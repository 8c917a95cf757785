"""Read a ranking of three to five options from a reply. Pure.

Strict reading takes “[[B > A > C]]”, also without its first brackets, or alone. Lenient reading
adds JSON, a labelled line, a numbered list at the end and a line of its own. A ranking counts only
where the reply states it as one: it names every option once, only known words lead to it, and
nothing speaks against it, such as another ranking, a denial, other people, or an order that begins
with the worst.
"""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from extras.option_sets import ranking_words as words
from judging.protocols.reading.claims import CERTAINTY_KEY
from judging.protocols.reading.lazy import compiled_when_used
from judging.protocols.reading.lenient import added_certainty
from judging.protocols.reading.mentions import readable
from judging.protocols.verdicts import without_next_turn

_BETTER = r"\s*(?:>+|≻|›|&gt;)\s*"
_BARE_CHAIN = r"[A-E](?:\s*>\s*[A-E])+"
_STRICT = compiled_when_used(rf"\[\[\s*({_BARE_CHAIN})\s*\]\]")
_CONTINUED = compiled_when_used(rf"\A\W*({_BARE_CHAIN})\s*\]\]")
_ALONE = compiled_when_used(
    rf"\A[\s*_`]*({_BARE_CHAIN})[\s*_`.]*(?:\[\[\s*\d{{1,3}}\s*\]\][\s*_`.]*)?\Z"
)

_ITEM = rf"[*_`\"'“”]*{words.NOUN}[*_`\"'“”(]*[A-E]\b[*_`\"'“”)]*"
# A ranking by signs, anywhere; what continues it belongs to it.
_CHAIN = compiled_when_used(
    rf"(?<![\w>=<≥≤~]){_ITEM}(?:{_BETTER}{_ITEM})+(?!\s*[>=<≥≤≈~])", re.IGNORECASE
)
_AFTER_LABEL = (
    r"[\s*_]*(?:\(?(?:from\s+|von\s+)?(?:best|beste\w*)\s+(?:to|zu\w*|bis)\s+\w+\)?"
    r"|is|lautet|est|es)?[\s*_]*"
)
_COMMAS = rf"{_ITEM}(?:\s*(?:,|;|→|->|=>|、|，)\s*(?:then\s+|dann\s+|luego\s+|puis\s+)?{_ITEM})+"
_LABEL = compiled_when_used(
    rf"^[\s#*_>-]*(?P<lead>[^\n:：]{{0,60}}?)(?:{words.LABELS}){_AFTER_LABEL}"
    rf"[:：][\s*_]*(?:\[+\s*)?(?P<list>{_COMMAS})\s*(?:\]+)?[\s*_.]*(?=$|[.(\[])",
    re.IGNORECASE | re.MULTILINE,
)
_NUMBERED = compiled_when_used(
    rf"^[ \t*_#-]*(?P<number>[1-5])(?:[.)]|:|st|nd|rd|th)[.):]?\s*[*_`\"'“”]*{words.NOUN}"
    r"[*_`\"'“”(]*"
    r"(?P<letter>[A-E])\b(?P<rest>[^\n]*)$",
    re.IGNORECASE | re.MULTILINE,
)
_RANKING_KEY = compiled_when_used(rf"(?:final_?)?(?:{words.LABELS}|ranks?|ranked)", re.IGNORECASE)
_KNOWN_KEY = compiled_when_used(
    rf"{_RANKING_KEY.pattern}|{CERTAINTY_KEY.pattern}"
    r"|reasons?|reasoning|rationale|explanation|justification|analysis|thoughts?|gründe|begründung"
    r"|razón|razones|razonamiento|explicación|raison|raisons|explication|理由|解释|分析",
    re.IGNORECASE,
)
_RANKS = compiled_when_used(
    rf"\b(?:rank(?:ed|ing)?|best\s+to\s+worst|{words.LABELS}|beste\w*\s+zu\w*|mejor\s+a\s+peor)\b|排",
    re.IGNORECASE,
)
_MOST_SIGNS = 100
_RUN = compiled_when_used(r"[\s*_`]{6,}")
_LETTERS = compiled_when_used(r"\b[A-E]\b")

_CERTAINTY = compiled_when_used(r"\[\[\s*(\d{1,3})\s*%?\s*\]\]")
_ORDINALS = compiled_when_used(
    r"\b(?:1st|2nd|3rd|4th|5th|rank\s*[1-5]|last|worst|best|weakest|platz)\b", re.I
)


@dataclass(frozen=True, slots=True)
class Ranking:
    """The letters of a ranking, the best first; `code` says how it was read leniently."""

    letters: tuple[str, ...]
    certainty: int | None
    code: str = ""


@dataclass(frozen=True, slots=True)
class _Found:
    letters: tuple[str, ...]
    start: int
    end: int
    code: str = ""


def read_ranking(text: str, letters: Sequence[str], *, is_lenient: bool = False) -> Ranking | None:
    """The ranking of `letters` in a reply; None if it states none, or several."""
    text = _RUN.sub(_shortened, without_next_turn(readable(text).text))
    if text.count(">") > _MOST_SIGNS:
        return None  # such a text would be slow to search, and states no ranking
    if words.TURNED.search(text.replace("_", " ")):
        return None
    found = list(_strict(text))
    if not found and is_lenient:
        found = next(filter(None, map(list, _lenient(text, letters))), [])
    meant = [each for each in found if _is_meant(text, each) and _stands_free(text, each)]
    stated = {each.letters for each in meant}
    if len(stated) != 1 or not _is_complete(meant[0].letters, letters):
        return None
    chosen = meant[-1]
    others = (each for each in (*found, *_chains(text)) if each.letters != chosen.letters)
    if any(_is_meant(text, each) and len(each.letters) > 1 for each in others):
        return None
    if any(each.letters == chosen.letters and each not in meant for each in found):
        return None  # denied at one place, stated at another
    if _is_taken_back(text, chosen):
        return None
    return Ranking(chosen.letters, _certainty(text, chosen, is_lenient), chosen.code)


def _shortened(run: "re.Match[str]") -> str:
    """A long run of blanks and marks, which would be slow to search, as the break that it is."""
    return "\n\n" if "\n" in run[0] else " "


def _is_complete(found: Sequence[str], letters: Sequence[str]) -> bool:
    return sorted(found) == sorted(letters)


def _strict(text: str) -> Iterator[_Found]:
    for pattern in (_CONTINUED, _ALONE):
        if match := pattern.match(text):
            yield _of(match[1], match.start(1), match.end())
            break
    for match in _STRICT.finditer(text):
        yield _of(match[1], match.start(), match.end())


def _lenient(text: str, letters: Sequence[str]) -> Iterator[Iterator[_Found]]:
    """The rankings in each other form, the most explicit form first."""
    yield _in_json(text)
    yield _after_labels(text)
    yield _in_lists(text, letters)
    yield _in_lines(text)


def _in_json(text: str) -> Iterator[_Found]:
    for match in re.finditer(r"\{[^{}]*(?:\{[^{}]*\}[^{}]*)?\}", text):
        try:
            form = json.loads(match[0])
        except (ValueError, RecursionError):
            continue
        if not all(_KNOWN_KEY.fullmatch(key) for key in form):
            continue  # “who”, “criterion”: the ranking may be another one
        for key in filter(_RANKING_KEY.fullmatch, form):
            if found := _of_json(form[key]):
                yield _Found(found, match.start(), match.end(), "json")


def _of_json(value: Any) -> tuple[str, ...]:
    if isinstance(value, dict):
        if not all(type(rank) is int for rank in value.values()):
            return ()
        if sorted(value.values()) != list(range(1, len(value) + 1)):
            return ()
        value = sorted(value, key=lambda letter: int(value[letter]))
    if isinstance(value, str):
        return _letters_in(value) if _CHAIN.fullmatch(value.strip()) else ()
    if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
        return ()
    each = [_letters_in(name) for name in value]
    return tuple(name[0] for name in each) if all(len(name) == 1 for name in each) else ()


def _after_labels(text: str) -> Iterator[_Found]:
    for match in _LABEL.finditer(text):
        yield _of(match["list"], match.start("list"), match.end("list"), "label")
    for chain in _chains(text):
        lead, _ = _before(text, chain)
        if words.INTRO.fullmatch(lead.rstrip(" [")):
            yield _Found(chain.letters, chain.start, chain.end, "label")


def _in_lists(text: str, letters: Sequence[str]) -> Iterator[_Found]:
    """A numbered list, one option a line, after words that announce a ranking."""
    lines = list(_NUMBERED.finditer(text))
    if [int(line["number"]) for line in lines] != list(range(1, len(letters) + 1)):
        return
    if not _RANKS.search(text[: lines[0].start()]):
        return
    rests = [line["rest"] for line in lines]
    if any(
        _ORDINALS.search(rest) or words.NOT_MEANT.search(rest.strip(" .")) for rest in rests[:-1]
    ):
        return
    yield _Found(
        tuple(line["letter"].upper() for line in lines), lines[0].start(), lines[-1].end(), "list"
    )


def _in_lines(text: str) -> Iterator[_Found]:
    """A ranking by signs in a line of its own, with nothing around it but marks and a number."""
    for chain in _chains(text):
        start = text.rfind("\n", 0, chain.start) + 1
        end = text.find("\n", chain.end)
        before, behind = text[start : chain.start], text[chain.end : end if end >= 0 else len(text)]
        around = re.sub(r"\[*\(?\d{1,3}\s*%?\)?\]*|[\s*_`#\[\].,|>\"“”-]", "", before + behind)
        if not around:
            yield _Found(chain.letters, chain.start, chain.end, "final_line")


def _chains(text: str) -> Iterator[_Found]:
    for match in _CHAIN.finditer(text):
        yield _of(match[0], match.start(), match.end())


def _of(chain: str, start: int, end: int, code: str = "") -> _Found:
    return _Found(_letters_in(chain), start, end, code)


def _letters_in(text: str) -> tuple[str, ...]:
    return tuple(_LETTERS.findall(text))


def _before(text: str, found: _Found) -> tuple[str, str]:
    """What stands before a ranking: on its own line, and above it."""
    start = text.rfind("\n", 0, found.start) + 1
    return text[start : found.start], text[:start].rstrip()


def _is_meant(text: str, found: _Found) -> bool:
    """Whether the words around a ranking leave it to be the reply's own."""
    lead, _ = _before(text, found)
    sentence = re.split(r"(?<=[.!?;。！？；])\s*", lead[-160:])[-1]
    if words.NOT_MEANT.search(sentence):
        return False
    return not words.NOT_MEANT_BEHIND.match(text, found.end)


def _stands_free(text: str, found: _Found) -> bool:
    """Whether a ranking is the answer of the reply, and not a part of what is said there."""
    lead, above = _before(text, found)
    if not words.LEAD.fullmatch(lead[-300:]) or not words.BEHIND.match(text, found.end):
        return False
    is_alone = words.ONLY_CERTAINTY.match(text, found.end) is not None
    if not is_alone and not _gives_reasons(text, found):
        return False
    above = words.FENCE.sub("", above).rstrip()
    *rest, last = above.split("\n")
    is_announced = words.INTRO.fullmatch(last) is not None
    if is_announced:
        above = "\n".join(rest).rstrip()
    if words.ONLY_CERTAINTY.match(above):
        above = ""
    if _is_doubtful(above):
        return False
    if found.code in ("", "json"):
        return True
    if above and not words.OWN.search(last if is_announced else lead):
        return False
    if words.NOT_BEST.search(words.FROM_BEST.sub("", text[: found.end])):
        return False
    return is_alone and is_announced if found.code == "list" else is_alone or found.code == "label"


def _gives_reasons(text: str, found: _Found) -> bool:
    """Whether what follows a ranking speaks of the responses, and not of the ranking."""
    if words.GOES_ON.match(text, found.end):
        return False
    certain = words.CERTAIN_HERE.match(text, found.end)
    if words.REASON.match(text, certain.end() if certain else found.end):
        return True
    behind = re.sub(r"\A[^\n]*\n", "", text[found.end :]).lstrip()
    behind = words.CERTAINTY_LINE.sub("", behind, count=1).lstrip()
    if not behind or words.REASON.match(behind):
        return True
    first = _sentences(behind)[0]
    return bool(
        words.OF_A_RESPONSE.match(first) and _names_one(first) and not words.OF_PLACES.search(first)
    )


def _is_doubtful(above: str) -> bool:
    """Whether the sentence above a ranking may say that it is not the reply's own.

    A reason names a response. Any other sentence may be about the ranking.
    """
    if not above:
        return False
    last = _sentences(above)[-1]
    return not last.endswith((".", "!", "。", "！")) or not _names_one(last)


def _names_one(sentence: str) -> bool:
    return _LETTERS.search(sentence) is not None and words.NOT_OWN.search(sentence) is None


def _sentences(text: str) -> list[str]:
    """The sentences of a text that is not empty, without marks around them."""
    parts = re.split(r"(?<=[.!?])\s+|(?<=[。！？])|\n", text)
    return [part for each in parts if (part := each.strip('*_`"”’)] \t'))] or [""]


def _is_taken_back(text: str, found: _Found) -> bool:
    taken = words.TAKEN_BACK.search(text, found.end)
    return taken is not None


def _certainty(text: str, found: _Found, is_lenient: bool) -> int | None:
    numbers = {int(number) for number in _CERTAINTY.findall(text)}
    if numbers:
        value = numbers.pop()
        return value if not numbers and 1 <= value <= 100 else None
    if not is_lenient:
        return None
    here = words.CERTAIN_HERE.match(text, found.end)
    stated = re.findall(r"\d+", here[0]) if here else []
    return added_certainty(readable(f"({stated[0]}%)" if len(stated) == 1 else text))
