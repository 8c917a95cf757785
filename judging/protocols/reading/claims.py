"""The statements of a reply that say which response is better, with how each was read.

An explicit claim has a form of its own: JSON, a tag, a label, a table, or a line that holds only
the letter. A claim in words counts less, and one that sees no difference least.
"""

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Literal

from judging.engine.interface import Side
from judging.protocols.reading import words
from judging.protocols.reading.certainties import NAME
from judging.protocols.reading.lazy import compiled_when_used
from judging.protocols.reading.leads import is_plain, is_safe
from judging.protocols.reading.mentions import (
    ANY,
    BARE,
    MENTION,
    Placed,
    is_numbered,
    side_of,
)
from judging.protocols.reading.voices import is_own, is_own_label, is_serious

Code = Literal[
    "json",
    "tag",
    "brackets",
    "label",
    "table",
    "first_line",
    "final_line",
    "words",
    "numbered",
    "tie_words",
]
EXPLICIT, IN_WORDS, NO_DIFFERENCE = 3, 2, 1


@dataclass(frozen=True, slots=True)
class Claim:
    """One statement; `side` is None if it names none of the options."""

    side: Side | None
    start: int
    end: int
    code: Code
    weight: int
    place: int  # behind the name of the response
    is_final: bool = False
    certainty: Any = None  # as a JSON object states it


# ---- JSON ----

_ANSWER_KEYS = frozenset(
    "answer choice verdict winner preferred preference selection selected decision better"
    " final_answer finalanswer final_verdict preferred_response better_response chosen"
    " chosen_response selected_response best best_response result option judgment judgement pick"
    " antwort wahl urteil entscheidung bevorzugt präferenz respuesta elección eleccion decisión"
    " decision_final opción opcion preferida réponse reponse choix décision préférence"
    " 答案 选择 结论 判断 回答 偏好 最终答案 选项".split()
)
CERTAINTY_KEY = compiled_when_used(
    r"(?:(?:my|level_of|degree_of|nivel_de|grado_de|niveau_de|degré_de)_)?"
    r"(?:certainty|confidence|sureness|sicherheit|gewissheit|konfidenz|zuversicht|certeza|confianza"
    r"|seguridad|certitude|confiance|确定(?:性|度|程度)|确信度|置信度|信心|把握)"
    r"(?:_?(?:score|level|value|rating|in_)?_?(?:percent|percentage|prozent|%|程度|分数)?"
    r"|_?\(?1_?[-–]_?100\)?)",
    re.IGNORECASE,
)
_LABEL_KEY = compiled_when_used(words.LABEL, re.IGNORECASE)
_OBJECT = compiled_when_used(r"\{[^{}]*\}")
_SINGLE_QUOTES = compiled_when_used(r"(?<=[{\s,:])'|'(?=\s*[:,}])")
_VALUE = compiled_when_used(
    r"\W*(?:(?:the\s+)?(?:response|answer|option|assistant|antwort|respuesta|opción|réponse"
    r"|回答|选项|回复)[\s_]*)?\W*(a|b|c|tie|equal|draw)\W*",
    re.IGNORECASE,
)
_VALUE_IN_OBJECT = compiled_when_used(
    r":\s*[\"']\W*(?:[a-z_]+[\s_]+)?\W*([abc])\W*[\"']", re.IGNORECASE
)
_TIES = {"tie", "equal", "draw", "c"}


_PLACE_OF_OBJECT = "\uf000"


def in_json(placed: Placed) -> tuple[Placed, Callable[[str], Iterator[Claim]]]:
    """The text without its JSON objects that answer, and their claims once it has mentions."""
    answers: list[tuple[Side | None, Any]] = []

    def take(found: "re.Match[str]") -> str:
        if (answer := _answer(found[0])) is None:
            return found[0]
        answers.append(answer)
        return _PLACE_OF_OBJECT

    def place(found: "re.Match[str]") -> int:
        """Where the letter of its answer is, as far as the object has one value with a letter."""
        letters = [each.start(1) for each in _VALUE_IN_OBJECT.finditer(found[0])]
        return found.start() + (letters[0] if len(letters) == 1 else 0)

    text = placed.text.replace(_PLACE_OF_OBJECT, " ")
    placed = Placed(text, placed.places).sub(_OBJECT, take, place)

    def claims(text: str) -> Iterator[Claim]:
        places = re.finditer(_PLACE_OF_OBJECT, text)
        for place, (side, certainty) in zip(places, answers, strict=True):
            start, end = place.span()
            yield Claim(side, start, end, "json", EXPLICIT, end, certainty=certainty)

    return placed, claims


