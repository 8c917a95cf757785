"""The certainty that a reply states: 80, 80 %, 0.8, 80 out of 100 or 8/10 are read as 80.

A range, a bound (“over 80”), another scale and a certainty in words are no number from 1 to 100.
"""

import re
from decimal import ROUND_HALF_UP, Decimal, InvalidOperation

_NUMBER = r"(?<![\d.,/–-])(?P<number>\d{1,3}(?:[.,]\d{1,4})?)(?!\d)"
_UNIT = (
    r"\s*(?P<unit>%|percent\b|per\s+cent\b|prozent\b|por\s+ciento\b|pour\s+cent\b"
    r"|(?:/|out\s+of|von|sobre|sur)\s*(?:100|10)\b"
    r"|(?!\s*(?:(?:/|out\s+of|von|sobre|sur)\s*\d|,?\s*(?:on\s+a|auf\s+einer)\b)))"
)
_RANGE = (
    r"(?P<range>\s*%?\s*(?:[-–—~或到至]|to|bis|a|à|or|and|und|y|et|oder|,?\s*(?:maybe|perhaps))"
    r"\s*\d)?"
)
NAME = (
    r"(?<![a-z])(?:certain(?:ty)?|confiden(?:ce|t)|sure|sicher(?:heit)?|gewissheit|konfidenz"
    r"|certeza|confianza|segur[oa]|certitude|confiance|sûre?|确定性?|置信度|信心|把握)"
)
_BOUND = re.compile(
    r"(?:\b(?:over|above|below|under|at\s+(?:least|most)|(?:more|less)\s+than|up\s+to|between|not"
    r"|mindestens|höchstens|über|unter|zwischen|nicht(?:\s+zu)?|más\s+del?|menos\s+de|al\s+menos|entre"
    r"|plus\s+de|moins\s+de|au\s+moins)|超过|至少|[<>≥≤])\s*\Z",
    re.IGNORECASE,
)
_SCALE = re.compile(
    r"\[{0,2}\b1\]{0,2}\s*(?:-|–|to|bis|a|à|到|至)\s*\[{0,2}100\b\]{0,2}", re.IGNORECASE
)
_FORMS = tuple(
    re.compile(form, re.IGNORECASE)
    for form in (
        rf"{_NUMBER}{_UNIT}\s*(?:de\s+)?{NAME}",
        rf"{NAME}[^.\d\n;。]{{0,40}}?[\s\[(:]*{_NUMBER}{_UNIT}{_RANGE}",
        rf"\[\[\s*{_NUMBER}{_UNIT}{_RANGE}\s*\]\]",
    )
)
_NEXT = re.compile(
    rf"[\s,;:|()\[\]\"'/–—-]{{0,6}}[~≈]?{_NUMBER}{_UNIT}{_RANGE}(?=\s*[\])}}|]|[.,;]?\s*$|\s*[.;]\s)",
    re.IGNORECASE | re.MULTILINE,
)


def stated(text: str, behind: int | None = None, *, only_whole: bool = False) -> int | None:
    """The only certainty that a text states by name, or as a number `behind` a verdict."""
    text = _SCALE.sub(lambda scale: " " * len(scale[0]), text)
    named = [found for form in _FORMS for found in form.finditer(text)]
    if only_whole and not all(found["number"].isdigit() for found in named):
        return None
    values = {_value(text, found) for found in named}
    if behind is not None and (found := _NEXT.match(text, behind)):
        values.add(_value(text, found))
    return values.pop() if len(values) == 1 else None


def _value(text: str, found: "re.Match[str]") -> int | None:
    start = found.start("number")
    before = text[max(0, start - 20) : start].rstrip("~≈([ ")
    if found.groupdict().get("range") or _BOUND.search(before):
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
    found = (
        re.fullmatch(rf"\s*{_NUMBER}{_UNIT}\s*", value, re.I) if isinstance(value, str) else None
    )
    return whole(found["number"], found["unit"] or "") if found else None
