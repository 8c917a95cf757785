"""Anthropic and Gemini through their own libraries, against a server in their wire formats."""

import asyncio
import base64
import gzip
import logging
import threading
from dataclasses import replace
from decimal import Decimal
from types import SimpleNamespace

import pytest

from judging.backends.backend import JudgeSettings, api_key
from judging.backends.kinds import backend_kind
from judging.engine.interface import (
    AdjustedRequest,
    Garbage,
    JudgeQuestion,
    Misconfigured,
    NoAccess,
    RateLimited,
    Rejected,
    ServerError,
    TimedOut,
    Unreachable,
)
from judging.engine.messages import Attachment, Message
from judging.errors import BadJudge, InvalidValue
from judging.protocols.registry import protocol
from judging.runs.judges import add_judge
from judging.worker.endpoints import settings_of
from tests.extras.provider_libraries.provider_server import (
    Answer,
    ProviderServer,
    claude,
    claude_error,
    gemini,
    gemini_blocked,
    gemini_error,
)
from tests.judging.run_helpers import judge_all, study_of

KEY = "secret-key-1234"
OK = {"anthropic": claude, "gemini": gemini}
BOTH = pytest.mark.parametrize("backend", list(OK))
QUESTION = JudgeQuestion(
    id=1,
    messages=(
        Message("system", "Judge."),
        Message("user", "A or B?"),
        Message("assistant", "Hm."),
        Message("user", "So?"),
    ),
    protocol=protocol("standard"),
    seed=1,
)


@pytest.fixture
def server(monkeypatch):
    monkeypatch.setenv("JUDGE_KEY_TEST", KEY)
    # What the libraries would read by themselves must not reach any server.
    for name in ("ANTHROPIC_AUTH_TOKEN", "GOOGLE_API_KEY", "GEMINI_API_KEY"):
        monkeypatch.setenv(name, "another-key")
    made = ProviderServer(lambda n: claude())
    yield made
    made.stop()


def settings(backend, url, **changes):
    fields = {"name": "j", "model": "m-1", "base_url": url, "api_key_env": "JUDGE_KEY_TEST"}
    fields |= {"timeout_seconds": 20.0, "temperature": 0.5, "top_p": 0.9, "max_tokens": 77}
    return JudgeSettings(**fields | changes)


def ask(backend, url, times=1, question=QUESTION, **changes):
    """The reply to the last of some requests; each takes what the earlier ones have taught."""

    async def scenario():
        made = backend_kind(backend).connect(settings(backend, url, **changes))()
        try:
            for left in reversed(range(times)):
                sent = made.parameters()
                try:
                    reply = await made.ask(question, seed=5, parameters=sent)
                except AdjustedRequest:
                    if not left:
                        raise
            return reply, sent
        finally:
            await made.close()

    return asyncio.run(scenario())


def fault(kind, backend, server, answer, **changes):
    server.answer = lambda n: answer
    with pytest.raises(kind) as raised:
        ask(backend, server.url, **changes)
    assert len(server.received) == 1  # the library tries nothing again
    return raised.value


@pytest.mark.nightly
def test_anthropic_is_asked_in_its_own_format(server):
    server.answer = lambda n: claude(
        "[[B]]", cache_read_input_tokens=20, cache_creation_input_tokens=10
    )

    reply, sent = ask("anthropic", server.url)

    path, headers, body = server.received[0]
    assert path == "/v1/messages"
    assert KEY in headers["authorization"]
    assert "another-key" not in str(headers)
    assert body == {
        "model": "m-1",
        "max_tokens": 77,
        "temperature": 0.5,
        "top_p": 0.9,
        "system": "Judge.",
        "messages": [
            {"role": "user", "content": "A or B?"},
            {"role": "assistant", "content": "Hm."},
            {"role": "user", "content": "So?"},
        ],
    }
    assert dict(sent.values) == {
        k: body[k] for k in ("model", "max_tokens", "temperature", "top_p")
    }
    assert (reply.text, reply.model, reply.request_id) == ("[[B]]", "claude-mock-1", "msg_1")
    assert reply.usage is not None
    assert (reply.usage.prompt_tokens, reply.usage.completion_tokens) == (100, 10)
    assert reply.usage.cached_tokens == 20


