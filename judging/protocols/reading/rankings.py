"""Read a ranking of three to five options from a reply. Pure.

Strict reading takes “[[B > A > C]]”, also without its first brackets, or alone. Lenient reading
adds other forms. A ranking counts only if it names every option once and nothing in the reply
speaks against it: another ranking, a denial, other people, or an order that begins with the worst.
"""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from judging.protocols.reading.lenient import LONGEST, added_certainty
from judging.protocols.verdicts import without_next_turn

_NOUN = r"(?:(?:response|option|answer|antwort|respuesta|opción|réponse|回答|选项)\s*)?"
_BETTER = r"\s*(?:>+|≻|›|&gt;)\s*"
_BARE_CHAIN = r"[A-E](?:\s*>\s*[A-E])+"
_STRICT = re.compile(rf"\[\[\s*({_BARE_CHAIN})\s*\]\]")
_CONTINUED = re.compile(rf"\A\W*({_BARE_CHAIN})\s*\]\]")
_ALONE = re.compile(rf"\A[\s*_`]*({_BARE_CHAIN})[\s*_`.]*(?:\[\[\s*\d{{1,3}}\s*\]\][\s*_`.]*)?\Z")

_ITEM = rf"[*_`\"'“”]*{_NOUN}[*_`\"'“”(]*[A-E]\b[*_`\"'“”)]*"
# A ranking by signs, anywhere; what continues it belongs to it.
_CHAIN = re.compile(rf"(?<![\w>=<≥≤~]){_ITEM}(?:{_BETTER}{_ITEM})+(?!\s*[>=<≥≤≈~])", re.IGNORECASE)
_LABELS = (
    r"ranking|rank\s+order|final\s+order|order|rangfolge|reihenfolge|rangliste|clasificación|orden"
    r"|classement|ordre|排名|排序|顺序"
)
_AFTER_LABEL = (
    r"[\s*_]*(?:\(?(?:from\s+|von\s+)?(?:best|beste\w*)\s+(?:to|zu\w*|bis)\s+\w+\)?"
    r"|is|lautet|est|es)?[\s*_]*"
)
_COMMAS = rf"{_ITEM}(?:\s*(?:,|;|→|->|=>|、|，)\s*(?:then\s+|dann\s+|luego\s+|puis\s+)?{_ITEM})+"
_LABEL = re.compile(
    rf"^[\s#*_>-]*(?P<lead>[^\n:：]{{0,60}}?)(?:{_LABELS}){_AFTER_LABEL}"
    rf"[:：][\s*_]*(?:\[+\s*)?(?P<list>{_COMMAS})\s*(?:\]+)?[\s*_.]*(?=$|[.(\[])",
    re.IGNORECASE | re.MULTILINE,
)
_NUMBERED = re.compile(
    rf"^[ \t*_#-]*(?P<number>[1-5])(?:[.)]|:|st|nd|rd|th)[.):]?\s*[*_`\"'“”]*{_NOUN}[*_`\"'“”(]*"
    r"(?P<letter>[A-E])\b(?P<rest>[^\n]*)$",
    re.IGNORECASE | re.MULTILINE,
)
_RANKS = re.compile(
    rf"\b(?:rank(?:ed|ing)?|best\s+to\s+worst|{_LABELS}|beste\w*\s+zu\w*|mejor\s+a\s+peor)\b|排",
    re.IGNORECASE,
)
_LETTERS = re.compile(r"\b[A-E]\b")

