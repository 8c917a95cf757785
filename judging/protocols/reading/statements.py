"""Statements that choose a response without double brackets: JSON, tags, labels and sentences.

A sentence states a choice if it names one response and all its other words are known: who chooses,
a choice, and what may lead to it. A reason behind it is not read. So whatever denies, doubts,
reports or compares is no statement, and the question is asked again. All statements of a reply
have to agree.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass

from judging.engine.interface import Side
from judging.protocols.reading.certainties import NAME, of_json
from judging.protocols.reading.text import CHANGED

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
_NAMED = re.compile(
    rf"(?<![A-Za-zÀ-ÿ])(?i:{_NOUN})\s*[\[(\"'“]{{0,2}}([ABC])\b[\])\"”]{{0,2}}"
    rf"|(?<![A-Za-zÀ-ÿ0-9&'’])[\[(\"'“]{{0,2}}({_LETTER})(?![A-Za-zÀ-ÿ0-9&'’]|-\w)[\])\"”]{{0,2}}"
)
_CHOICE = (
    "answer choice verdict decision preference prediction result selection winner conclusion best"
    " correct better choose chooses chose chosen choosing pick picks prefer prefers preferred it"
    " select selects selected recommend go say suitable wins edges fits suits matches aligns lean"
    " antwort wahl entscheidung urteil besser beste wähle wählt wählen bevorzugt bevorzugen tippe"
    " tippen nehme nehmen respuesta elección opción mejor elijo elegiría prefiere preferiría"
    " réponse choix meilleure choisirais choisirait préfère préférerait response option"
)
_KNOWN = frozenset(
    f"{_CHOICE} the a my their her his this that these i we you he she they person user somebody"
    " someone s d ll is be am are would should will must likely most probably clearly still more"
    " appropriate right final overall therefore thus so hence sure well okay yes believe think"
    " guess with to for of by on based given profile question one towards slightly strongly also"
    " here and in conclusion summary seems appears ich wir sie er diese dieser die der das nutzer"
    " würde würden sollte wird ist wäre lautet für auf zu eher wohl wahrscheinlich daher also meine"
    " richtige richtig la el le les l mi ma mon es sería est serait correcta correcte bonne esta"
    " cette persona personne yo je por pour que creo pienso crois pense".split()
)
_CHOOSES = re.compile(rf"\b(?:{'|'.join(_CHOICE.split())})\b|答案|选择|结论|更好", re.IGNORECASE)
_CHINESE = re.compile(r"我|会|这个人|更|最终|的|答案|选择|结论|应该|是|为|好|喜欢|倾向于|选")
_SENTENCE = re.compile(r"[^.!?;\n。！？；]+(?:\.(?=\d)[^.!?;\n。！？；]*)*[.!?;。！？；]?")
# What leads to a choice: a reason that names no response, or “…, so”.
_LEAD = re.compile(
    r"\A\W*(?:given|based\s+on|considering|since|because|da|weil|angesichts|dado|étant)\b[^,]*,"
    r"|\A.*,\s*(?:so|but|therefore|thus|daher|also|aber|pero|mais|por\s+lo\s+que|donc)\b",
    re.IGNORECASE,
)
_REASON = re.compile(
    r"\s*(?:[,;:(|–—-](?!\s*(?:but|if|unless|or|not|aber|wenn|oder|nicht|pero|si|mais)\b)"
    rf"|\b(?:because|since|as|due|weil|denn|da|porque|parce|car|with|mit|con|avec|it)\b|{NAME})",
    re.IGNORECASE,
)
_DENIED = re.compile(
    r"\b(?:not|never|neither|\w+n['’]t|less|worse|nicht|kein\w*|weder|no|nunca|pas|jamais)\b|不|没",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Statement:
    """A choice: the place of its letter, where it ends, how it was read, a certainty with it."""

    side: Side
    position: int
    end: int
    code: str
    certainty: int | None = None


def statements(text: str) -> list[Statement]:
    """What a text without markup states, each in the form that says most."""
    tags = (
        Statement(_side(found[1]), found.start(1), found.end(), "tag")
        for found in _TAG.finditer(text)
    )
    rest = _OBJECT.sub(lambda found: " " * len(found[0]), text)
    return [*_in_objects(text), *tags, *_in_sentences(rest)]


def contradict(text: str, side: Side) -> bool:
    """Whether a sentence seems to choose another response: it is enough that nothing denies it."""
    for sentence in _SENTENCE.finditer(text):
        named = {_side(found[1] or found[2]) for found in _NAMED.finditer(sentence[0])}
        if named and side not in named:
            words = _NAMED.sub(" ", sentence[0])
            if CHANGED.search(words) or (_CHOOSES.search(words) and not _DENIED.search(words)):
                return True
    return False


def _side(letter: str) -> Side:
    return "A" if letter in "Aa" else "B" if letter in "Bb" else "C"


def _in_objects(text: str) -> Iterator[Statement]:
    for found in _OBJECT.finditer(text):
        try:
            fields = json.loads(found[0])
        except (ValueError, RecursionError):
            continue
        lower = {key.strip().lower().replace(" ", "_"): value for key, value in fields.items()}
        values = [value for key, value in lower.items() if key in _ANSWER_KEYS]
        letter = _VALUE.fullmatch(values[0]) if values and isinstance(values[0], str) else None
        if letter is None or len(values) > 1:
            continue
        certain = [of_json(value) for key, value in lower.items() if key in _CERTAINTY_KEYS]
        place = found.start() + found[0].rindex(
            letter[1], 0, found[0].rindex(values[0]) + len(values[0])
        )
        certainty = certain[0] if len(certain) == 1 else None
        yield Statement(_side(letter[1]), place, found.end(), "json", certainty)


def _in_sentences(text: str) -> Iterator[Statement]:
    names = {_side(name[1] or name[2]) for name in _NAMED.finditer(text)}
    for found in _SENTENCE.finditer(text):
        is_question = found[0].rstrip().endswith(("?", "？"))
        if len(found[0]) <= 400 and not is_question:
            if made := _of(found[0], found.start(), is_only=len(names) == 1, text=text):
                yield made


def _of(sentence: str, start: int, *, is_only: bool, text: str) -> Statement | None:
    """What a sentence states, if it does; `is_only`: the text names no other response."""
    if lead := _LEAD.match(sentence):
        if not _NAMED.search(lead[0]):
            sentence = " " * lead.end() + sentence[lead.end() :]
    names = list(_NAMED.finditer(sentence))
    reason = _REASON.search(sentence, names[0].end()) if names else None
    if reason and reason[0].strip().isalpha():
        names = [name for name in names if name.end() <= reason.start()]  # “… because A is long”
    if len({_side(name[1] or name[2]) for name in names}) != 1:
        return None
    name, end = names[0], names[0].end()
    before, behind = sentence[: name.start()], sentence[end : reason.start() if reason else None]
    is_first = not text[: start + name.start()].strip()
    if is_first and re.match(r"[).:]", sentence[end - 1 : end + 1].strip()[-1:]):
        behind = ""  # “B) Take the bus.”
    words = re.findall(r"[^\W\d_]+", _CHINESE.sub(" ", f"{before} {behind}").lower())
    if not _KNOWN.issuperset(words):
        return None
    is_alone = not words and not _CHINESE.search(before)
    if is_alone and not _stands_alone(sentence, name, start, text, is_only=is_only):
        return None
    if not is_alone and not _CHOOSES.search(f"{before} {behind}"):
        return None
    code = "label" if before.rstrip(" [(\"'").endswith((":", "=")) else "words"
    if is_alone:
        code = "brackets" if name[0][0] in "[(" else "first_line" if is_first else "final_line"
    return Statement(
        _side(name[1] or name[2]), start + name.start(name.lastindex or 1), start + end, code
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
    return is_only and not text[: start + name.start()].strip() and not _DENIED.search(text)
