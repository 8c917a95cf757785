"""Choose the verdict that counts among several in a reply, and the number that is its certainty.

A verdict with its certainty next to it outranks a later lone letter. A letter that is denied or
only compared with (“not [[A]]”, “better than [[B]]”) is not a verdict, and a statement about both
letters with one certainty at its end (“[[A]] beats [[B]] [[70]]”) chooses neither. If two verdicts
contradict each other, the later one counts only if the text states a change of mind; otherwise
neither counts.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from judging.engine.interface import Side

_SIDES: dict[str, Side] = {"A": "A", "B": "B", "C": "C", "TIE": "C"}
_LABEL = r"(?:(?:answer|response|assistant|pair|option|antwort)\s+)?"
_MARK = r"[*_`\"']{0,3}"
_WORD = rf"{_MARK}{_LABEL}([A-WYZ]|tie|both|neither|none|equal){_MARK}"
_OPEN, _CLOSE = r"\\?\[\\?\[", r"\\?\]\\?\]"
_VERDICT = re.compile(rf"{_OPEN}\s*{_WORD}\s*{_CLOSE}", re.IGNORECASE)
_CONTINUED = re.compile(rf"[\s*_`\"']*{_WORD}\s*{_CLOSE}", re.IGNORECASE)
# The letter alone, alone on the first line, or followed only by the certainty.
_BARE = re.compile(
    r"[^\w\[]*(?:(?:[Aa]nswer|[Rr]esponse|[Aa]ntwort)\s*:?\s*)?\[?([ABC])\]?"
    r"[^\w\n\[]*(?:\Z|\n|(?=\[\[\s*\d))"
)
# Another letter alone on a line: the first one was a heading, or is contradicted.
_BARE_LINE = re.compile(
    r"^[^\w\n\[]*(?:(?:[Aa]nswer|[Rr]esponse|[Aa]ntwort)\s*:?\s*)?\[?([ABC])\]?[^\w\n\[]*$",
    re.MULTILINE,
)
_LETTER = re.compile(r"(?<![\w'’])[ABC](?![\w'’])")
# A number or a range in brackets.
_NUMBER = re.compile(
    rf"{_OPEN}\s*{_MARK}(\d{{1,3}})\s*(?:%|/\s*100)?{_MARK}\s*"
    rf"((?:-|–|—|to|bis|or|oder|\.\.)\s*\d{{1,3}}\s*%?\s*)?{_CLOSE}",
    re.IGNORECASE,
)
_RANGE = r"(?:-|–|—|/|,|to|and|or|bis|und|oder|through|\.\.\.?|…)"
_BETWEEN_NUMBERS = re.compile(rf"[\s*_`]*(?:{_RANGE}[\s*_`]*)?", re.IGNORECASE)
_CORRECTED = re.compile(
    r"[\s*_`,.;:–—-]*(?:or\s+rather|rather|actually|no|make\s+that|better|oder\s+besser|eher)"
    r"[\s*_`,.;:–—-]*",
    re.IGNORECASE,
)
# Between a verdict and the certainty next to it: marks, and words that announce it.
_NEXT_TO = re.compile(
    r"(?:[\s*_`\"'.,;:…–—()$|/\\>#=~{}-]"
    r"|\b(?:with|at|and|an?|my|the|of|is|level|score|certainty|confidence|confident|certain|sure"
    r"|in|this|choice|answer|sicherheit|gewissheit|sicher|zu|mit|einer|von|ist|meine|und"
    r"|text(?:bf)?|boxed|quad)\b)*",
    re.IGNORECASE,
)
# Without brackets a number counts only if it is unambiguous: directly after the verdict, or next
# to a word for certainty in the same sentence.
_NUMBER_BEHIND = re.compile(r"[\s\-–—:,]{0,4}[(\[]?(\d{1,3})\s*%?[\s.)\]]*(?:\n|\Z)")
# Not the beginning of a range, of a decimal or of a number on another scale.
_NO_RANGE = (
    r"(?![.,]?\d|\s*(?:%\s*)?(?:-|–|—|to\b|bis\b|and\b|or\b)\s*\d"
    r"|\s*(?:/|out\s+of\b|von\b|of\b)\s*(?!100\b)\d)"
)
_NUMBER_NAMED = re.compile(
    rf"\b(?:confiden|certain|sure|sicher)\w*(?:(?!between|from|zwischen)[^.\n\d]){{0,40}}?"
    rf"(\d{{1,3}})\b{_NO_RANGE}"
    r"|(?<![\d/–—-])(?<!\d[.,])(?<!\bto )(?<!\band )(?<!\bor )(?<!\bof )(?<!\bnot )(?<!n['’]t )"
    r"(?<!\bbe )\b(\d{1,3})\s*%?\s*(?:confident|certain|sure)\b",
    re.IGNORECASE,
)
_COMPARED = (
    r"\b(?:than|over|versus|vs\.?|unlike|against|instead\s+of|compared\s+(?:to|with)"
    r"|rather\s+than|opposed\s+to|als|statt|anstatt|anstelle\s+von|gegenüber|im\s+vergleich\s+zu)"
)
_NEGATED = r"\b(?:not|never|nor|neither|cannot|nicht|kein|keine|weder|\w+n['’]t)"
_ITS_NAME = r"[ \t]*(?:the|response|answer|option|die|der|das|antwort)?[ \t]*[*_`\"'“„(]*\Z"
_DENIED = re.compile(rf"(?:{_COMPARED}|{_NEGATED}(?:[ \t]+\w+){{0,3}}){_ITS_NAME}", re.IGNORECASE)
# Denied even with a certainty next to it: no word is between.
_DENIED_DIRECTLY = re.compile(rf"(?:{_COMPARED}|{_NEGATED}){_ITS_NAME}", re.IGNORECASE)
_DENIED_BEHIND = re.compile(
    r"[*_`\"'”)]*[ \t]+(?:is|are|was|would|does|do|seems|will|ist|wäre|würde)"
    r"(?:n['’]t\b|[ \t]+(?:not|never|nicht|worse|wrong|less|weaker|schlechter|falsch|weniger)\b)",
    re.IGNORECASE,
)
# A rule of the prompt, repeated: “[[A]] if you choose response A”.
_CONDITION_BEHIND = re.compile(
    r"[*_`\"'”)]*[ \t]*,?[ \t]*(?:if\s+you|wenn\s+(?:du|sie))\s+(?:choose|prefer|pick|think"
    r"|see|would|antwort|die|response)\b",
    re.IGNORECASE,
)
_CHANGED = re.compile(
    r"\b(?:on\s+(?:reflection|second\s+thoughts?)|reconsider\w*|wait|correction|revis\w+"
    r"|chang\w+\s+my|actually|final(?:ly)?\s+(?:answer|choice|verdict|decision|judge?ment)"
    r"|(?:bei\s+)?näherer?\s+(?:überlegung|betrachtung)|doch\s+(?:lieber|eher)|korrektur"
    r"|endgültige\w*|no,|nein,)",
    re.IGNORECASE,
)
_TURNED = re.compile(
    r"\b(?:but|yet|however|no|then|instead|so|therefore|thus|hence|it\s+is|sondern|aber|jedoch"
    r"|also|daher|dann)\b",
    re.IGNORECASE,
)
_ANNOUNCED = re.compile(
    r"\b(?:answer|choice|verdict|antwort|entscheidung|urteil|fazit|conclusion)\b", re.IGNORECASE
)
# The beginning of a next turn, or of a next task that the model makes up.
_RUN_ON = re.compile(
    r"^[#* \t]*+(?:"
    r"\[(?:user profile|user question|question|context|response [ab]|article|profile)\][ \t]*$"
    r"(?!\s*\Z)"
    r"|(?:user|human|instruction|system|nutzer|benutzer)\s*\d*\s*:"
    r"|(?:next|another|nächste\w*)\s+(?:user|question|profile|person|example|item|turn"
    r"|frage|aufgabe)\b"
    r"|(?:example|question|item|case|profile|task|aufgabe|beispiel)\s*#?\d+\s*[:.])"
    r"|<\|\w+\|>|</s>|\[/?INST\]|<(?:start|end)_of_turn>",
    re.IGNORECASE | re.MULTILINE,
)
_SENTENCE_END = re.compile(r"[.!?;](?:\s|\Z)|\n\s*\n")


@dataclass(frozen=True, slots=True)
class Found:
    """A verdict in a text: its word, where the word begins, and the certainty next to it.

    `number` is None if no number is next to it, and 0 if that number is not from 1 to 100.
    `is_bracketed` is false for a letter alone.
    """

    word: str
    position: int
    start: int
    end: int
    number: int | None
    is_bracketed: bool

    @property
    def side(self) -> Side | None:
        return _SIDES.get(self.word)


def decide(text: str) -> tuple[Found | None, int | None]:
    """The verdict that counts, and its certainty; None if there is none or it is ambiguous."""
    found = _found(text)
    if not found:
        return None, None
    behind = found[0].end
    if cut := _RUN_ON.search(text, behind):
        text = text[: cut.start()]
        found = _found(text)
    both = {each.start for each in _side_by_side(text, found)}
    denied = [each for each in found if _is_denied(text, each)]
    unmeant = both | {each.start for each in denied}
    meant = [each for each in found if each.start not in unmeant]
    chosen = _chosen(text, meant)
    if chosen is None or (
        chosen.number is None and any(each.number is not None for each in denied)
    ):
        # A certainty next to a letter that is denied may be that of the other one, or of neither.
        return None, None
    return chosen, _certainty(text, chosen, meant)


def without_next_turn(text: str) -> str:
    """The text up to the next turn or task that the model makes up."""
    cut = _RUN_ON.search(text)
    return text[: cut.start()] if cut and text[: cut.start()].strip() else text


def names_one_option(text: str) -> bool:
    """Whether all verdicts of a reply are the same, and no number is in the form of a certainty."""
    text = without_next_turn(text)
    return len({each.word for each in _found(text)}) == 1 and not _NUMBER.search(text)


def _found(text: str) -> list[Found]:
    opening = _CONTINUED.match(text)
    matches = [*([opening] if opening else []), *_VERDICT.finditer(text)]
    is_bracketed = bool(matches)
    if not matches:
        bare = _BARE.match(text)
        matches = [bare] if bare and not _is_taken_back(text, bare) else []
    return [
        Found(
            m[1].upper(),
            m.start(1),
            m.start(),
            m.end(),
            _number_next_to(text, m.end()),
            is_bracketed,
        )
        for m in matches
    ]


def _is_taken_back(text: str, bare: "re.Match[str]") -> bool:
    """Whether a lone letter on the first line is followed by another, or by a change of mind."""
    if any(other[1] != bare[1] for other in _BARE_LINE.finditer(text, bare.end())):
        return True
    changed = _CHANGED.search(text, bare.end())
    return changed is not None and any(
        other[0] != bare[1] for other in _LETTER.finditer(text, changed.end())
    )


def _number_next_to(text: str, end: int) -> int | None:
    """The certainty directly after a verdict: None if there is none, 0 if it cannot be read."""
    gap = _NEXT_TO.match(text, end)
    start = gap.end() if gap else end
    # Words before the number are matched with their marks: the bracket may be one of these.
    number = _NUMBER.match(text, start) or _NUMBER.match(text, max(end, start - 1))
    if number is None:
        behind = _NUMBER_BEHIND.match(text, end)
        return _usable(int(behind[1])) if behind else None
    return _chain(text, number)


def _chain(text: str, number: "re.Match[str]") -> int:
    """The value of a number, or of the one that corrects it; 0 for a range or a list."""
    value = 0 if number[2] else _usable(int(number[1]))
    while True:
        corrected = _CORRECTED.match(text, number.end())
        following = _NUMBER.match(text, corrected.end()) if corrected else None
        if following is not None:
            number, value = following, 0 if following[2] else _usable(int(following[1]))
            continue
        gap = _BETWEEN_NUMBERS.match(text, number.end())
        following = _NUMBER.match(text, gap.end()) if gap else None
        if following is None:
            return value
        if following[2] or _usable(int(following[1])) != value:
            return 0
        number = following


def _usable(number: int) -> int:
    return number if 1 <= number <= 100 else 0


def _side_by_side(text: str, found: Sequence[Found]) -> list[Found]:
    """Different verdicts with nothing between them: the options repeated, none chosen."""
    return [
        each
        for before, after in pairwise(found)
        if before.word != after.word and not text[before.end : after.start].strip(" \t\n*_`/|,&+")
        for each in (before, after)
    ]


def _is_denied(text: str, found: Found) -> bool:
    before = text[max(0, found.start - 60) : found.start]
    line = before.rpartition("\n")[2]
    if found.number is not None:
        return _DENIED_DIRECTLY.search(line) is not None
    return bool(
        _DENIED.search(line)
        or _DENIED_BEHIND.match(text, found.end)
        or _CONDITION_BEHIND.match(text, found.end)
    )


def _chosen(text: str, meant: Sequence[Found]) -> Found | None:
    if not meant:
        return None
    last = meant[-1]
    if len({each.word for each in meant}) == 1:
        certain = [each for each in meant if each.number is not None]
        return certain[-1] if certain else last
    certain = [each for each in meant if each.number is not None]
    if not certain:
        return _last_of_lone(text, meant)
    chosen = certain[-1]
    if any(each.word != chosen.word and _is_one_phrase(text, each, chosen) for each in meant):
        return None  # “[[A]] beats [[B]] [[70]]”
    others = [each for each in certain if each.word != chosen.word]
    if others and not _CHANGED.search(text, others[-1].end, chosen.start):
        return None  # two verdicts, each with its certainty
    later = [each for each in meant if each.start > chosen.start and each.word != chosen.word]
    for each in later:
        clause = _clause_before(text, each, chosen.end)
        if _CHANGED.search(clause):
            # The reply says only that it changes its mind.
            return last if each is last and _ends_sentence(text, each) else None
    return chosen


def _is_one_phrase(text: str, first: Found, second: Found) -> bool:
    """Whether two letters, the first without a certainty, are parts of one statement."""
    if first.number is not None or first.start > second.start:
        return False
    between = text[first.end : second.start]
    return not (
        re.search(r"[.,;:!?\n()|=>→–—-]", between)
        or _TURNED.search(between)
        or _ANNOUNCED.search(between)
        or _CHANGED.search(between)
    )


def _last_of_lone(text: str, meant: Sequence[Found]) -> Found | None:
    """The last of several letters without certainties, if words lead to it or it is alone."""
    last = meant[-1]
    before = next(each for each in reversed(meant[:-1]) if each.word != last.word)
    clause = _clause_before(text, last, before.end)
    if _CHANGED.search(text, before.end, last.start) or _TURNED.search(clause):
        return last
    start = last.start - len(clause)
    around = text[max(0, before.start - 40) : max(before.end, min(before.end + 20, start))]
    return last if _ANNOUNCED.search(clause) and not _ANNOUNCED.search(around) else None


def _clause_before(text: str, found: Found, start: int) -> str:
    """The part of the sentence before a verdict."""
    clause = text[start : found.start]
    ends = [match.end() for match in _SENTENCE_END.finditer(clause)]
    inside = [end for end in ends if clause[end:].strip(" \t\n*_`\"'")]
    return clause[inside[-1] :] if inside else clause


def _ends_sentence(text: str, found: Found) -> bool:
    return re.match(r"[\s*_`\"'”)$}]*(?:[.!;]|\n|\Z|\\?\[)", text[found.end :]) is not None


def _certainty(text: str, chosen: Found, meant: Sequence[Found]) -> int | None:
    if chosen.number is not None:
        return chosen.number or None
    later = [each.start for each in meant if each.start >= chosen.end and each.word != chosen.word]
    behind = text[chosen.end : min(later, default=len(text))]
    if numbers := _all_numbers(behind):
        return _only(numbers)
    if len({each.word for each in meant}) == 1 and (numbers := _all_numbers(text[: chosen.start])):
        return _only(numbers)
    named = [int(before or after) for before, after in _NUMBER_NAMED.findall(behind)]
    return _only(_usable(n) for n in named)


def _all_numbers(text: str) -> list[int]:
    """Numbers in brackets, 0 if one means no single certainty; ends of a scale are left out."""
    numbers, end = [], -1
    for match in _NUMBER.finditer(text):
        if match.start() < end:
            continue
        chain = _chain(text, match)
        gap = _BETWEEN_NUMBERS.match(text, match.end())
        following = _NUMBER.match(text, gap.end()) if gap else None
        if following and {match[1], following[1]} == {"1", "100"}:
            end = following.end()
            continue
        numbers.append(chain)
        end = following.end() if following else match.end()
    return numbers


def _only(numbers: Iterable[int]) -> int | None:
    """The number if all are equal."""
    distinct = set(numbers)
    return (distinct.pop() or None) if len(distinct) == 1 else None
