"""The archives: a private data set on the hub, a private project on OSF, a draft on Zenodo.

Making it public, registering or publishing it is left to its owner.
"""

import base64
import json
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar
from urllib.parse import quote

from extras.publication.connection import (
    ArchiveConnection,
    Leaving,
    PublicationFailed,
    PublicationRefused,
    part_of,
)

T = TypeVar("T")

HUB_SERVER = "https://huggingface.co"
HUB_TOKEN = "HF_TOKEN"  # noqa: S105 - the variable's name
_LFS = {
    "Accept": "application/vnd.git-lfs+json",
    "Content-Type": "application/vnd.git-lfs+json",
}
_AT_ONCE = 200  # files per request
_SAMPLE = 512  # bytes of a file by which the hub detects text


def put_dataset(
    server: ArchiveConnection,
    files: Sequence[Leaving],
    *,
    repo: str,
    message: str,
    on_file: Callable[[Leaving, bool], None],
) -> str:
    """Put the files into the private data set `repo`, and return its address.

    All files appear in one commit. Files that the hub has are not sent again.
    """
    _open_dataset(server, repo)
    there = _listed_at_hub(server, repo)
    new = [file for file in files if there.get(file.name) not in (file.sha256, file.git_sha1)]
    large = _large(server, repo, new)
    _upload_to_hub(server, repo, [file for file in new if file.name in large])
    if new:
        _commit(server, repo, new, large, message)
    for file in files:
        on_file(file, file not in new)
    return f"{server.base}/datasets/{repo}"


def _open_dataset(server: ArchiveConnection, repo: str) -> None:
    owner, _, name = repo.partition("/")
    body = {"type": "dataset", "organization": owner, "name": name, "private": True}
    reply = server.ask("POST", "/api/repos/create", body=body, expected=(200, 201, 409))
    if reply.status_code != 409:
        return
    if not server.ask("GET", f"/api/datasets/{quote(repo)}").json()["private"]:
        raise PublicationRefused(
            f"The data set {repo} is public, so the files would be public immediately. Make it "
            "private on its page, or choose another name with --repo."
        )


def _listed_at_hub(server: ArchiveConnection, repo: str) -> dict[str, str]:
    """The files of the data set, each with the hash that the hub uses."""
    listed: dict[str, str] = {}
    address: str | None = f"/api/datasets/{quote(repo)}/tree/main?recursive=true"
    while address:
        page = server.ask("GET", address)
        for file in page.json():
            if file["type"] == "file":
                listed[file["path"]] = file.get("lfs", file)["oid"]
        address = page.links.get("next", {}).get("url")
    return listed


def _large(server: ArchiveConnection, repo: str, files: Sequence[Leaving]) -> set[str]:
    """The names of the files that the hub wants outside the commit."""
    large = set()
    for some in _batches(files):
        asked = [
            {"path": file.name, "size": file.size, "sample": _encoded(file, _SAMPLE)}
            for file in some
        ]
        answer = server.ask(
            "POST", f"/api/datasets/{quote(repo)}/preupload/main", body={"files": asked}
        )
        large |= {file["path"] for file in answer.json()["files"] if file["uploadMode"] == "lfs"}
    return large


def _batches(things: Sequence[T]) -> Iterator[Sequence[T]]:
    for start in range(0, len(things), _AT_ONCE):
        yield things[start : start + _AT_ONCE]


def _encoded(file: Leaving, length: int) -> str:
    with part_of(file, 0, length) as content:
        return base64.b64encode(content).decode()


def _upload_to_hub(server: ArchiveConnection, repo: str, files: Sequence[Leaving]) -> None:
    """Send large files to the addresses that the hub gives; it skips those that it has."""
    by_hash = {file.sha256: file for file in files}
    for some in _batches(list(by_hash)):
        body = {
            "operation": "upload",
            "transfers": ["basic", "multipart"],
            "hash_algo": "sha256",
            "objects": [{"oid": oid, "size": by_hash[oid].size} for oid in some],
        }
        address = f"/datasets/{quote(repo)}.git/info/lfs/objects/batch"
        answer = server.ask("POST", address, body=body, headers=_LFS).json()
        for wanted in answer["objects"]:
            file = by_hash[wanted["oid"]]
            if "error" in wanted:
                raise PublicationFailed(f"{file.name} was refused: {wanted['error']['message']}")
            if upload := wanted.get("actions", {}).get("upload"):
                _send(server, file, upload)
            if verify := wanted.get("actions", {}).get("verify"):
                stored = {"oid": file.sha256, "size": file.size}
                server.ask("POST", verify["href"], body=stored, headers=_LFS)