def _answer(text: str) -> tuple[Side | None, Any] | None:
    """Side and certainty of an object with a key such as `answer` or `winner`."""
    fields = _fields(text)
    if fields is None:
        return None
    lower = {str(key).strip().lower().replace(" ", "_"): value for key, value in fields.items()}
    sides = {_value(value) for key, value in lower.items() if _is_answer(key)}
    if not sides:
        return None
    certainty = [value for key, value in lower.items() if CERTAINTY_KEY.fullmatch(key)]
    side = sides.pop() if len(sides) == 1 else None
    return side, certainty[0] if len(certainty) == 1 else None


def _is_answer(key: str) -> bool:
    return key in _ANSWER_KEYS or _LABEL_KEY.fullmatch(key.replace("_", " ")) is not None


def _fields(text: str) -> dict[str, Any] | None:
    for attempt in (text, re.sub(r",\s*\}", "}", _SINGLE_QUOTES.sub('"', text))):
        try:
            fields = json.loads(attempt)
        except (ValueError, RecursionError):
            continue
        return fields if isinstance(fields, dict) else None
    return None


def _value(value: object) -> Side | None:
    found = _VALUE.fullmatch(value) if isinstance(value, str) else None
    if found is None:
        return None
    word = found[1].lower()
    return "C" if word in _TIES else "A" if word == "a" else "B"


# ---- tags, brackets, labels, lines and tables; from here on mentions are characters ----

_TAG = compiled_when_used(
    rf"<(answer|verdict|choice|final|decision|preference|winner|final_answer|antwort|respuesta"
    rf"|réponse)>\s*([{ANY}])\s*</\1>|\\?boxed\{{?\s*([{ANY}])\s*\}}?",
    re.IGNORECASE,
)
_NUMBER = r"[\[(【]{0,2}\s*~?\d{1,3}(?:[.,]\d+)?\s*(?:%|/\s*100)?\s*[\])】]{0,2}"
# “Response B, fairly sure.”
_SURE = (
    r"(?:(?:with|mit|con|avec)\s+)?(?:(?:fairly|quite|pretty|very|rather|reasonably|moderately|high"
    r"|ziemlich|recht|sehr|bastante|muy|assez|très)\s+){1,2}" + NAME
)
_ALONE = compiled_when_used(
    rf"^[^\w\n|{ANY}]*([{ANY}])[^\w\n|{ANY}]*?"
    rf"(?:(?:{NAME}[^\w\n|]{{0,3}}"
    rf"(?:(?:about|around|approx|of|etwa|ca|von|bei|de|约为?)\b[. ]*)?)?{_NUMBER}|{_SURE})?"
    rf"[^\w\n|{ANY}]*$",
    re.MULTILINE | re.IGNORECASE,
)
_BRACKETED = compiled_when_used(r"[\[(【「《{]\s*[A-C]\s*[\])】」》}]|\[\[[^\]\n]{1,20}(?:\]|$)")
_END_OF_VALUE = (
    r"(?=\s*(?:[.,;:!()\[\]|\"<}/–—-]|$|[。，；！）]|(?:because|since|as|with|for|over|weil|da|mit"
    r"|porque|ya\s+que|con|car|parce|avec|und|and|y|et|is|wins)\b|因为|[\u4e00-\u9fff]))"
)
_TIE_VALUE = r"(?:an?\s+)?(?:tie|draw|equal|unentschieden|gleichstand|empate|égalité|平局|平手)"
_VALUE_OF_LABEL = (
    rf"[^\w\n{ANY}]{{0,6}}(?:(?:the|die|la|is|ist)\s+)?(?:([{ANY}])|({_TIE_VALUE})\b"
    rf"|(both|neither|none|beide|keine|ninguna|ambas|aucune|les\s+deux|两者|都))"
)
_LABELLED = compiled_when_used(
    rf"(?:\b|(?<=[\u4e00-\u9fff])){words.LABEL}\s*[)\]\"']?\s*(?:[:=→]|->|=>|\s[–—-]\s)"
    rf"{_VALUE_OF_LABEL}{_END_OF_VALUE}",
    re.IGNORECASE | re.MULTILINE,
)
_LABEL_ABOVE = compiled_when_used(
    rf"(?:^[^\w\n{ANY}]*{words.LABEL}\s*[:：]?|{words.LABEL}\s*[:：])\s*\n\s*{_VALUE_OF_LABEL}"
    rf"(?=[^\w\n{ANY}]*(?:{_NUMBER})?[^\w\n{ANY}]*$)",
    re.IGNORECASE | re.MULTILINE,
)
_LETTER_FIRST = compiled_when_used(
    r"[^\w\n]{0,4}(?:(?:option|response|answer)\s+)?[^\w\n]?[AB](?:[.,)\]]|\s[–—-])\s+[^\W\d]",
    re.IGNORECASE,
)
_LABEL_CELL = compiled_when_used(
    rf"[^\w{ANY}]*(?:{words.LABEL}|overall(?:\s+winner)?|gesamt(?:urteil)?|total|总体|综合)[^\w{ANY}]*",
    re.IGNORECASE,
)
_CELL = compiled_when_used(rf"[^\w{ANY}]*([{ANY}])[^\w{ANY}]*")
# A second option directly behind the first: nothing is chosen yet.
_SECOND_OPTION = compiled_when_used(
    rf"\s*(?:or|and|/|&|,|\||oder|und|o|u|y|ou|et|vs\.?|或者?|还是|和|与)\s*[{ANY}]", re.IGNORECASE
)


