"""The backend of models in this process: its settings, and the parameters that it records.

torch is imported with the first question, and never for other backends.
"""

import importlib.util
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from extras.local_models.options import ModelOptions, check_options, read_options
from extras.local_models.revisions import exact_revision
from extras.local_models.thread import LOAD_SECONDS, Model, ModelThread
from judging.backends.backend import (
    INSTEAD_OF_REPLY,
    NO_PROBABILITIES,
    WITH_REPLY,
    BackendKind,
    Capabilities,
    JudgeSettings,
    OwnForm,
)
from judging.backends.parameters import SEED
from judging.engine.interface import Backend, JudgeQuestion, Parameters, Reply
from judging.errors import ConflictingValue, Reason

_NO_PACKAGES = Reason(
    "no_packages",
    "{field} transformers needs torch and transformers in this environment: “.venv/bin/pip install "
    "-r requirements-gpu.txt”. Or serve the model with “vllm serve MODEL” and add it with {field} "
    "openai and {names[base_url]} http://HOST:8000/v1.",
)


@dataclass(frozen=True)
class TransformersSettings:
    """Settings of a local model; `model` is a folder or a name, with an optional `@revision`.

    `scores` asks for the options' probabilities next to the reply, `only_scores` instead of it.
    """

    model: str
    temperature: float
    top_p: float
    max_tokens: int
    batch_size: int
    scores: bool = False
    only_scores: bool = False
    options: ModelOptions = field(default_factory=ModelOptions)


def intended_parameters(settings: TransformersSettings) -> Parameters:
    options = settings.options.stored()
    return Parameters(
        {
            "model": settings.model,
            "temperature": settings.temperature,
            "top_p": settings.top_p,
            "max_tokens": settings.max_tokens,
            "seed": SEED,
            "scores": "only" if settings.only_scores else settings.scores,
        }
        | ({"options": options} if options else {})
    )


class TransformersBackend:
    """Answers by a model that is loaded with the first question, in a thread of its own."""

    step_seconds = LOAD_SECONDS

    def __init__(self, settings: TransformersSettings) -> None:
        self._settings = settings
        refills = settings.options.refill == "on" and not settings.only_scores
        self._thread = ModelThread(self._load, batch_size=settings.batch_size, refills=refills)
        self._parameters = intended_parameters(settings)

    def _load(self) -> Model:
        from extras.local_models.model import LocalModel

        return LocalModel(self._settings)

    @property
    def moved_at(self) -> float:
        """When the model last made a step, by the monotonic clock."""
        return self._thread.moved_at

    def parameters(self) -> Parameters:
        return self._parameters

    async def ask(self, question: JudgeQuestion, *, seed: int, parameters: Parameters) -> Reply:
        return await self._thread.ask(question, seed=seed)

    async def close(self) -> None:
        await self._thread.close()


class TransformersKind(BackendKind):
    name = "transformers"
    label = "in-process transformers"
    capabilities = Capabilities(
        is_local=True, probabilities=frozenset({WITH_REPLY, INSTEAD_OF_REPLY})
    )
    own_form = OwnForm(
        preset="local",
        title="Local model",
        words="In the workers themselves, by transformers",
        form="extras.local_models.forms:LocalJudgeForm",
    )
    options_help = (
        "how a local model is loaded and asked: dtype, quantisation, device_map, attention, "
        "chat_template, thinking, template.NAME"
    )

    def check(self, judge: JudgeSettings) -> None:
        """Look for the packages without importing them: that would take seconds and memory."""
        if not all(importlib.util.find_spec(name) for name in ("torch", "transformers")):
            raise ConflictingValue("backend", _NO_PACKAGES)
        options = read_options(dict(judge.model_options))
        check_options(options, scores=judge.probabilities != NO_PROBABILITIES)

    def exact_options(self, judge: JudgeSettings) -> Mapping[str, Any]:
        options = read_options(dict(judge.model_options))
        if not options.revision:
            options = replace(options, revision=exact_revision(judge.model))
        return options.stored()

    def connect(self, judge: JudgeSettings) -> Callable[[], Backend]:
        self.check(judge)
        settings = _settings(judge)
        return lambda: TransformersBackend(settings)

    def intended_parameters(self, judge: JudgeSettings) -> Parameters:
        return intended_parameters(_settings(judge))


TRANSFORMERS = TransformersKind()


def _settings(judge: JudgeSettings) -> TransformersSettings:
    return TransformersSettings(
        model=judge.model,
        temperature=judge.temperature,
        top_p=judge.top_p,
        max_tokens=judge.max_tokens,
        # Half of the questions in hand: the next batch fills while one is computed.
        batch_size=max(1, judge.concurrency // 2),
        scores=judge.probabilities == WITH_REPLY,
        only_scores=judge.probabilities == INSTEAD_OF_REPLY,
        options=read_options(dict(judge.model_options)),
    )
