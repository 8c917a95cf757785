"""The models that a server says it offers, found and chosen on the page that adds a judge."""

import contextlib
import html
import json
import re
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from extras.model_lists import listing, server_models
from extras.model_lists.server_models import read_list
from judging.backends.backend import api_key
from judging.backends.kinds import backend_kind
from judging.backends.presets import JudgePreset
from judging.engine.interface import Garbage
from judging.models import Judge
from judging.worker.endpoints import settings_of
from studies import sealing
from studies.models import StudyLog
from tests.judging.judge_pages.pages import ADD, FORM, SECRET, submit, words

pytestmark = pytest.mark.server
NAMES = ("context", "images", "structured", "probabilities", "decisions", "price_input")


class DescribedServer:
    """Answers GET and POST with the JSON at a path, or with what a function does."""

    def __init__(self, routes):
        self.routes = routes
        self.asked: list[tuple[str, str | None]] = []
        server = self

        class Handler(BaseHTTPRequestHandler):
            def answer(self):
                length = int(self.headers.get("Content-Length", 0))
                body = json.loads(self.rfile.read(length)) if length else {}
                server.asked.append((self.path, self.headers.get("Authorization")))
                found = server.routes.get(self.path.partition("?")[0])
                found = found(self, body) if callable(found) else found
                with contextlib.suppress(OSError):  # the client may have gone
                    if found is None:
                        self.send_error(404)
                    elif found is not True:
                        self.send_response(200)
                        self.end_headers()
                        self.wfile.write(json.dumps(found).encode())

            do_GET = do_POST = answer

            def log_message(self, *_):
                pass

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.http.daemon_threads = True
        threading.Thread(target=self.http.serve_forever, args=(0.02,), daemon=True).start()
        self.port = self.http.server_address[1]
        self.url = f"http://127.0.0.1:{self.port}/v1"


@pytest.fixture
def serve():
    servers = []

    def make(routes):
        servers.append(DescribedServer(routes))
        return servers[-1]

    yield make
    for server in servers:
        server.http.shutdown()
        server.http.server_close()


def listed(*names, **more):
    return {"data": [{"id": name, "owned_by": "x", **more} for name in names]}


def choose(page, name):
    """The value of the button that chooses a model on a page."""
    found = re.findall(r'name="choose" value="([^"]*)"', page.text)
    return next(value for value in map(html.unescape, found) if f'"{name}"' in value)


def held(page):
    return re.search(r'name="held_key" value="([^"]*)"', page.text)[1]


def test_a_model_is_listed_chosen_and_added_with_a_key_that_is_typed_once(admin, study, serve):
    pricing = {"prompt": "0.0000025", "completion": "0.00001", "input_cache_read": "0.000001"}
    takes = {"input_modalities": ["text", "image"], "output_modalities": ["text"]}
    server = serve({"/v1/models": listed("big", "small", pricing=pricing, architecture=takes)})
    entered = {"base_url": server.url, "model": "", "key_from": "stored"}

    page = submit(admin, **entered, key=SECRET, list="yes")

    assert "The server offers 2 models" in words(page)
    assert "pictures yes, schema not said" in words(page)
    assert server.asked[0] == ("/v1/models", f"Bearer {SECRET}")
    assert SECRET not in page.text
    page = submit(admin, **entered, held_key=held(page), choose=choose(page, "big"))
    values = dict(re.findall(r'name="(\w+)" value="([^"]*)"', page.text))
    assert (values["model"], values["price_input"], values["price_cached_input"]) == (
        "big",
        "2.5",
        "1",
    )
    assert not Judge.objects.exists()
    submit(admin, **entered | {"model": "big"}, held_key=values["held_key"], takes_images="on")
    judge = Judge.objects.get()
    assert (judge.model, judge.takes_images, judge.key_by.username) == ("big", True, "root")
    assert api_key(settings_of(judge)) == SECRET
    events = StudyLog.objects.filter(event="models listed")
    assert [log.detail for log in events] == [{"address": server.url}]


@pytest.mark.nightly
def test_a_kept_key_is_for_one_user_one_address_and_one_hour(
    admin, editor, study, serve, monkeypatch, settings
):
    server = serve({"/v1/models": listed("m")})
    page = submit(admin, base_url=server.url, key_from="stored", key=SECRET, list="yes")
    kept = {"key_from": "stored", "held_key": held(page)}

    assert "Enter the key." in words(submit(admin, base_url="http://evil/v1", **kept))
    settings.JUDGE_HOSTS = ["127.0.0.1"]
    assert submit(editor, base_url=server.url, **kept).status_code == 422
    monkeypatch.setattr(sealing, "_HELD_SECONDS", -1)
    assert "Enter the key." in words(submit(admin, base_url=server.url, **kept))
    assert not Judge.objects.exists()