@pytest.mark.nightly
def test_gemini_is_asked_in_its_own_format(server):
    server.answer = lambda n: gemini(
        "[[B]]",
        usage={"cachedContentTokenCount": 40, "thoughtsTokenCount": 7},
        logprobsResult={
            "chosenCandidates": [{"token": t, "logProbability": -0.1} for t in ("[[", "B", "]]")],
            "topCandidates": [
                {"candidates": [{"token": "[[", "logProbability": 0.0}]},
                {
                    "candidates": [
                        {"token": "B", "logProbability": -0.2876820724517809},
                        {"token": "A", "logProbability": -1.3862943611198906},
                    ]
                },
                {"candidates": [{"token": "]]", "logProbability": 0.0}]},
            ],
        },
    )

    reply, sent = ask("gemini", server.url, probabilities="beside")

    path, headers, body = server.received[0]
    assert path.endswith("/models/m-1:generateContent")
    assert headers["x-goog-api-key"] == KEY
    assert body["systemInstruction"]["parts"] == [{"text": "Judge."}]
    assert [(c["role"], c["parts"]) for c in body["contents"]] == [
        ("user", [{"text": "A or B?"}]),
        ("model", [{"text": "Hm."}]),
        ("user", [{"text": "So?"}]),
    ]
    assert body["generationConfig"] == {
        "temperature": 0.5,
        "topP": 0.9,
        "maxOutputTokens": 77,
        "seed": 5,
        "responseLogprobs": True,
        "logprobs": 20,
    }
    assert sent.values["seed"] == "one for each question"
    assert (reply.text, reply.model, reply.request_id) == ("[[B]]", "gemini-mock-1", "r-1")
    assert reply.usage is not None
    assert (reply.usage.prompt_tokens, reply.usage.completion_tokens) == (100, 17)
    assert (reply.usage.reasoning_tokens, reply.usage.cached_tokens) == (7, 40)
    assert reply.probabilities == pytest.approx({"A": 0.25, "B": 0.75})


@pytest.mark.parametrize(
    ("backend", "where"),
    [
        ("anthropic", lambda body: body["output_config"]["format"]["schema"]),
        ("gemini", lambda body: body["generationConfig"]["responseJsonSchema"]),
    ],
)
def test_a_structured_reply_is_asked_for_by_its_schema(server, backend, where):
    server.answer = lambda n: OK[backend]('{"answer": "B"}')

    reply, _ = ask(backend, server.url, structured=True)

    assert reply.is_structured
    assert list(where(server.received[0].body)["properties"]) == ["answer"]


@pytest.mark.parametrize("backend", ["anthropic", "gemini"])
def test_extra_fields_reach_the_provider_beside_its_own(server, backend):
    server.answer = lambda n: OK[backend]("[[A]]")
    body = {
        "anthropic": {"service_tier": "auto"},
        "gemini": {"generationConfig": {"thinkingConfig": {"thinkingBudget": 0}}},
    }[backend]
    options = {
        "extra_body": body,
        "extra_query": {"region": "eu"},
        "extra_headers": {"x-title": "study"},
        "secret_headers": ["x-gate"],
    }
    stored = SimpleNamespace(open=lambda: '{"x-gate": "s3cret"}')

    reply, sent = ask(
        backend, server.url, model_options=tuple(options.items()), stored_headers=stored
    )

    (received,) = server.received
    assert reply.text == "[[A]]"
    assert received.path.endswith("region=eu")
    assert (received.headers["x-title"], received.headers["x-gate"]) == ("study", "s3cret")
    config = received.body.get("generationConfig", {})
    given = {**received.body, **config}
    assert {**given, **body.get("generationConfig", body)} == given
    assert given["temperature"] == sent.values["temperature"]
    assert {**sent.values, **options} == sent.values


REFUSALS = [
    ("anthropic", claude("I will not.", stop="refusal")),
    ("gemini", gemini("", finish="SAFETY")),
    ("gemini", gemini_blocked()),
]


@pytest.mark.parametrize(("backend", "answer"), REFUSALS)
def test_a_refusal_of_the_provider_is_a_refusal(server, backend, answer):
    server.answer = lambda n: answer

    assert ask(backend, server.url)[0].refused


@pytest.mark.parametrize(
    ("backend", "answer"),
    [
        ("anthropic", claude("I th", stop="max_tokens")),
        ("gemini", gemini("I th", finish="MAX_TOKENS")),
    ],
)
def test_a_reply_that_is_cut_off_is_marked(server, backend, answer):
    server.answer = lambda n: answer

    assert ask(backend, server.url)[0].truncated


