"""The certainty that a reply states in some other form than the one that was asked for.

Percent, “80 out of 100”, “8/10” and “0.8” are read as 80. A range, a bound (“over 80”), a scale
of another length and a certainty in words are no whole number, so they are not read.
"""

import re
from collections.abc import Iterator
from decimal import ROUND_HALF_UP, Decimal, InvalidOperation

from judging.protocols.reading.lazy import compiled_when_used
from judging.protocols.reading.mentions import ANY, Placed

_DIGITS = r"(?<![\d.,/–-])\d{1,3}(?:[.,]\d{1,4})?(?![\d])"
_UNIT = (
    r"\s*(?P<unit>%|percent\b|per\s+cent\b|prozent\b|por\s+ciento\b|pour\s+cent\b"
    r"|(?:/|out\s+of|von|aus|sobre|de|sur)\s*(?:100|10)\b(?!\d)|分\s*[(（]?满分\s*100)"
)
_OTHER_UNIT = (
    r"(?!\s*(?:/|out\s+of|von|sobre|sur)\s*\d"
    r"|\s*,?\s*(?:on|auf|en|sur)\s+(?:an?|the|einer|der|una|une)\s+(?:scale|skala|escala|échelle)"
    r"[^.;\n]{0,20}\d)"
)
_SCALE = compiled_when_used(
    r"[(\[]{0,2}(?<!\d)1\]{0,2}\s*(?:-|–|to|bis|a|à|到|至)\s*\[{0,2}100(?!\d)[)\]]{0,2}",
    re.IGNORECASE,
)
_RANGE = (
    r"(?:\s*(?:%|percent|prozent)?\s*(?:-|–|—|to|bis|a|à|or|and|und|y|et|oder|或|到|至|~"
    r"|,?\s*(?:maybe|perhaps|possibly|vielleicht|quizás|peut-être|也许))\s*\d)"
)
NAME = (
    r"(?<![a-z])(?:certaint(?:y|ies)|confidence|certain|confident|sure|sureness|sicherheit|gewissheit|sicher"
    r"|konfidenz|zuversicht(?:lich)?|überzeugt|certeza|confianza|seguridad|segur[oa]|certitude"
    r"|confiance|sûre?|certaine?|确定性|确定程度|确定度|确定|置信度|信心|把握|确信度?)"
)
_BOUND = compiled_when_used(
    r"(?:\b(?:over|above|below|under|at\s+(?:least|most)|more\s+than|less\s+than|up\s+to"
    r"|between|from|mindestens|höchstens|über|unter|mehr\s+als|weniger\s+als|zwischen"
    r"|más\s+de|menos\s+de|al\s+menos|entre|hasta|plus\s+de|moins\s+de|au\s+moins|jusqu['’]à"
    r"|not|never|nicht|kein\w*|\w+n['’]t|cannot|pas|no)\s*(?:\w+\s+){0,2}"
    r"|超过|至少|不到|低于|高于|不是|没有|介于|(?<=[\s(:])[<>]\s*|[≥≤])\s*\Z",
    re.IGNORECASE,
)
_STATED = compiled_when_used(
    rf"{NAME}(?P<gap>[^.\d\n;。；{ANY}]{{0,40}}?|\s*[:：]?\s*\n\s*)(?P<number>{_DIGITS})"
    rf"(?:{_UNIT}|{_OTHER_UNIT})(?P<range>{_RANGE})?",
    re.IGNORECASE,
)
_STATED_BEHIND = compiled_when_used(
    rf"(?P<number>{_DIGITS})(?:{_UNIT}|{_OTHER_UNIT})\s*(?:的|一?\s*)?(?:\s+de\s+|\s+)?{NAME}",
    re.IGNORECASE,
)
_NEXT = compiled_when_used(
    rf"(?:[ \t,;:|()\[\]{{}}【】\"'/–—-]{{0,6}}|\s*(?=[\[(【])"
    rf"|\s*\n(?=\s*{_DIGITS}\s*%?\s*(?:\n|\Z)))"
    rf"(?:(?:with|at|mit|con|avec|à|al|zu)\s+)?"
    rf"[ \t(\[【]{{0,3}}[~≈]?(?P<number>{_DIGITS})(?:{_UNIT}|{_OTHER_UNIT})(?P<range>{_RANGE})?"
    r"(?=\s*[\])}|】]|\s*[.,;。，；]?\s*(?:$|\n)|\s*[.;。；]\s|\s*[,，])",
    re.IGNORECASE,
)
_BRACKETED = compiled_when_used(
    rf"(?<=[(\[【])\s*[~≈]?(?P<number>{_DIGITS}(?=\s*%)|(?<![\d.,])0[.,]\d{{1,4}}(?!\d))"
    r"(?P<unit>\s*%)?(?P<range>)\s*(?=[)\]】])"
)
# As it was asked for, anywhere: “I lean towards A. [[55]]”.
_ASKED = compiled_when_used(
    r"\[\[\s*(?P<number>\d{1,3})(?P<unit>\s*%)?(?P<range>\s*(?:-|–|to)\s*\d+)?\s*\]\]"
)
_TENS = {
    "ten zehn diez dix": 10,
    "twenty zwanzig veinte vingt": 20,
    "thirty dreißig treinta trente": 30,
    "forty vierzig cuarenta quarante": 40,
    "fifty fünfzig cincuenta cinquante": 50,
    "sixty sechzig sesenta soixante": 60,
    "seventy siebzig setenta soixante-dix": 70,
    "eighty achtzig ochenta quatre-vingts quatre-vingt": 80,
    "ninety neunzig noventa quatre-vingt-dix": 90,
}
_NUMBER_OF_WORD = {word: number for words, number in _TENS.items() for word in words.split()}
_IN_WORDS = compiled_when_used(
    rf"(?<![\w-])({'|'.join(sorted(_NUMBER_OF_WORD, key=len, reverse=True))})"
    r"(?=\s+(?:percent|per\s+cent|prozent|por\s+ciento|pour\s+cent)\b)",
    re.IGNORECASE,
)
_CHINESE_DIGITS = "一二三四五六七八九"
_IN_CHINESE = compiled_when_used(
    rf"百分之([{_CHINESE_DIGITS}])十([{_CHINESE_DIGITS}]?)(?!几|多|来|余|[到至])"
)


