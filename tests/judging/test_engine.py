"""The engine without a database: what is sent where, and what comes of each kind of answer."""

import asyncio
import email.utils
import json
import time

import httpx2
import pytest

from judging.backends.backend import BadRecording, ReplayBackend, read_recording
from judging.backends.connections import faults
from judging.backends.openai import OpenAIBackend, OpenAISettings, Server
from judging.engine.asker import Asker, Route, read_answer
from judging.engine.interface import (
    BackendFault,
    Garbage,
    Halted,
    Interrupted,
    JudgeQuestion,
    Misconfigured,
    NoAccess,
    Parameters,
    RateLimited,
    Rejected,
    Reply,
    ServerError,
    Unreachable,
)
from judging.engine.limits import RateLimits
from judging.engine.messages import from_user
from judging.engine.rate_limits import Limiter
from judging.protocols.protocol import Certainty, Standard
from judging.worker.runtime import EngineLoop
from tests.judging.llm_server import Answer, completion, error

SENT = Parameters({"model": "m"})
QUESTION = JudgeQuestion(1, from_user("Which? [["), protocol=Certainty(), seed=7)


def ask(url, *, key="", question=QUESTION, timeout=5.0):
    """One request through the real client."""

    async def scenario():
        settings = OpenAISettings("m", url, 0.7, 0.95, 64, timeout)
        backend = OpenAIBackend(settings, Server(url, key, timeout))
        try:
            return await backend.ask(question, seed=question.seed, parameters=backend.parameters())
        finally:
            await backend.close()

    return asyncio.run(scenario())


def test_a_reply_carries_all_that_the_server_tells(llm):
    llm.answer = lambda body, n: completion("[[A]] [[80]]")

    reply = ask(llm.url)

    assert (reply.text, reply.model, reply.fingerprint) == (
        "[[A]] [[80]]",
        "mock-2024-05-13",
        "fp_1",
    )
    assert (reply.usage.prompt_tokens, reply.usage.completion_tokens) == (100, 10)
    assert not reply.refused


@pytest.mark.parametrize(
    ("answer", "fault"),
    [
        (error(500), ServerError),
        (error(503), ServerError),
        (error(408), ServerError),
        (error(409), ServerError),
        (error(429), RateLimited),
        (error(429, code="insufficient_quota"), Misconfigured),
        (error(401), Misconfigured),
        (error(403), Misconfigured),
        (error(404), Misconfigured),
        (error(400), Rejected),
        (error(422), Rejected),
        (Answer(drops=True), Interrupted),
        (Answer(body=b""), Garbage),
        (Answer(body=b"hello"), Garbage),
        (Answer(body=b"[]"), Garbage),
        (Answer(body=b'{"choices": []}'), Garbage),
        (Answer(body=b'{"choices": [{"message": "A"}]}'), Garbage),
        (Answer(body=b'{"choices": [{"message": {"content": ["A"]}}]}'), Garbage),
        (Answer(body=b'{"choices": [{"message": {"content": {"text": "A"}}}]}'), Garbage),
        (Answer(body=b"\xff\xfe"), Garbage),
    ],
)
def test_every_failure_has_its_name(llm, answer, fault):
    llm.answer = lambda body, n: answer

    with pytest.raises(fault):
        ask(llm.url)

    assert len(llm.requests) == 1


def whole_body(text="[[A]] [[80]]"):
    return completion(text).body.decode()


@pytest.mark.parametrize(
    "body",
    [
        whole_body().encode("utf-16"),
        whole_body().encode("utf-16-le"),
        whole_body().encode("utf-32"),
        whole_body().replace('"c-1"', "9" * 5_000).encode(),
        whole_body().replace("[[A", "\n[[A").encode(),  # a line break as it is
        whole_body().encode() + b"\n\n, and more",
        whole_body().encode() * 2,
    ],
)
def test_a_completion_is_read_in_any_form_in_which_servers_write_json(llm, body):
    llm.answer = lambda _, n: Answer(body=body)

    reply = ask(llm.url)

    assert (reply.text.strip(), reply.usage.total) == ("[[A]] [[80]]", 110)


def test_a_number_of_tokens_that_no_table_can_hold_is_unknown(llm):
    body = whole_body().replace(": 100,", f": {'9' * 5_000},")
    llm.answer = lambda _, n: Answer(body=body.encode())

    reply = ask(llm.url)

    assert (reply.text, reply.usage) == ("[[A]] [[80]]", None)


