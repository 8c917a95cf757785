"""Zenodo: a draft with files and metadata. Publishing it is left to its owner."""

from collections.abc import Callable, Sequence
from typing import Any
from urllib.parse import quote

from extras.publication.connection import ArchiveConnection, PublicationFailed
from extras.publication.leaving import Leaving

SERVER = "https://zenodo.org"
TOKEN = "ZENODO_TOKEN"  # noqa: S105 - the variable's name
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
    """Bring a draft to hold the files, and return its address.

    `known` is a draft that an earlier try began; `remember` gets the id of a new one before any
    file is sent, so that the next try finds it.
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
            _upload(server, draft["links"]["bucket"], file)
        on_file(file, is_there)
    return str(draft["links"]["html"])


def _open_draft(server: ArchiveConnection, known: str) -> Any:
    """The draft of an earlier try, unless it was deleted or published since."""
    if not known:
        return None
    found = server.ask("GET", f"{_DRAFTS}/{quote(known)}", expected=(200, 404, 410))
    if found.status_code != 200 or found.json().get("submitted"):
        return None
    return found.json()


def _upload(server: ArchiveConnection, bucket: str, file: Leaving) -> None:
    with file.path.open("rb") as content:
        stored = server.ask(
            "PUT",
            f"{bucket}/{quote(file.name)}",
            data=content,
            headers={"Content-Type": "application/octet-stream"},
        ).json()
    if stored["checksum"].removeprefix("md5:") != file.md5:
        raise PublicationFailed(
            f"{file.name} arrived with another checksum. Run the same command again."
        )


def metadata_of(
    *, title: str, description: str, authors: Sequence[str], licence: str, keywords: Sequence[str]
) -> dict[str, Any]:
    """What Zenodo asks for; a line of the plain text `description` becomes a paragraph."""
    from django.utils.html import escape

    found: dict[str, Any] = {
        "title": title,
        "upload_type": "dataset",
        "description": "".join(f"<p>{escape(line)}</p>" for line in description.splitlines()),
        "creators": [{"name": name} for name in authors],
        "keywords": list(keywords),
        "access_right": "open",
    }
    return found | ({"license": licence.lower()} if licence else {})
