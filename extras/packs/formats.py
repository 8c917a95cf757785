"""Finds out which program wrote a file of raw replies, and reads it."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

import django

from extras.packs import batch_lines, inspect_logs, promptfoo_results
from extras.packs.raw_replies import RawReply
from studies.importers.files.bundle import File, unpacked_size
from studies.importers.files.child import Send, from_child, is_needed
from studies.importers.files.faults import Fault, Refused
from studies.importers.files.limits import MAX_BYTES, MAX_ROW
from studies.importers.files.lines import document
from studies.importers.files.packed import ZIPPED

KNOWN = (
    "Give output of a batch or of vllm run-batch (JSON Lines), a log of Inspect (.json or .eval), "
    "or results of promptfoo (JSON)."
)


def read_raw(file: File) -> Iterator[RawReply | Fault]:
    """Every reply of a file, and its faults. Raises `Refused` if it is none of the formats.

    A file that is not small is read in a child process.
    """
    size = file.size()
    if file.head().startswith(ZIPPED):
        with file.raw() as stream:
            size = unpacked_size(file.name, stream, size)
    if is_needed(size):
        yield from from_child(_send, file, name=file.name, size=size, prepare=django.setup)
    else:
        yield from _read(file)


def _send(send: Send, file: File) -> None:
    for found in _read(file):
        send(found)


def _read(file: File) -> Iterator[RawReply | Fault]:
    _check_size(file)
    head = file.head()
    if head.startswith(ZIPPED):
        yield from inspect_logs.read_zipped(file)
        return
    line = _first_line(file)
    row = _object_in(line)
    if batch_lines.is_request(row):
        raise _refused(
            file,
            "these are the requests of a pack, not replies to them.",
            "Send them to a model first, and give the file that it writes.",
        )
    if batch_lines.looks_alike(row) or (not row and b'"custom_id"' in line):
        yield from batch_lines.read(file)
        return
    content = _document(file)
    if inspect_logs.looks_alike(content):
        yield from inspect_logs.read(file.name, content)
    elif promptfoo_results.looks_alike(content):
        yield from promptfoo_results.read(file.name, content)
    else:
        raise _refused(file, "the format of this file is not known.", KNOWN)


def _first_line(file: File) -> bytes:
    with file.open() as stream:
        return stream.readline(MAX_ROW)


def _object_in(line: bytes) -> dict[str, Any]:
    """The object on a line; empty if none ends there."""
    try:
        row = json.loads(line.decode("utf-8-sig"))
    except (ValueError, RecursionError):
        return {}
    return row if isinstance(row, dict) else {}


def _document(file: File) -> Mapping[str, Any]:
    """A whole file of JSON. Raises `Refused`."""
    try:
        with file.open() as stream:
            found = document(stream)
    except UnicodeDecodeError:
        raise _refused(file, "the file is not UTF-8 text.", KNOWN) from None
    except RecursionError:
        raise _refused(file, "objects lie too deep inside each other.", KNOWN) from None
    except json.JSONDecodeError as error:
        if error.pos >= len(error.doc.rstrip()) or error.msg.startswith("Unterminated"):
            message = f"the file ends in the middle of its JSON, on line {error.lineno}."
            raise _refused(file, message, "Copy it again, completely.") from None
        message = f"line {error.lineno} is not JSON ({error.msg})."
        raise _refused(file, message, KNOWN) from None
    except ValueError as error:
        raise _refused(file, f"the file cannot be read: {error}.", "Split it.") from None
    return found if isinstance(found, dict) else {}


def _check_size(file: File) -> None:
    size = sum(len(block) for block in file.blocks())
    if size > MAX_BYTES:
        message = f"the file is larger than {MAX_BYTES // 2**20} MB."
        raise _refused(file, message, "Split it and give the parts.")
    if not size:
        raise _refused(file, "the file is empty.", KNOWN)


def _refused(file: File, message: str, remedy: str) -> Refused:
    return Refused([Fault(None, "", "file cannot be used", message, remedy, file=file.name)])
