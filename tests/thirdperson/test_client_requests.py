"""How the client sends requests: repeated without doubling, and errors as they are meant."""

import json

import pytest
import requests
from pytest_httpserver import HTTPServer
from werkzeug import Request, Response

from thirdperson import Client
from thirdperson.client import ApiError, as_file, table

PROBLEM = {
    "type": "about:blank",
    "title": "Unprocessable Entity",
    "status": 422,
    "code": "invalid",
    "detail": "See errors.",
    "errors": [{"field": "minutes", "message": "Too small"}],
}


@pytest.fixture
def client(httpserver: HTTPServer, monkeypatch) -> Client:
    monkeypatch.setattr("time.sleep", slept.append)
    slept.clear()
    return Client(httpserver.url_for("/"), "thirdperson_x", progress=False)


slept: list[float] = []


def serve(httpserver: HTTPServer, *responses: Response) -> list[Request]:
    """Give these responses in turn; returns the requests as they come."""
    seen: list[Request] = []
    left = iter(responses)

    def handle(request: Request) -> Response:
        request.get_data()
        seen.append(request)
        return next(left)

    httpserver.expect_request("/api/v1/studies").respond_with_handler(handle)
    return seen


def reply(status: int, body: object, **headers: str) -> Response:
    sent = {name.replace("_", "-"): value for name, value in headers.items()}
    return Response(json.dumps(body), status, sent, content_type="application/problem+json")


def test_a_post_is_repeated_with_the_same_key(client, httpserver):
    busy = reply(503, {}, Retry_After="7")
    seen = serve(httpserver, busy, reply(429, {}), reply(201, {"slug": "s"}))

    study = client.create_study("S", minutes=5)

    assert study.slug == "s"
    assert len({request.headers["Idempotency-Key"] for request in seen}) == 1
    assert {request.headers["Authorization"] for request in seen} == {"Bearer thirdperson_x"}
    assert slept[0] == 7.0
    assert json.loads(seen[2].data) == {"title": "S", "minutes": 5}


def test_two_posts_have_two_keys(client, httpserver):
    seen = serve(httpserver, reply(201, {"slug": "s"}), reply(201, {"slug": "t"}))

    client.create_study("S")
    client.create_study("T")

    assert len({request.headers["Idempotency-Key"] for request in seen}) == 2


def test_a_lost_connection_is_tried_again(client, httpserver):
    httpserver.stop()
    try:
        with pytest.raises(requests.ConnectionError):
            client.create_study("S")
    finally:
        httpserver.start()

    assert slept == [1.0, 2.0, 4.0, 8.0]  # the first repetition is immediate


def test_a_refusal_is_not_tried_again(client, httpserver):
    seen = serve(httpserver, reply(422, PROBLEM))

    with pytest.raises(ApiError, match=r"See errors\.\n  minutes: Too small") as raised:
        client.create_study("S")

    assert (raised.value.status, raised.value.code) == (422, "invalid")
    assert len(seen) == 1


def test_a_server_that_is_no_thirdperson(client, httpserver):
    serve(httpserver, Response("<h1>Oops", 500), reply(301, {}, Location="https://other/"))

    with pytest.raises(ApiError, match="The server answered 500"):
        client.studies()
    with pytest.raises(ApiError, match="redirects to https://other/"):
        client.studies()


def test_pages_are_followed_to_the_last(client, httpserver):
    first = {"data": [{"slug": "a"}], "next": "c1"}
    seen = serve(httpserver, reply(200, first), reply(200, {"data": [{"slug": "b"}], "next": None}))

    assert list(client.studies()["slug"]) == ["a", "b"]
    assert [request.args.get("cursor") for request in seen] == [None, "c1"]


def test_address_and_token_come_from_the_environment(monkeypatch):
    with pytest.raises(ValueError, match="THIRDPERSON_URL"):
        Client()
    monkeypatch.setenv("THIRDPERSON_URL", "http://h/")
    monkeypatch.setenv("THIRDPERSON_TOKEN", "t")

    assert Client()._address == "http://h/api/v1/"


def test_tables_have_times_and_missing_values():
    frame = table([{"slug": "a", "ended_at": "2026-01-01T00:00Z"}, {"slug": "b", "ended_at": None}])

    assert frame["ended_at"].dt.year[0] == 2026
    assert frame["ended_at"].isna().tolist() == [False, True]


def test_without_pandas_tables_are_lists(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "pandas", None)

    assert table(iter([{"a": 1}])) == [{"a": 1}]


def test_items_of_any_kind_become_a_file(tmp_path):
    frame = table(
        [{"id": "a", "question": "Q, “x”?", "score_1": None}, {"id": "b", "score_1": 2.0}]
    )
    path = tmp_path / "mine.csv"
    path.write_bytes(b"x")

    assert as_file(path) == ("mine.csv", b"x")
    assert as_file(frame)[0] == "items.csv"
    assert as_file(frame)[1].decode().split("\r\n")[:3] == [
        "id,question,score_1",
        'a,"Q, “x”?",',
        "b,,2.0",
    ]
    assert as_file([{"id": "a", "responses": []}]) == (
        "items.jsonl",
        b'{"id": "a", "responses": []}',
    )
