"""The demo's browser: a server that dies in the middle of something is asked again."""

from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread

from demo.browser import Browser

PAGE = b"<title>Hello</title>"


class DiesInTheFirstPage(BaseHTTPRequestHandler):
    asked = 0

    def do_GET(self) -> None:
        type(self).asked += 1
        self.send_response(200)
        self.send_header("Content-Length", str(len(PAGE)))
        self.end_headers()
        self.wfile.write(PAGE if type(self).asked > 1 else PAGE[:5])

    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def served(handler: type[BaseHTTPRequestHandler]) -> Iterator[str]:
    with HTTPServer(("127.0.0.1", 0), handler) as server:
        Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def test_a_page_that_was_cut_off_in_its_middle_is_asked_for_again():
    with served(DiesInTheFirstPage) as url:
        browser = Browser(url)

        page = browser.get("/")
        browser.close()

    assert DiesInTheFirstPage.asked == 2
    assert page.texts == ["Hello"]
