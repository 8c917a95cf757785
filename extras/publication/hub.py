"""The Hugging Face hub: a private data set in one commit. Making it public is left to its owner."""

import base64
import json
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar
from urllib.parse import quote

from extras.publication.connection import (
    ArchiveConnection,
    PublicationFailed,
    PublicationRefused,
)
from extras.publication.leaving import Leaving, part_of

T = TypeVar("T")

SERVER = "https://huggingface.co"
TOKEN = "HF_TOKEN"  # noqa: S105 - the variable's name
_LFS = {
    "Accept": "application/vnd.git-lfs+json",
    "Content-Type": "application/vnd.git-lfs+json",
}
_AT_ONCE = 200  # files in one question
_SAMPLE = 512  # bytes of a file by which the hub sees whether it is text


def put_dataset(
    server: ArchiveConnection,
    files: Sequence[Leaving],
    *,
    repo: str,
    message: str,
    on_file: Callable[[Leaving, bool], None],
) -> str:
    """Bring the private data set `repo` to hold the files, and return its address.

    All files appear with one commit. What the hub has already is not sent again.
    """
    _open_dataset(server, repo)
    there = _listed(server, repo)
    new = [file for file in files if there.get(file.name) not in (file.sha256, file.git_sha1)]
    large = _large(server, repo, new)
    _upload(server, repo, [file for file in new if file.name in large])
    if new:
        _commit(server, repo, new, large, message)
    for file in files:
        on_file(file, file not in new)
    return f"{server.base}/datasets/{repo}"


def _open_dataset(server: ArchiveConnection, repo: str) -> None:
    owner, _, name = repo.partition("/")
    body = {"type": "dataset", "organization": owner, "name": name, "private": True}
    made = server.ask("POST", "/api/repos/create", body=body, expected=(200, 201, 409))
    if made.status_code != 409:
        return
    if not server.ask("GET", f"/api/datasets/{quote(repo)}").json()["private"]:
        raise PublicationRefused(
            f"The data set {repo} is public, so files would be public at once. Make it private "
            "on its page, or choose another name with --repo."
        )


def _listed(server: ArchiveConnection, repo: str) -> dict[str, str]:
    """The files of the data set with the hash by which the hub knows each."""
    found: dict[str, str] = {}
    address: str | None = f"/api/datasets/{quote(repo)}/tree/main?recursive=true"
    while address:
        page = server.ask("GET", address)
        for file in page.json():
            if file["type"] == "file":
                found[file["path"]] = file.get("lfs", file)["oid"]
        address = page.links.get("next", {}).get("url")
    return found


def _large(server: ArchiveConnection, repo: str, files: Sequence[Leaving]) -> set[str]:
    """The names of the files that the hub wants outside the commit."""
    found = set()
    for some in _batches(files):
        asked = [
            {"path": file.name, "size": file.size, "sample": _encoded(file, _SAMPLE)}
            for file in some
        ]
        answer = server.ask(
            "POST", f"/api/datasets/{quote(repo)}/preupload/main", body={"files": asked}
        )
        found |= {file["path"] for file in answer.json()["files"] if file["uploadMode"] == "lfs"}
    return found


def _batches(things: Sequence[T]) -> Iterator[Sequence[T]]:
    for start in range(0, len(things), _AT_ONCE):
        yield things[start : start + _AT_ONCE]


def _encoded(file: Leaving, length: int) -> str:
    with part_of(file, 0, length) as content:
        return base64.b64encode(content).decode()


def _upload(server: ArchiveConnection, repo: str, files: Sequence[Leaving]) -> None:
    """Send large files to where the hub wants them; those that it has are left out by it."""
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
    """Send one file, or its parts; the addresses are signed, so they get no token."""
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
