"""The models that a server offers, fetched and chosen on the page that adds a judge."""

import contextlib
import json
import re
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from judging.backends.backend import api_key
from judging.models import Judge
from judging.pages import fetched_models
from judging.worker.endpoints import settings_of
from studies import sealing
from studies.models import StudyLog
from tests.judging.judge_pages.pages import SECRET, submit, words

pytestmark = pytest.mark.server


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


def held(page):
    return re.search(r'name="held_key" value="([^"]*)"', page.text)[1]


def test_a_model_is_fetched_chosen_and_added_with_a_key_that_is_typed_once(admin, study, serve):
    server = serve({"/v1/models": listed("big", "small")})
    entered = {"base_url": server.url, "model": "", "key_from": "stored"}

    page = submit(admin, **entered, key=SECRET, list="yes")

    assert "The server offers 2 models" in words(page)
    assert server.asked[0] == ("/v1/models", f"Bearer {SECRET}")
    assert SECRET not in page.text
    assert re.findall(r'name="choose" value="([^"]*)"', page.text) == ["big", "small"]
    page = submit(admin, **entered, held_key=held(page), choose="big")
    values = dict(re.findall(r'name="(\w+)" value="([^"]*)"', page.text))
    assert values["model"] == "big"
    assert not Judge.objects.exists()
    submit(admin, **entered | {"model": "big"}, held_key=values["held_key"])
    judge = Judge.objects.get()
    assert (judge.model, judge.key_by.username) == ("big", "root")
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


def test_fetches_are_limited(admin, study, serve, monkeypatch):
    server = serve({"/v1/models": listed("m")})
    limit = fetched_models.LIMIT
    monkeypatch.setattr(fetched_models, "LIMIT", fetched_models.Limit(2, limit.within))
    for _ in range(2):
        assert submit(admin, base_url=server.url, list="yes").status_code == 200
    before = len(server.asked)

    page = submit(admin, base_url=server.url, list="yes")

    assert "You have fetched models 2 times in ten minutes." in words(page)
    assert len(server.asked) == before


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


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (endless, "The server answers, but not like a model."),
        (away, "The server has no list of models at this address."),
        ({"models": "none"}, "The server answers, but not like a model."),
        (["x"], "The server answers, but not like a model."),
        (None, "The server has no list of models at this address."),
    ],
)
def test_what_is_no_list_is_reported_in_words(admin, study, serve, monkeypatch, answer, message):
    monkeypatch.setattr("judging.backends.model_lists._MOST_BYTES", 1_000_000)
    server = serve({"/v1/models": answer})

    page = submit(admin, base_url=server.url, list="yes", key_from="stored", key=SECRET)

    assert page.status_code == 422
    assert message in words(page)
    assert SECRET not in page.text


def test_no_server_is_reported_in_words(admin, study):
    page = submit(admin, base_url="http://127.0.0.1:9/v1", list="yes")

    assert "No connection to http://127.0.0.1:9/v1." in words(page)