@pytest.mark.parametrize(
    "choices",
    [
        [],
        None,
        {"0": "A"},
        [{"text": "[[A]] [[80]]"}],
        [{"message": None}],
        [{"message": {"content": 5}}],
        [{"message": {"content": {"text": "[[A]]"}}}],
        [{"message": {"content": None, "tool_calls": [None]}}],
    ],
)
def test_a_billed_completion_without_text_is_an_unreadable_reply_and_kept(llm, choices):
    body = json.loads(whole_body()) | {"choices": choices}
    llm.answer = lambda _, n: Answer(body=json.dumps(body).encode())

    reply = ask(llm.url)
    answer = read_answer(QUESTION, reply, is_last=True)

    assert (answer.state, answer.side, reply.usage.total) == ("unparseable", None, 110)
    assert json.loads(answer.text) == body
    assert read_answer(QUESTION, reply, is_last=False) is None


def test_a_stream_that_fails_behind_its_first_words_can_be_billed(llm):
    pieces = [
        {"choices": [{"index": 0, "delta": {"content": "[["}, "finish_reason": None}]},
        {"error": {"message": "overloaded", "code": 502}},
    ]
    text = "".join(f"data: {json.dumps(piece)}\n\n" for piece in pieces)
    llm.answer = lambda _, n: Answer(body=text.encode())

    with pytest.raises(ServerError, match="broke off") as caught:
        ask(llm.url)

    assert caught.value.maybe_billed


def test_a_header_that_is_not_ascii_does_not_cost_the_reply(llm):
    odd = {"x-request-id": "réq", "X-Note": "Zürich"}
    llm.answer = lambda _, n: Answer(body=whole_body().encode(), headers=odd)

    assert ask(llm.url).text == "[[A]] [[80]]"


def test_a_key_that_a_server_repeats_in_utf16_is_not_shown(llm):
    said = json.dumps({"error": {"message": "no such key: sk-0123456789"}})
    llm.answer = lambda _, n: Answer(status=401, body=said.encode("utf-16"))

    with pytest.raises(NoAccess, match=r"no such key: \[key\]"):
        ask(llm.url, key="sk-0123456789")


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
@pytest.mark.parametrize(
    ("location", "target", "base"),
    [
        (
            "https://x.org/v1/chat/completions",
            "https://x.org/v1/chat/completions.",
            "https://x.org/v1.",
        ),
        ("https://x.org/v2?key=sk-1#top", "https://x.org/v2.", "https://x.org/v2."),
        ("//x.org/login", "http://x.org/login.", "http://x.org/login."),
    ],
)
def test_a_redirect_is_not_followed_and_its_target_is_named(llm, status, location, target, base):
    llm.answer = lambda body, n: error(status, "Moved", location=location)

    with pytest.raises(Misconfigured) as caught:
        ask(llm.url)

    assert f"redirects requests to {target} Nothing" in str(caught.value)
    assert f"change the base URL of the judge to {base} If" in str(caught.value)
    assert "sk-1" not in str(caught.value)
    assert len(llm.requests) == 1


def test_a_redirect_to_an_address_in_no_known_form_is_named(llm):
    llm.answer = lambda body, n: error(302, "Moved", location="http://[x/login?key=sk-1")

    with pytest.raises(Misconfigured, match=r"redirects requests to http://\[x/login\.") as caught:
        ask(llm.url)

    assert "sk-1" not in str(caught.value)


def test_a_redirect_to_a_file_is_not_proposed_as_an_address(llm):
    llm.answer = lambda body, n: error(301, "Moved", location="file:///etc/passwd")

    with pytest.raises(Misconfigured, match="redirects requests to file:///etc/passwd") as caught:
        ask(llm.url)

    assert "change the base URL" not in str(caught.value)


def test_what_a_server_sent_in_place_of_an_answer_is_quoted_plainly():
    said = "illegal status line: bytearray(b'SSH-2.0-OpenSSH')"
    with pytest.raises(Interrupted) as caught, faults(60):
        raise httpx2.RemoteProtocolError(said)

    assert str(caught.value) == "connection lost (illegal status line: “SSH-2.0-OpenSSH”)"


def test_a_certificate_that_nobody_trusts_is_named_with_what_to_do():
    said = "[SSL: CERTIFICATE_VERIFY_FAILED] certificate verify failed: self-signed certificate"
    with pytest.raises(Unreachable, match="set SSL_CERT_FILE") as caught, faults(60):
        raise httpx2.ConnectError(said)

    assert "self-signed certificate" in str(caught.value)


