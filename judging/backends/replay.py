"""Recorded replies: answers the same prompts as recorded, without a server."""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

from judging.backends.backend import BackendKind, Capabilities, JudgeSettings
from judging.engine.interface import Backend, JudgeQuestion, Parameters, Rejected, Reply
from judging.engine.messages import from_user, prompt_sha256
from judging.errors import BadJudge, ConflictingValue, Reason

IMPORTED = "imported"  # the model of a judge whose judgments were imported from a file
_UNREADABLE = Reason(
    "unreadable", "Cannot read the recorded replies “{value}”: {problem}. Name the file as {field}."
)

_NOTHING_SENT = Parameters({})


class BadRecording(ValueError):
    """A file of recorded replies that cannot be read; the message names the line."""


def read_recording(lines: Iterable[str]) -> dict[str, list[str]]:
    """Read JSON lines {"prompt" or "prompt_sha256", "reply"} into replies by prompt hash.

    Lines of one prompt are its replies in order.
    """
    replies: dict[str, list[str]] = {}
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
            digest = row.get("prompt_sha256") or prompt_sha256(from_user(row["prompt"]))
            reply = row["reply"]
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise BadRecording(
                f'Line {number}: expected {{"prompt": …, "reply": …}} or '
                '{"prompt_sha256": …, "reply": …}.'
            ) from error
        if not isinstance(reply, str) or not isinstance(digest, str):
            raise BadRecording(f"Line {number}: prompt and reply must be text.")
        replies.setdefault(digest, []).append(reply)
    return replies


class ReplayBackend:
    """Gives every question the next recorded reply to its prompt."""

    def __init__(self, replies: Mapping[str, Sequence[str]], *, model: str = "") -> None:
        self._replies = replies
        self._model = model
        self._given: dict[tuple[int, int], int] = {}  # by question and step

    def parameters(self) -> Parameters:
        return _NOTHING_SENT

    async def ask(self, question: JudgeQuestion, *, seed: int, parameters: Parameters) -> Reply:
        recorded = self._replies.get(prompt_sha256(question.asking), ())
        step = question.id, len(question.earlier)
        position = self._given.get(step, question.replies)
        if position >= len(recorded):
            raise Rejected(
                "nothing is recorded for this prompt"
                if not recorded
                else f"only {len(recorded)} replies are recorded for this prompt"
            )
        self._given[step] = position + 1
        return Reply(text=recorded[position], model=self._model)

    async def close(self) -> None:
        """Do nothing, because nothing is open."""


class ReplayKind(BackendKind):
    name = "replay"
    label = "recorded answers"
    capabilities = Capabilities(costs_money=False)

    def connect(self, judge: JudgeSettings) -> Callable[[], Backend]:
        if judge.model == IMPORTED:
            raise BadJudge(
                f"Judge “{judge.name}” holds imported judgments; it cannot be asked anything new."
            )
        try:
            with Path(judge.model).open(encoding="utf-8") as lines:
                replies = read_recording(lines)
        except OSError as error:
            problem = error.strerror or "it cannot be opened"
            raise ConflictingValue(
                "model", _UNREADABLE, value=judge.model, problem=problem
            ) from None
        except (UnicodeDecodeError, BadRecording) as error:
            raise BadJudge(f"Cannot read the recorded replies “{judge.model}”: {error}") from None
        return lambda: ReplayBackend(replies, model=Path(judge.model).name)
