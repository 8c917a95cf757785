"""The models that a server says it offers, and what it says about each.

Names come from the list that every server has. A server in the own network is also asked by the
routes of vLLM, SGLang, llama.cpp, Ollama, LM Studio and LiteLLM that describe it; the key goes only
to addresses below the judge's. What a server does not say stays unknown: nothing is guessed from a
name.
"""

import asyncio
import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from decimal import Decimal, DecimalException
from typing import Any

from judging.backends.backend import BackendKind, JudgeSettings, is_own_network
from judging.backends.completions import storable
from judging.backends.model_lists import (
    ServerQuestions,
    all_entries,
    entries_by_name,
    entry_name,
    list_request,
)
from judging.engine.interface import BackendFault, TimedOut

SECONDS = 8.0  # for everything that is asked
_MOST_SHOWN = 40  # models that are asked about one by one


@dataclass(frozen=True, kw_only=True)
class ListedModel:
    """A model of a server, and what the server says about it; None is what it does not say.

    `context` is in tokens, prices are in US dollars per million tokens.
    """

    name: str
    context: int | None = None
    images: bool | None = None
    audio: bool | None = None
    structured: bool | None = None
    probabilities: bool | None = None
    decisions: bool | None = None
    price_input: Decimal | None = None
    price_output: Decimal | None = None
    price_cached_input: Decimal | None = None

    @property
    def is_described(self) -> bool:
        """Whether the server says more than the name."""
        return self != ListedModel(name=self.name)


@dataclass(frozen=True, kw_only=True)
class ModelList:
    """What a server offers; `server` is its kind, if it says so."""

    models: list[ListedModel]
    server: str = ""


def list_models(
    kind: BackendKind,
    judge: JudgeSettings,
    *,
    seconds: float = SECONDS,
    in_detail: bool = True,
    through_proxy: bool = True,
) -> ModelList:
    """Ask a judge's server for its models. Raises `BackendFault` or `BadJudge`."""
    address, headers = list_request(kind, judge)
    questions = ServerQuestions(judge, headers, seconds, through_proxy)
    return asyncio.run(_within(seconds, questions, address, in_detail=in_detail))


async def _within(
    seconds: float, questions: ServerQuestions, address: str, *, in_detail: bool
) -> ModelList:
    try:
        async with asyncio.timeout(seconds):
            found = read_list(await questions.fetch(address, with_key=True))
            if not in_detail or not is_own_network(questions.judge.base_url):
                return found
            with suppress(TimeoutError):  # the names are known
                async with asyncio.timeout(seconds / 2):
                    return await _described(questions, found)
            return found
    except TimeoutError as error:
        raise TimedOut(f"no answer within {seconds:.0f} seconds") from error


async def _described(questions: ServerQuestions, found: ModelList) -> ModelList:
    """Add what the server says about itself by routes of its own."""
    base = questions.judge.base_url.rstrip("/")
    root = base.removesuffix("/v1")
    routes, properties, catalogue, version, info = await asyncio.gather(
        _try(questions, f"{root}/openapi.json"),
        _try(questions, f"{root}/props"),
        _try(questions, f"{root}/api/v0/models"),
        _try(questions, f"{root}/api/version"),
        _try(questions, f"{base}/model/info", with_key=True),
    )
    if isinstance(_at(routes, "paths"), dict):
        found = _with_routes(found, routes)
    if isinstance(_at(properties, "default_generation_settings"), dict):
        found = _of_llama_cpp(found, properties)
    if rows := _rows(catalogue, "data"):
        found = _merged(found, {entry_name(r): _of_lm_studio(r) for r in rows}, "LM Studio")
    if rows := _rows(info, "data"):
        stated = {str(_at(row, "model_name")): _of_litellm(row) for row in rows}
        found = _merged(found, stated, "LiteLLM")
    if isinstance(number := _at(version, "version"), str) and not routes:
        names = [model.name for model in found.models[:_MOST_SHOWN]]
        shown = await asyncio.gather(*(_show(questions, root, name) for name in names))
        rows_by_name = dict(zip(names, map(_of_ollama, shown), strict=True))
        found = _merged(found, rows_by_name, f"Ollama {storable(number)[:20]}")
    return found


