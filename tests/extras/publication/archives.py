"""Zenodo, OSF and the hub as their documentation describes them, as far as drafts need them.

Each is strict: a request that the documented service would refuse is refused, and every request
that would publish something fails the test.
"""

import base64
import hashlib
import json
import re
from typing import Any
from urllib.parse import unquote

from pytest_httpserver import HTTPServer
from werkzeug import Request, Response

TOKEN = "secret-token-4711"


class Archive:
    """A server that checks the token and finds the method for a request."""

    routes: tuple[tuple[str, str, str], ...] = ()

    def __init__(self, server: HTTPServer) -> None:
        self.url = server.url_for("").rstrip("/")
        self.asked: list[str] = []
        self.sent: list[str] = []
        self.fails_at = ""
        server.expect_request(re.compile(".*")).respond_with_handler(self.answer)

    def answer(self, request: Request) -> Response:
        asked = f"{request.method} {request.path}"
        self.asked.append(asked)
        content = request.get_data()
        assert TOKEN not in request.url
        if self.fails_at and self.fails_at in request.url:
            return Response("busy", 500)
        for method, pattern, name in self.routes:
            found = re.fullmatch(pattern, request.path)
            if found and method == request.method:
                if name != "receive":
                    if request.headers.get("Authorization") != f"Bearer {TOKEN}":
                        return Response('{"message": "who are you?"}', 401)
                else:
                    assert "Authorization" not in request.headers
                return getattr(self, name)(request, content, *found.groups())
        raise AssertionError(f"The service does not know {asked}, or it would publish something.")


def as_json(value: Any, status: int = 200) -> Response:
    return Response(json.dumps(value), status, content_type="application/json")


class Zenodo(Archive):
    routes = (
        ("POST", r"/api/deposit/depositions", "create"),
        ("GET", r"/api/deposit/depositions/(\d+)", "read"),
        ("PUT", r"/api/deposit/depositions/(\d+)", "describe"),
        ("PUT", r"/api/files/bucket-(\d+)/([^/]+)", "store"),
    )

    def __init__(self, server: HTTPServer) -> None:
        super().__init__(server)
        self.drafts: dict[str, dict[str, Any]] = {}

    def create(self, request: Request, content: bytes) -> Response:
        assert request.content_type == "application/json"
        assert json.loads(content) == {}
        key = str(len(self.drafts) + 101)
        self.drafts[key] = {"metadata": {}, "files": {}, "submitted": False}
        return as_json(self._shown(key), 201)

    def read(self, request: Request, content: bytes, key: str) -> Response:
        if key not in self.drafts:
            return Response("{}", 404)
        return as_json(self._shown(key))

    def describe(self, request: Request, content: bytes, key: str) -> Response:
        given = json.loads(content)["metadata"]
        missing = {"title", "upload_type", "description", "creators"} - given.keys()
        if missing or not given["creators"]:
            return as_json({"message": "Validation error.", "errors": sorted(missing)}, 400)
        self.drafts[key]["metadata"] = given
        return as_json(self._shown(key))

    def store(self, request: Request, content: bytes, key: str, name: str) -> Response:
        if request.content_type != "application/octet-stream":
            return as_json({"message": "Unsupported media type"}, 415)
        assert request.content_length == len(content)
        self.sent.append(name)
        self.drafts[key]["files"][name] = content
        return as_json({"key": name, "checksum": f"md5:{_md5(content)}"}, 201)

    def _shown(self, key: str) -> dict[str, Any]:
        draft = self.drafts[key]
        files = [
            {"filename": name, "filesize": len(content), "checksum": _md5(content)}
            for name, content in draft["files"].items()
        ]
        links = {
            "bucket": f"{self.url}/api/files/bucket-{key}",
            "html": f"{self.url}/deposit/{key}",
        }
        shown = {"metadata": draft["metadata"], "submitted": draft["submitted"]}
        return {"id": int(key), "links": links, "files": files, **shown}


