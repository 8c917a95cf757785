"""The text of a reply, and what it states in other forms than a verdict in brackets.

Ranges, bounds (“over 80”), other scales and certainty in words are not numbers from 1 to 100.

A sentence states a choice if it names one response and all its other words are known: who chooses,
a choice, and what may lead to it. A reason behind it is not read. So denials, doubts, reports and
comparisons are not statements, and the question is asked again. All statements of a reply must
agree.
"""

import json
import re
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal, InvalidOperation

from judging.engine.interface import ShownSide
from judging.engine.messages import without_thoughts

# Increased whenever a reply can be read differently, so that answers read by different versions are
# not mixed.
READING_VERSION = 8
# Meanings of the codes of lenient reading, for pages.
READ_AS = {
    "json": "a JSON object",
    "tag": "a tag or a box",
    "brackets": "other brackets",
    "label": "a label, such as “Answer:”",
    "first_line": "the first line",
    "final_line": "the last line",
    "words": "a sentence that chooses",
    "certainty": "the certainty in another form",
}


# Patterns see at most this much of a reply, to limit the time for reading.
FIRST, LAST = 2_000, 6_000
_BLANKS = re.compile(r"\s{17,}")
_LONG_RUN = re.compile(r"([^\w\s])\1{32,}")
_MARKS = re.compile(
    r"[*`$~]|(?<!\w)_+|_+(?!\w)|^[ \t]*(?:#{1,6}|>|[-•–+](?=\s))[ \t]*", re.MULTILINE
)
# Letters, digits and signs of East Asian width, and letters in mathematical type, as in ASCII.
_FORMS_OF_ASCII = {
    code: letter
    for code in (*range(0xFF01, 0xFF5F), *range(0x1D400, 0x1D7D0))
    if (letter := unicodedata.normalize("NFKC", chr(code))).isascii()
}
_QUOTES = str.maketrans("【】「」", "[]“”")
# A reply that changes its mind or ends with something else.
CHANGED = re.compile(
    r"\b(?:reflection|reconsider\w*|wait|correction|actually|final(?:ly)?|no,|nein,|überlegung"
    r"|korrektur|doch)\b|\A\W*(?:no|or|sorry|nein|oder|o|ou|non|或|不)\b",
    re.IGNORECASE,
)
# The start of a next turn or task that the model makes up.
_NEXT_TURN = re.compile(
    r"^[#* \t]*+(?:"
    r"\[(?:user profile|user question|question|context|response [ab]|article|profile)\][ \t]*$"
    r"(?!\s*\Z)"
    r"|(?:user|human|instruction|system|nutzer|benutzer)\s*\d*\s*:"
    r"|(?:next|another|nächste\w*)\s+(?:user|question|profile|person|example|item|turn"
    r"|frage|aufgabe)\b"
    r"|(?:example|question|item|case|profile|task|aufgabe|beispiel)\s*#?\d+\s*[:.])"
    r"|<\|\w+\|>|</s>|\[/?INST\]|<(?:start|end)_of_turn>"
    r"|(?<=[^:\s])\s*\n[ \t]*\[response [ab]\]\s*\Z",  # the prompt's own heading once more
    re.IGNORECASE | re.MULTILINE,
)


@dataclass(frozen=True, slots=True)
class PlacedText:
    """A text derived from a reply, with each character's position in the reply."""

    text: str
    places: Sequence[int]

    def sub(self, pattern: re.Pattern[str], new: Callable[[re.Match[str]], str]) -> "PlacedText":
        """The text with each match replaced by a text that is at most as long."""
        pieces: list[str] = []
        places: list[int] = []
        end = 0
        for match in pattern.finditer(self.text):
            piece = new(match)
            pieces += self.text[end : match.start()], piece
            places += self.places[end : match.start()]
            places += self.places[match.start() : match.start() + len(piece)]
            end = match.end()
        return PlacedText("".join((*pieces, self.text[end:])), [*places, *self.places[end:]])


def readable(reply: str) -> PlacedText:
    """The part of a reply to read: no thoughts, runs of one character, or middle of a long text."""
    text = without_thoughts(reply).translate(_FORMS_OF_ASCII)
    placed = PlacedText(text, range(len(text)))
    placed = placed.sub(_BLANKS, _few_blanks).sub(_LONG_RUN, lambda run: run[1] * 32)
    if len(placed.text) <= FIRST + LAST:
        return placed
    text, places = placed.text, placed.places
    gap = [places[FIRST]] * 2
    return PlacedText(f"{text[:FIRST]}\n\n{text[-LAST:]}", [*places[:FIRST], *gap, *places[-LAST:]])