def test_models_are_listed_only_where_the_user_may_add_judges(editor, serve, settings):
    server = serve({"/v1/models": listed("m")})

    refused = submit(editor, base_url=server.url, list="yes")
    link_local = submit(editor, base_url="http://169.254.169.254/v1", list="yes")

    assert "may use the addresses of OpenAI" in words(refused)
    assert link_local.status_code == 422
    assert (server.asked, StudyLog.objects.count()) == ([], 0)
    settings.JUDGE_HOSTS = ["127.0.0.1", "169.254.169.254"]
    link_local = submit(editor, base_url="http://169.254.169.254/v1", list="yes")
    assert "is a link-local or metadata address" in words(link_local)
    assert "The server offers 1 model." in words(submit(editor, base_url=server.url, list="yes"))


def test_lists_are_limited(admin, study, serve, monkeypatch):
    server = serve({"/v1/models": listed("m")})
    monkeypatch.setattr(listing, "LIMIT", listing.Limit(2, listing.LIMIT.within))
    for _ in range(2):
        assert submit(admin, base_url=server.url, list="yes").status_code == 200
    before = len(server.asked)

    page = submit(admin, base_url=server.url, list="yes")

    assert "You have listed models 2 times in ten minutes." in words(page)
    assert len(server.asked) == before


def test_a_long_list_is_shortened_and_searched(admin, study, serve):
    server = serve({"/v1/models": listed(*(f"m-{n}" for n in range(250)))})

    page = submit(admin, base_url=server.url, list="yes")
    assert page.text.count('name="choose"') == 100
    assert "The first 100 are shown: enter a part of the name." in words(page)

    page = submit(admin, base_url=server.url, list="yes", part="M-24")
    assert "250 models, 11 with “M-24”" in words(page)


def test_the_return_key_lists_until_a_model_is_named_and_adds_then(admin, study, serve):
    server = serve({"/v1/models": listed("m")})
    entered = {"base_url": server.url, "enter": "yes"}

    assert "The server offers 1 model." in words(submit(admin, **entered, model=""))
    assert not Judge.objects.exists()
    submit(admin, **entered, model="m")
    assert Judge.objects.get().model == "m"


def endless(handler, body):
    handler.send_response(200)
    handler.end_headers()
    with contextlib.suppress(OSError):
        while True:
            handler.wfile.write(b" " * 65536)
    return True


def away(handler, body):
    handler.send_response(302)
    handler.send_header("Location", "http://169.254.169.254/v1/models")
    handler.end_headers()
    return True


@pytest.mark.sampled(keep=1)
@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (lambda handler, body: time.sleep(3), "The server did not send its list in time."),
        (endless, "The server sent no list of models: the answer is longer than"),
        (away, "The server did not send its list (HTTP 302)."),
        ({"models": "none"}, "The server sent no list of models"),
        (["x"], "The server sent no list of models"),
        (None, "The server has no list of models at this address."),
    ],
)
def test_what_is_no_list_is_reported_in_words(admin, study, serve, monkeypatch, answer, message):
    monkeypatch.setattr(listing, "list_models", lambda *a: server_models.list_models(*a, seconds=1))
    monkeypatch.setattr("judging.backends.model_lists._MOST_BYTES", 1_000_000)
    server = serve({"/v1/models": answer})

    page = submit(admin, base_url=server.url, list="yes", key_from="stored", key=SECRET)

    assert page.status_code == 422
    assert message in words(page)
    assert SECRET not in page.text


@pytest.mark.parametrize("value", ["", "[]", "[" * 100_000, '{"model": {}, "price_input": 3}'])
def test_a_button_that_nobody_offered_fills_in_nothing(admin, study, value):
    page = admin.post(ADD, FORM | {"choose": value})

    assert page.status_code == 200
    assert 'name="price_input" value="10"' in page.text


# Answers as the documentation of each server shows them, shortened.
OPENROUTER = {
    "id": "a/b",
    "context_length": 8192,
    "architecture": {"input_modalities": ["text"], "output_modalities": ["text"]},
    "supported_parameters": ["temperature", "structured_outputs"],
    "pricing": {"prompt": "0.00003", "completion": "0.00006"},
}
HUGGING_FACE = {
    "id": "a/b",
    "architecture": {"input_modalities": ["text", "image"], "output_modalities": ["text"]},
    "providers": [
        {"status": "live", "context_length": 4096, "pricing": {"input": 0.2, "output": 0.6}},
        {
            "status": "live",
            "context_length": 9000,
            "pricing": {"input": 0.3, "output": 0.6},
            "supports_structured_output": True,
        },
    ],
}
MISTRAL = {
    "id": "m",
    "capabilities": {"completion_chat": True, "vision": False},
    "max_context_length": 32768,
}
CLAUDE = {
    "id": "m",
    "max_input_tokens": 200000,
    "capabilities": {
        "image_input": {"supported": True},
        "structured_outputs": {"supported": True},
    },
}


@pytest.mark.parametrize(
    ("row", "said"),
    [
        (OPENROUTER, (8192, False, True, False, None, 30)),
        (HUGGING_FACE, (4096, True, None, None, None, None)),
        (MISTRAL, (32768, False, None, None, None, None)),
        (CLAUDE, (200000, True, True, None, None, None)),
        ({"id": "gpt", "object": "model"}, (None,) * 6),
        ({"id": "m", "pricing": {"prompt": "-1", "completion": "-1"}}, (None,) * 6),
        ({"id": "m", "pricing": {"input": "1e999", "output": "nan"}}, (None,) * 6),
    ],
)
def test_a_list_says_what_its_server_says_of_a_model_and_no_more(row, said):
    (model,) = read_list({"data": [row]}).models

    assert tuple(getattr(model, name) for name in NAMES) == said


