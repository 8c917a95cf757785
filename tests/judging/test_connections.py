"""Connections to a server: used again while they last, and never more of them than needed."""

import asyncio

import pytest

from judging.backends.connections import client_for
from judging.errors import BadJudge
from tests.judging.llm_server import Answer, completion

OK = completion("[[A]]")


def ask(client, url):
    return client.post(f"{url}/chat/completions", content=b'{"messages": [{"content": ""}]}')


def post(url, rounds, *, pause=0.0):
    """Post so many times at once, one round after the other; the statuses."""

    async def scenario():
        client = client_for(url, timeout=60.0)
        statuses = []
        for together in rounds:
            posts = (ask(client, url) for _ in range(together))
            statuses += [response.status_code for response in await asyncio.gather(*posts)]
            await asyncio.sleep(pause)
        await client.aclose()
        return statuses

    return asyncio.run(scenario())


def test_a_connection_is_used_again_and_another_is_made_only_for_who_comes_at_the_same_time(llm):
    llm.answer = lambda body, n: Answer(body=OK.body, delay=0.05)

    statuses = post(llm.url, [1, 1, 3, 2, 3])

    assert statuses == [200] * 10
    assert len(set(llm.ports[:2])) == 1
    assert len(set(llm.ports)) == 3
    assert llm.headers[0]["accept-encoding"] == "identity"


def test_many_requests_at_once_need_no_more_connections_the_second_time(llm):
    llm.answer = lambda body, n: Answer(body=OK.body, delay=0.2)

    statuses = post(llm.url, [40, 40, 5])

    assert statuses == [200] * 85
    assert len(set(llm.ports)) == 40


@pytest.mark.parametrize("headers", [{}, {"Connection": "close"}])
def test_a_connection_that_the_server_ended_is_not_used_again(llm, headers):
    llm.answer = lambda body, n: Answer(body=OK.body, headers=headers, hangs_up=True)

    statuses = post(llm.url, [2, 2, 1], pause=0.05)

    assert statuses == [200] * 5
    assert len(set(llm.ports)) == 5


def test_a_request_given_up_leaves_no_half_read_connection_behind(llm):
    llm.answer = lambda body, n: Answer(body=OK.body, delay=0.5 if n == 1 else 0.0)

    async def scenario():
        client = client_for(llm.url, timeout=60.0)
        first = asyncio.create_task(ask(client, llm.url))
        await asyncio.sleep(0.2)
        first.cancel()
        await asyncio.gather(first, return_exceptions=True)
        response = await ask(client, llm.url)
        await client.aclose()
        return response.status_code

    assert asyncio.run(scenario()) == 200
    assert len(set(llm.ports)) == 2


def test_the_proxy_of_the_environment_is_used_but_where_it_says_not_to(llm, monkeypatch):
    monkeypatch.setenv("http_proxy", llm.url.replace("http://", "http://me:secret@"))
    monkeypatch.setenv("no_proxy", "127.0.0.1")

    assert post("http://judge.example/v1", [1]) == [200]
    assert post(llm.url, [1]) == [200]

    through, direct = llm.headers
    assert (through["host"], through["proxy-authorization"]) == (
        "judge.example",
        "Basic bWU6c2VjcmV0",
    )
    assert "proxy-authorization" not in direct


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("ALL_PROXY", "gopher://127.0.0.1:7891/"),
        ("HTTP_PROXY", "http://:x"),
        ("HTTP_PROXY", "://"),
        ("http_proxy", "ftp://host:1"),
    ],
)
def test_a_proxy_that_cannot_be_used_is_named_in_a_sentence(monkeypatch, variable, value):
    monkeypatch.setenv(variable, value)

    with pytest.raises(BadJudge, match=f"{variable.upper()} names no proxy that can be used"):
        client_for("http://server.example/v1", timeout=1.0)


@pytest.mark.parametrize("value", ["socks://127.0.0.1:1/", "socks5://u:secret@127.0.0.1:1"])
def test_a_socks_proxy_needs_a_package(monkeypatch, value):
    monkeypatch.setenv("ALL_PROXY", value)
    monkeypatch.setattr("judging.backends.connections.importlib.util.find_spec", lambda name: None)

    with pytest.raises(BadJudge, match="needs the Python package socksio") as caught:
        client_for("http://server.example/v1", timeout=1.0)

    assert "secret" not in str(caught.value)


def test_a_proxy_without_a_scheme_is_one_of_http_as_elsewhere(monkeypatch):
    monkeypatch.setenv("HTTP_PROXY", "127.0.0.1:3128")

    assert client_for("http://server.example/v1", timeout=1.0)