def _few_blanks(run: re.Match[str]) -> str:
    return "\n" * min(run[0].count("\n"), 3) or " " * 16


def plain(text: str) -> str:
    """The text with blanks for markup and usual brackets, keeping all positions."""
    return _MARKS.sub(lambda mark: " " * len(mark[0]), text.translate(_QUOTES))


def without_next_turn(text: str, start: int = 0) -> str:
    """The text up to the next turn or task that the model makes up behind `start`."""
    cut = _NEXT_TURN.search(text, start)
    return text[: cut.start()] if cut and text[: cut.start()].strip() else text


_ABOUT = r"(?:(?:about|around|roughly|approx(?:\.|imately)|ca\.|circa|etwa|environ)\s*|[~≈]\s*)?"
_STATED_NUMBER = r"(?<![\d.,/–-])(?P<number>\d{1,3}(?:[.,]\d{1,4})?)(?!\d)"
_UNIT = (
    r"\s*(?P<unit>%|percent\b|per\s+cent\b|prozent\b|por\s+ciento\b|pour\s+cent\b"
    r"|\(?(?:/|(?:out\s+)?of|von|sobre|sur|de)\s*(?:100|10)\b"
    r"|(?!\s*(?:\(?(?:/|(?:out\s+)?of|von|sobre|sur|de)\s*\d|,?\s*(?:on\s+a|auf\s+einer)\b"
    r"|(?:percentage\s+)?points?\s+(?!out\b|of\b)\w|times\b|=)))"
)
_STATED_RANGE = (
    r"(?P<range>\s*%?\s*(?:(?:[-–—~或到至]|to|bis|a|à|or|and|und|y|et|oder|,?\s*(?:maybe|perhaps))"
    r"\s*\d|\+|±))?"
)
NAME = (
    r"(?<![a-z])(?:certain(?:ty)?|confiden(?:ce|t)|sure|sicher(?:heit)?|gewissheit|konfidenz"
    r"|certeza|confianza|segur[oa]|certitude|confiance|sûre?|确定性?|置信度|信心|把握)"
)
_BOUND = re.compile(
    r"(?:\b(?:over|above|below|under|at\s+(?:least|most)|(?:more|less)\s+than|up\s+to|between|not|by"
    r"|\w+n['’]t|was|were|war|um|era|était"
    r"|mindestens|höchstens|über|unter|zwischen|nicht(?:\s+zu)?|más\s+del?|menos\s+de|al\s+menos|entre"
    r"|plus\s+de|moins\s+de|au\s+moins)|超过|至少|[<>≥≤])\s*\Z",
    re.IGNORECASE,
)
# “Not even 50 % sure”, “to be 90 % certain, I would need more”.
_NOT_HELD = re.compile(
    r"\b(?:not|\w+n['’]t|cannot|hardly|barely|scarcely|never|nor|to\s+be|being|if|unless"
    r"|nicht|kaum|nie|wenn|no|nunca|apenas|si|ne|pas|jamais)\b[^.,;:\d\n]{0,20}\Z",
    re.IGNORECASE,
)
_LISTED = re.compile(r"[.)]\s+\S")  # “1. It is short.”
_STATED_SCALE = re.compile(
    r"\[{0,2}\b1\]{0,2}\s*(?:-|–|to|bis|a|à|到|至)\s*\[{0,2}100\b\]{0,2}", re.IGNORECASE
)
_FORMS = tuple(
    re.compile(form, re.IGNORECASE)
    for form in (
        rf"{_STATED_NUMBER}{_UNIT}\s*(?:de\s+)?{NAME}",
        rf"{NAME}[^.\d\n;。]{{0,40}}?[\s\[(:]*{_STATED_NUMBER}{_UNIT}{_STATED_RANGE}",
        rf"\[\[\s*{_STATED_NUMBER}{_UNIT}{_STATED_RANGE}\s*\]\]",
    )
)
_NEXT = re.compile(
    rf"[\s,;:|()\[\]\"'/–—-]{{0,6}}{_ABOUT}{_STATED_NUMBER}{_UNIT}{_STATED_RANGE}(?=\s*[\])}}|]|[.,;]?\s*$|\s*[.;]\s)",
    re.IGNORECASE | re.MULTILINE,
)


