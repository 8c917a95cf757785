"""The file of a backup: its members, their checksums, and the manifest."""

import hashlib
import json
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import IO, Any

MANIFEST = "manifest.json"
KEY_PART = "secret_key"
_BLOCK = 1024 * 1024
_FORMAT = 1
# What reading a damaged zip file raises, or one that another program packed or encrypted.
_DAMAGED = (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError)
_TEXTS = ("version", "taken_at", "key_fingerprint")


class BackupError(Exception):
    """A backup cannot be made or restored; the message says why."""


class ArchiveWriter:
    """Writes members one after the other, and the manifest with the checksums at the end."""

    def __init__(self, bundle: zipfile.ZipFile) -> None:
        self._bundle = bundle
        self._parts: dict[str, dict[str, Any]] = {}

    def add(self, name: str, blocks: Iterable[bytes], **facts: Any) -> int:
        """Write a member, and return the number of blocks."""
        digest, size, number = hashlib.sha256(), 0, 0
        with self._bundle.open(name, "w", force_zip64=True) as member:
            for block in blocks:
                member.write(block)
                digest.update(block)
                size += len(block)
                number += 1
        self._parts[name] = {"sha256": digest.hexdigest(), "bytes": size, **facts}
        return number

    def close(self, facts: dict[str, Any]) -> None:
        manifest = {"format": _FORMAT, **facts, "parts": self._parts}
        self._bundle.writestr(MANIFEST, json.dumps(manifest, indent=1, ensure_ascii=False))


def blocks_of(file: IO[bytes]) -> Iterator[bytes]:
    while block := file.read(_BLOCK):
        yield block


def _fault_of(manifest: dict[str, Any]) -> str:
    """What is not as `ArchiveWriter` writes it, or nothing."""
    for name in _TEXTS:
        if not isinstance(manifest.get(name), str):
            return f"{name} is no text"
    try:
        datetime.fromisoformat(manifest["taken_at"])
    except ValueError:
        return "taken_at is no time"
    migrations, parts = manifest.get("migrations"), manifest["parts"]
    if not isinstance(migrations, list) or not all(isinstance(one, str) for one in migrations):
        return "migrations is no list of names"
    if not isinstance(parts, dict):
        return "parts is no table"
    for name, facts in parts.items():
        if not isinstance(facts, dict) or not isinstance(facts.get("sha256"), str):
            return f"the part {name} has no checksum"
    return ""


class Archive:
    """A backup that is read. Nothing of it is used before `check` has returned."""

    def __init__(self, bundle: zipfile.ZipFile) -> None:
        self._bundle = bundle
        try:
            self.manifest: dict[str, Any] = json.loads(bundle.read(MANIFEST))
            self.parts: dict[str, dict[str, Any]] = self.manifest["parts"]
            is_known = self.manifest["format"] == _FORMAT
        except (KeyError, ValueError, TypeError, RecursionError, *_DAMAGED) as error:
            raise BackupError(
                "The file has no manifest of a backup. Is it another file, or damaged?"
            ) from error
        if is_known and (fault := _fault_of(self.manifest)):
            raise BackupError(f"The manifest of the backup is damaged: {fault}. Use another copy.")
        if not is_known:
            raise BackupError(
                f"The backup has format {self.manifest['format']}, and this program reads format "
                f"{_FORMAT}. Use the version of the program that made it."
            )

    def check(self) -> None:
        """Compare every part with its checksum. Raises `BackupError` that names the first fault."""
        names = set(self._bundle.namelist()) - {MANIFEST}
        if missing := sorted(self.parts.keys() - names):
            raise BackupError(f"The part {missing[0]} is missing. Use another copy of the file.")
        if unknown := sorted(names - self.parts.keys()):
            raise BackupError(
                f"The part {unknown[0]} is not in the manifest. Nothing was restored."
            )
        for name, facts in self.parts.items():
            digest = hashlib.sha256()
            try:
                with self.open(name) as member:
                    for block in blocks_of(member):
                        digest.update(block)
            except _DAMAGED as error:
                raise BackupError(f"The part {name} is damaged. Use another copy.") from error
            if digest.hexdigest() != facts["sha256"]:
                raise BackupError(
                    f"The part {name} has another checksum than the manifest. Use another copy."
                )

    def open(self, name: str) -> IO[bytes]:
        return self._bundle.open(name)

    def lines(self, name: str) -> Iterator[bytes]:
        with self.open(name) as member:
            yield from member

    def read(self, name: str) -> bytes:
        return self._bundle.read(name)


@contextmanager
def opened(path: Path) -> Iterator[Archive]:
    """Raises `BackupError` if the file is no backup."""
    try:
        with zipfile.ZipFile(path) as bundle:
            yield Archive(bundle)
    except FileNotFoundError:
        raise BackupError(f"{path} does not exist.") from None
    except _DAMAGED as error:
        raise BackupError(f"{path} is not a whole zip file: {error}.") from error
