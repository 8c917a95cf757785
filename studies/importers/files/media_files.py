"""Pictures and sounds in a zip, next to the file of items."""

import stat
import unicodedata
import zipfile
import zlib

from studies.media.content import LARGEST
from studies.media.delivered import Delivered, Reader, is_media_name
from studies.media.errors import BadMedia


def in_zip(archive: zipfile.ZipFile, folder: str) -> Delivered:
    """The files of a zip by their names in `folder`, which has the file of items."""
    infos = {unicodedata.normalize("NFC", info.filename): info for info in archive.infolist()}

    def find(name: str) -> Reader | None:
        info = infos.get(f"{folder}/{name}" if folder else name)
        if info is None or info.is_dir():
            return None
        if stat.S_ISLNK(info.external_attr >> 16):
            raise BadMedia("is a link to another file.", "Put the file itself into the zip.")
        return lambda: _start_of(archive, info)

    names = [name.removeprefix(f"{folder}/") for name in infos]
    has_files = any("/" in name or is_media_name(name) for name in names)
    return Delivered(find, has_files=has_files)


def _start_of(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> bytes:
    try:
        with archive.open(info) as stream:
            return stream.read(LARGEST + 1)
    except (zipfile.BadZipFile, zlib.error, NotImplementedError, RuntimeError, EOFError) as error:
        raise BadMedia(f"cannot be unpacked: {error}.", "Pack it again.") from error