def test_models_that_write_no_text_and_names_that_cannot_be_used_are_left_out():
    rows = [
        {"id": "ok"},
        {"id": "ok"},
        {"id": "image", "architecture": {"output_modalities": ["image"]}},
        {"id": "embedding", "capabilities": {"completion_chat": False}},
        {"id": "line\u2028break"},
        {"id": "x" * 300},
        {},
        "text",
    ]
    assert [model.name for model in read_list({"data": rows}).models] == ["ok"]
    gemini = {"name": "models/g", "supportedGenerationMethods": ["generateContent"]}
    assert read_list({"models": [gemini]}).models[0].name == "g"
    with pytest.raises(Garbage):
        read_list({"data": None})


VLLM = {
    "/v1/models": {"data": [{"id": "m", "owned_by": "vllm", "max_model_len": 4096}]},
    "/openapi.json": {
        "paths": {"/v1/systemone": {}},
        "components": {
            "schemas": {
                "ChatCompletionRequest": {"properties": {"response_format": {}, "logprobs": {}}}
            }
        },
    },
}
LLAMA_CPP = {
    "/v1/models": {"data": [{"id": "m", "owned_by": "llamacpp"}]},
    "/props": {"default_generation_settings": {"n_ctx": 2048}, "modalities": {"vision": True}},
}
OLLAMA = {
    "/v1/models": {"data": [{"id": "m"}, {"id": "embedding"}]},
    "/api/version": {"version": "0.40.12"},
    "/api/show": lambda handler, body: (
        {
            "capabilities": ["completion", "vision", "decision"],
            "model_info": {"gemma3.context_length": 131072},
        }
        if body["model"] == "m"
        else {"capabilities": ["embedding"]}
    ),
}
LM_STUDIO = {
    "/v1/models": {"data": [{"id": "m"}, {"id": "e"}]},
    "/api/v0/models": {
        "data": [
            {"id": "m", "type": "llm", "max_context_length": 131072},
            {"id": "e", "type": "embeddings"},
        ]
    },
}
LITELLM = {
    "/v1/models": {"data": [{"id": "m"}]},
    "/v1/model/info": {
        "data": [
            {
                "model_name": "m",
                "model_info": {
                    "max_input_tokens": 9,
                    "input_cost_per_token": 2.5e-06,
                    "output_cost_per_token": 1e-05,
                    "supports_vision": True,
                },
            }
        ]
    },
}


@pytest.mark.parametrize(
    ("routes", "server_name", "said"),
    [
        (VLLM, "vLLM", (4096, None, True, True, True, None)),
        (LLAMA_CPP, "llama.cpp", (2048, True, None, None, None, None)),
        (OLLAMA, "Ollama 0.40.12", (131072, True, None, None, True, None)),
        (LM_STUDIO, "LM Studio", (131072, False, None, None, None, None)),
        (LITELLM, "LiteLLM", (9, True, None, None, None, 2.5)),
    ],
)
def test_an_own_server_is_asked_about_itself_and_its_key_stays_below_its_address(
    serve, routes, server_name, said
):
    server = serve(routes)
    judge = Judge(name="j", base_url=server.url, api_key_env="JUDGE_KEY_X")
    asked = settings_of(judge)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("JUDGE_KEY_X", SECRET)
        found = server_models.list_models(backend_kind("openai"), asked)

    assert found.server == server_name
    (model,) = found.models
    assert tuple(getattr(model, name) for name in NAMES) == said
    assert {path for path, key in server.asked if key} == {"/v1/models", "/v1/model/info"}


def test_administrators_find_the_servers_of_this_machine_and_nobody_else_looks(
    admin, editor, serve, monkeypatch, client
):
    found, own = serve({"/v1/models": listed("local-model")}), serve({"/v1/models": listed("own")})
    silent = serve({"/v1/models": lambda handler, body: time.sleep(2)})
    page_server = serve({})
    ports = {
        f"p{n}": JudgePreset(
            group="own", title=f"Kind {n}", words="", base_url=f"http://localhost:{server.port}/v1"
        )
        for n, server in enumerate((found, own, silent, page_server))
    }
    monkeypatch.setattr(listing, "presets", lambda: ports)
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    started = time.monotonic()

    page = admin.post(ADD, {"find": "yes"}, SERVER_PORT=str(own.port))

    assert time.monotonic() - started < 1.8
    assert "A server at the usual port of Kind 0" in words(page)
    assert 'href="?preset=p0&amp;model=local-model"' in page.text
    assert page.text.count("A server at the usual port") == 1
    assert own.asked == []
    assert 'name="find"' not in editor.get(ADD).text
    before = len(found.asked)
    assert "Ask an administrator" in words(editor.post(ADD, {"find": "yes"}))
    assert len(found.asked) == before
    assert 'name="model" value="local-model"' in admin.get(f"{ADD}?model=local-model").text
