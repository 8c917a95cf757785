"""Decision endpoints: servers that give the probability of every allowed answer, and no text.

A judge that names no format of requests is asked in the first one; if the server refuses that, in
the other.
"""

import asyncio
import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any

from extras.judge_models.decision_formats import WIRES, read_decision
from judging.backends.backend import (
    INSTEAD_OF_REPLY,
    OPENAI_URL,
    WIRE,
    BackendKind,
    Capabilities,
    JudgeSettings,
)
from judging.backends.bodies import body_text
from judging.backends.completions import (
    short,
    stated_status,
    status_fault,
    storable,
    usage_of_error,
    without_keys,
)
from judging.backends.error_messages import declines_content, error_body, refuses_model
from judging.backends.openai import (
    MAY_ADJUST,
    OpenAIKind,
    Server,
    raise_if_redirected,
    retry_after,
    server_of,
)
from judging.backends.parameters import prepared
from judging.engine.interface import (
    AdjustedRequest,
    Backend,
    BackendFault,
    ClosedQuestion,
    JudgeQuestion,
    NotOffered,
    Parameters,
    Rejected,
    Reply,
)
from judging.engine.messages import from_user
from judging.errors import BadJudge, FailureReason, InvalidValue
from judging.protocols.protocol import Standard

_FIND_SECONDS = 10.0
_NO_WIRE = FailureReason("no_wire", "{field} must be openai or systemone, not “{value}”.")


class DecisionsBackend:
    """Asks in the judge's format, or finds it: `found` has it once a request was answered."""

    def __init__(self, judge: JudgeSettings, server: Server) -> None:
        self._model, self._url = judge.model, judge.base_url
        extra = judge.extra_fields
        self._extra = extra.body
        self._server = server
        self._client = server.http_client()
        named = dict(judge.model_options).get(WIRE, "")
        self._is_named = bool(named)
        self._parameters = {
            wire: Parameters({"model": judge.model, WIRE: wire, **extra.stored}) for wire in WIRES
        }
        self._wire = named or next(iter(WIRES))
        self._refused: dict[str, Rejected] = {}  # by format, until one is answered
        self.found: Mapping[str, Any] = {}

    def parameters(self) -> Parameters:
        return self._parameters[self._wire]

    async def ask(self, question: JudgeQuestion, *, seed: int, parameters: Parameters) -> Reply:
        if question.closed is None or not question.options:
            raise Rejected(
                "A decision endpoint chooses between answers, and here is none to choose."
            )
        wire = parameters.values[WIRE]
        try:
            reply = await self._ask(wire, question, seed)
        except Rejected as fault:
            if self._is_named or fault.status not in MAY_ADJUST - {403}:
                raise
            self._refused[wire] = fault
            if self._tries_other(wire):
                raise AdjustedRequest(str(fault), status=fault.status) from fault
            # What says more than that there is nothing at an address.
            refused, self._refused = self._refused.values(), {}
            raise next(
                (refusal for refusal in refused if refusal.status not in _NOTHING), fault
            ) from fault
        if not self._is_named and not self.found:
            self._wire, self.found = wire, {WIRE: wire}
        return reply

    def _tries_other(self, wire: str) -> bool:
        if self.found:
            return self.found[WIRE] != wire
        left = [name for name in WIRES if name not in self._refused]
        # If none is left, the next question begins again.
        self._wire = (left or list(WIRES))[0]
        return bool(left)

    async def _ask(self, wire: str, question: JudgeQuestion, seed: int) -> Reply:
        from judging.backends.connections import faults  # which loads the HTTP library

        content = await prepared(
            question, partial(WIRES[wire].content, self._model, question, self._extra)
        )
        address = address_of(self._url, WIRES[wire].route)
        with faults(self._server.timeout):
            response = await self._client.post(
                address,
                content=content,
                headers=self._server.all_headers(),
                params=self._server.query or None,
            )
        headers, sent_as = response.headers, response.status_code
        raise_if_redirected(sent_as, headers, asked=address)
        told = without_keys(response.content, self._server.secrets)
        status = stated_status(sent_as, told)
        request_id = storable(headers.get("x-request-id", ""))[:200]
        if 200 <= status < 300:
            try:
                return read_decision(
                    told, question, seed=seed, status=status, request_id=request_id
                )
            except BackendFault as fault:
                fault.usage = usage_of_error(told)
                raise
        body = error_body(told)
        if 400 <= status < 500 and declines_content(body):
            text = short(str(body.get("message") or ""))
            usage = usage_of_error(told)
            return Reply(text, refused=True, request_id=request_id, status=status, usage=usage)
        raise fault_of(
            status,
            told,
            model=self._model,
            address=address,
            wait=retry_after(headers),
        )

    async def close(self) -> None:
        await self._client.aclose()


_NOTHING = frozenset({404, 405})  # statuses of an address without a route
_READ = 400
_LABELS = re.compile(r"\b(?:one|single|several|multiple)\b[^.]{0,40}\btokens?\b", re.IGNORECASE)
_THINKS = re.compile(r"\bthink|\breasoning\b", re.IGNORECASE)
_TEMPLATE = re.compile(r"\bchat[ _-](?:template|options)\b", re.IGNORECASE)
_CHAT_MODEL = re.compile(
    r"\bchat models?\b|\b(?:not|no|only)\b[^.]{0,30}\bdecisions?\b(?:[ _-]models?\b)?"
    r"|\bdoes not support\b[^.]{0,30}\b(?:decisions?|system ?one)\b",
    re.IGNORECASE,
)
_AS_CHAT = (
    "To ask this model all the same, add a judge with the backend openai that requests option "
    "probabilities next to its reply."
)