_ALTERNATIVE_BEFORE = compiled_when_used(
    rf"[{ANY}][^\n.{ANY}]{{0,12}}\s(?:or|oder|o|ou)\s[^\n.{ANY}]{{0,20}}\Z", re.IGNORECASE
)


def in_forms(text: str, original: str) -> Iterator[Claim]:
    """Explicit claims of a text whose mentions are characters; `original` is with letters."""
    for found in _TAG.finditer(text):
        yield _explicit(found, 2 if found[2] else 3, "tag")
    for pattern in (_LABELLED, _LABEL_ABOVE):
        for found in pattern.finditer(text):
            if found[1] and _SECOND_OPTION.match(text, found.end(1)):
                continue
            line = text[text.rfind("\n", 0, found.start()) + 1 : found.start()]
            if words.SECOND.search(line) or _ALTERNATIVE_BEFORE.search(line):
                continue
            label = re.split(r"[:=：]", found[0])[0]
            if not is_own_label(line + label, text[found.end() :]):
                continue
            if words.STATED.search(label) and not is_safe(line):
                continue
            is_final = words.FINAL.search(found[0]) is not None
            if found[1]:
                yield _explicit(found, 1, "label", is_final)
            else:
                side: Side | None = "C" if found[2] else None
                start, end = found.span()
                yield Claim(side, start, end, "label", EXPLICIT, end, is_final)
    yield from _in_tables(text)
    yield from _in_lines(text, original)
    yield from _at_beginning(text, original)


def _explicit(found: "re.Match[str]", group: int, code: Code, is_final: bool = False) -> Claim:
    if is_numbered(found[group]):
        code = "numbered"
    start, end = found.span()
    return Claim(side_of(found[group]), start, end, code, EXPLICIT, found.end(group), is_final)


def _in_lines(text: str, original: str) -> Iterator[Claim]:
    """The only letter on the first or on the last line. Headings name both responses."""
    alone = list(_ALONE.finditer(text))
    if len({side_of(each[1]) for each in alone}) != 1:
        return
    first, last = len(text) - len(text.lstrip()), len(text.rstrip())
    for each in (alone[0], alone[-1]):
        is_first, is_last = each.start() <= first, each.end() >= last
        if not (is_first or is_last) or (text[each.end(1) : each.end()].strip() == ":"):
            continue
        bracketed = each[1] in BARE and _BRACKETED.search(
            original.splitlines()[text.count("\n", 0, each.start(1))]
        )
        code: Code = "brackets" if bracketed else "final_line" if is_last else "first_line"
        yield _explicit(each, 1, code)
        return


def _at_beginning(text: str, original: str) -> Iterator[Claim]:
    """“B) Take the bus.” or “B, because …”, if nothing else names a response or denies."""
    found = MENTION.search(text)
    if found and _LETTER_FIRST.match(original) and len(MENTION.findall(text)) == 1:
        if not words.DENIED.search(text, found.end()) and not words.CONDITIONAL.search(text):
            side = side_of(found[0])
            yield Claim(side, found.start(), found.end(), "first_line", EXPLICIT, found.end())


def _in_tables(text: str) -> Iterator[Claim]:
    """A row with a label and a letter, or one row below a heading such as “Answer”."""
    block: list[tuple[int, list[str]]] = []
    start = 0
    for line in [*text.split("\n"), ""]:
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if line.count("|") >= 2 and len(cells) > 1:
            if not all(re.fullmatch(r"[\s:-]*", cell) for cell in cells):
                block.append((start, cells))
        elif block:
            yield from _in_block(text, block)
            block = []
        start += len(line) + 1


def _in_block(text: str, block: list[tuple[int, list[str]]]) -> Iterator[Claim]:
    for start, cells in block:
        values = [found for cell in cells[1:] if (found := _CELL.fullmatch(cell))]
        if _LABEL_CELL.fullmatch(cells[0]) and len(values) == 1:
            yield _in_row(values[0][1], start, cells, text.find(values[0][1], start) + 1)
    if len(block) == 2:
        (_, heading), (start, cells) = block
        for name, cell in zip(heading, cells, strict=False):
            if _LABEL_CELL.fullmatch(name) and (value := _CELL.fullmatch(cell)):
                yield _in_row(value[1], start, cells, text.find(value[1], start) + 1)


