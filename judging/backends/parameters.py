"""The parameters of requests to a server: as wanted, and as the server accepts them."""

import asyncio
import itertools
import json
import logging
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, TypeVar

from judging.backends.error_messages import (
    ErrorBody,
    may_name_none,
    mentioned_parameters,
    refused_parameters,
    requires_stream,
)
from judging.backends.extra_fields import EXTRA_BODY, EXTRA_FIELDS
from judging.engine.interface import JudgeQuestion, NotSent, Parameters
from judging.engine.messages import chat

logger = logging.getLogger(__name__)
T = TypeVar("T")
SEED = "one for each question"  # stands for the number in the record
# Ways to ask for a reply; the last one is to request no form.
JSON_SCHEMA, JSON_OBJECT, FREE_TEXT = "json_schema", "json_object", "text"
FORM = "json_schema: answer, and certainty where it is asked for"  # stands for the schema
# What llama.cpp, vLLM, and vLLM before version 0.12 call their own ways to the same JSON text.
GRAMMAR, CHOICE, GUIDED_CHOICE = OWN_WAYS = "grammar", "structured_outputs", "guided_choice"
FORMS = {
    JSON_SCHEMA: FORM,
    JSON_OBJECT: "json_object: the prompt ends with the schema",
    GRAMMAR: "grammar: that of the JSON text",
    CHOICE: "structured_outputs: one of all JSON texts",
    GUIDED_CHOICE: "guided_choice: one of all JSON texts",
}
_MOST_TEXTS = 300  # in a list of replies
_STRING = r'''string ::= "\"" ([^"\\\x00-\x1F] | "\\" ["\\/bfnrt])* "\""'''
# Before the schema, for servers that only promise some JSON object; they want this word.
FORM_WORDS = "Reply with a JSON object that has this schema:"
MOST_LOGPROBS, FEW_LOGPROBS = 20, 5
LIMITS = {"max_tokens": "max_completion_tokens", "max_completion_tokens": "max_tokens"}
MAY_BE_LEFT_OUT = ("temperature", "top_p", "seed")  # as a judge is set
STREAM = "stream"
_STREAM_USAGE = "stream_options"
_ONE_EACH = ("seed", "response_format", "temperature", "top_p")
_OF_LOGPROBS = ("logprobs", "top_logprobs", "response_logprobs")
# What can be changed in requests, apart from leaving out one of the above.
_NO_LOGPROBS, _FEWER_LOGPROBS, _OTHER_LIMIT = "logprobs", "top_logprobs", "limit"
_MOST_TRIALS = 3  # in vain; then a vague error is about its question
_OTHERS = 3  # answers to other questions that stand for the one that is asked again


def schema_of(question: JudgeQuestion) -> dict[str, Any]:
    """The JSON schema of a reply that structured outputs enforce."""
    properties = question.protocol.form()
    return {
        "type": "json_schema",
        "json_schema": {
            "name": "verdict",
            "strict": True,
            "schema": {
                "type": "object",
                "properties": properties,
                "required": list(properties),
                "additionalProperties": False,
            },
        },
    }


def own_form(way: str, question: JudgeQuestion) -> dict[str, Any]:
    """The field of a request that makes a server write the JSON text of the form, in its own way.

    Empty if there is none: a list cannot hold every reason.
    """
    properties = question.protocol.form()
    values = {name: _values(of) for name, of in properties.items()}
    if way == GRAMMAR:
        if any(not values[name] and of["type"] != "string" for name, of in properties.items()):
            return {}
        fields = [
            f'{_literal(name)} ": " '
            + (f"({' | '.join(map(_literal, values[name]))})" if values[name] else "string")
            for name in properties
        ]
        root = ' ", " '.join(fields)
        return {GRAMMAR: f'root ::= "{{" {root} "}}"\n{_STRING}'}
    texts = [json.dumps(dict(zip(values, of, strict=True))) for of in _combined(values.values())]
    return {way: {"choice": texts} if way == CHOICE else texts} if texts else {}


def _values(of: Mapping[str, Any]) -> Sequence[Any]:
    """The values that a field of the form can have; empty if they cannot be listed."""
    if of.get("type") == "integer":
        return range(of["minimum"], of["maximum"] + 1)
    return of.get("enum", ())


def _combined(values: Iterable[Sequence[Any]]) -> list[tuple[Any, ...]]:
    combinations = list(itertools.islice(itertools.product(*values), _MOST_TEXTS + 1))
    return combinations if len(combinations) <= _MOST_TEXTS else []