def with_digits(placed: Placed) -> Placed:
    """The text with its “eighty percent” and “百分之八十” written in digits."""
    placed = placed.sub(_IN_WORDS, lambda found: str(_NUMBER_OF_WORD[found[1].lower()]))
    return placed.sub(
        _IN_CHINESE,
        lambda found: (
            f"{_CHINESE_DIGITS.index(found[1]) + 1}"
            f"{_CHINESE_DIGITS.index(found[2]) + 1 if found[2] else 0}%"
        ),
    )


def certainty_in(text: str, claim_end: int | None) -> int | None:
    """The only certainty stated in `text`, or next to a claim that ends at `claim_end`."""
    text = _SCALE.sub(lambda scale: " " * len(scale[0]), text)
    values: set[int | None] = set(_stated(text))
    if claim_end is not None and (following := _NEXT.match(text, claim_end)):
        values.add(_value(text, following))
    return values.pop() if len(values) == 1 else None


def _stated(text: str) -> Iterator[int | None]:
    taken: list[tuple[int, int]] = []
    for pattern in (_STATED_BEHIND, _STATED, _BRACKETED, _ASKED):
        for found in pattern.finditer(text):
            span = found.span("number")
            if span not in taken and not _is_conditional(text, found):
                taken.append(span)
                yield _value(text, found)


def _is_conditional(text: str, found: "re.Match[str]") -> bool:
    """Whether a number holds only under a condition: “80 % if I knew her age”."""
    behind = re.split(r"[.!?;\n。；]", text[found.end() : found.end() + 60], maxsplit=1)[0]
    return (
        re.match(r"\s*,?\s*(?:if|unless|wenn|falls|si|如果)\b", behind, re.IGNORECASE) is not None
    )


def _value(text: str, found: "re.Match[str]") -> int | None:
    before = text[max(0, found.start("number") - 40) : found.start("number")]
    if found.groupdict().get("range") or _BOUND.search(before.rstrip("~≈([ ") + " "):
        return None
    return whole(found["number"], found["unit"] or "")


def whole(number: str, unit: str = "") -> int | None:
    """A stated number as a whole one from 1 to 100; None if it is on another scale."""
    try:
        value = Decimal(number.replace(",", "."))
    except InvalidOperation:
        return None
    is_decimal = "." in number or "," in number
    if re.search(r"(?<!\d)10\Z", unit.strip()):
        value *= 10
    elif not unit and is_decimal and 0 < value < 1:
        value *= 100
    elif not unit and is_decimal and (value <= 1 or value % 1):
        return None  # 1.0 may be all of a share, and 8.5 is of another scale
    rounded = int(value.quantize(Decimal(1), ROUND_HALF_UP))
    return rounded if 1 <= rounded <= 100 else None


def of_json(value: object) -> int | None:
    """The certainty in a JSON object: 80, 0.8, "80 %" or "8/10"."""
    if isinstance(value, bool) or value is None:
        return None
    if isinstance(value, int | float):
        return whole(repr(value))
    if isinstance(value, str):
        found = re.fullmatch(rf"\s*({_DIGITS})(?:{_UNIT})?\s*", value, re.IGNORECASE)
        return whole(found[1], found["unit"] or "") if found else None
    return None