async def _show(questions: ServerQuestions, root: str, name: str) -> Any:
    return await _try(questions, f"{root}/api/show", content=json.dumps({"model": name}).encode())


async def _try(
    questions: ServerQuestions, address: str, *, with_key: bool = False, content: bytes = b""
) -> Any:
    """What is at an address; None if the server has nothing to say there."""
    with suppress(BackendFault):
        return await questions.fetch(address, with_key=with_key, content=content)
    return None


def read_list(answer: Any) -> ModelList:
    """The models of a list. Raises `Garbage` if it is none."""
    models = [_model(name, row) for name, row in entries_by_name(answer).items()]
    owners = {str(_at(row, "owned_by")) for row in all_entries(answer)}
    kinds = {"vllm": "vLLM", "sglang": "SGLang", "llamacpp": "llama.cpp"}
    server = next((kinds[owner] for owner in owners if owner in kinds), "")
    return ModelList(models=models, server=server)


def _model(name: str, row: Any) -> ListedModel:
    """One entry of a list. Each field has the name that one or several servers give it."""
    takes = _at(row, "architecture", "input_modalities")
    parameters = _at(row, "supported_parameters")
    providers = [each for each in _rows(row, "providers") or [] if _at(each, "status") == "live"]
    images = _has(takes, "image")
    for stated in (
        _at(row, "capabilities", "vision"),
        _at(row, "capabilities", "image_input", "supported"),
    ):
        images = stated if isinstance(stated, bool) else images
    structured = _has(parameters, "structured_outputs")
    if isinstance(stated := _at(row, "capabilities", "structured_outputs", "supported"), bool):
        structured = stated
    model = ListedModel(
        name=name,
        context=_first_number(
            _at(row, "context_length"),
            _at(row, "max_model_len"),
            _at(row, "max_context_length"),
            _at(row, "max_input_tokens"),
            _at(row, "inputTokenLimit"),
            min(_numbers(each.get("context_length") for each in providers), default=None),
        ),
        images=images,
        audio=_has(takes, "audio"),
        structured=_common(providers, "supports_structured_output") if providers else structured,
        probabilities=_has(parameters, "logprobs"),
    )
    return _with_prices(model, *_prices(row, providers))


_Prices = tuple[Decimal | None, Decimal | None, Decimal | None]  # of input, output, cached input


def _prices(row: Any, providers: Sequence[Mapping[str, Any]]) -> _Prices:
    """Prices of a list: for a token (prompt, completion) or for a million (input, output)."""
    pricing = _at(row, "pricing")
    if providers:
        offers = [_at(each, "pricing") for each in providers]
        pricing = offers[0] if all(each == offers[0] for each in offers) else None
    if _at(pricing, "prompt") is not None:
        names, scale = ("prompt", "completion", "input_cache_read"), 1_000_000
    else:
        names, scale = ("input", "output", "cached"), 1
    given, wanted, cached = (_amount(_at(pricing, name), scale) for name in names)
    return given, wanted, cached


def _with_prices(
    model: ListedModel, given: Decimal | None, wanted: Decimal | None, cached: Decimal | None
) -> ListedModel:
    """Prices as a judge has them: both or none, and cached input is not above other input."""
    if given is None or wanted is None:
        return model
    fits = cached is not None and cached <= given
    return replace(
        model,
        price_input=given,
        price_output=wanted,
        price_cached_input=cached if fits else None,
    )


def _amount(value: Any, scale: int) -> Decimal | None:
    if isinstance(value, bool) or not isinstance(value, (str, int, float)):
        return None
    try:
        amount = (Decimal(str(value)) * scale).quantize(Decimal("0.000001"))
        return amount.normalize() + 0 if 0 <= amount < 1_000_000 else None
    except DecimalException:
        return None