@pytest.mark.parametrize("scale", [1, 1000])
@pytest.mark.parametrize("header", ["retry_after", "retry_after_ms"])
def test_a_pause_until_a_time_since_1970_is_no_pause_of_fifty_years(llm, header, scale):
    until = str(int((time.time() + 60) * scale))
    llm.answer = lambda body, n: error(429, "slow down", **{header: until})

    with pytest.raises(RateLimited) as caught:
        ask(llm.url)

    assert 30 < caught.value.retry_after <= 60


def test_nobody_listening_is_unreachable_and_costs_nothing():
    with pytest.raises(Unreachable) as caught:
        ask("http://127.0.0.1:9/v1")

    assert not caught.value.maybe_billed


def test_an_error_that_echoes_the_prompt_is_cut_short(llm):
    llm.answer = lambda body, n: error(500, "x" * 5000)

    with pytest.raises(ServerError) as caught:
        ask(llm.url)

    assert len(str(caught.value)) < 250


@pytest.mark.parametrize(
    ("body", "fault", "is_billed"),
    [
        ({"error": {"code": 429, "message": "free-models-per-day"}}, RateLimited, False),
        ({"error": {"code": "503", "message": "no instance"}}, ServerError, False),
        ({"error": {"code": 401, "message": "User not found."}}, NoAccess, False),
        ({"error": {"code": 402, "message": "Insufficient credits"}}, NoAccess, False),
        ({"error": {"code": 400, "message": "too long"}}, Rejected, False),
        ({"error": "busy", "choices": None}, ServerError, False),
        ({"object": "error", "message": "busy", "code": 40303}, ServerError, False),
        ({"detail": "Not Found"}, ServerError, False),
        ({"success": False, "errors": [{"code": 7003, "message": "no"}]}, ServerError, False),
        ({"error_code": 18, "error_msg": "Open api qps request limit reached"}, ServerError, False),
        ({"code": 200, "msg": "ok", "data": {"text": "A"}}, Garbage, True),
        ([{"error": {"message": "odd"}}], Garbage, True),
        ({"error": {"message": "late"}, "usage": {"prompt_tokens": 9}}, Garbage, True),
        ({"error": {"message": "late"}, "usage": {"prompt_tokens": 0}}, ServerError, False),
        (
            {"choices": [{"error": {"code": 502, "message": "x"}, "message": {"content": "A"}}]},
            ServerError,
            True,
        ),
        ("<html>Sign in to this network</html>", Garbage, False),
    ],
)
def test_only_what_a_model_may_have_worked_on_can_be_billed(llm, body, fault, is_billed):
    text = body if isinstance(body, str) else json.dumps(body)
    llm.answer = lambda _, n: Answer(body=text.encode())

    with pytest.raises(BackendFault) as caught:
        ask(llm.url)

    assert (type(caught.value), caught.value.maybe_billed) == (fault, is_billed)


@pytest.mark.parametrize("key", ["kéy-0123456", "two\nlines-12345"])
def test_a_request_that_cannot_leave_costs_nothing(llm, key):
    with pytest.raises(BackendFault) as caught:
        ask(llm.url, key=key)

    assert not caught.value.maybe_billed
    assert "Error" not in str(caught.value)
    assert llm.requests == []


@pytest.mark.parametrize(
    "usage",
    [
        {"prompt_tokens": -1, "completion_tokens": 5},
        {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0},
        {"prompt_tokens": 10**30, "completion_tokens": 5},
        {"prompt_tokens": 1, "completion_tokens": 5, "total_tokens": 3 * 10**9},
        {"prompt_tokens": "ten", "completion_tokens": 5},
        {"prompt_tokens": 400},
        {"prompt_tokens": 400, "completion_tokens": None},
        {"prompt_tokens": 400, "completion_tokens": 0},
        {"prompt_tokens": 400, "completion_tokens": 0, "total_tokens": 400},
        {"prompt_tokens": 400, "completion_tokens": "?"},
        {"input_tokens": 400, "output_tokens": 0.0},
        {"prompt_tokens": True, "completion_tokens": 5},
        {"prompt_tokens": "1e999999", "completion_tokens": 5},
        [],
    ],
)
def test_tokens_that_cannot_be_are_as_good_as_untold(llm, usage):
    body = json.loads(completion("[[A]]").body) | {"usage": usage}
    llm.answer = lambda _, n: Answer(body=json.dumps(body).encode())

    assert ask(llm.url).usage is None


