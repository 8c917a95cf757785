"""A span for each chunk of a run that a worker asks, and one below it for each request.

They have the names and numbers of GenAI's semantic conventions, and never a text: neither prompts
and replies, nor errors, which can quote them. OpenTelemetry's own variables configure the export.
"""

import logging
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING, Any

from judging.engine.interface import AttemptEnd, Parameters, Reply, RequestWatch
from judging.models import JudgeRun
from studies.version import version

if TYPE_CHECKING:
    from opentelemetry.trace import Tracer

logger = logging.getLogger(__name__)
ENDPOINTS = ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")
# The convention's names of providers; others keep the name of their backend.
_PROVIDERS = {"gemini": "gcp.gemini"}
_PARAMETERS = {
    "temperature": "gen_ai.request.temperature",
    "top_p": "gen_ai.request.top_p",
    "max_tokens": "gen_ai.request.max_tokens",
    "max_completion_tokens": "gen_ai.request.max_tokens",
    "max_output_tokens": "gen_ai.request.max_tokens",
}


class Spans:
    """Watches runs if `tracer` gives a tracer; without one, nothing is done."""

    name = "telemetry"

    def __init__(self, tracer: "Callable[[], Tracer | None]") -> None:
        self._tracer = tracer

    @contextmanager
    def chunk(self, run: JudgeRun) -> Iterator[RequestWatch | None]:
        tracer = self._tracer()
        if tracer is None:
            yield None
            return
        about = {
            "gen_ai.operation.name": "chat",
            "gen_ai.provider.name": _PROVIDERS.get(run.judge.backend, run.judge.backend),
            "gen_ai.request.model": run.judge.model,
        }
        facts = {"thirdperson.run": run.public_id, "thirdperson.setting": run.setting}
        with tracer.start_as_current_span(
            f"judge {run.judge.model}",
            attributes=about | facts,
            # An error can quote a text.
            record_exception=False,
            set_status_on_exception=False,
        ):
            yield _requests(tracer, about)


def _requests(tracer: "Tracer", about: Mapping[str, str]) -> RequestWatch:
    """Spans of requests below the current one, whose thread only waits for them."""
    from opentelemetry import context
    from opentelemetry.trace import SpanKind, Status, StatusCode

    chunk = context.get_current()

    def watch(parameters: Parameters) -> Callable[[AttemptEnd, Reply | None], None]:
        sent = {
            name: value
            for key, name in _PARAMETERS.items()
            if isinstance(value := parameters.values.get(key), int | float)
        }
        name = f"chat {about['gen_ai.request.model']}"
        attributes = {**about, **sent}
        span = tracer.start_span(name, context=chunk, kind=SpanKind.CLIENT, attributes=attributes)

        def ended(end: AttemptEnd, reply: Reply | None) -> None:
            span.set_attributes(_of_reply(end, reply))
            if reply is None:
                span.set_status(Status(StatusCode.ERROR))
            span.end()

        return ended

    return watch


def _of_reply(end: AttemptEnd, reply: Reply | None) -> dict[str, Any]:
    attributes: dict[str, Any] = {}
    if end.status is not None:
        attributes["http.response.status_code"] = end.status
    if reply is None:
        attributes["error.type"] = str(end.status or end.outcome)
        return attributes
    attributes["gen_ai.response.finish_reasons"] = ["length" if reply.truncated else "stop"]
    if reply.model:
        attributes["gen_ai.response.model"] = reply.model
    if reply.request_id:
        attributes["gen_ai.response.id"] = reply.request_id
    if reply.usage:
        attributes["gen_ai.usage.input_tokens"] = reply.usage.prompt_tokens
        attributes["gen_ai.usage.output_tokens"] = reply.usage.completion_tokens
    return attributes


def _configured() -> "Tracer | None":
    return tracer_of(os.getpid())


@cache
def tracer_of(pid: int) -> "Tracer | None":
    """The tracer of this process, which sends spans in the background; None if it is off."""
    if not any(os.environ.get(name) for name in ENDPOINTS):
        return None
    try:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor
    except ImportError:
        logger.warning("Telemetry is off: pip install opentelemetry-exporter-otlp-proto-http")
        return None
    os.environ.setdefault("OTEL_SERVICE_NAME", "thirdperson")
    provider = TracerProvider()
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    return provider.get_tracer("thirdperson", version())


SPANS = Spans(_configured)
