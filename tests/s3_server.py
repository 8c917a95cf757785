"""A small server that answers the calls of boto3 as S3 does, and keeps everything in memory."""

import hashlib
import re
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit
from xml.sax.saxutils import escape

_KEY = re.compile(rb"<Key>(.*?)</Key>")


class S3Server:
    """Objects by bucket and key, and the headers that each was sent with."""

    def __init__(self) -> None:
        self.objects: dict[str, bytes] = {}
        self.headers: dict[str, dict[str, str]] = {}
        self.requests: list[tuple[str, str]] = []
        self.refuses = False
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()

    @property
    def environment(self) -> dict[str, str]:
        """The variables that lead boto3 to this server."""
        return {
            "AWS_ENDPOINT_URL_S3": self.url,
            "AWS_ACCESS_KEY_ID": "key",
            "AWS_SECRET_ACCESS_KEY": "secret",
            "AWS_DEFAULT_REGION": "eu-central-1",
        }

    def stop(self) -> None:
        self._server.shutdown()
        self._server.server_close()


def _handler(store: S3Server) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def _name(self) -> str:
            return unquote(urlsplit(self.path).path).lstrip("/")

        def _body(self) -> bytes:
            return self.rfile.read(int(self.headers.get("Content-Length", 0)))

        def do_PUT(self) -> None:
            name, data = self._name(), self._body()
            if store.refuses:
                return self._error(403, "AccessDenied")
            store.objects[name] = data
            store.headers[name] = dict(self.headers)
            self._answer(200, headers={"ETag": _tag(data)})

        def do_HEAD(self) -> None:
            self.do_GET()

        def do_GET(self) -> None:
            store.requests.append((self.command, self.headers.get("Range", "")))
            name = self._name()
            if "/" not in name.rstrip("/"):
                return self._list(name.rstrip("/"))
            data = store.objects.get(name)
            if data is None:
                return self._error(404, "NoSuchKey")
            if self.headers.get("If-Match", _tag(data)) != _tag(data):
                return self._error(412, "PreconditionFailed")
            status, headers = 200, {"ETag": _tag(data)}
            if found := re.fullmatch(r"bytes=(\d+)-(\d+)", self.headers.get("Range", "")):
                first, last = int(found[1]), int(found[2])
                headers["Content-Range"] = f"bytes {first}-{last}/{len(data)}"
                status, data = 206, data[first : last + 1]
            self._answer(status, data, headers)

        def do_DELETE(self) -> None:
            store.objects.pop(self._name(), None)
            self._answer(204)

        def do_POST(self) -> None:
            bucket = self._name().rstrip("/")
            for key in _KEY.findall(self._body()):
                store.objects.pop(f"{bucket}/{key.decode()}", None)
            self._answer(200, b"<DeleteResult/>")

        def _list(self, bucket: str) -> None:
            query = parse_qs(urlsplit(self.path).query)
            prefix = f"{bucket}/{query.get('prefix', [''])[0]}"
            found = "".join(
                f"<Contents><Key>{escape(name.removeprefix(f'{bucket}/'))}</Key>"
                f"<LastModified>2026-11-23T12:00:00.000Z</LastModified>"
                f"<ETag>{escape(_tag(data))}</ETag><Size>{len(data)}</Size></Contents>"
                for name, data in sorted(store.objects.items())
                if name.startswith(prefix)
            )
            page = f"<ListBucketResult><IsTruncated>false</IsTruncated>{found}</ListBucketResult>"
            self._answer(200, page.encode())

        def _error(self, status: int, code: str) -> None:
            self._answer(status, f"<Error><Code>{code}</Code></Error>".encode())

        def _answer(
            self, status: int, data: bytes = b"", headers: dict[str, str] | None = None
        ) -> None:
            self.send_response(status)
            for name, value in (headers or {}).items():
                self.send_header(name, value)
            self.send_header("Last-Modified", "Mon, 23 Nov 2026 12:00:00 GMT")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(data)

        def log_message(self, *args: Any) -> None:
            """Print nothing."""

    return Handler


def _tag(data: bytes) -> str:
    return f'"{hashlib.md5(data, usedforsecurity=False).hexdigest()}"'