def _send(server: ArchiveConnection, file: Leaving, upload: Any) -> None:
    """Send a file or its parts; the addresses are signed, so they get no token."""
    headers = dict(upload.get("header", {}))
    size = int(headers.pop("chunk_size", 0))
    if not size:
        with file.path.open("rb") as content:
            server.ask("PUT", upload["href"], data=content, headers=headers, with_token=False)
        return
    parts = []
    numbered = sorted((int(key), url) for key, url in headers.items() if key.isdigit())
    for place, (number, url) in enumerate(numbered):
        with part_of(file, place * size, size) as content:
            stored = server.ask("PUT", url, data=content, with_token=False)
        parts.append({"partNumber": number, "etag": stored.headers["ETag"]})
    server.ask("POST", upload["href"], body={"oid": file.sha256, "parts": parts}, with_token=False)


def _commit(
    server: ArchiveConnection, repo: str, files: Sequence[Leaving], large: set[str], message: str
) -> None:
    lines = "".join(f"{json.dumps(line)}\n" for line in _lines(files, large, message))
    server.ask(
        "POST",
        f"/api/datasets/{quote(repo)}/commit/main",
        data=lines.encode(),
        headers={"Content-Type": "application/x-ndjson"},
    )


def _lines(files: Sequence[Leaving], large: set[str], message: str) -> Iterator[Any]:
    yield {"key": "header", "value": {"summary": message, "description": ""}}
    for file in files:
        if file.name in large:
            value = {"path": file.name, "algo": "sha256", "oid": file.sha256, "size": file.size}
            yield {"key": "lfsFile", "value": value}
        else:
            content = _encoded(file, file.size)
            yield {
                "key": "file",
                "value": {"path": file.name, "content": content, "encoding": "base64"},
            }


OSF_SERVER = "https://api.osf.io"
OSF_DOMAIN = "osf.io"
OSF_TOKEN = "OSF_TOKEN"  # noqa: S105 - the variable's name
_JSON = {"Content-Type": "application/vnd.api+json"}
_STORAGE = "osfstorage"


def put_project(
    server: ArchiveConnection,
    files: Sequence[Leaving],
    *,
    title: str,
    description: str,
    known: str,
    remember: Callable[[str], None],
    on_file: Callable[[Leaving, bool], None],
) -> str:
    """Put the files into a private project, and return its address.

    `known` is the project of an earlier try; `remember` gets the id of a new one before any file is
    sent, so that the next try finds it.
    """
    project = _open_project(server, known)
    if project is None:
        project = _create(server, title, description)
        remember(project["id"])
    storage = _storage(server, project)
    there = {file["attributes"]["name"]: file for file in _listed_at_osf(server, storage)}
    for file in files:
        old = there.get(file.name)
        is_there = old is not None and _sha256(old) == file.sha256
        if not is_there:
            _upload_to_osf(server, storage, old, file)
        on_file(file, is_there)
    return str(project["links"]["html"])


def _open_project(server: ArchiveConnection, known: str) -> Any:
    """The project of an earlier try, unless it has been deleted or made public."""
    if not known:
        return None
    reply = server.ask("GET", f"/v2/nodes/{quote(known)}/", expected=(200, 404, 410))
    if reply.status_code != 200 or reply.json()["data"]["attributes"]["public"]:
        return None
    return reply.json()["data"]


def _create(server: ArchiveConnection, title: str, description: str) -> Any:
    attributes = {"title": title, "category": "data", "description": description, "public": False}
    body = {"data": {"type": "nodes", "attributes": attributes}}
    return server.ask("POST", "/v2/nodes/", body=body, headers=_JSON).json()["data"]


