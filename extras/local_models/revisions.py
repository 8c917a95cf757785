"""The exact revision of a local model: a commit of its hub, or a hash of its folder's content.

A branch can move while a study is judged, and a folder can be replaced, so neither names a model.
"""

import hashlib
import re
from pathlib import Path

from judging.errors import ConflictingValue, Reason

_COMMIT = re.compile(r"[0-9a-f]{40}")
_HUB_NAME = re.compile(r"(?:\w[\w.-]*/)?\w[\w.-]*")
_SECONDS = 10  # that a hub may take
_CHUNK = 1 << 22

_UNRESOLVED = Reason(
    "no_exact_revision",
    "{field}: the commit of “{model}” is not known: {problem}. Connect this machine to the hub, "
    "write the commit after @ (40 hexadecimal digits), or use a folder on this machine.",
)
_NO_FOLDER = Reason(
    "no_folder",
    "{field}: there is no folder “{model}” on this machine, and no model of the hub has such a "
    "name, which would be NAME or OWNER/NAME. Check the path.",
)
_CHANGED = "The folder “{name}” has another content than when the judge was added"


def split(model: str) -> tuple[str, str]:
    """Name and revision of `NAME@REVISION`; a folder has no revision."""
    if Path(model).is_dir():
        return model, ""
    name, _, revision = model.partition("@")
    return name, revision


def exact_revision(model: str) -> str:
    """The commit of a name, or the hash of a folder. Raises `ConflictingValue` if there is none."""
    if Path(model).is_dir():
        return content_hash(Path(model))
    name, revision = split(model)
    if not _HUB_NAME.fullmatch(name):
        raise ConflictingValue("model", _NO_FOLDER, model=model)
    if _COMMIT.fullmatch(revision):
        return revision
    try:
        return _commit_of(name, revision)
    except _Unknown as error:
        # The branch as it was downloaded to this machine; that is what would be loaded.
        if found := _downloaded(name, revision or "main"):
            return found
        raise ConflictingValue("model", _UNRESOLVED, model=model, problem=error) from error


class _Unknown(Exception):
    """The hub does not say which commit a branch is at."""


def _commit_of(name: str, revision: str) -> str:
    try:
        import huggingface_hub

        found = huggingface_hub.HfApi().model_info(
            name, revision=revision or None, timeout=_SECONDS
        )
    except Exception as error:
        # The client raises errors of its own, of its HTTP library, and of the file system.
        problem = " ".join(str(error).split())[:160] or "it did not answer"
        raise _Unknown(problem.rstrip(".")) from error
    if not _COMMIT.fullmatch(found.sha or ""):
        raise _Unknown("the hub names none")
    return str(found.sha)


def _downloaded(name: str, branch: str) -> str:
    """The commit of a branch when it was last downloaded; empty if it never was."""
    try:
        from huggingface_hub import constants, file_download
    except ImportError:
        return ""
    try:
        folder = file_download.repo_folder_name(repo_id=name, repo_type="model")
        ref = Path(constants.HF_HUB_CACHE) / folder / "refs" / branch
        commit = ref.read_text().strip() if ref.is_file() else ""
    except (ValueError, OSError):  # a name that the hub does not allow, or a broken cache
        return ""
    return commit if _COMMIT.fullmatch(commit) else ""


def check_folder(name: str, revision: str) -> None:
    """Raise `ValueError` if a folder does not hold what its hash was made from."""
    if revision.startswith("sha256:") and content_hash(Path(name)) != revision:
        raise ValueError(_CHANGED.format(name=name))


def content_hash(folder: Path) -> str:
    """A hash of the names and contents of a folder's files; hidden files do not count."""
    digest = hashlib.sha256()
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    for path in files:
        name = path.relative_to(folder)
        if any(part.startswith(".") for part in name.parts):
            continue
        content = hashlib.sha256()
        with path.open("rb") as file:
            while chunk := file.read(_CHUNK):
                content.update(chunk)
        digest.update(f"{name.as_posix()}\0{content.hexdigest()}\n".encode())
    return f"sha256:{digest.hexdigest()}"
