"""The formats of decision endpoints: OpenAI's Decisions and System One, and servers that mix them.

So a request has exactly one format, and an answer is read in either.
"""

import json
import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any, ClassVar

from judging.backends.bodies import body_text, body_value
from judging.backends.completions import read_usage, short, storable
from judging.engine.interface import (
    SIDES,
    ClosedQuestion,
    Garbage,
    JudgeQuestion,
    Reply,
)
from judging.engine.messages import Attachment, Message

CHOICE, CERTAINTY = "choice", "certainty"  # names of the questions
_SUM_WITHIN = 0.02  # servers that round to two decimals miss 1 by less
_LARGEST = 1e12
_MOST_DOLLARS = 1_000  # of one request; more is an error of the server


class Wire(ABC):
    """One format of requests; `route` is the last part of the address."""

    route: ClassVar[str]

    @abstractmethod
    def body(self, model: str, question: JudgeQuestion) -> dict[str, Any]:
        """The request that asks a question."""

    def content(
        self, model: str, question: JudgeQuestion, extra: Mapping[str, Any] = MappingProxyType({})
    ) -> bytes:
        """The bytes of the request, with the extra fields of its body."""
        body = {**self.body(model, question), **extra}
        return json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode()


class OpenAIWire(Wire):
    route = "decisions"

    def body(self, model: str, question: JudgeQuestion) -> dict[str, Any]:
        closed, messages = closed_of(question), question.asking
        questions: list[dict[str, Any]] = [
            {
                "type": "choice",
                "name": CHOICE,
                "instructions": closed.ask,
                "choices": [{"value": label} for label in labels_of(question)],
            }
        ]
        if closed.levels:
            levels = closed.levels.values()
            questions.append(
                {
                    "type": "score",
                    "name": CERTAINTY,
                    "instructions": closed.how_certain,
                    "levels": [{"label": name, "description": text} for name, text in levels],
                }
            )
        is_text = len(messages) == 1 and messages[0].role == "user" and not messages[0].media
        content = messages[0].text if is_text else [self._message(message) for message in messages]
        return {"model": model, "input": content, "questions": questions}

    def _message(self, message: Message) -> dict[str, Any]:
        if not message.media:
            return {"role": message.role, "content": message.text}
        return {"role": message.role, "content": [self._part(part) for part in message.parts()]}

    def _part(self, part: str | Attachment) -> dict[str, Any]:
        if isinstance(part, str):
            return {"type": "input_text", "text": part}
        return {"type": "input_image", "image_url": f"data:{part.type};base64,{part.base64()}"}


class SystemOneWire(Wire):
    """Its pictures have no place in the text, which names each: “[Picture 1]”."""

    route = "systemone"

    def body(self, model: str, question: JudgeQuestion) -> dict[str, Any]:
        closed, messages = closed_of(question), question.asking
        questions: dict[str, dict[str, Any]] = {
            CHOICE: {
                "type": "choice",
                "instructions": closed.ask,
                "criteria": dict.fromkeys(labels_of(question)),
            }
        }
        if closed.levels:
            questions[CERTAINTY] = {
                "type": "score",
                "instructions": closed.how_certain,
                "criteria": [f"{name}: {text}" for name, text in closed.levels.values()],
            }
        is_text = len(messages) == 1 and messages[0].role == "user"
        turns = [{"role": turn.role, "content": turn.text} for turn in messages]
        body: dict[str, Any] = {"model": model}
        body["state"] = messages[0].text if is_text else turns
        if pictures := [medium.base64() for message in messages for medium in message.media]:
            body["images"] = pictures
        return body | {"questions": questions}


WIRES: dict[str, Wire] = {"openai": OpenAIWire(), "systemone": SystemOneWire()}


def closed_of(question: JudgeQuestion) -> ClosedQuestion:
    """The words of the present step. One that does not choose a side asks in its own words."""
    assert question.closed is not None  # noqa: S101 - `ask` has seen it
    if set(question.options) <= set(SIDES):
        return question.closed
    return ClosedQuestion(question.asking[-1].text)


def labels_of(question: JudgeQuestion) -> list[str]:
    """The label of each option, which has to be one token: a letter, or yes and no."""
    return [words[0] for words in question.options.values()]


