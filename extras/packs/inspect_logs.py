"""Reads logs of Inspect: JSON, and the zipped format with the ending .eval.

A sample holds the messages that were sent, which identify the request, and the output of the model.
"""

import io
import json
import struct
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, Any

from extras.packs.raw_replies import COMPARED, RawReply
from judging.engine.messages import Message, prompt_sha256
from studies.importers.files.bundle import File, bad_zip, open_zip
from studies.importers.files.faults import Fault, Refused
from studies.importers.files.limits import MAX_BYTES, MAX_FILE_VALUES
from studies.importers.files.lines import document, values_in
from studies.importers.files.packed import BROKEN_ZIP

_ZSTANDARD = 93  # a way of packing that Python's own zipfile does not unpack before version 3.14
_LOCAL_HEADER = struct.Struct("<26xHH")
_ATTACHMENT = "attachment://"
_FINISH = {
    "max_tokens": "length",
    "model_length": "length",
    "content_filter": "content_filter",
}
_FAILED = 503  # stands for the status of a sample that ended with an error


class _CannotUnpack(Exception):
    """The log is packed in a way that needs another package."""


def looks_alike(log: Mapping[str, Any]) -> bool:
    """Whether a JSON document is a log."""
    return isinstance(log.get("eval"), dict) and "status" in log


def read(name: str, log: Mapping[str, Any]) -> Iterator[RawReply | Fault]:
    """Every reply of a log that was read from JSON."""
    yield from _replies(name, log, log.get("samples") or [])


def read_zipped(file: File) -> Iterator[RawReply | Fault]:
    """Every reply of a log in the zipped format. Raises `Refused`."""
    source = file.source if isinstance(file.source, Path) else io.BytesIO(file.read())
    try:
        with open_zip(file.name, source) as archive:
            names = archive.namelist()
            start = next((n for n in ("header.json", "_journal/start.json") if n in names), "")
            if not start:
                raise _refused(
                    file.name,
                    "this zip file is not a log of Inspect: it has no header.json.",
                    "Give the .eval file as Inspect wrote it.",
                )
            header = document(io.BytesIO(_member(archive, start)))
            yield from _replies(file.name, header, _samples(archive, names))
    except _CannotUnpack:
        raise _refused(
            file.name,
            "this log is packed with Zstandard, which cannot be unpacked here.",
            "Convert it with “inspect log convert --to json”, or ask the administrator to "
            "install the Python package zstandard.",
        ) from None
    except (ValueError, RecursionError) as error:
        message = f"a part of this log is not JSON ({error})."
        raise _refused(file.name, message, "Copy the file again.") from error
    except BROKEN_ZIP as error:
        raise bad_zip(file.name, error) from error


def _samples(archive: zipfile.ZipFile, names: Sequence[str]) -> Iterator[Any]:
    values = 0
    for name in names:
        if name.startswith("samples/") and name.endswith(".json"):
            data = _member(archive, name)
            values += values_in(data)
            if values > MAX_FILE_VALUES:
                raise ValueError("up to here it holds more values than are read")
            yield document(io.BytesIO(data))


def _member(archive: zipfile.ZipFile, name: str) -> bytes:
    info = archive.getinfo(name)
    if info.file_size > MAX_BYTES:
        message = f"{name} in it is larger than {MAX_BYTES // 2**20} MB."
        raise _refused(str(archive.filename), message, "Split the log.")
    if info.compress_type != _ZSTANDARD:
        return archive.read(info)
    stream = archive.fp
    assert stream is not None  # noqa: S101 - the archive is open
    return _unpacked(stream, info)


def _unpacked(stream: IO[bytes], info: zipfile.ZipInfo) -> bytes:
    """The content of a member that is packed with Zstandard."""
    try:
        import zstandard
    except ImportError:
        raise _CannotUnpack from None
    stream.seek(info.header_offset)
    name, extra = _LOCAL_HEADER.unpack(stream.read(_LOCAL_HEADER.size))
    stream.seek(name + extra, io.SEEK_CUR)
    packed = io.BytesIO(stream.read(info.compress_size))
    try:
        with zstandard.ZstdDecompressor().stream_reader(packed, read_across_frames=True) as reader:
            content: bytes = reader.read(info.file_size + 1)
    except zstandard.ZstdError as error:
        raise zipfile.BadZipFile(str(error)) from error
    if len(content) != info.file_size:
        raise zipfile.BadZipFile(f"{info.filename} is incomplete")
    return content