def _with_routes(found: ModelList, described: Any) -> ModelList:
    """What the description of a server's routes says: of vLLM, SGLang, LiteLLM and others."""
    paths = _at(described, "paths")
    decides = any(path in paths for path in ("/v1/decisions", "/v1/systemone"))
    fields = _at(described, "components", "schemas", "ChatCompletionRequest", "properties")
    return replace(
        found,
        models=[
            replace(
                model,
                decisions=decides,
                structured=_known(model.structured, _has(fields, "response_format")),
                probabilities=_known(model.probabilities, _has(fields, "logprobs")),
            )
            for model in found.models
        ],
    )


def _of_llama_cpp(found: ModelList, properties: Any) -> ModelList:
    images, audio = (_at(properties, "modalities", name) for name in ("vision", "audio"))
    context = _first_number(_at(properties, "default_generation_settings", "n_ctx"))
    stated = ListedModel(name="", context=context, images=_flag(images), audio=_flag(audio))
    return _merged(found, {model.name: stated for model in found.models}, "llama.cpp")


def _of_lm_studio(row: Any) -> ListedModel:
    kind = _at(row, "type")
    return ListedModel(
        name="" if kind != "embeddings" else "-",
        context=_first_number(_at(row, "loaded_context_length"), _at(row, "max_context_length")),
        images=kind == "vlm" if kind in ("llm", "vlm") else None,
    )


def _of_litellm(row: Any) -> ListedModel:
    info = _at(row, "model_info")
    given, wanted, cached = (
        _amount(_at(info, name), 1_000_000)
        for name in ("input_cost_per_token", "output_cost_per_token", "cache_read_input_token_cost")
    )
    model = ListedModel(
        name="",
        context=_first_number(_at(info, "max_input_tokens")),
        images=_flag(_at(info, "supports_vision")),
        structured=_flag(_at(info, "supports_response_schema")),
    )
    # 0 is what LiteLLM says of a model that it knows no price of.
    return _with_prices(model, given, wanted, cached) if given or wanted else model


def _of_ollama(shown: Any) -> ListedModel:
    able = _at(shown, "capabilities")
    about = _at(shown, "model_info")
    lengths = about.items() if isinstance(about, dict) else ()
    return ListedModel(
        name="-" if isinstance(able, list) and "completion" not in able else "",
        context=_first_number(*(v for key, v in lengths if str(key).endswith(".context_length"))),
        images=_has(able, "vision"),
        decisions=_has(able, "decision"),
    )


def _merged(found: ModelList, stated: Mapping[str, ListedModel], server: str) -> ModelList:
    """Add to each model what is stated of it; one with the name “-” there writes no text."""
    models = []
    for model in found.models:
        more = stated.get(model.name)
        if more is None:
            models.append(model)
        elif more.name != "-":
            given = {n: v for n, v in vars(more).items() if n != "name" and v is not None}
            models.append(replace(model, **given))
    return ModelList(models=models, server=server)


def _at(value: Any, *path: str) -> Any:
    for name in path:
        value = value.get(name) if isinstance(value, dict) else None
    return value


def _rows(value: Any, name: str) -> list[dict[str, Any]] | None:
    rows = _at(value, name)
    return [row for row in rows if isinstance(row, dict)] if isinstance(rows, list) else None


def _has(names: Any, name: str) -> bool | None:
    return name in names if isinstance(names, (list, dict)) else None


def _flag(value: Any) -> bool | None:
    return value if isinstance(value, bool) else None


def _known(first: bool | None, second: bool | None) -> bool | None:
    return second if first is None else first


def _common(rows: Sequence[Mapping[str, Any]], name: str) -> bool | None:
    """What all rows say alike."""
    stated = {_flag(row.get(name)) for row in rows}
    return stated.pop() if len(stated) == 1 else None


def _numbers(values: Any) -> list[int]:
    return [v for v in values if isinstance(v, int) and not isinstance(v, bool) and v > 0]


def _first_number(*values: Any) -> int | None:
    return next(iter(_numbers(values)), None)