RETRY_INFO = [{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "12.5s"}]
FAULTS = [
    ("anthropic", claude_error(429, "rate_limit_error", retry_after="7"), RateLimited, 7.0),
    ("gemini", gemini_error(429, "RESOURCE_EXHAUSTED", details=RETRY_INFO), RateLimited, 12.5),
    ("anthropic", claude_error(529, "overloaded_error"), ServerError, None),
    ("gemini", gemini_error(503, "UNAVAILABLE"), ServerError, None),
    ("anthropic", claude_error(401, "authentication_error"), NoAccess, None),
    ("gemini", gemini_error(400, "INVALID_ARGUMENT", "API key not valid."), Misconfigured, None),
    ("anthropic", claude_error(404, "not_found_error", "model: m-1"), Misconfigured, None),
    ("gemini", gemini_error(404, "NOT_FOUND", "models/m-1 is not found"), Misconfigured, None),
    (
        "anthropic",
        claude_error(400, "invalid_request_error", "Your credit balance is too low to use it."),
        NoAccess,
        None,
    ),
    ("anthropic", claude_error(400, "invalid_request_error", "too long"), Rejected, None),
    ("gemini", gemini_error(400, "INVALID_ARGUMENT", "too long"), Rejected, None),
    ("anthropic", Answer(b"<html>", 200, {"Content-Type": "text/html"}), Garbage, None),
    ("gemini", Answer(b"<html>", 200, {"Content-Type": "text/html"}), Garbage, None),
    ("anthropic", Answer(b'{"choices": []}'), Garbage, None),
    ("gemini", Answer(b'{"choices": []}'), Garbage, None),
    ("anthropic", Answer(b'{"content": 3'), Garbage, None),
    ("gemini", Answer(b'{"candidates": 3'), Garbage, None),
    ("gemini", Answer(b"<html>502</html>", 502, {"Content-Type": "text/html"}), ServerError, None),
    ("anthropic", Answer(b"", 302, {"Location": "http://127.0.0.1:1/"}), Misconfigured, None),
    ("gemini", Answer(b"", 302, {"Location": "http://127.0.0.1:1/"}), Misconfigured, None),
]


@pytest.mark.sampled(keep=2)
@pytest.mark.parametrize(("backend", "answer", "kind", "wait"), FAULTS)
def test_an_error_becomes_the_fault_that_it_means(server, backend, answer, kind, wait):
    found = fault(kind, backend, server, answer)

    assert type(found) is kind
    assert found.retry_after == wait


@BOTH
def test_a_server_that_does_not_answer_or_is_not_there_is_named_so(server, backend):
    release = threading.Event()
    try:
        fault(TimedOut, backend, server, Answer(b"", waits=release), timeout_seconds=0.3)
    finally:
        release.set()

    with pytest.raises(Unreachable):
        ask(backend, "http://127.0.0.1:1")


@BOTH
def test_a_metadata_address_gets_no_request(backend, monkeypatch):
    monkeypatch.setenv("JUDGE_KEY_TEST", KEY)
    with pytest.raises((Misconfigured, Unreachable, TimedOut)) as raised:
        ask(backend, "http://[::ffff:169.254.169.254]:1", timeout_seconds=0.2)

    assert KEY not in str(raised.value)


REFUSED = [
    (
        "anthropic",
        claude_error(
            400, "e", "`temperature` and `top_p` cannot both be specified for this model."
        ),
    ),
    ("gemini", gemini_error(400, "INVALID_ARGUMENT", "Logprobs is not enabled for models/m-1")),
]


@pytest.mark.parametrize(("backend", "error"), REFUSED)
def test_a_parameter_that_the_model_refuses_is_left_out_and_so_recorded(server, backend, error):
    server.answer = lambda n: error if n == 1 else OK[backend]()
    probabilities = "beside" if backend == "gemini" else "no"

    _, sent = ask(backend, server.url, times=2, probabilities=probabilities)

    left_out = {"anthropic": {"top_p"}, "gemini": {"logprobs", "response_logprobs"}}[backend]
    intended = backend_kind(backend).intended_parameters(
        settings(backend, server.url, probabilities=probabilities)
    )
    assert intended.values.keys() - sent.values.keys() == left_out
    assert server.received[1].body != server.received[0].body


@BOTH
def test_a_key_that_a_server_repeats_is_shown_nowhere(server, backend, caplog):
    caplog.set_level(logging.DEBUG)
    error = (claude_error if backend == "anthropic" else gemini_error)(401, "e", f"bad key {KEY}")

    found = fault(Misconfigured, backend, server, error)

    assert "[key]" in str(found)
    assert KEY not in caplog.text + str(found)