def read_decision(
    content: bytes | str, question: JudgeQuestion, *, seed: int, status: int, request_id: str
) -> Reply:
    """The reply in the body of a success, in either format. Raises `Garbage`."""
    asked = {CHOICE: "choice"} | ({CERTAINTY: "score"} if closed_of(question).levels else {})
    try:
        body = body_value(content)
        answers = _by_name(body["answers"], list(asked))
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        garbage = Garbage(f"the answer is no decision ({short(body_text(content))})", status=status)
        garbage.maybe_billed = body_text(content).lstrip()[:1] != "<"  # a page is of a proxy
        raise garbage from error
    for name, type in asked.items():
        if name not in answers:
            raise Garbage(f"the answer to the question “{name}” is missing", status=status)
        answer_type = answers[name].get("type", type)
        if answer_type not in (type, "refusal"):
            sentence = (
                f"the answer to the question “{name}” is of the type “{short(str(answer_type))}”"
            )
            raise Garbage(sentence, status=status)
    kept = {"answers": body["answers"]}
    if isinstance(body.get("diagnostics"), dict):
        kept["diagnostics"] = body["diagnostics"]
    reply = Reply(
        text="",
        usage=read_usage(body),
        model=storable(str(body.get("model") or ""))[:200],
        fingerprint=storable(str(body.get("system_fingerprint") or ""))[:200],
        request_id=storable(request_id or str(body.get("id") or ""))[:200],
        answers=storable(json.dumps(kept, ensure_ascii=False)),
    )
    choice = answers[CHOICE]
    if choice.get("type") == "refusal":
        return replace(reply, refused=True)
    try:
        shares = _shares(choice.get("probabilities"), labels_of(question))
        details = _details(choice, body, CHOICE)
        if CERTAINTY in asked and answers[CERTAINTY].get("type") != "refusal":
            details["levels"] = _levels(answers[CERTAINTY], closed_of(question))
    except ValueError as error:
        raise Garbage(f"the answer is of no use: {error}", status=status) from error
    chosen, told = _chosen(shares, choice.get("choice"), seed)
    if told is not None:
        details["vendor_choice"] = told
    names = dict(zip(labels_of(question), question.options, strict=True))
    return replace(
        reply,
        text=f"[[{chosen}]]",
        details=details,
        probabilities={names[label]: share for label, share in shares.items()},
    )


def _by_name(answers: object, names: Sequence[str]) -> dict[str, dict[str, Any]]:
    """The answers by the names of their questions; a list has them in the order of these."""
    if isinstance(answers, Mapping):
        by_name = dict(answers)
    elif isinstance(answers, list):
        by_name = {a.get("name") or n: a for n, a in zip(names, answers, strict=False)}
    else:
        raise TypeError
    if not all(isinstance(answer, dict) for answer in by_name.values()):
        raise TypeError
    return by_name


def _shares(probabilities: object, names: Sequence[str]) -> dict[str, float]:
    """The probability of each name, which add up to 1; raises `ValueError` with a sentence.

    `probabilities` is a mapping, or a list of values or labels with their probabilities.
    """
    if isinstance(probabilities, list):
        rows = [entry if isinstance(entry, dict) else {} for entry in probabilities]
        keys = "label" if all("label" in row for row in rows) else "value"
        pairs = [(row.get(keys), row.get("probability")) for row in rows]
    elif isinstance(probabilities, dict):
        pairs = list(probabilities.items())
    else:
        raise ValueError("it has no probabilities")
    shares: dict[str, float] = {}
    for name, share in pairs:
        if not isinstance(name, str) or name not in names or name in shares:
            raise ValueError(f"a probability is of “{short(str(name))}”, which was not asked for")
        value = _number(share)
        if value is None or not 0 <= value <= 1 + _SUM_WITHIN:
            raise ValueError(f"the probability of “{name}” is {short(str(share))}")
        shares[name] = value
    if missing := [name for name in names if name not in shares]:
        raise ValueError(f"the probability of “{missing[0]}” is missing")
    total = math.fsum(shares.values())
    if abs(total - 1) > _SUM_WITHIN:
        raise ValueError(f"its probabilities add up to {total:.3f}")
    return {name: shares[name] / total for name in names}


def _levels(answer: Mapping[str, Any], closed: ClosedQuestion) -> dict[str, float]:
    """The probability of each level of certainty, by its slug.

    System One names levels by their numbers from 0, OpenAI by their labels.
    """
    probabilities = answer.get("probabilities")
    slugs = list(closed.levels)
    by_name: dict[str, str] = {str(number): slug for number, slug in enumerate(slugs)}
    for slug, (name, text) in closed.levels.items():
        by_name |= {name: slug, f"{name}: {text}": slug}
    if isinstance(probabilities, dict):
        probabilities = {
            by_name.get(str(name), str(name)): share for name, share in probabilities.items()
        }
    elif isinstance(probabilities, list):
        probabilities = [
            {**row, "label": by_name.get(str(row.get("label")), str(row.get("label")))}
            for row in probabilities
            if isinstance(row, dict)
        ]
    return {slug: round(share, 6) for slug, share in _shares(probabilities, slugs).items()}


def _details(answer: Mapping[str, Any], body: Mapping[str, Any], name: str) -> dict[str, Any]:
    """What else a server says about an answer: its own confidence, and the mass of the labels."""
    diagnostics = body.get("diagnostics")
    own = diagnostics.get(name) if isinstance(diagnostics, dict) else None
    told = {**(own if isinstance(own, dict) else {}), **answer}
    return {
        key: round(value, 6)
        for key in ("confidence", "label_mass")
        if (value := _number(told.get(key))) is not None
    }


def _number(value: object) -> float | None:
    """A finite number; None if it is anything else."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if abs(value) <= _LARGEST else None  # nor a number that is none


def _chosen(shares: Mapping[str, float], told: object, seed: int) -> tuple[str, str | None]:
    """The label that counts, and what the server calls its choice where that is another one.

    The largest probability counts. Of several that are equal it is the server's choice, which may
    rest on more decimals than it sends, or else drawn by the seed.
    """
    most = max(shares.values())
    largest = [label for label, share in shares.items() if share == most]
    told = told if isinstance(told, str) else ""
    if told in largest:
        return told, None
    return largest[seed % len(largest)], told if told in shares else None