# An order that may begin with the worst one: nobody can tell what was meant.
_TURNED = re.compile(
    r"(?<!to )\bworst\s*[:：]|"
    r"\bworst\b[^.\n]{0,12}?\b(?:to|first|→|->)|\bfrom\s+(?:the\s+)?(?:worst|least)\b|\bascending\b"
    r"|\b(?:least|lowest)\s+(?:\w+\s+){0,2}(?:first|to\s+(?:most|best|highest))|\breversed?\s+order\b"
    r"|schlechtest\w*\s+(?:\w+\s+){0,2}(?:zuerst|zu[mr]?|bis)|aufsteigend|umgekehrt\w*\s+reihenfolge"
    r"|peor\s+a\s+(?:la\s+)?mejor|de\s+la?\s+peor|(?:du|de\s+la)\s+(?:moins\s+bonne|pire)"
    r"|从(?:最)?差到|由差到|倒序|<\s*(?:response\s*|option\s*)?[A-E]\b",
    re.IGNORECASE,
)
_NOT_MEANT = re.compile(
    r"(?:\b(?:not|never|neither|cannot|nicht|nie|kein\w*|no\s+es|nunca|jamais|rather\s+than|instead"
    r"\s+of|unlike|against|statt|anstatt|en\s+lugar\s+de|plutôt\s+que)\b|n['’]t\b|\bpas\b|不是|而不是)"
    r"[^.\n]{0,40}\Z"
    r"|\b(?:most|many|some|other|few|typical|average|younger|older|die\s+meisten|viele|andere|manche"
    r"|la\s+mayoría|otr[ao]s|la\s+plupart|d['’]autres)\s+(?:\w+\s+){0,2}(?:people|readers?|users?"
    r"|persons?|annotators?|judges?|women|men|would|menschen|leute|leser\w*|würden|personas?"
    r"|lectores|gens|personnes|lecteurs)\b[^.\n]*\Z"
    r"|(?:大多数人|多数人|其他人|别人)[^。\n]*\Z"
    r"|\b(?:if|unless|had|were|suppose|wenn|falls|si|before|at\s+first|initially|first\s+(?:thought"
    r"|idea|impression|guess)|zuerst|zunächst|anfangs|al\s+principio|au\s+début)\b[^.\n]*\Z"
    r"|(?:如果|起初)[^。\n]*\Z"
    r"|\b(?:e\.g\.|for\s+example|such\s+as|format|form|like\s+this|zum\s+beispiel|z\.\s?b\.|etwa"
    r"|por\s+ejemplo|par\s+exemple)[^.\n]{0,30}\Z|例如[^。\n]*\Z",
    re.IGNORECASE,
)
_NOT_MEANT_BEHIND = re.compile(
    r"[\s*_`\]\"'”)]*(?:\?|？|(?:,\s*)?(?:was|were|is|would\s+be|seems|looks|ist|wäre|war|es|est"
    r"|sería|serait)\s+(?:\w+\s+){0,3}(?:not|wrong|first|tempting|what\s+most|the\s+obvious|nicht"
    r"|falsch|no\b|pas\b)|(?:,\s*)?(?:if\b|unless\b|wenn\b|falls\b|but\b|aber\b|不对|是错)"
    r"|\s*(?:isn|wasn|wouldn)['’]t\b)",
    re.IGNORECASE,
)
# What may stand on the line before a ranking: nothing but marks, or the name of the answer. What
# may follow: its certainty, the end of the line, or a reason. Elsewhere anybody may be speaking.
_LEAD = re.compile(
    r"[\s*_`#>\[\]\"“(-]*"
    r"(?:(?:so|thus|therefore|hence|also|daher|por\s+tanto|donc|所以)\W+)?"
    r"(?:to\s+repeat:\s*)?(?:(?:my|the|meine?|die|mi|la|ma|le|我的)\s*)?"
    r"(?:(?:final|overall|own|endgültige?|最终)\s*)*"
    r"(?:(?:answer|verdict|choice|result|response|antwort|urteil|ergebnis|respuesta|réponse|答案"
    rf"|{_LABELS})(?:\s+(?:is|lautet|ist|es|est|final|endgültig))?\s*[*_`]*[:：]?)?[\s*_`\[]*\Z",
    re.IGNORECASE,
)
_CERTAIN = r"[\s*_`]*(?:,\s*)?(?:\[\[[^\]\n]*\]\]|\(\s*\d{1,3}\s*%?\s*\))"
_BEHIND = re.compile(
    rf"(?:{_CERTAIN}){{0,3}}[\s*_`\"”)\]]*[.。]?[ \t*_`]*(?:\Z|\n|[.,;:–—-]?\s*(?:because|since"
    r"|certainty|confidence|denn|weil|sicherheit|porque|certeza|parce|certitude|因为|确定)\b)",
    re.IGNORECASE,
)
# A line that announces a ranking as the reply's own: in the first person, or only its name.
_OWN_INTRO = re.compile(
    r".*\b(?:i|i['’]d|my|ich|meine?|yo|mi|je|mon|ma)\b"
    r"|[\s*_`#>-]*(?:(?:here\s+is|this\s+is|hier\s+ist|voici)\s+)?(?:(?:the|die|la|le)\s+)?(?:final\s+)?"
    rf"(?:answer|verdict|{_LABELS})[\s*_,(]*(?:(?:from\s+)?best\s+to\s+worst)?[\s*_)]*[:：.]?[\s*_]*\Z",
    re.IGNORECASE,
)
_POINTS_BACK = re.compile(r"[\s*_(]*(?:this|that|the\s+above|example|das|dies|esto|ceci)\b", re.I)
# What a reply says after its ranking when it takes it back.
_TAKEN_BACK = re.compile(
    r"\b(?:reverse|opposite|on\s+(?:reflection|second\s+thoughts?)|wait\b|actually|correction|i\s+(?:would\s+)?swap"
    r"|swap(?:ping)?|should\s+(?:be|come|stand)|the\s+other\s+way|reconsider\w*|korrektur"
    r"|doch\s+(?:lieber|eher)|vertausch\w*|pensándolo|à\s+la\s+réflexion)\b|更正|等等",
    re.IGNORECASE,
)
_CERTAINTY = re.compile(r"\[\[\s*(\d{1,3})\s*%?\s*\]\]")
_ORDINALS = re.compile(
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
    """The ranking of `letters` in a reply without thoughts; None if it states none, or several."""
    text = without_next_turn(text)[-LONGEST:]
    if _TURNED.search(text):
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
        keys = [
            key
            for key in form
            if re.fullmatch(rf"(?:final_?)?(?:{_LABELS}|ranks?|ranked)", key, re.I)
        ]
        for key in keys:
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
        if not _is_meant_by(match["lead"]):
            continue
        yield _of(match["list"], match.start("list"), match.end("list"), "label")
    for chain in _chains(text):
        line = text[text.rfind("\n", 0, chain.start) + 1 : chain.start]
        if re.search(rf"(?:{_LABELS}){_AFTER_LABEL}[:：][\s*_\[]*\Z", line, re.IGNORECASE):
            yield _Found(chain.letters, chain.start, chain.end, "label")


def _is_meant_by(lead: str) -> bool:
    return not _NOT_MEANT.search(f"{lead} ") and not re.search(r"['’]s\s*\Z|\bof\b", lead)


def _in_lists(text: str, letters: Sequence[str]) -> Iterator[_Found]:
    """A numbered list, one option a line, after words that announce a ranking."""
    lines = list(_NUMBERED.finditer(text))
    if [int(line["number"]) for line in lines] != list(range(1, len(letters) + 1)):
        return
    if not _RANKS.search(text[: lines[0].start()]):
        return
    rests = [line["rest"] for line in lines]
    if any(_ORDINALS.search(rest) or _NOT_MEANT.search(rest.strip(" .")) for rest in rests[:-1]):
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


def _is_meant(text: str, found: _Found) -> bool:
    """Whether the words around a ranking leave it to be the reply's own."""
    if found.code == "json":
        return True
    line = text[max(text.rfind("\n", 0, found.start) + 1, found.start - 160) : found.start]
    sentence = re.split(r"(?<=[.!?;。！？；])\s*", line)[-1]
    if _NOT_MEANT.search(sentence):
        return False
    return not _NOT_MEANT_BEHIND.match(text, found.end)


def _stands_free(text: str, found: _Found) -> bool:
    """Whether a ranking is the answer of its line, and not a part of what is said there."""
    if _BEHIND.match(text, found.end) is None and found.code != "json":
        return False
    before = text[: text.rfind("\n", 0, found.start) + 1].rstrip().rpartition("\n")[2]
    is_announced = _OWN_INTRO.match(before) is not None and not _NOT_MEANT.search(before)
    if not is_announced and (found.code == "list" or before.rstrip("*_ ").endswith((":", "："))):
        return False
    if _POINTS_BACK.match(re.sub(r"\A.*\n", "", text[found.end :])):
        return False
    if found.code:
        return True
    lead = text[text.rfind("\n", 0, found.start) + 1 : found.start][-300:]
    return _LEAD.match(lead) is not None


def _is_taken_back(text: str, found: _Found) -> bool:
    taken = _TAKEN_BACK.search(text, found.end)
    return taken is not None and _LETTERS.search(text, taken.end()) is not None


def _certainty(text: str, found: _Found, is_lenient: bool) -> int | None:
    numbers = {int(number) for number in _CERTAINTY.findall(text)}
    if numbers:
        value = numbers.pop()
        return value if not numbers and 1 <= value <= 100 else None
    return added_certainty(text) if is_lenient else None