def _storage(server: ArchiveConnection, project: Any) -> Any:
    address = project["relationships"]["files"]["links"]["related"]["href"]
    for provider in _pages(server, address):
        if provider["attributes"]["provider"] == _STORAGE:
            return provider
    raise PublicationFailed("The project has no OSF Storage. Add it on its page, then try again.")


def _listed_at_osf(server: ArchiveConnection, storage: Any) -> list[Any]:
    address = storage["relationships"]["files"]["links"]["related"]["href"]
    return [file for file in _pages(server, address) if file["attributes"]["kind"] == "file"]


def _pages(server: ArchiveConnection, address: str | None) -> list[Any]:
    entries: list[Any] = []
    while address:
        page = server.ask("GET", address).json()
        entries += page["data"]
        address = page["links"].get("next")
    return entries


def _sha256(file: Any) -> str:
    return str(file["attributes"]["extra"]["hashes"].get("sha256", ""))


def _upload_to_osf(server: ArchiveConnection, storage: Any, old: Any, file: Leaving) -> None:
    """Upload a new file, or a new version of one with other content."""
    place = storage if old is None else old
    params = {"kind": "file"} | ({"name": file.name} if old is None else {})
    with file.path.open("rb") as content:
        stored = server.ask("PUT", place["links"]["upload"], data=content, params=params).json()
    if _sha256(stored["data"]) != file.sha256:
        raise PublicationFailed(
            f"{file.name} arrived with a wrong checksum. Run the same command again."
        )


ZENODO_SERVER = "https://zenodo.org"
ZENODO_TOKEN = "ZENODO_TOKEN"  # noqa: S105 - the variable's name
_DRAFTS = "/api/deposit/depositions"


def put_draft(
    server: ArchiveConnection,
    files: Sequence[Leaving],
    *,
    metadata: dict[str, Any],
    known: str,
    remember: Callable[[str], None],
    on_file: Callable[[Leaving, bool], None],
) -> str:
    """Put the files into a draft, and return its address.

    `known` is the draft of an earlier try; `remember` gets the id of a new one before any file is
    sent, so that the next try finds it.
    """
    draft = _open_draft(server, known)
    if draft is None:
        draft = server.ask("POST", _DRAFTS, body={}).json()
        remember(str(draft["id"]))
    draft = server.ask("PUT", f"{_DRAFTS}/{draft['id']}", body={"metadata": metadata}).json()
    there = {file["filename"]: file["checksum"].removeprefix("md5:") for file in draft["files"]}
    for file in files:
        is_there = there.get(file.name) == file.md5
        if not is_there:
            _upload_to_zenodo(server, draft["links"]["bucket"], file)
        on_file(file, is_there)
    return str(draft["links"]["html"])


def _open_draft(server: ArchiveConnection, known: str) -> Any:
    """The draft of an earlier try, unless it has been deleted or published."""
    if not known:
        return None
    reply = server.ask("GET", f"{_DRAFTS}/{quote(known)}", expected=(200, 404, 410))
    if reply.status_code != 200 or reply.json().get("submitted"):
        return None
    return reply.json()


def _upload_to_zenodo(server: ArchiveConnection, bucket: str, file: Leaving) -> None:
    with file.path.open("rb") as content:
        stored = server.ask(
            "PUT",
            f"{bucket}/{quote(file.name)}",
            data=content,
            headers={"Content-Type": "application/octet-stream"},
        ).json()
    if stored["checksum"].removeprefix("md5:") != file.md5:
        raise PublicationFailed(
            f"{file.name} arrived with a wrong checksum. Run the same command again."
        )


def metadata_of(
    *, title: str, description: str, authors: Sequence[str], licence: str, keywords: Sequence[str]
) -> dict[str, Any]:
    """Metadata for Zenodo; each line of the plain text `description` becomes a paragraph."""
    from django.utils.html import escape

    described: dict[str, Any] = {
        "title": title,
        "upload_type": "dataset",
        "description": "".join(f"<p>{escape(line)}</p>" for line in description.splitlines()),
        "creators": [{"name": name} for name in authors],
        "keywords": list(keywords),
        "access_right": "open",
    }
    return described | ({"license": licence.lower()} if licence else {})