def stated(
    text: str,
    side: ShownSide | None = None,
    behind: int | None = None,
    *,
    only_whole: bool = False,
) -> int | None:
    """The only certainty that a text states by name, or as a number `behind` a verdict.

    If `side` is known, a certainty of another response is not counted.
    """
    text = _STATED_SCALE.sub(lambda scale: " " * len(scale[0]), text)
    named = [match for form in _FORMS for match in form.finditer(text)]
    if only_whole and not all(match["number"].isdigit() for match in named):
        return None
    values = {_stated_value(text, match, side) for match in named}
    if behind is not None and (number := _NEXT.match(text, behind)):
        is_on_next_line = "\n" in text[behind : number.start("number")]
        if not (is_on_next_line and _LISTED.match(text, number.end("number"))):
            values.add(_stated_value(text, number, side))
    return values.pop() if len(values) == 1 else None


def _stated_value(text: str, match: "re.Match[str]", side: ShownSide | None) -> int | None:
    start = match.start("number")
    before = re.sub(r"(?:</?\w+>\s*)+\Z", "", text[max(0, start - 40) : start]).rstrip("~≈([ ")
    if match.groupdict().get("range") or _BOUND.search(before):
        return None
    if match.start() == start and _NOT_HELD.search(before):
        return None
    named = [side_of(name[1] or name[2]) for name in NAMED.finditer(match[0])]
    if side and named and named[-1] != side:
        return None  # “Certainty of B: 30” behind [[A]]
    return whole(match["number"], match["unit"] or "")


def whole(number: str, unit: str = "") -> int | None:
    """A stated number as a whole number from 1 to 100; None if it is on another scale."""
    try:
        value = Decimal(number.replace(",", "."))
    except InvalidOperation:
        return None
    # JSON of models has NaN, infinity and numbers too large to be rounded.
    if not value.is_finite() or not 0 < value <= 100:
        return None
    is_decimal = "." in number or "," in number
    if re.search(r"(?<!\d)10\Z", unit.strip()):
        value *= 10
    elif not unit and is_decimal and 0 < value < 1:
        value *= 100
    elif not unit and is_decimal and (value <= 1 or value % 1):
        return None  # 1.0 may be a whole share, and 8.5 uses another scale
    rounded = int(value.quantize(Decimal(1), ROUND_HALF_UP))
    return rounded if 1 <= rounded <= 100 else None


def of_json(value: object) -> int | None:
    """The certainty in a JSON object: 80, 0.8, "80 %" or "8/10"."""
    if isinstance(value, bool) or value is None:
        return None
    if isinstance(value, int | float):
        return whole(repr(value))
    match = (
        re.fullmatch(rf"\s*{_STATED_NUMBER}{_UNIT}\s*", value, re.I)
        if isinstance(value, str)
        else None
    )
    return whole(match["number"], match["unit"] or "") if match else None


