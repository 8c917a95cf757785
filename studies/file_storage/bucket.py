"""Files in a bucket of Amazon S3 or a compatible server, by django-storages and boto3.

Imported only if the setting FILES names a bucket; the packages are in requirements-s3.txt.
"""

import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from boto3.s3.transfer import TransferConfig
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError
from django.core.files import File
from storages.backends.s3 import S3Storage

from studies.file_storage.storage import FilesStorage, StorageUnreachable

_PART_BYTES = 16 * 1024**2
_MEMORY_BYTES = 4 * 1024**2


@contextmanager
def _in_words(what: str = "The bucket cannot be used") -> Iterator[None]:
    """Raise `StorageUnreachable` when the bucket's server refuses a request or does not answer."""
    try:
        yield
    except (ClientError, BotoCoreError) as error:
        raise StorageUnreachable(f"{what}: {error}") from error


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
            max_memory_size=_MEMORY_BYTES,  # a larger file is read through one on the disk
            object_parameters={"ServerSideEncryption": encryption} if encryption else {},
            default_acl=None,  # private, as the bucket is
            **options,
        )

    def _open(self, name: str, mode: str = "rb") -> "File[bytes]":
        with _in_words(f"{self.shown(name)} cannot be read"):
            file: File[bytes] = super()._open(name, mode)
            file.seek(0)  # fetches the content here, and not while a page is sent
            return file

    def _save(self, name: str, content: Any) -> str:
        with _in_words(f"{self.shown(name)} cannot be written"):
            return str(super()._save(name, content))

    @_in_words()
    def exists(self, name: str) -> bool:
        return bool(super().exists(name))

    @_in_words()
    def size(self, name: str) -> int:
        return int(super().size(name))

    @_in_words()
    def delete(self, name: str) -> None:
        super().delete(name)

    @_in_words()
    def listing(self, folder: str) -> Iterator[tuple[str, int, float]]:
        start = f"{self._key(folder)}/"
        objects = self.bucket.objects.filter(Prefix=start)
        rows = [(o.key.removeprefix(start), o.size, o.last_modified.timestamp()) for o in objects]
        return iter(rows)

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
        kinds = list(kinds)
        old = {f"{kind}/{owner}" for kind in kinds for owner in self.owners(kind)}
        new = {f"{kind}/{path.name}" for kind in kinds for path in folder.glob(f"{kind}/*")}
        try:
            for name in sorted(new):
                self.put_folder(folder / name, name)
            yield
        except BaseException:
            for name in new - old:
                self.delete_folder(name)
            raise
        for name in old - new:
            self.delete_folder(name)

    def put_folder(self, folder: Path, name: str) -> None:
        """Upload files, then delete what was there before and is not among them."""
        files = sorted(path for path in folder.rglob("*") if path.is_file())
        inside = [path.relative_to(folder).as_posix() for path in files]
        for path, below in zip(files, inside, strict=True):
            with path.open("rb") as content:
                self.save(f"{name}/{below}", File(content))
        for old in set(self.files(name)) - set(inside):
            self.delete(f"{name}/{old}")
        shutil.rmtree(folder, ignore_errors=True)

    @_in_words()
    def delete_folder(self, name: str) -> None:
        self.bucket.objects.filter(Prefix=f"{self._key(name)}/").delete()

    def _key(self, name: str) -> str:
        return f"{self.location}/{name}".lstrip("/")
