"""The page that checks a table in the browser is served, and linked where one signs in."""

from pathlib import Path

import pytest


@pytest.fixture
def folder(settings, tmp_path) -> Path:
    settings.VAR_DIR = tmp_path
    return tmp_path / "check-page"


@pytest.mark.django_db
def test_a_server_without_the_page_says_how_to_build_it_and_links_to_nothing(client, folder):
    found = client.get("/check/")

    assert found.status_code == 200
    assert "thirdperson build_check_page</code>, which downloads 98 MB" in found.text
    assert client.get("/check/worker.js").status_code == 404
    assert "/check/" not in client.get("/accounts/login/", follow=True).text


@pytest.mark.django_db
def test_a_built_page_is_linked_and_alone_may_compile(client, folder, admin_user):
    folder.mkdir()
    for name in ("index.html", "worker.js", "python.bin"):
        (folder / name).write_text("content")
    (folder.parent / "secret.js").write_text("secret")

    assert 'href="/check/"' in client.get("/accounts/login/").text
    for name in ("", "worker.js", "python.bin"):
        found = client.get(f"/check/{name}")
        policy = found.headers["Content-Security-Policy"]
        assert "'wasm-unsafe-eval'" in policy
        assert "connect-src 'self'" in policy
        assert b"".join(found.streaming_content) == b"content"
    for name in ("../secret.js", "%2e%2e/secret.js", "nothing.js", "vendor"):
        assert client.get(f"/check/{name}").status_code == 404
    assert "wasm" not in client.get("/accounts/login/").headers["Content-Security-Policy"]
