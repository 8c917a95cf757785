"""Decision endpoints of the simulated server: what requests may say, and simulated probabilities.

Both formats are refused where their documentation says so: unknown fields, too many questions,
labels of several tokens, and numbers of choices and levels. A score has the same level whatever
the side is.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from demo.judges import Judges

SYSTEM_ONE = "systemone"  # of the two formats; the other is openai
_SHARE = 0.35  # of the certainty, which a probability lies above an equal one
_WORD = re.compile(r"[A-Za-z0-9]{1,8}")
_MOST_QUESTIONS = {"openai": 400, "systemone": 64}
_REQUEST = {
    "openai": {
        "model",
        "input",
        "questions",
        "prompt_cache_key",
        "prompt_cache_options",
        "safety_identifier",
    },
    "systemone": {"model", "state", "questions", "images", "instructions", "chat_template_kwargs"},
}
_QUESTION = {
    "openai": {
        "predicate": {"type", "name", "instructions"},
        "choice": {"type", "name", "instructions", "choices"},
        "score": {"type", "name", "instructions", "levels"},
    },
    "systemone": {
        kind: {"type", "instructions", "criteria"} for kind in ("noul", "choice", "score")
    },
}


class BadDecision(Exception):
    """A request that is refused, with the part at fault."""

    def __init__(self, param: str, message: str) -> None:
        super().__init__(message)
        self.param = param


def text_of(request: Mapping[str, Any]) -> str:
    """The words that a request is about."""
    told = request["input"] if "input" in request else request["state"]
    if isinstance(told, str):
        return told
    return "\n".join(_content_text(message["content"]) for message in told)


def _content_text(content: str | Sequence[Mapping[str, Any]]) -> str:
    if isinstance(content, str):
        return content
    return "".join(part["text"] if part["type"] == "input_text" else "" for part in content)


def decide(
    request: Mapping[str, Any], wire: str, judges: Judges, *, is_refusal: bool
) -> dict[str, Any]:
    """The body of the answer. Raises `BadDecision`."""
    _check_fields("", set(request), _REQUEST[wire])
    asked = request["questions"]
    questions = list(asked.items()) if wire == SYSTEM_ONE else [(q.get("name"), q) for q in asked]
    if not 1 <= len(questions) <= _MOST_QUESTIONS[wire]:
        most = _MOST_QUESTIONS[wire]
        raise BadDecision("questions", f"questions must be 1 to {most}, not {len(questions)}")
    text, model = text_of(request), request["model"]
    side, certainty = judges.verdict(model, text)
    answers = []
    for number, (name, question) in enumerate(questions):
        where = f"questions.{name}" if wire == SYSTEM_ONE else f"questions[{number}]"
        answer = _answer(question, wire, where, side, certainty)
        if is_refusal and question["type"] == "choice":
            answer = {"type": "refusal"}
        answers.append((name, answer))
    tokens = len(text) // 4 + 20 * len(questions)
    body = {"model": f"{model}-simulated-1"}
    if wire != SYSTEM_ONE:
        usage = {
            "input_tokens": tokens,
            "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
            "output_tokens": 0,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": tokens,
        }
        return {**body, "answers": [{"name": n, **a} for n, a in answers], "usage": usage}
    return {
        **body,
        "answers": dict(answers),
        "usage": {"input_tokens": tokens, "output_tokens": len(questions)},
        "diagnostics": {n: {"label_mass": 0.97, "argmax_is_label": True} for n, _ in answers},
    }


def _answer(
    question: Mapping[str, Any], wire: str, where: str, side: str, certainty: int
) -> dict[str, Any]:
    kinds = _QUESTION[wire]
    kind = question.get("type", "")
    if kind not in kinds:
        raise BadDecision(f"{where}.type", f"type must be one of {', '.join(kinds)}")
    _check_fields(where, set(question), kinds[kind])
    share = 0.5 + _SHARE * certainty / 100
    if kind in ("predicate", "noul"):
        yes = share if side == "A" else 1 - share
        return {"type": kind, ("probability" if kind == "predicate" else kind): yes}
    names = _names(question, wire, where, kind)
    if kind == "choice":
        chosen = names.index(side) if side in names else 0
        rest = (1 - share) / (len(names) - 1)
        shares = [share if number == chosen else rest for number in range(len(names))]
        told: dict[str, Any] = {"type": kind, "choice": names[chosen]}
    else:
        place = (certainty - 1) * len(names) / 100
        weights = [0.2 ** abs(number + 0.5 - place) for number in range(len(names))]
        shares = [weight / sum(weights) for weight in weights]
        mean = sum(number * share for number, share in enumerate(shares))
        told = {"type": kind, "score": mean}
    told["confidence"] = (max(shares) - 1 / len(names)) / (1 - 1 / len(names))
    if wire == SYSTEM_ONE:
        if kind == "score":
            told["legend"] = {str(number): name for number, name in enumerate(names)}
            names = [str(number) for number in range(len(names))]
        return {**told, "probabilities": dict(zip(names, shares, strict=True))}
    told["probabilities"] = [
        {"value": name, "probability": share}
        if kind == "choice"
        else {"label": name, "value": number, "probability": share}
        for number, (name, share) in enumerate(zip(names, shares, strict=True))
    ]
    return told


def _names(question: Mapping[str, Any], wire: str, where: str, kind: str) -> list[str]:
    """The labels of a question. Raises `BadDecision` if they are too few, too many or too long."""
    field = "criteria" if wire == SYSTEM_ONE else {"choice": "choices", "score": "levels"}[kind]
    options = question[field]
    if wire != SYSTEM_ONE:
        options = [option["value" if kind == "choice" else "label"] for option in options]
    names = [str(name) for name in options]
    low, high = (2, 255) if kind == "choice" else (2, 10)
    if not low <= len(names) <= high or len(set(names)) < len(names):
        raise BadDecision(
            f"{where}.{field}", f"there must be {low} to {high} different {field}, not {len(names)}"
        )
    for name in names if kind == "choice" else ():
        if not _WORD.fullmatch(name):
            message = f"label {name!r} is not one distinct token after this model's chat prompt"
            raise BadDecision(f"{where}.{field}", message)
    return names


def _check_fields(where: str, fields: set[str], known: set[str]) -> None:
    if unknown := sorted(fields - known):
        raise BadDecision(f"{where}.{unknown[0]}".lstrip("."), f"unknown field {unknown[0]!r}")