def _replies(
    name: str, log: Mapping[str, Any], samples: Iterator[Any] | Sequence[Any]
) -> Iterator[RawReply | Fault]:
    config = log["eval"].get("model_generate_config") or {}
    run = str(log["eval"].get("run_id") or log["eval"].get("eval_id") or "")
    stated = {key: config[key] for key in COMPARED if config.get(key) is not None}
    for number, sample in enumerate(samples, start=1):
        try:
            yield _reply(name, number, sample, run, stated)
        except (KeyError, TypeError, ValueError, AttributeError, LookupError):
            message = f"Sample {number}: it has no messages, or no output that can be read."
            remedy = "Give the log as Inspect wrote it, with all its samples."
            yield Fault(None, "", "not a sample", message, remedy, file=name)


def _reply(
    name: str, number: int, sample: Mapping[str, Any], run: str, stated: Mapping[str, Any]
) -> RawReply:
    output = sample.get("output") or {}
    error = sample.get("error") or output.get("error")
    has_choice = bool(output.get("choices"))
    content = _completion(sample, output) if has_choice else _problem(error)
    identity = sample.get("uuid") or f"{run}/{sample['id']}/{sample.get('epoch', 1)}"
    return RawReply(
        file=name,
        where=f"Sample {number} (id {sample['id']}, epoch {sample.get('epoch', 1)})",
        line=None,
        custom_id=str(sample["id"]),
        prompt_sha256=prompt_sha256(_sent(sample)),
        identity=f"inspect:{identity}",
        status=200 if has_choice else _FAILED,
        content=json.dumps(content),
        request_id=f"inspect:{identity}",
        stated=stated,
    )


def _problem(error: Any) -> dict[str, Any]:
    message = error.get("message") if isinstance(error, dict) else error
    return {"error": {"message": str(message or "the sample has no output")}}


def _sent(sample: Mapping[str, Any]) -> list[Message]:
    """The messages of the request: all before the reply of the model."""
    messages = sample.get("messages") or sample["input"]
    if isinstance(messages, str):
        return [Message("user", _text(messages, sample))]
    sent = list(messages)
    while sent and sent[-1]["role"] == "assistant":
        sent.pop()
    if not sent:
        raise ValueError("no message was sent")
    return [Message(each["role"], _text(each["content"], sample)) for each in sent]


def _completion(sample: Mapping[str, Any], output: Mapping[str, Any]) -> dict[str, Any]:
    """The output of a sample as a chat completion."""
    choice = output["choices"][0]
    stop = str(choice.get("stop_reason") or "")
    completion: dict[str, Any] = {
        "id": output.get("response_id") or "",
        "model": output.get("model") or "",
        "choices": [
            {
                "message": {"content": _text(choice["message"]["content"], sample)},
                "finish_reason": _FINISH.get(stop, "stop"),
                "logprobs": choice.get("logprobs"),
            }
        ],
    }
    if isinstance(usage := output.get("usage"), dict):
        cached = (usage.get("input_tokens_cache_read") or 0) + (
            usage.get("input_tokens_cache_write") or 0
        )
        completion["usage"] = {
            # Inspect counts tokens from a provider's cache separately.
            "prompt_tokens": usage["input_tokens"] + cached,
            "completion_tokens": usage["output_tokens"],
            "completion_tokens_details": {"reasoning_tokens": usage.get("reasoning_tokens")},
        }
    return completion


def _text(content: Any, sample: Mapping[str, Any]) -> str:
    """The text of a message, without thoughts; long texts are attached to the sample."""
    if not isinstance(content, str):
        return "".join(_text(p["text"], sample) for p in content if p["type"] == "text")
    if content.startswith(_ATTACHMENT):
        attached: str = sample["attachments"][content.removeprefix(_ATTACHMENT)]
        return attached
    return content


def _refused(name: str, message: str, remedy: str) -> Refused:
    return Refused([Fault(None, "", "file cannot be used", message, remedy, file=name)])