_ANSWER_KEYS = frozenset(
    "answer choice verdict winner preferred preference selection decision better best final_answer"
    " final_verdict preferred_response better_response chosen_response result option judgment pick"
    " antwort wahl urteil entscheidung respuesta elección réponse choix 答案 选择 结论".split()
)
_CERTAINTY_KEYS = frozenset("certainty confidence sicherheit certeza certitude 置信度".split())
_OBJECT = re.compile(r"\{[^{}]*\}")
_VALUE = re.compile(r"\W*(?:(?:response|answer|option)[\s_]*)?\W*([abc])\W*", re.IGNORECASE)
_TAG = re.compile(
    r"(?:<(?:answer|verdict|choice|decision|final_answer)>\s*\[*|boxed\{\s*)([ABC])\]*\s*(?:</|\})",
    re.IGNORECASE,
)
_NOUN = (
    r"(?:response|answer|option|assistant|choice|antwort|respuesta|opción|réponse|回答|选项|答案)"
)
# A letter; “A” before a small word is an article, unless one stands before it too.
_LETTER = (
    r"(?:A(?!\s+[a-zà-ÿ])|(?<=[a-zà-ÿ] )A|A(?=\s+(?:because|is|wins|edges|or|and|would)\b)|[BC])"
)
NAMED = re.compile(
    rf"(?<![A-Za-zÀ-ÿ])(?i:{_NOUN})\s*[\[(\"'“]{{0,2}}([ABC])\b[\])\"”]{{0,2}}"
    rf"|(?<![A-Za-zÀ-ÿ0-9&'’])[\[(\"'“]{{0,2}}({_LETTER})(?![A-Za-zÀ-ÿ0-9&'’]|-\w)[\])\"”]{{0,2}}"
)
_CHOICE = (
    "answer choice verdict decision preference prediction result selection winner conclusion best"
    " correct better choose chooses chose chosen choosing pick picks prefer prefers preferred it"
    " select selects selected recommend go say suitable wins edges fits suits matches aligns lean"
    " antwort wahl entscheidung urteil besser beste wähle wählt wählen bevorzugt bevorzugen tippe"
    " tippen nehme nehmen respuesta elección opción mejor elijo elegiría prefiere preferiría"
    " réponse choix meilleure choisirais choisirait préfère préférerait pencherais dirais response"
    " option entscheide diría"
)
KNOWN = frozenset(
    f"{_CHOICE} the a my their her his this that these i we you he she they person user somebody"
    " someone s d ll is be am are would should will must likely most probably clearly still more"
    " appropriate right final overall therefore thus so hence sure well okay yes believe think"
    " guess with to for of by on based given profile question one towards slightly strongly also"
    " here and in conclusion summary seems appears ich wir sie er diese dieser die der das nutzer"
    " würde würden sollte wird ist wäre lautet für auf zu eher wohl wahrscheinlich daher also meine"
    " richtige richtig la el le les l mi ma mon es sería est serait correcta correcte bonne esta"
    " cette persona personne yo je por pour que creo pienso crois pense your mich".split()
)
CHOOSES = re.compile(rf"\b(?:{'|'.join(_CHOICE.split())})\b|答案|选择|结论|更好", re.IGNORECASE)
_CHINESE = re.compile(r"我|会|这个人|更|最终|的|答案|选择|结论|应该|是|为|好|喜欢|倾向于|选")
_SENTENCE = re.compile(r"[^.!?;\n。！？；]+(?:\.(?=\d)[^.!?;\n。！？；]*)*[.!?;。！？；]?")
# What leads to a choice: a reason that names no response, or “…, so”.
_LEAD = re.compile(
    r"\A\W*(?:given|based\s+on|considering|since|because|when\s+(?:choosing|comparing|deciding)"
    r"|da|weil|angesichts|dado|étant)\b[^,]*,"
    r"|\A.*,\s*(?:so|but|therefore|thus|which\s+means|daher|also|aber|pero|mais|por\s+lo\s+que"
    r"|donc)\b",
    re.IGNORECASE,
)
_REASON = re.compile(
    r"\s*(?:[,;:(|–—-](?!\s*(?:but|if|unless|or|not|aber|wenn|oder|nicht|pero|si|mais)\b)"
    rf"|\b(?:because|since|as|due|weil|denn|da|porque|parce|car|with|mit|con|avec|it)\b|{NAME})",
    re.IGNORECASE,
)
DENIED = re.compile(
    r"\b(?:not|never|neither|\w+n['’]t|less|worse|nicht|kein\w*|weder|no|nunca|pas|jamais)\b|不|没",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Statement:
    """A choice: position of its letter, its end, how it was read, and its certainty."""

    side: ShownSide
    position: int
    end: int
    code: str
    certainty: int | None = None


_OVER = re.compile(r"\s*(?:to|over|rather\s+than|instead\s+of|als|statt)\s*", re.IGNORECASE)


def statements(text: str) -> list[Statement]:
    """The statements of a text without markup, each in its most informative form."""
    tags = (
        Statement(side_of(match[1]), match.start(1), match.end(), "tag")
        for match in _TAG.finditer(text)
    )
    rest = _OBJECT.sub(lambda match: " " * len(match[0]), text)
    return [*_in_objects(text), *tags, *_in_sentences(rest)]


def contradict(text: str, side: ShownSide) -> bool:
    """Whether a sentence seems to choose another response, that is, nothing denies it."""
    for sentence in _SENTENCE.finditer(text):
        names = list(NAMED.finditer(sentence[0]))
        named = [side_of(name[1] or name[2]) for name in names]
        if not named or named[0] == side:
            continue
        if side not in named or _OVER.fullmatch(sentence[0], names[0].end(), names[1].start()):
            words = NAMED.sub(" ", sentence[0])
            if CHANGED.search(words) or (CHOOSES.search(words) and not DENIED.search(words)):
                return True
    return False


def side_of(letter: str) -> ShownSide:
    return "A" if letter in "Aa" else "B" if letter in "Bb" else "C"


def _in_objects(text: str) -> Iterator[Statement]:
    for match in _OBJECT.finditer(text):
        try:
            fields = json.loads(match[0])
        except (ValueError, RecursionError):
            continue
        lower = {key.strip().lower().replace(" ", "_"): value for key, value in fields.items()}
        values = [value for key, value in lower.items() if key in _ANSWER_KEYS]
        letter = _VALUE.fullmatch(values[0]) if values and isinstance(values[0], str) else None
        if letter is None or len(values) > 1:
            continue
        certain = [of_json(value) for key, value in lower.items() if key in _CERTAINTY_KEYS]
        place = match.start() + match[0].rindex(
            letter[1], 0, match[0].rindex(values[0]) + len(values[0])
        )
        certainty = certain[0] if len(certain) == 1 else None
        yield Statement(side_of(letter[1]), place, match.end(), "json", certainty)


def _in_sentences(text: str) -> Iterator[Statement]:
    names = {side_of(name[1] or name[2]) for name in NAMED.finditer(text)}
    for sentence in _SENTENCE.finditer(text):
        is_question = sentence[0].rstrip().endswith(("?", "？"))
        if len(sentence[0]) <= 400 and not is_question:
            if statement := _of(sentence[0], sentence.start(), is_only=len(names) == 1, text=text):
                yield statement


def _of(sentence: str, start: int, *, is_only: bool, text: str) -> Statement | None:
    """The statement of a sentence, if any; `is_only`: the text names no other response."""
    if lead := _LEAD.match(sentence):
        if not NAMED.search(lead[0]):
            sentence = " " * lead.end() + sentence[lead.end() :]
    names = list(NAMED.finditer(sentence))
    reason = _REASON.search(sentence, names[0].end()) if names else None
    if reason and reason[0].strip().isalpha():
        names = [name for name in names if name.end() <= reason.start()]  # “… because A is long”
    if len({side_of(name[1] or name[2]) for name in names}) != 1:
        return None
    name, end = names[0], names[0].end()
    before, behind = sentence[: name.start()], sentence[end : reason.start() if reason else None]
    is_first = not text[: start + name.start()].strip()
    if is_first and re.match(r"[).:]", sentence[end - 1 : end + 1].strip()[-1:]):
        behind = ""  # “B) Take the bus.”
    words = re.findall(r"[^\W\d_]+", _CHINESE.sub(" ", f"{before} {behind}").lower())
    if not KNOWN.issuperset(words):
        return None
    is_alone = not words and not _CHINESE.search(before)
    if is_alone and not _stands_alone(sentence, name, start, text, is_only=is_only):
        return None
    if not is_alone and not CHOOSES.search(f"{before} {behind}"):
        return None
    code = "label" if before.rstrip(" [(\"'").endswith((":", "=")) else "words"
    if is_alone:
        code = "brackets" if name[0][0] in "[(" else "first_line" if is_first else "final_line"
    return Statement(
        side_of(name[1] or name[2]), start + name.start(name.lastindex or 1), start + end, code
    )


def _stands_alone(
    sentence: str, name: "re.Match[str]", start: int, text: str, *, is_only: bool
) -> bool:
    """Whether a letter is a line of its own, or begins a reply that names no other response."""
    rest = sentence[name.end() :]
    if re.fullmatch(rf"[^\w]*(?:(?:\w+\s+)?{NAME})?[^\w]*(?:\d{{1,3}}\s*%?)?[^\w]*", rest, re.I):
        first, last = start + name.start(), start + len(sentence)
        line = text[text.rfind("\n", 0, first) + 1 : first] + text[last:].split("\n", 1)[0]
        if not re.search(r"\w", line):
            return True
    return is_only and not text[: start + name.start()].strip() and not DENIED.search(text)
