"""The documentation as pages of the site."""

import re
from html import unescape

import pytest

from config.documentation.pages import ROOT, pages, text_of
from extras.administration.documentation.views import anchor_of, files, render_page

PAGES = sorted(pages())


@pytest.mark.sampled(keep=1)
@pytest.mark.parametrize("name", PAGES)
def test_every_link_of_a_page_leads_somewhere(client, name):
    response = client.get(f"/docs/{name}/")
    html = response.content.decode()

    assert response.status_code == 200
    assert html.count("<h1") == 1
    article = html[html.index("<article>") : html.index("</article>")]
    for address in re.findall(r'(?:href|src)="([^"]+)"', article):
        path, _, anchor = unescape(address).partition("#")
        if path.startswith("/docs/files/"):
            assert path.removeprefix("/docs/files/") in files()
        elif path.startswith("/docs/") or not path:
            page = path.removeprefix("/docs/").removesuffix("/") or name
            assert f'id="{anchor}"' in (render_page(page).html if anchor else 'id=""')
        else:
            assert path.startswith(("http://", "https://")), address


def test_html_in_a_page_is_shown_and_not_run(monkeypatch):
    monkeypatch.setattr(
        "extras.administration.documentation.views.text_of",
        lambda name: (
            "# T\n\n<script>x</script>\n\n<!-- claims -->\n\nx <i>y</i> σ<sub>0</sub>\n\n"
            "[a](javascript:x) [b](nowhere.md)\n\n    <b>\n"
        ),
    )

    html = render_page.__wrapped__("README").html

    assert "<script>" not in html
    assert "javascript:" not in html.replace("[a](javascript:x)", "")
    assert "<a>b</a>" in html
    assert "&lt;b&gt;" in html
    assert "x &lt;i&gt;y&lt;/i&gt; σ<sub>0</sub>" in html
    assert "claims" not in html


@pytest.mark.parametrize(
    "address",
    [
        "/docs/nothing/",
        "/docs/../config/settings/base/",
        "/docs/files/../../manage.py",
        "/docs/files/judges.md",
        "/docs/%2e%2e/README.md",
    ],
)
def test_nothing_else_is_served(client, address):
    assert client.get(address).status_code == 404


def test_pictures_and_examples_are_served(client):
    picture = client.get("/docs/files/images/task-page.png")
    items = client.get("/docs/files/examples/items.jsonl")

    assert picture.headers["Content-Type"] == "image/png"
    assert b"".join(picture.streaming_content).startswith(b"\x89PNG")
    assert b"".join(items.streaming_content) == (ROOT / "examples/items.jsonl").read_bytes()


def test_programs_get_the_text_and_an_index_with_full_addresses(client):
    page = client.get("/docs/judges.md")
    index = client.get("/llms.txt").content.decode()

    assert page.content == (ROOT / "judges.md").read_bytes()
    assert page.headers["Content-Type"] == "text/markdown; charset=utf-8"
    assert "[judges](" not in index.replace("[Judges](", "")
    assert "[Judges](http://testserver/docs/judges.md)" in index


def test_programs_get_every_page_as_one_text(client):
    whole = client.get("/llms-full.txt").content.decode()

    assert whole.startswith("<!-- docs/README.md -->")
    assert all(text_of(name) in whole for name in pages())


def test_anchors_are_those_of_github():
    assert anchor_of("From a file: to “verdicts” & `more`") == "from-a-file-to-verdicts--more"


@pytest.mark.parametrize("query", ["krippendorff alpha", "ALPHA  krippendorff"])
def test_a_search_leads_to_the_section_with_every_word(client, query):
    page = client.get("/docs/", {"search": query}).content.decode()

    assert "/docs/methods/agreement/#krippendorffs-alpha" in page


def test_a_search_for_nothing_shows_what_was_typed_and_the_index(client):
    page = client.get("/docs/", {"search": "<script> zzzz"}).content.decode()

    assert "Nothing on “&lt;script&gt; zzzz”" in page
    assert client.get("/docs/", {"search": "  "}).status_code == 200