def _literal(value: Any) -> str:
    """The JSON text of a value, as a grammar writes it."""
    return json.dumps(json.dumps(value))


def without(values: Mapping[str, Any], names: Collection[str]) -> dict[str, Any]:
    """The parameters without those that a judge leaves out; a limit of tokens has two names."""
    return {
        name: value
        for name, value in values.items()
        if name not in names and LIMITS.get(name) not in names
    }


def request_body(
    values: Mapping[str, Any], question: JudgeQuestion, *, seed: int
) -> dict[str, Any]:
    """The body of a chat completion, with the seed's number and the reply's form filled in."""
    body = without(values, EXTRA_FIELDS) | values.get(EXTRA_BODY, {})
    body["messages"] = chat(question.asking)
    if "seed" in body:
        body["seed"] = seed
    if body.get("response_format") in map(FORMS.get, OWN_WAYS):
        way = body.pop("response_format").partition(":")[0]
        body |= own_form(way, question)
    elif "response_format" in body:
        form = schema_of(question)
        if body["response_format"] == FORMS[JSON_OBJECT]:
            words = f"\n\n{FORM_WORDS} {json.dumps(form['json_schema']['schema'])}"
            last = body["messages"][-1]
            if isinstance(last["content"], str):
                last["content"] += words
            else:
                last["content"].append({"type": "text", "text": words})
            form = {"type": JSON_OBJECT}
        body["response_format"] = form
    return body


async def prepared(question: JudgeQuestion, write: Callable[[], T]) -> T:
    """What `write` makes of a question; pictures and sounds are read in another thread.

    Raises `NotSent` if it cannot be written.
    """
    has_media = any(message.media for message in question.messages)
    try:
        return await asyncio.to_thread(write) if has_media else write()
    except Exception as error:
        logger.exception("A request could not be written.")
        raise NotSent("the request could not be written here; the log says why") from error