def _in_row(character: str, start: int, cells: list[str], place: int) -> Claim:
    code: Code = "numbered" if is_numbered(character) else "table"
    end = start + len("|".join(cells))
    return Claim(side_of(character), start, end, code, EXPLICIT, place)


# ---- words ----

_LONGEST_SENTENCE = 600  # characters; a longer one is no verdict, and slow to search
_SENTENCE = compiled_when_used(
    r"[^.!?;\n。！？；]+(?:\.(?=\d)[^.!?;\n。！？；]*)*[.!?;\n。！？；]?"
)
_CLAUSE_END = compiled_when_used(
    r"[,，:：、()–—]|\b(?:but|yet|however|although|though|while|and|aber|jedoch|doch|sondern|obwohl"
    r"|und|pero|aunque|sino|y|mais|bien\s+que|et|cependant)\b|但是?|不过|虽然|而|然而",
    re.IGNORECASE,
)


_PATTERNS = (
    (words.CHOOSING, -1),
    (words.CORRECTED, -1),
    (words.OTHER_BETTER, -1),
    (words.BETTER, 0),
)
_OPTION_BEFORE = compiled_when_used(
    rf"[{ANY}]\s*(?:or|and|/|&|oder|und|o|y|ou|et|或者?|还是|和|与)\s*\Z", re.IGNORECASE
)
_LESS = compiled_when_used(r"\s*(?:less|weniger|menos|moins)\b", re.IGNORECASE)


def in_words(text: str) -> Iterator[Claim]:
    """Sentences that choose a response or call one the better one, and those that see a tie."""
    text = words.INSTEAD.sub(lambda given_up: " " * len(given_up[0]), text)
    for sentence in _SENTENCE.finditer(text):
        is_question = sentence[0].rstrip().endswith(("?", "？"))
        if is_question or len(sentence[0]) > _LONGEST_SENTENCE:
            continue
        if not words.CONDITIONAL.search(words.NOT_CONDITIONAL.sub(" ", sentence[0])):
            yield from _in_sentence(sentence[0], sentence.start())


def _in_sentence(sentence: str, start: int) -> Iterator[Claim]:
    seen: set[int] = set()
    for pattern, place in _PATTERNS:
        for found in pattern.finditer(sentence):
            mentions = list(MENTION.finditer(found[0]))
            behind = found.start() + mentions[place].end()
            if behind in seen or not _is_meant(sentence, found, behind):
                continue
            seen.add(behind)
            if pattern is words.OTHER_BETTER:
                seen.update(found.start() + each.end() for each in mentions)
            code: Code = "numbered" if is_numbered(mentions[place][0]) else "words"
            side = side_of(mentions[place][0])
            end = start + found.end()
            yield Claim(side, start + behind - 1, end, code, IN_WORDS, start + behind)
    if tie := words.TIE.search(sentence):
        clause = _clause_before(sentence, tie.start())
        is_denied = words.DENIED.search(words.NOT_DENIED.sub(" ", clause))
        if not is_denied and is_own(sentence, tie.start(), tie.end()):
            end = start + tie.end()
            yield Claim("C", start + tie.start(), end, "tie_words", NO_DIFFERENCE, end)


def seeming_choices(text: str) -> set[Side]:
    """The responses that some sentence may choose: a wider net than `in_words`, to find doubts."""
    sides: set[Side] = set()
    for sentence in _SENTENCE.findall(text):
        if not is_serious(sentence) or len(sentence) > _LONGEST_SENTENCE:
            continue
        for pattern, place in _PATTERNS:
            for found in pattern.finditer(sentence):
                sides.add(side_of(MENTION.findall(found[0])[place]))
    return sides


def _is_meant(sentence: str, found: "re.Match[str]", behind: int) -> bool:
    """Whether a statement is made: not denied, not somebody else's, not about both responses."""
    if _SECOND_OPTION.match(sentence, behind) or _LESS.match(sentence, behind):
        return False
    if _OPTION_BEFORE.search(sentence[: behind - 1]):
        return False
    if not is_own(sentence, found.start(), found.end()):
        return False
    if found.re.pattern in (words.CORRECTED.pattern, words.OTHER_BETTER.pattern):
        return True
    if not is_plain(sentence, behind, found.end()):
        return False
    if words.DOUBTED.search(sentence[: found.end()]) or words.QUOTED.search(
        sentence[: found.start()]
    ):
        return False
    clause = _clause_before(sentence, found.start()) + found[0]
    if words.DENIED.search(words.NOT_DENIED.sub(" ", clause)):
        return False
    return not words.NOT_MEANT.search(clause)


def _clause_before(sentence: str, end: int) -> str:
    clause = sentence[:end]
    ends = [match.end() for match in _CLAUSE_END.finditer(clause)]
    return clause[ends[-1] :] if ends else clause