class Osf(Archive):
    """One project at most; a page of files has two entries, so that following pages is tried."""

    routes = (
        ("POST", r"/v2/nodes/", "create"),
        ("GET", r"/v2/nodes/abc12/", "read"),
        ("GET", r"/v2/nodes/abc12/files/", "providers"),
        ("GET", r"/v2/nodes/abc12/files/osfstorage/", "listing"),
        ("PUT", r"/v1/resources/abc12/providers/osfstorage/(.*)", "store"),
    )

    def __init__(self, server: HTTPServer) -> None:
        super().__init__(server)
        self.project: dict[str, Any] | None = None
        self.files: dict[str, bytes] = {}

    def create(self, request: Request, content: bytes) -> Response:
        assert request.content_type == "application/vnd.api+json"
        given = json.loads(content)["data"]
        assert given["type"] == "nodes"
        assert given["attributes"]["public"] is False
        assert given["attributes"]["category"] in ("project", "data", "software", "other")
        assert self.project is None, "a second project was created"
        self.project = given["attributes"]
        return as_json({"data": self._shown()}, 201)

    def read(self, request: Request, content: bytes) -> Response:
        if self.project is None:
            return as_json({"errors": []}, 404)
        return as_json({"data": self._shown()})

    def _shown(self) -> dict[str, Any]:
        files = {"links": {"related": {"href": f"{self.url}/v2/nodes/abc12/files/"}}}
        return {
            "id": "abc12",
            "attributes": self.project,
            "relationships": {"files": files},
            "links": {"html": f"{self.url}/abc12/"},
        }

    def providers(self, request: Request, content: bytes) -> Response:
        files = {"links": {"related": {"href": f"{self.url}/v2/nodes/abc12/files/osfstorage/"}}}
        upload = f"{self.url}/v1/resources/abc12/providers/osfstorage/"
        found = [
            {"attributes": {"provider": "github"}, "relationships": {}, "links": {}},
            {
                "attributes": {"provider": "osfstorage"},
                "relationships": {"files": files},
                "links": {"upload": upload},
            },
        ]
        return as_json({"data": found, "links": {"next": None}})

    def listing(self, request: Request, content: bytes) -> Response:
        start = int(request.args.get("page", 1)) * 2 - 2
        names = sorted(self.files)
        following = f"{self.url}{request.path}?page={start // 2 + 2}"
        return as_json(
            {
                "data": [self._file(name) for name in names[start : start + 2]],
                "links": {"next": following if start + 2 < len(names) else None},
            }
        )

    def _file(self, name: str) -> dict[str, Any]:
        hashes = {"sha256": hashlib.sha256(self.files[name]).hexdigest()}
        upload = f"{self.url}/v1/resources/abc12/providers/osfstorage/id-{name}"
        attributes = {"kind": "file", "name": name, "extra": {"hashes": hashes}}
        return {"attributes": attributes, "links": {"upload": upload}}

    def store(self, request: Request, content: bytes, place: str) -> Response:
        assert request.args["kind"] == "file"
        if place:
            name, status = place.removeprefix("id-"), 200
            assert name in self.files
        else:
            name, status = request.args["name"], 201
            if name in self.files:
                return as_json({"message": "a file with this name exists"}, 409)
        self.sent.append(name)
        self.files[name] = content
        return as_json({"data": self._file(name)}, status)