class Adjustments:
    """The parameters sent to a server: all wanted ones, changed as the server requires.

    Many errors do not say clearly which parameter they are about, and some only repeat words of a
    prompt. So a question that was refused is asked again without the suspected parameters, or
    without all optional ones if the error names none. If it is answered, they were the cause; of
    several, one half is sent again, until one is left. If it is refused again, the error is about
    the question, and everything is sent as before. What the server has accepted before is
    suspected only if an error names it in plain words. With `may_stream`, replies are streamed from
    a server that says so in plain words.
    """

    def __init__(self, wanted: Parameters, *, may_stream: bool = False) -> None:
        self._wanted = wanted
        self._may_stream = may_stream
        self._learnt: list[str] = []  # changes that the server requires
        self._accepted: set[str] = set()  # changes that it does not require
        self._tried: list[str] = []  # changes with which a refused question is asked again
        self._is_plain = False  # the errors named all of them in plain words
        self._question: int | None = None
        self._held: list[str] = []  # changes of which some are required
        self._others = self._trials = 0
        self.current = wanted
        self._usual: Parameters | None = None  # accepted, with nothing left to learn from it

    def learn(
        self, error: ErrorBody, sent: Parameters, *, status: int = 400, question: int | None = None
    ) -> bool:
        """Learn from an error about what was `sent`; return whether trying again may help.

        Requests that were already under way with a refused parameter are tried again too. Without
        the id of a `question`, only plain words count, and they count at once.
        """
        refused = refused_parameters(error, sent=sent.values)
        if self._may_stream and STREAM not in sent.values and requires_stream(error):
            refused = [STREAM]
        concerned = {*self.current.values, *sent.values} if question is not None else refused
        if any(self.current.values.get(name) != sent.values.get(name) for name in concerned):
            return True  # learnt since the request was sent
        changes = self._changes(refused)
        if question is None:
            self._learnt += changes
            return self._apply()
        is_plain = bool(changes)
        if not changes and self._trials < _MOST_TRIALS:
            mentioned = mentioned_parameters(error, sent=sent.values, status=status)
            changes = [c for c in self._changes(mentioned) if c not in self._accepted]
            if not changes and may_name_none(error, status=status):
                changes = self._untried()
        if not changes:
            if question == self._question:  # nothing helped
                self._trials += 1
                self._end_trial()
                self._apply()
            return False
        self._is_plain = is_plain and (self._is_plain or not self._tried)
        self._tried += changes
        self._question = question if self._question is None else self._question
        return self._apply()

    def succeeded(self, sent: Parameters, *, question: int) -> None:
        """Note that the server has accepted what was `sent`."""
        if sent is self._usual:
            return
        kept = {change for change in self._all() if self._is_made(change, sent.values)}
        self._accepted.update(change for change in self._all() if change not in kept)
        if not self._is_plain:
            self._tried = [change for change in self._tried if change not in self._accepted]
        self._held = [change for change in self._held if change not in self._accepted]
        if not self._tried:
            self._end_trial()
        if self.current is not sent:
            self._apply()
            return
        if not self._tried and not self._held:
            self._usual = sent
            return
        if self._tried:
            self._others += question != self._question
            is_sure = question == self._question or self._others >= _OTHERS
            if self._is_plain or (is_sure and len(self._tried) == 1):
                self._learnt += self._tried
                back = (len(self._held) + 1) // 2
            elif is_sure:
                self._held += self._tried
                back = len(self._tried) // 2
            else:
                return
            self._end_trial()
        else:
            back = (len(self._held) + 1) // 2
        # The last one of all is sent again too, to see it refused alone.
        del self._held[len(self._held) - back :]
        self._apply()

    def _end_trial(self) -> None:
        self._tried, self._is_plain, self._question, self._others = [], False, None, 0

    def _all(self) -> list[str]:
        values = self._wanted.values
        changes = [name for name in _ONE_EACH if name in values]
        if values.get("top_logprobs", 0) > FEW_LOGPROBS:
            changes.append(_FEWER_LOGPROBS)
        if any(name in values for name in _OF_LOGPROBS):
            changes.append(_NO_LOGPROBS)
        if any(name in values for name in LIMITS):
            changes.append(_OTHER_LIMIT)
        return changes + ([STREAM, _STREAM_USAGE] if self._may_stream else [])

    def _is_made(self, change: str, values: Mapping[str, Any]) -> bool:
        if change == _FEWER_LOGPROBS:
            return values.get("top_logprobs") != self._wanted.values["top_logprobs"]
        if change == _NO_LOGPROBS:
            return not any(name in values for name in _OF_LOGPROBS)
        if change == _OTHER_LIMIT:
            return not any(name in values for name in LIMITS if name in self._wanted.values)
        return (change in values) == (change == STREAM)

    def _changes(self, names: Iterable[str]) -> list[str]:
        """The changes that errors about these parameters require, without those made already."""
        candidates = []
        for name in names:
            if name in _OF_LOGPROBS:
                candidates += [_FEWER_LOGPROBS, _NO_LOGPROBS]
            else:
                candidates.append(_OTHER_LIMIT if name in LIMITS else name)
        done = {*self._learnt, *self._tried, *self._held}
        possible = [c for c in dict.fromkeys(candidates) if c in self._all() and c not in done]
        # Fewer alternatives first, then none.
        return [c for c in possible if c != _NO_LOGPROBS or _FEWER_LOGPROBS not in possible]

    def _untried(self) -> list[str]:
        done = {*self._learnt, *self._tried, *self._held, *self._accepted}
        left = [change for change in self._all() if change not in done]
        left = [c for c in left if c not in (_FEWER_LOGPROBS, STREAM, _STREAM_USAGE)]
        return [change for change in left if change != _OTHER_LIMIT] or left

    def _apply(self) -> bool:
        """Make the parameters of the next request; return whether they are others than before."""
        changes = {*self._learnt, *self._tried, *self._held}
        values = dict(self._wanted.values)
        for change in changes.intersection(_ONE_EACH):
            del values[change]
        if _FEWER_LOGPROBS in changes:
            values["top_logprobs"] = FEW_LOGPROBS
        if _NO_LOGPROBS in changes:
            for name in _OF_LOGPROBS:
                values.pop(name, None)
        if _OTHER_LIMIT in changes:
            name = next(name for name in LIMITS if name in values)
            values[LIMITS[name]] = values.pop(name)  # of two names, the second is last
        if STREAM in changes:
            values |= {STREAM: True, _STREAM_USAGE: {"include_usage": True}}
        if _STREAM_USAGE in changes:
            values.pop(_STREAM_USAGE, None)
        if values == self.current.values:
            return False
        self.current = Parameters(values)
        return True


def differences(wanted: Mapping[str, Any], sent: Mapping[str, Any]) -> list[str]:
    """Sentences on how the sent parameters differ from the wanted ones.

    The limit of tokens under its other name is the same limit, so it is not a difference.
    """
    words = []
    for name, value in wanted.items():
        if name in sent:
            if sent[name] != value:
                words.append(f"with {name} {sent[name]} instead of {value}")
        elif LIMITS.get(name) not in sent:
            words.append(f"without {name}")
    return words
