"""OSF: a private project with files. Making it public or registering it is left to its owner."""

from collections.abc import Callable, Sequence
from typing import Any
from urllib.parse import quote

from extras.publication.connection import ArchiveConnection, PublicationFailed
from extras.publication.leaving import Leaving

SERVER = "https://api.osf.io"
DOMAIN = "osf.io"
TOKEN = "OSF_TOKEN"  # noqa: S105 - the variable's name
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
    """Bring a private project to hold the files, and return its address.

    `known` is a project that an earlier try began; `remember` gets the id of a new one before any
    file is sent, so that the next try finds it.
    """
    project = _open_project(server, known)
    if project is None:
        project = _create(server, title, description)
        remember(project["id"])
    storage = _storage(server, project)
    there = {file["attributes"]["name"]: file for file in _listed(server, storage)}
    for file in files:
        old = there.get(file.name)
        is_there = old is not None and _sha256(old) == file.sha256
        if not is_there:
            _upload(server, storage, old, file)
        on_file(file, is_there)
    return str(project["links"]["html"])


def _open_project(server: ArchiveConnection, known: str) -> Any:
    """The project of an earlier try, unless it was deleted or made public since."""
    if not known:
        return None
    found = server.ask("GET", f"/v2/nodes/{quote(known)}/", expected=(200, 404, 410))
    if found.status_code != 200 or found.json()["data"]["attributes"]["public"]:
        return None
    return found.json()["data"]


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


def _listed(server: ArchiveConnection, storage: Any) -> list[Any]:
    address = storage["relationships"]["files"]["links"]["related"]["href"]
    return [file for file in _pages(server, address) if file["attributes"]["kind"] == "file"]


def _pages(server: ArchiveConnection, address: str | None) -> list[Any]:
    found: list[Any] = []
    while address:
        page = server.ask("GET", address).json()
        found += page["data"]
        address = page["links"].get("next")
    return found


def _sha256(file: Any) -> str:
    return str(file["attributes"]["extra"]["hashes"].get("sha256", ""))


def _upload(server: ArchiveConnection, storage: Any, old: Any, file: Leaving) -> None:
    """A new file, or a new version of one that is there with other content."""
    place = storage if old is None else old
    params = {"kind": "file"} | ({"name": file.name} if old is None else {})
    with file.path.open("rb") as content:
        stored = server.ask("PUT", place["links"]["upload"], data=content, params=params).json()
    if _sha256(stored["data"]) != file.sha256:
        raise PublicationFailed(
            f"{file.name} arrived with another checksum. Run the same command again."
        )