class Hub(Archive):
    """Files of more than `limit` bytes go outside the commit, in parts of `part` bytes."""

    routes = (
        ("POST", r"/api/repos/create", "create"),
        ("GET", r"/api/datasets/ada/answers", "read"),
        ("GET", r"/api/datasets/ada/answers/tree/main", "tree"),
        ("POST", r"/api/datasets/ada/answers/preupload/main", "preupload"),
        ("POST", r"/datasets/ada/answers\.git/info/lfs/objects/batch", "batch"),
        ("PUT", r"/upload/(\w+)/(\d*)", "receive"),
        ("POST", r"/complete/(\w+)", "receive"),
        ("POST", r"/verify/(\w+)", "verify"),
        ("POST", r"/api/datasets/ada/answers/commit/main", "commit"),
    )
    limit, part = 3_000, 4_000

    def __init__(self, server: HTTPServer) -> None:
        super().__init__(server)
        self.private: bool | None = None
        self.files: dict[str, dict[str, Any]] = {}
        self.objects: dict[str, bytes] = {}
        self.parts: dict[str, dict[int, bytes]] = {}
        self.sizes: dict[str, int] = {}
        self.commits = 0

    def create(self, request: Request, content: bytes) -> Response:
        given = json.loads(content)
        assert (given["type"], given["organization"], given["name"]) == (
            "dataset",
            "ada",
            "answers",
        )
        assert given["private"] is True
        if self.private is not None:
            return as_json({"error": "You already created this dataset repo"}, 409)
        self.private = True
        return as_json({"url": f"{self.url}/datasets/ada/answers"})

    def read(self, request: Request, content: bytes) -> Response:
        return as_json({"id": "ada/answers", "private": self.private})

    def tree(self, request: Request, content: bytes) -> Response:
        assert request.args["recursive"] == "true"
        start = int(request.args.get("cursor", 0))
        paths = sorted(self.files)
        found = [{"type": "directory", "path": "data", "oid": "0"}] if not start else []
        found += [{"type": "file", "path": p, **self.files[p]} for p in paths[start : start + 5]]
        response = as_json(found)
        if start + 5 < len(paths):
            following = f"{self.url}{request.path}?recursive=true&cursor={start + 5}"
            response.headers["Link"] = f'<{following}>; rel="next"'
        return response

    def preupload(self, request: Request, content: bytes) -> Response:
        files = json.loads(content)["files"]
        for file in files:
            assert len(base64.b64decode(file["sample"])) == min(512, file["size"])
        modes = [
            {"path": f["path"], "uploadMode": "lfs" if f["size"] > self.limit else "regular"}
            for f in files
        ]
        return as_json({"files": modes})

    def batch(self, request: Request, content: bytes) -> Response:
        given = json.loads(content)
        assert request.content_type == "application/vnd.git-lfs+json"
        assert (given["operation"], given["hash_algo"]) == ("upload", "sha256")
        assert "multipart" in given["transfers"]
        return as_json({"objects": [self._wanted(**each) for each in given["objects"]]})

    def _wanted(self, oid: str, size: int) -> dict[str, Any]:
        self.sizes[oid] = size
        if oid in self.objects:
            return {"oid": oid, "size": size}
        upload: dict[str, Any] = {"href": f"{self.url}/upload/{oid}/"}
        if size > self.part:
            count = -(-size // self.part)
            urls = {f"{n + 1:05}": f"{self.url}/upload/{oid}/{n + 1}" for n in range(count)}
            header = {"chunk_size": str(self.part), **urls}
            upload = {"href": f"{self.url}/complete/{oid}", "header": header}
        verify = {"href": f"{self.url}/verify/{oid}"}
        return {"oid": oid, "size": size, "actions": {"upload": upload, "verify": verify}}

    def receive(
        self, request: Request, content: bytes, oid: str, number: str | None = None
    ) -> Response:
        if request.method == "PUT" and not number:
            self._keep(oid, content)
        elif request.method == "PUT":
            self.parts.setdefault(oid, {})[int(number or 0)] = content
            return Response("", 200, headers={"ETag": f'"{_md5(content)}"'})
        else:
            given = json.loads(content)
            assert given["oid"] == oid
            etags = {each["partNumber"]: each["etag"] for each in given["parts"]}
            stored = {n: f'"{_md5(part)}"' for n, part in self.parts[oid].items()}
            assert etags == stored
            self._keep(oid, b"".join(part for _, part in sorted(self.parts[oid].items())))
        return Response("", 200)

    def _keep(self, oid: str, content: bytes) -> None:
        assert hashlib.sha256(content).hexdigest() == oid
        self.objects[oid] = content
        self.sent.append(oid)

    def verify(self, request: Request, content: bytes, oid: str) -> Response:
        assert json.loads(content) == {"oid": oid, "size": len(self.objects[oid])}
        return Response("", 200)

    def commit(self, request: Request, content: bytes) -> Response:
        assert request.content_type == "application/x-ndjson"
        header, *operations = [json.loads(line) for line in content.splitlines()]
        assert header["key"] == "header"
        assert header["value"]["summary"]
        assert operations
        for operation in operations:
            value = operation["value"]
            if operation["key"] == "lfsFile":
                assert value["algo"] == "sha256"
                assert len(self.objects[value["oid"]]) == value["size"]
                self.files[value["path"]] = {"oid": "pointer", "lfs": {"oid": value["oid"]}}
            else:
                assert (operation["key"], value["encoding"]) == ("file", "base64")
                raw = base64.b64decode(value["content"])
                assert len(raw) <= self.limit
                oid = hashlib.sha1(f"blob {len(raw)}\0".encode() + raw).hexdigest()
                self.files[unquote(value["path"])] = {"oid": oid}
                self.sent.append(value["path"])
        self.commits += 1
        return as_json({"commitUrl": f"{self.url}/datasets/ada/answers/commit/1"})


def _md5(content: bytes) -> str:
    return hashlib.md5(content).hexdigest()
