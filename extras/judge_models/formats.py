"""Reply formats of models trained as judges.

The words of the prompts, in `texts/`, are examples. A model judges best with the words it was
trained on: put them into a file and use it as a wording of the study. Replies are always read
strictly, because these models keep to their format.
"""

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from judging.engine.interface import SIDES, Options, ShownSide, Verdict
from judging.protocols.protocol import JudgingProtocol
from judging.protocols.statements import readable
from judging.protocols.usual import Score

FAMILY = "Formats of models trained as judges"


class JudgeModel(JudgingProtocol):
    """A protocol with a fixed reply format, which the prompt explains."""

    family = FAMILY
    has_form = False
    reads_words = True
    takes_framing = False
    reply_tokens = 200

    def read(
        self,
        text: str,
        *,
        earlier: tuple[str, ...] = (),
        is_structured: bool = False,
        is_lenient: bool = False,
    ) -> Verdict:
        reply = readable(text)
        verdict = self.verdict(reply.text)
        if verdict.position is None:
            return verdict
        return replace(verdict, position=reply.places[verdict.position])

    def verdict(self, text: str) -> Verdict:
        """The verdict in a reply without thoughts."""
        raise NotImplementedError

    def option(self, text: str) -> tuple[ShownSide, int] | None:
        """The side that a reply names in its format, and where; None if the format is broken."""
        raise NotImplementedError


# JudgeLM: the first line has a score for each response, and the rest explains them.
_SCORE = r"(10(?:\.0+)?|[0-9](?:\.[0-9]+)?)"
_SCORES = re.compile(rf"\s*{_SCORE}[ \t]+{_SCORE}[ \t]*(?:\n|\Z)")


class JudgeLM(JudgeModel):
    """The higher score wins; equal scores are a tie."""

    name = "judgelm"
    description = "JudgeLM: two scores from 1 to 10 on the first line"
    highest = 10
    offers_tie = True

    def verdict(self, text: str) -> Verdict:
        match = _SCORES.match(text)
        if match is None:
            return Verdict(None, None)
        first, second = float(match[1]), float(match[2])
        if min(first, second) < 1:
            return Verdict(None, None)
        details: Mapping[str, Any] = {"scores": {"A": first, "B": second}}
        side: ShownSide = "C" if first == second else "A" if first > second else "B"
        return Verdict(side, None, details)

    def options(self, earlier: tuple[str, ...]) -> Options:
        return {}


# Auto-J: key factors in prose, and a last sentence with the final decision.
_DECISION = re.compile(
    r"\bfinal\s+decision\s+is\s*:?\s*(?:Response\s+([12])|(Tie))\b", re.IGNORECASE
)
_OPTIONS: dict[str | None, ShownSide] = {"1": "A", "2": "B", None: "C"}


class AutoJ(JudgeModel):
    name = "auto-j"
    description = "Auto-J: an analysis, then the sentence with the final decision"
    offers_tie = True
    reply_tokens = 300

    def verdict(self, text: str) -> Verdict:
        option = self.option(text)
        return Verdict(option[0], None, position=option[1]) if option else Verdict(None, None)

    def option(self, text: str) -> tuple[ShownSide, int] | None:
        matches = list(_DECISION.finditer(text))
        if not matches or len({_OPTIONS[match[1]] for match in matches}) > 1:
            return None
        last = matches[-1]
        return _OPTIONS[last[1]], last.start(1 if last[1] else 2)

    def options(self, earlier: tuple[str, ...]) -> Options:
        return {"A": ("1",), "B": ("2",), "C": ("Tie",)}


# Prometheus 2: feedback, then `[RESULT]` and the better response, or a grade from 1 to 5.
_RESULT = re.compile(r"\[RESULT\]\s*(?:Response\s+)?([AB])(?![\w'’])[\s.*]*\Z")
_GRADE = re.compile(r"\[RESULT\]\s*\(?([1-5])\)?(?![\w/,:]|\.\d)[\s.*]*\Z")
_EVERY_RESULT = re.compile(r"\[RESULT\]")


class Prometheus2(JudgeModel):
    name = "prometheus-2"
    description = "Prometheus 2: feedback, then [RESULT] and a response"

    def verdict(self, text: str) -> Verdict:
        option = self.option(text)
        return Verdict(option[0], None, position=option[1]) if option else Verdict(None, None)

    def option(self, text: str) -> tuple[ShownSide, int] | None:
        match = _RESULT.search(text)
        if match is None or len(_EVERY_RESULT.findall(text)) > 1:
            return None
        return ("A" if match[1] == "A" else "B"), match.start(1)


class Prometheus2Score(Score):
    """Absolute grading of each response alone: the higher grade wins, equal grades tie."""

    name = "prometheus-2-score"
    description = "Prometheus 2: feedback, then [RESULT] 1–5, each response alone"
    family = FAMILY
    takes_framing = False
    has_form = False
    reply_tokens = 200
    highest = 5
    takes_labels = False  # the model was trained to write its mark

    def score(self, text: str) -> int | None:
        text = readable(text).text
        match = _GRADE.search(text)
        if match is None or len(_EVERY_RESULT.findall(text)) > 1:
            return None
        return int(match[1])


# CompassJudger: criteria in prose, then the verdict in double brackets.
_BRACKETED = re.compile(r"\[\[([A-Z])\]\]")
# “- Warmth: A”, one criterion per line; C is no difference.
_CRITERION = re.compile(
    r"^[ \t]*[-*][ \t]*([^:\n]{1,60}?)[ \t]*:[ \t]*([ABC])[ \t.]*$", re.MULTILINE
)


class CompassJudger(JudgeModel):
    """`details` of the verdict has the criteria that the reply lists, one per line."""

    name = "compass-judger"
    description = "CompassJudger: criteria, then [[A]], [[B]] or [[C]]"
    offers_tie = True
    reply_tokens = 300

    def verdict(self, text: str) -> Verdict:
        option = self.option(text)
        if option is None:
            return Verdict(None, None)
        criteria = dict(_CRITERION.findall(text[: option[1]]))
        details = {"criteria": criteria} if criteria else {}
        return Verdict(option[0], None, details, position=option[1])

    def option(self, text: str) -> tuple[ShownSide, int] | None:
        matches = list(_BRACKETED.finditer(text))
        if not matches or len({match[1] for match in matches}) > 1:
            return None
        side = next((side for side in SIDES if side == matches[-1][1]), None)
        return (side, matches[-1].start(1)) if side else None


JUDGE_LM = JudgeLM()
AUTO_J = AutoJ()
PROMETHEUS_2 = Prometheus2()
PROMETHEUS_2_SCORE = Prometheus2Score()
COMPASS_JUDGER = CompassJudger()