@pytest.mark.parametrize(
    ("usage", "prompt", "written"),
    [
        ({"prompt_tokens": 400.0, "completion_tokens": 12.0}, 400, 12),
        ({"prompt_tokens": "400", "completion_tokens": "12"}, 400, 12),
        ({"prompt_tokens": " 400.0 ", "completion_tokens": "12.0"}, 400, 12),
        ({"input_tokens": 400, "output_tokens": 12}, 400, 12),
        ({"input_tokens": "400", "output_tokens": 12.0}, 400, 12),
        ({"prompt_tokens": None, "input_tokens": 400, "completion_tokens": 12}, 400, 12),
        ({"prompt_tokens": 400, "total_tokens": 412}, 400, 12),
        ({"prompt_tokens": 400, "completion_tokens": 0, "total_tokens": "412"}, 400, 12),
        ({"prompt_tokens": 400, "cost": 0.01}, 400, 0),
    ],
)
def test_tokens_are_read_under_every_name_and_in_every_form(llm, usage, prompt, written):
    body = json.loads(completion("[[A]]").body) | {"usage": usage}
    llm.answer = lambda _, n: Answer(body=json.dumps(body).encode())

    read = ask(llm.url).usage

    assert (read.prompt_tokens, read.completion_tokens) == (prompt, written)


@pytest.mark.parametrize(
    ("status", "body"),
    [
        (200, {"choices": [{"error": {"code": 502}, "message": {"content": "A"}}]}),
        (200, {"error": {"message": "late"}}),
        (200, {"object": "list"}),
        (500, {"error": {"message": "late"}}),
        (400, {"error": {"message": "late"}}),
    ],
)
@pytest.mark.parametrize(
    ("usage", "tokens"),
    [
        ({"prompt_tokens": 400, "completion_tokens": 0}, (400, 0)),
        ({"prompt_tokens": 0, "completion_tokens": 0}, (0, 0)),
        ({"input_tokens": "400", "output_tokens": 3.0}, (400, 3)),
        ({}, None),
    ],
)
def test_usage_that_is_stated_with_an_error_is_kept(llm, status, body, usage, tokens):
    llm.answer = lambda _, n: Answer(status, json.dumps(body | {"usage": usage}).encode())

    with pytest.raises(BackendFault) as caught:
        ask(llm.url)

    used = caught.value.usage
    assert (used and (used.prompt_tokens, used.completion_tokens)) == tokens


@pytest.mark.parametrize("status", [200, 400, 401, 429, 500])
def test_a_key_that_a_server_repeats_is_not_told_on(llm, status):
    llm.answer = lambda body, n: error(status, "Who is Bearer sk-top-secret-1?")

    with pytest.raises(BackendFault) as caught:
        ask(llm.url, key="sk-top-secret-1")

    assert "Who is Bearer [key]?" in str(caught.value)


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry_after": "1.5"}, 1.5),
        ({"retry_after_ms": "250", "retry_after": "9"}, 0.25),
        ({"retry_after": "soon"}, None),
        ({"retry_after": "-3"}, None),
        ({"retry_after": "nan"}, None),
        ({}, None),
    ],
)
def test_retry_after_is_understood_in_its_forms(llm, headers, seconds):
    llm.answer = lambda body, n: error(429, **headers)

    with pytest.raises(RateLimited) as caught:
        ask(llm.url)

    assert caught.value.retry_after == seconds


def test_retry_after_may_be_a_date(llm):
    llm.answer = lambda body, n: error(
        429, retry_after=email.utils.formatdate(time.time() + 30, usegmt=True)
    )

    with pytest.raises(RateLimited) as caught:
        ask(llm.url)

    assert 25 < caught.value.retry_after <= 30


def test_what_the_environment_has_for_openai_s_client_goes_to_no_other_server(llm, monkeypatch):
    for name in ("OPENAI_API_KEY", "OPENAI_ADMIN_KEY", "OPENAI_ORG_ID", "OPENAI_PROJECT_ID"):
        monkeypatch.setenv(name, "secret-of-mine")
    monkeypatch.setenv(
        "OPENAI_CUSTOM_HEADERS", "X-Portal: secret-of-mine\nauthorization: secret-of-mine"
    )
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/elsewhere")

    ask(llm.url)

    assert llm.headers[0]["authorization"] == "Bearer none"
    assert "secret-of-mine" not in str(llm.headers[0])


def test_only_the_headers_of_the_judge_are_sent(llm):
    ask(llm.url)

    ours = {"accept", "accept-encoding", "authorization", "content-type", "user-agent"}
    of_http = {"host", "connection", "content-length"}
    assert set(llm.headers[0]) == ours | of_http
    assert llm.headers[0]["user-agent"] == "thirdperson"


def test_the_lines_of_a_reply_end_in_line_feeds(llm):
    llm.answer = lambda body, n: completion("[[A]]\r=1+1\r\n[[80]]")

    assert ask(llm.url).text == "[[A]]\n=1+1\n[[80]]"


