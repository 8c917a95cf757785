"""Spans of a run: their names, numbers and order, and no text of an item."""

import logging

import pytest

from extras.administration.telemetry import spans
from judging.watching import MORE
from studies.models import Item
from tests.judging.llm_server import completion, error
from tests.judging.run_helpers import judge_all, study_of

SECRET = "a text that no span may have"


@pytest.fixture
def tracer(monkeypatch):
    """A tracer that keeps what it ends; needs opentelemetry-sdk."""
    export = pytest.importorskip("opentelemetry.sdk.trace.export.in_memory_span_exporter")
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor

    exporter, provider = export.InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    monkeypatch.setattr(spans.SPANS, "_tracer", lambda: provider.get_tracer("test"))
    return exporter


@pytest.mark.django_db(transaction=True)
def test_a_run_is_a_span_with_its_requests_below_and_no_text(tracer, judge, llm):
    study = study_of(2)
    Item.objects.filter(study=study).update(question=SECRET)
    llm.answer = lambda body, n: error(500, SECRET) if n == 1 else completion("A]] " + SECRET)

    run = judge_all(study, judge)

    *requests, chunk = tracer.get_finished_spans()
    assert (chunk.name, chunk.attributes["thirdperson.run"]) == ("judge mock", run.public_id)
    assert {span.parent.span_id for span in requests} == {chunk.context.span_id}
    assert [span.name for span in requests] == ["chat mock"] * 3
    (failed,) = [span for span in requests if not span.status.is_unset]
    assert failed.attributes["error.type"] == "500"
    for span in requests:
        found = span.attributes
        assert found["gen_ai.operation.name"] == "chat"
        assert found["gen_ai.provider.name"] == "openai"
        assert found["gen_ai.request.temperature"] == 0.7
        if span is not failed:
            assert found["gen_ai.response.model"] == "mock-2024-05-13"
            assert found["gen_ai.usage.input_tokens"] > 0
    assert SECRET not in "".join(span.to_json() for span in tracer.get_finished_spans())


@pytest.mark.parametrize("is_named", [False, True])
def test_it_is_off_without_an_endpoint_or_the_package(monkeypatch, caplog, is_named):
    for name in spans.ENDPOINTS:
        monkeypatch.delenv(name, raising=False)
    if is_named:
        monkeypatch.setenv(spans.ENDPOINTS[0], "http://127.0.0.1:9")
        monkeypatch.setitem(__import__("sys").modules, "opentelemetry.sdk.trace", None)
    spans.tracer_of.cache_clear()

    with caplog.at_level(logging.WARNING), spans.SPANS.chunk(run=None) as watch:
        assert watch is None

    assert ("pip install opentelemetry" in caplog.text) is is_named
    assert spans.SPANS in list(MORE)
    spans.tracer_of.cache_clear()
