"""The judging protocols of this program. A new one needs one class and one line here."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from judging.engine.interface import SIDES, Options, ShownSide, Verdict
from judging.engine.messages import Messages, is_empty, only_step
from judging.protocols.parsing import read_object
from judging.protocols.protocol import Certainty, JudgingProtocol, Standard, Tie
from judging.protocols.statements import CHANGED, DENIED, plain, readable, without_next_turn
from judging.protocols.texts import languages, texts

_LAST = re.compile(r"\[\[\s*([AB])\s*\]\][\s.*_`]*\Z")
_FIRST = re.compile(r"\A[\s*_`]*(?:\[\[)?\s*([AB])\s*(?:\]\]|[\s.:,*_`]*(?:\n|\Z))")


class ReasonBefore(JudgingProtocol):
    """The choice counts only at the end of the reply."""

    name = "reason-before"
    description = "Reasons before the choice: two to four sentences, then a response"
    family = "Reasons"
    reply_tokens = 120
    reads_words = True
    place = _LAST
    fields = ("reason", "answer")

    def read(
        self,
        text: str,
        *,
        earlier: tuple[str, ...] = (),
        is_structured: bool = False,
        is_lenient: bool = False,
    ) -> Verdict:
        if not (is_structured and self.keeps_form(text)):
            reply = readable(text)
            marked = self.place.search(reply.text)
            if marked:
                side = next(side for side in SIDES if side == marked[1])
                return Verdict(side, None, position=reply.places[marked.start(1)])
            if not is_lenient:
                return Verdict(None, None)
        return super().read(text, is_structured=is_structured, is_lenient=is_lenient)

    def form(self) -> dict[str, Mapping[str, Any]]:
        properties: dict[str, Mapping[str, Any]] = {"reason": {"type": "string"}} | super().form()
        return {name: properties[name] for name in self.fields}


class ReasonLine(ReasonBefore):
    name = "reason-line"
    description = "A one-line reason before the choice"
    reply_tokens = 40


class ReasonAfter(ReasonBefore):
    """The choice counts only at the start of the reply."""

    name = "reason-after"
    description = "Reasons after the choice: a response, then two to four sentences"
    place = _FIRST
    fields = ("answer", "reason")


_LETTER = re.compile(r"\[\[\s*([ABC])\s*\]\]")


@dataclass(frozen=True)
class Criteria(JudgingProtocol):
    """`criteria` are the key and the name of each, in the order of the prompt.

    A criterion can be a tie, the choice as a whole cannot.
    """

    criteria: tuple[tuple[str, str], ...] = ()

    name = "criteria"
    description = "Criteria: a choice by each criterion of the study, then as a whole"
    family = ""
    needs_criteria = True
    has_form = False
    reads_words = True
    reply_tokens = 60

    def of_study(self, criteria: Sequence[Mapping[str, str]]) -> "Criteria":
        return Criteria(tuple((criterion["key"], criterion["name"]) for criterion in criteria))

    def read(
        self,
        text: str,
        *,
        earlier: tuple[str, ...] = (),
        is_structured: bool = False,
        is_lenient: bool = False,
    ) -> Verdict:
        lines = self._lines(text)
        if lines is None:
            return Verdict(None, None)
        *own, (whole, position) = lines
        if whole == "C":
            return Verdict(None, None)
        keys = (key for key, _ in self.criteria)
        chosen = dict(zip(keys, (side for side, _ in own), strict=True))
        return Verdict(whole, None, {"criteria": chosen}, position=position)

    def _lines(self, text: str) -> list[tuple[ShownSide, int]] | None:
        """The side of every criterion and of the whole, with their places in the text.

        None unless there is one letter for each, in order, in a line that names its criterion.
        """
        reply = readable(text)
        text = reply.text
        letters = list(_LETTER.finditer(text))
        if len(letters) != len(self.criteria) + 1:
            return None
        end = 0
        for (_, name), letter in zip(self.criteria, letters, strict=False):
            if name.casefold() not in text[end : letter.start()].casefold():
                return None
            end = letter.end()
        return [
            (next(s for s in SIDES if s == letter[1]), reply.places[letter.start(1)])
            for letter in letters
        ]


# In double brackets, as the continuation of the prompt's open ones, or alone.
_BRACKETS = re.compile(r"\[\[\s*(\d{1,3})\s*\]\]")
_CONTINUED = re.compile(r"\A\W*(\d{1,3})\s*(?:\]\]|\Z)")
# What lenient reading adds: “8/10”, “Score: 8”, “The answer is 8 out of 10, because …”.
_OUT_OF = r"(?P<score>\d{1,3})(?:\s*(?:/|out\s+of|von|sobre|sur)\s*(?P<highest>\d{1,3}))?"
_ALONE = re.compile(rf"\A[^\w-]*{_OUT_OF}\W*\Z", re.IGNORECASE)
_LABELLED = re.compile(
    r"(?<![A-Za-zÀ-ÿ])(?:answer|score|rating|grade|antwort|punktzahl|bewertung|note|respuesta"
    r"|puntuación|calificación|réponse|答案|评分|得分|分数)[\"”]?\s*"
    rf"(?:is|ist|es|est|是|为)?\s*[:=]?[\s\[(\"“]*{_OUT_OF}(?![.,]?\d)"
    r"(?=[\s\])}\"”]*(?:\Z|[.!?,;\n。！？，；])|\s*(?:\n|\(|(?:because|since|weil|da|porque|car)\b))",
    re.IGNORECASE,
)
_CLAUSE = re.compile(r"[.!?,;\n。！？，；]")


class Score(JudgingProtocol):
    """Two steps that each show one response without any trace of the other."""

    family = "Scores and other certainties"
    offers_tie = True
    reads_words = True
    steps = 2
    # Whether lenient reading takes a number after a label, or alone, for the score.
    takes_labels = True

    def conversation(self, messages: Messages, earlier: tuple[str, ...]) -> Messages:
        return only_step(messages, len(earlier))

    def options(self, earlier: tuple[str, ...]) -> Options:
        return {}

    def read(
        self,
        text: str,
        *,
        earlier: tuple[str, ...] = (),
        is_structured: bool = False,
        is_lenient: bool = False,
    ) -> Verdict:
        replies = [
            self.stated_score(reply)
            if is_lenient and self.takes_labels
            else (self.score(reply), "")
            for reply in (*earlier, text)
        ]
        score = replies[-1][0]
        if score is None:
            return Verdict(None, None)
        if not earlier:
            return Verdict(None, None, continues=True)
        first = replies[0][0]
        assert first is not None  # noqa: S101 - or the second step would not have been asked
        details: dict[str, Any] = {"scores": {"A": first, "B": score}}
        if code := next((code for _, code in replies if code), ""):
            details["read"] = code
        side: ShownSide = "C" if first == score else "A" if first > score else "B"
        return Verdict(side, None, details)

    def form(self) -> dict[str, Mapping[str, Any]]:
        return {"score": {"type": "integer", "minimum": 1, "maximum": self.highest}}

    def keeps_form(self, text: str) -> bool:
        return self.score_in_form(text) is not None

    def score_in_form(self, text: str) -> int | None:
        """The score in a structured reply; None if the text does not have the form."""
        form = read_object(text)
        score = form.get("score")
        return score if type(score) is int and 1 <= score <= self.highest else None

    def score(self, text: str) -> int | None:
        """The score in a reply; None if there is none, or several that differ."""
        if (score := self.score_in_form(text)) is not None:
            return score
        text = readable(text).text
        numbers = set(_BRACKETS.findall(text))
        if alone := _CONTINUED.match(text):
            numbers.add(alone[1])
        scores = {int(number) for number in numbers}
        only = scores.pop() if len(scores) == 1 else 0
        return only if 1 <= only <= self.highest else None

    def stated_score(self, text: str) -> tuple[int | None, str]:
        """The score in a reply, and the code of how it was read if only leniently."""
        if (score := self.score(text)) is not None:
            return score, ""
        text = plain(without_next_turn(readable(text).text))
        if _BRACKETS.search(text):
            return None, ""  # several, or one of another scale
        alone = _ALONE.match(text)
        stated = [alone] if alone else [*_LABELLED.finditer(text)]
        scales = {int(match["highest"]) for match in stated if match["highest"]}
        scores = {int(match["score"]) for match in stated}
        if len(scores) != 1 or not scales <= {self.highest}:
            return None, ""
        if CHANGED.search(text, stated[-1].end()):
            return None, ""
        clauses = [_CLAUSE.split(text[: match.start("score")])[-1] for match in stated]
        only = scores.pop()
        if any(map(DENIED.search, clauses)) or not 1 <= only <= self.highest:
            return None, ""
        return only, "first_line" if alone else "label"


class Score10(Score):
    name = "score-10"
    description = "Score 1–10: each response alone, in a request of its own"
    highest = 10


class Score100(Score):
    name = "score-100"
    description = "Score 1–100: each response alone, in a request of its own"
    highest = 100


# The levels of studies/prompts/bands.txt, each of which spans twenty numbers.
LEVELS = (
    "uncertain",
    "moderately_confident",
    "quite_confident",
    "confident",
    "highly_confident",
)
_SPAN = 20


class Levels(JudgingProtocol):
    """A level is stored by its name, and counts as the certainty in its middle: 10, 30, … 90."""

    name = "levels"
    description = "Levels: choice of a response and one of five named levels of certainty"
    family = "Scores and other certainties"
    asks_certainty = True
    has_form = False
    reads_words = True
    reply_tokens = 12

    def read(
        self,
        text: str,
        *,
        earlier: tuple[str, ...] = (),
        is_structured: bool = False,
        is_lenient: bool = False,
    ) -> Verdict:
        verdict = super().read(text, is_lenient=is_lenient)
        level = _level(text)
        if verdict.side is None or level is None:
            return replace(verdict, certainty=None)
        details = {**verdict.details, "level": LEVELS[level]}
        return replace(verdict, certainty=level * _SPAN + _SPAN // 2, details=details)


def _level(text: str) -> int | None:
    """The level in double brackets, in any of the languages; None if there are several."""
    inside = re.findall(r"\[\[([^\[\]]+)\]\]", readable(text).text)
    places = {
        place
        for language in languages()
        for place, name in enumerate(texts(Levels.name, language).levels)
        for words in inside
        if " ".join(words.split()).casefold() == name.casefold()
    }
    return places.pop() if len(places) == 1 else None


class SecondQuestion(JudgingProtocol):
    """A choice, then a second question about it, whose reply leaves the choice as it is."""

    family = "Scores and other certainties"
    asks_certainty = True
    has_form = False
    steps = 2

    def read(
        self,
        text: str,
        *,
        earlier: tuple[str, ...] = (),
        is_structured: bool = False,
        is_lenient: bool = False,
    ) -> Verdict:
        chosen = super().read(earlier[0] if earlier else text, is_lenient=is_lenient)
        if not earlier:
            return Verdict(None, None, continues=chosen.side is not None, position=chosen.position)
        return Verdict(None, None) if is_empty(text) else self.second(text, chosen)

    def second(self, text: str, chosen: Verdict) -> Verdict:
        """The verdict after the second reply."""
        raise NotImplementedError


# In every language of texts/.
_WORDS = {
    "yes": ("Yes", "Ja", "Sí", "Oui", "Sì", "Tak", "Sim", "نعم", "是"),
    "no": ("No", "Nein", "Non", "Nee", "Nie", "Não", "لا", "否"),
}
_ANY = "|".join(word for words in _WORDS.values() for word in words)
YES_OR_NO = re.compile(rf"(?:\[\[|\A)[\s*_`\"']*({_ANY})\b", re.IGNORECASE)


def says(word: re.Match[str]) -> str:
    """What a word that `YES_OR_NO` found says: yes or no."""
    return next(name for name, words in _WORDS.items() if word[1].title() in words)


class PTrue(SecondQuestion):
    """The certainty is the probability that the model gives yes, over yes and no.

    It is read from log-probabilities at the word: a model that writes no still gives yes a
    probability. Without a word or without log-probabilities the certainty is missing, and the
    choice counts.
    """

    name = "p-true"
    description = "P(True): choice of a response, then the probability that it says it is right"
    needs_probabilities = True
    reply_tokens = 12

    def options(self, earlier: tuple[str, ...]) -> Options:
        return _WORDS if earlier else super().options(earlier)

    def second(self, text: str, chosen: Verdict) -> Verdict:
        reply = readable(text)
        word = YES_OR_NO.search(reply.text)
        if word is None:
            return replace(chosen, certainty=None, position=None)
        details = {**chosen.details, "says": says(word)}
        return Verdict(chosen.side, None, details, position=reply.places[word.start(1)])

    def weigh(self, verdict: Verdict, probabilities: Mapping[str, float] | None) -> Verdict:
        if verdict.side is None or probabilities is None or "yes" not in probabilities:
            return verdict
        share = probabilities["yes"]
        details = {**verdict.details, "p_true": round(share, 6)}
        return replace(verdict, certainty=max(1, round(100 * share)), details=details)


class SecondTurn(SecondQuestion):
    """The second question follows the first reply, in one conversation.

    A second reply without a certainty leaves it missing; the choice counts.
    """

    name = "second-turn"
    description = "Second turn: choice of a response, then a second question: how certain?"
    reads_words = True
    reply_tokens = 16

    def options(self, earlier: tuple[str, ...]) -> Options:
        return {} if earlier else super().options(earlier)

    def second(self, text: str, chosen: Verdict) -> Verdict:
        return Verdict(chosen.side, _NUMBER.score(text), chosen.details)


_NUMBER = Score100()


OWN: tuple[JudgingProtocol, ...] = (
    Standard(),
    Certainty(),
    Tie(),
    ReasonBefore(),
    ReasonLine(),
    ReasonAfter(),
    Criteria(),
    Score10(),
    Score100(),
    Levels(),
    SecondTurn(),
    PTrue(),
)