def fault_of(
    status: int, content: bytes, *, model: str, address: str, wait: float | None
) -> BackendFault:
    """The fault of a refused request; what concerns every question says what to do."""
    body = error_body(content)
    usual = status_fault(status, content, wait)
    # Only the beginning, because some servers repeat the prompt.
    text = str(body.get("message") or body.get("detail") or body_text(content))[:_READ]
    offers = partial(NotOffered, message=f"HTTP {status}: {short(text)}", status=status)
    is_refused = status in {400, 404, 422}
    if status == 501:
        return offers(
            f"The server has no way to read decisions from the model “{model}”.",
            f"Use a model that its message names. {_AS_CHAT}",
        )
    if is_refused and _LABELS.search(text):
        return offers(
            f"The model “{model}” splits a label of an answer (A, B, C, yes or no) into several "
            "tokens, so that its probability cannot be read.",
            f"Use another model. {_AS_CHAT}",
        )
    if is_refused and _THINKS.search(text):
        return offers(
            f"The model “{model}” thinks before it answers, so that the server cannot read "
            "probabilities.",
            f"Switch thinking off at the server, or use a model that does not think. {_AS_CHAT}",
        )
    if is_refused and _TEMPLATE.search(text):
        return offers(
            f"The chat template of the model “{model}” does not fit the decision endpoint.",
            f"Start the server with the template of the model, or use another one. {_AS_CHAT}",
        )
    if is_refused and _CHAT_MODEL.search(text):
        return offers(
            f"This host serves decision models only, and “{model}” is none.",
            f"Use a decision model that it lists. {_AS_CHAT}",
        )
    if status in _NOTHING and not (refuses_model(body) or body.get("param") == "model"):
        return offers(
            f"There is no decision endpoint at {address}.",
            "Check the address, which of most servers ends in /v1, and the format: openai asks "
            "/decisions, systemone asks /systemone. Older servers have neither.",
        )
    param = str(body.get("param") or "")
    if status in {400, 422} and param and not param.startswith(("input", "state", "model")):
        return offers(
            f"The server refuses the part “{short(param)}” of the request.",
            "It may know the other format alone: try openai or systemone.",
        )
    return usual


def address_of(base_url: str, route: str) -> str:
    """The address of a route. An address that ends in one itself is used as it is given."""
    base = base_url.rstrip("/")
    is_whole = base.rpartition("/")[2] in {wire.route for wire in WIRES.values()}
    return base if is_whole else f"{base}/{route}"


_ANY = JudgeQuestion(
    0,
    from_user("[Response A]\nPi is 3.14159.\n\n[Response B]\nPi is 4."),
    protocol=Standard(),
    seed=0,
    closed=ClosedQuestion("Which response is right?"),
)


class DecisionsKind(BackendKind):
    name = "decisions"
    label = "Decision endpoint"
    capabilities = Capabilities(
        needs_endpoint=True,
        probabilities=frozenset({INSTEAD_OF_REPLY}),
        media=frozenset({"image/png", "image/jpeg", "image/webp"}),
    )
    default_base_url = OPENAI_URL
    packages = ("httpx2",)
    takes_extra_fields = True
    # Nothing is sampled, and no reply is written.
    always = {
        "probabilities": INSTEAD_OF_REPLY,
        "temperature": 0.0,
        "top_p": 1.0,
        "max_tokens": 16,
        "thinking_tokens": 0,
    }
    options_of_address = frozenset({WIRE})
    wires = tuple(WIRES)

    def exact_options(self, judge: JudgeSettings) -> Mapping[str, Any]:
        others = dict(judge.model_options)
        wire = others.pop(WIRE, "")
        if wire and wire not in WIRES:
            raise InvalidValue(WIRE, _NO_WIRE, value=wire)
        kept = super().exact_options(replace(judge, model_options=tuple(others.items())))
        return {**kept, WIRE: wire} if wire else kept

    def connect(self, judge: JudgeSettings) -> Callable[[], Backend]:
        server = server_of(judge)
        return lambda: DecisionsBackend(judge, server)

    def intended_parameters(self, judge: JudgeSettings) -> Parameters:
        wire = dict(judge.model_options).get(WIRE)
        named = {WIRE: wire} if wire else {}
        return Parameters({"model": judge.model, **named, **judge.extra_fields.stored})

    def found_options(self, judge: JudgeSettings) -> Mapping[str, Any]:
        """Ask a question of a few words, unless the format is named; nothing if none answers."""
        if dict(judge.model_options).get(WIRE):
            return {}
        make = self.connect(
            replace(judge, timeout_seconds=min(_FIND_SECONDS, judge.timeout_seconds))
        )

        async def ask() -> Mapping[str, Any]:
            backend = make()
            assert isinstance(backend, DecisionsBackend)  # noqa: S101
            try:
                for _ in WIRES:
                    with suppress(AdjustedRequest):
                        await backend.ask(_ANY, seed=0, parameters=backend.parameters())
                        break
                return backend.found
            finally:
                await backend.close()

        try:
            return asyncio.run(ask())
        except (BackendFault, BadJudge):
            return {}

    def list_request(self, judge: JudgeSettings) -> tuple[str, dict[str, str]]:
        return OpenAIKind().list_request(judge)


DECISIONS = DecisionsKind()
