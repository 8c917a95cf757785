"""Files in a bucket of Amazon S3 or a compatible server, by django-storages and boto3.

Imported only if the setting FILES names a bucket; the packages are in requirements-s3.txt.
"""

import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from boto3.s3.transfer import TransferConfig
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError
from storages.backends.s3 import S3Storage

from studies.file_storage.block_reader import read_blocks
from studies.file_storage.storage import FilesStorage, StorageUnreachable, owned_folders

BLOCK_BYTES = 4 * 1024**2
_PART_BYTES = 16 * 1024**2
_GONE = {"404", "NoSuchKey", "NotFound"}


@contextmanager
def _in_words() -> Iterator[None]:
    """Whatever the server of the bucket refuses, or does not answer, is a `StorageUnreachable`."""
    try:
        yield
    except (ClientError, BotoCoreError) as error:
        raise StorageUnreachable(f"The bucket cannot be used: {error}") from error


class BucketStorage(FilesStorage, S3Storage):
    """Objects below a prefix. One object appears whole; the files of a folder one by one."""

    def __init__(self, *, encryption: str = "", **options: Any) -> None:
        super().__init__(
            client_config=Config(
                connect_timeout=10,
                read_timeout=60,
                retries={"mode": "standard", "max_attempts": 4},
                # Servers other than Amazon's may not know the checksums that are sent otherwise.
                request_checksum_calculation="when_required",
                response_checksum_validation="when_required",
            ),
            transfer_config=TransferConfig(use_threads=False, multipart_chunksize=_PART_BYTES),
            object_parameters={"ServerSideEncryption": encryption} if encryption else {},
            default_acl=None,  # private, as the bucket is
            **options,
        )

    def reader(self, name: str) -> IO[bytes]:
        found = self._object(name)
        size, tag = self._head(found), found.e_tag

        def block(number: int) -> bytes:
            start = number * BLOCK_BYTES
            part = f"bytes={start}-{min(start + BLOCK_BYTES, size) - 1}"
            try:
                # By its tag: never half of one file and half of the next of this name.
                return bytes(found.get(Range=part, IfMatch=tag)["Body"].read())
            except (ClientError, BotoCoreError) as error:
                raise StorageUnreachable(f"{self.shown(name)} cannot be read: {error}") from error

        return read_blocks(size, BLOCK_BYTES, block)

    def is_file(self, name: str) -> bool:
        try:
            self._head(self._object(name))
        except FileNotFoundError:
            return False
        return True

    exists = is_file

    def size(self, name: str) -> int:
        return self._head(self._object(name))

    @_in_words()
    def files(self, folder: str) -> list[str]:
        start = f"{self._key(folder)}/"
        found = self.bucket.objects.filter(Prefix=start)
        return sorted(one.key.removeprefix(start) for one in found)

    @_in_words()
    def owners(self, kind: str) -> dict[str, float]:
        start = f"{self._key(kind)}/"
        found: dict[str, float] = {}
        for one in self.bucket.objects.filter(Prefix=start):
            owner = one.key.removeprefix(start).partition("/")[0]
            found[owner] = max(found.get(owner, 0.0), one.last_modified.timestamp())
        return dict(sorted(found.items()))

    @_in_words()
    def usage(self, kind: str) -> tuple[int, int]:
        sizes = [one.size for one in self.bucket.objects.filter(Prefix=f"{self._key(kind)}/")]
        return sum(sizes), len(sizes)

    def shown(self, name: str) -> str:
        return f"s3://{self.bucket_name}/{self._key(name)}"

    @_in_words()
    def location_id(self) -> tuple[str, str]:
        place = f"s3://{self.bucket_name}/{self.location}"
        return f"{place} at {self.connection.meta.client.meta.endpoint_url}", place

    @contextmanager
    def exchanged(self, folder: Path, kinds: Iterable[str]) -> Iterator[None]:
        """New files are uploaded, and what was there before is deleted once the rows are stored.

        A file with the name of an old one has replaced it even if the rows are refused.
        """
        old = {f"{kind}/{owner}" for kind in kinds for owner in self.owners(kind)}
        new = set(owned_folders(folder, kinds))
        try:
            for name in sorted(new):
                self._put(folder / name, name)
            yield
        except BaseException:
            for name in new - old:
                self.delete_folder(name)
            raise
        for name in old - new:
            self.delete_folder(name)

    def put_folder(self, folder: Path, name: str) -> None:
        self._put(folder, name)
        shutil.rmtree(folder, ignore_errors=True)

    def copy_folder(self, source: str, target: str) -> None:
        with self.local(source) as folder:
            self._put(folder, target)

    @_in_words()
    def delete_folder(self, name: str) -> None:
        self.bucket.objects.filter(Prefix=f"{self._key(name)}/").delete()

    @_in_words()
    def delete(self, name: str) -> None:
        super().delete(name)

    def _put(self, folder: Path, name: str) -> None:
        """Upload files, then delete what was there before and is not among them."""
        paths = {path.relative_to(folder).as_posix(): path for path in folder.rglob("*")}
        files = {inside: path for inside, path in paths.items() if path.is_file()}
        for inside in sorted(files):
            with files[inside].open("rb") as content:
                self._save(f"{name}/{inside}", content)
        for old in set(self.files(name)) - files.keys():
            self.delete(f"{name}/{old}")

    def _save(self, name: str, content: Any) -> str:
        try:
            return str(super()._save(name, content))
        except (ClientError, BotoCoreError) as error:
            raise StorageUnreachable(f"{self.shown(name)} cannot be written: {error}") from error

    def _object(self, name: str) -> Any:
        return self.bucket.Object(self._key(name))

    def _key(self, name: str) -> str:
        return str(self._normalize_name(name))

    @_in_words()
    def _head(self, found: Any) -> int:
        """The size of an object. Raises `FileNotFoundError`."""
        try:
            return int(found.content_length)
        except ClientError as error:
            if error.response["Error"]["Code"] in _GONE:
                raise FileNotFoundError(f"{found.key} is not in the bucket") from None
            raise