@BOTH
def test_a_compressed_answer_is_read(server, backend):
    plain = OK[backend]("[[B]]")
    server.answer = lambda n: Answer(gzip.compress(plain.body), 200, {"Content-Encoding": "gzip"})

    assert ask(backend, server.url)[0].text == "[[B]]"
    assert server.received[0].headers["accept-encoding"] == "identity"


@pytest.mark.parametrize(
    ("backend", "package"), [("anthropic", "anthropic"), ("gemini", "google-genai")]
)
def test_a_missing_library_is_named_with_the_command_that_installs_it(
    backend, package, monkeypatch
):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)

    with pytest.raises(BadJudge, match=f"{package}, .* pip install -r requirements-providers.txt"):
        backend_kind(backend).connect(settings(backend, "http://127.0.0.1:1"))


def test_claude_models_have_no_higher_temperature_than_one():
    with pytest.raises(InvalidValue, match="at most 1"):
        backend_kind("anthropic").check(settings("anthropic", "", temperature=1.2))


@BOTH
def test_a_run_is_judged_and_priced_through_the_library(server, engine, backend):
    server.answer = lambda n: OK[backend]("[[A]]")
    judge, _ = add_judge(
        name="j",
        preset=backend,
        model="m-1",
        base_url=server.url,
        api_key_env="JUDGE_KEY_TEST",
        price_input=Decimal(1),
        price_output=Decimal(10),
    )
    study = study_of(3)

    run = judge_all(study, judge)

    assert run.state == "done"
    assert len(server.received) == 3
    tokens = 70 if backend == "anthropic" else 100
    assert run.spent == Decimal(3 * (tokens + 10 * 10)) / 10**6
    done = run.judgments.first()
    assert done.model_snapshot.endswith("-mock-1")
    assert done.sent_with.parameters["model"] == "m-1"
    assert run.parameters["software"].keys() >= {"httpx2"}


@pytest.mark.django_db
@BOTH
def test_a_provider_needs_the_name_of_a_model_and_gets_its_own_key_alone(backend, monkeypatch):
    variable = {"anthropic": "ANTHROPIC_API_KEY", "gemini": "GEMINI_API_KEY"}[backend]
    monkeypatch.setenv(variable, KEY)
    with pytest.raises(InvalidValue, match="name of one of the provider's models"):
        add_judge(name="j", preset=backend)

    judge, _ = add_judge(name="j", preset=backend, model="m-1")

    assert api_key(settings_of(judge)) == KEY
    with pytest.raises(InvalidValue, match=f"{variable} is sent to .* alone"):
        add_judge(name="k", model="m", base_url="http://a/v1", api_key_env=variable)


PICTURE, SOUND = b"\x89PNG of a kite", b"RIFF of a song"
ATTACHED = replace(
    QUESTION,
    messages=(
        Message(
            "user",
            "Look [1] and hear [2].",
            (
                Attachment(8, "a" * 64, "image/png", 10, lambda: PICTURE),
                Attachment(21, "b" * 64, "audio/mpeg", 10, lambda: SOUND),
            ),
        ),
    ),
)
FIRST = replace(
    ATTACHED,
    messages=(replace(ATTACHED.messages[0], media=ATTACHED.messages[0].media[:1]),),
)


def test_anthropic_gets_pictures_between_the_texts(server):
    ask("anthropic", server.url, question=FIRST)

    assert server.received[0].body["messages"][0]["content"] == [
        {"type": "text", "text": "Look [1]"},
        {
            "type": "image",
            "source": {
                "type": "base64",
                "media_type": "image/png",
                "data": base64.b64encode(PICTURE).decode(),
            },
        },
        {"type": "text", "text": " and hear [2]."},
    ]


def test_gemini_gets_pictures_and_sounds_between_the_texts(server):
    server.answer = lambda n: gemini()
    ask("gemini", server.url, question=ATTACHED)

    parts = server.received[0].body["contents"][0]["parts"]
    assert [part.get("text") for part in parts] == ["Look [1]", None, " and hear [2]", None, "."]
    for part, kind, data in ((parts[1], "image/png", PICTURE), (parts[3], "audio/mp3", SOUND)):
        sent = part.get("inlineData") or part["inline_data"]
        assert sent.get("mimeType", sent.get("mime_type")) == kind
        assert base64.urlsafe_b64decode(sent["data"]) == data