class MemoryLedger:
    """Keeps what it is told, and refuses to open more attempts than allowed."""

    def __init__(self, allowed=100):
        self.allowed = allowed
        self.events = []
        self.answers = {}

    async def open(self, question, number, parameters):
        if self.allowed == 0:
            raise Halted("enough")
        self.allowed -= 1
        self.events.append(("open", question.id, number))

    async def close(self, question, number, end, replies, answer):
        self.events.append((end.outcome, question.id, number))
        if answer is not None:
            self.answers[question.id] = answer


class Scripted:
    """Gives the next of its replies or raises the next of its faults."""

    def __init__(self, *script):
        self.script = list(script)
        self.seeds = []

    def parameters(self):
        return SENT

    async def ask(self, question, *, seed, parameters):
        self.seeds.append(seed)
        step = self.script.pop(0)
        if isinstance(step, Exception):
            raise step
        return Reply(step)

    async def close(self):
        pass


def run_asker(backend, ledger, *questions):
    limiter = Limiter(RateLimits())
    asker = Asker(routes=[Route(backend, limiter)], ledger=ledger)
    problems = asyncio.run(asker.ask_all(questions))
    return problems, limiter


def test_an_attempt_is_in_the_ledger_before_it_is_sent():
    ledger = MemoryLedger()

    class Looks(Scripted):
        async def ask(self, question, *, seed, parameters):
            assert ledger.events[-1] == ("open", 1, 1)
            return await super().ask(question, seed=seed, parameters=parameters)

    problems, _ = run_asker(Looks("[[A]] [[70]]"), ledger, QUESTION)

    assert problems == [None]
    assert ledger.events == [("open", 1, 1), ("replied", 1, 1)]
    assert (ledger.answers[1].side, ledger.answers[1].certainty) == ("A", 70)


def test_what_the_ledger_refuses_is_not_sent_and_its_slot_is_free_again():
    backend, ledger = Scripted(), MemoryLedger(allowed=0)

    (problem,), limiter = run_asker(backend, ledger, QUESTION)

    assert isinstance(problem, Halted)
    assert (backend.seeds, limiter._in_flight) == ([], 0)


def test_a_fault_is_tried_again_and_is_no_reply():
    ledger = MemoryLedger()

    run_asker(Scripted(ServerError("500"), "Hm.", "[[B]]"), ledger, QUESTION)

    assert [event for event, _, _ in ledger.events if event != "open"] == [
        "server_error",
        "replied",
        "replied",
    ]
    assert ledger.answers[1].side == "B"


def test_recorded_replies_are_given_in_order_and_then_missed():
    lines = ['{"prompt": "Which? [[", "reply": "Hm."}', "", '{"prompt": "Which? [[", "reply": "A"}']
    ledger = MemoryLedger()

    run_asker(ReplayBackend(read_recording(lines)), ledger, QUESTION)
    assert ledger.answers[1].side == "A"

    other = JudgeQuestion(2, from_user("Unknown"), protocol=Standard(), seed=1)
    run_asker(ReplayBackend(read_recording(lines)), ledger, other)
    assert ledger.answers[2].error == "nothing is recorded for this prompt"


@pytest.mark.parametrize("line", ["{", "[]", '{"prompt": "x"}', '{"reply": "A"}', "3"])
def test_a_broken_recording_names_its_line(line):
    with pytest.raises(BadRecording, match="Line 2"):
        read_recording(['{"prompt": "x", "reply": "A"}', line])


def test_an_endpoint_is_shared_by_whoever_names_it_and_takes_changed_limits():
    engine = EngineLoop()
    try:
        first = engine.limiter("a", "warm", RateLimits(concurrency=2))
        same = engine.limiter("a", "warm", RateLimits(concurrency=5))
        other = engine.limiter("b", "warm", RateLimits())

        async def slots():
            return same.slots

        assert first is same
        assert other is not first
        assert engine.submit(slots()).result(timeout=60) == 5
    finally:
        engine.stop()


def test_two_judges_of_one_endpoint_keep_the_tighter_of_their_limits():
    engine = EngineLoop()
    try:
        engine.limiter("a", "warm", RateLimits(concurrency=8, rpm=60))
        both = engine.limiter("a", "cold", RateLimits(concurrency=4, tpm=900, patience=300))

        async def limits():
            return both.limits

        seen = engine.submit(limits()).result(timeout=60)
        assert seen == RateLimits(concurrency=4, rpm=60, tpm=900, patience=300)
    finally:
        engine.stop()
