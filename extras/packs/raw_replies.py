"""Raw replies of a model, as batches of vLLM and providers, promptfoo and Inspect store them.

A log of Inspect is JSON, or a zip file ending in .eval. A sample has the sent messages, which
identify the request, and the model's output.
"""

import io
import json
import struct
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from extras.packs.batch_files import BatchLine
from judging.engine.messages import Message, prompt_sha256
from studies.importers.files.bundle import File, bad_zip, open_zip
from studies.importers.files.faults import MAX_BYTES, MAX_FILE_VALUES, Fault, refused
from studies.importers.files.lines import BadLine, document, lines_of, values_in
from studies.importers.files.packed import BROKEN_ZIP

# Request parameters that programs state in their logs. A reply made with another value is not a
# reply to the pack's request.
COMPARED = ("temperature", "top_p", "max_tokens", "max_completion_tokens")


@dataclass(frozen=True, slots=True, kw_only=True)
class RawReply:
    """A reply of a file. `custom_id` or `prompt_sha256` identifies its request.

    `where` names its place in the file, `line` its line if each reply has one. `identity`
    distinguishes it from other replies to the same prompt. `stated` has the parameters that the
    file states, under the names of a chat completion.
    """

    file: str
    where: str
    line: int | None
    custom_id: str = ""
    prompt_sha256: str = ""
    identity: str = ""
    status: int
    content: str
    request_id: str = ""
    expired: bool = False
    stated: Mapping[str, Any] = field(default_factory=dict)

    def as_batch_line(self) -> BatchLine:
        return BatchLine(
            custom_id=self.custom_id,
            status=self.status,
            content=self.content,
            request_id=self.request_id,
            expired=self.expired,
        )

    def fault(self, rule: str, message: str, remedy: str, *, value: str = "") -> Fault:
        """A fault of this reply; `message` continues the sentence that names its place."""
        return Fault(
            self.line, "custom_id", rule, f"{self.where}: {message}", remedy, value, self.file
        )


_NEVER_ASKED = frozenset({"batch_expired", "batch_cancelled"})
_ONE_A_LINE = "Give the file that the batch wrote, unchanged."
_COMPLETE = "Wait until the batch has ended, then copy the whole file again."


def is_batch_line(first: Mapping[str, Any]) -> bool:
    """Whether an object is a line of such a file."""
    return "custom_id" in first and ("response" in first or "error" in first)


def is_request(first: Mapping[str, Any]) -> bool:
    """Whether an object is a request of a pack instead of a reply."""
    return "custom_id" in first and "body" in first


def read_batch(file: File) -> Iterator[RawReply | Fault]:
    """Every reply of a file, and the fault of each other line."""
    with file.open() as stream:
        try:
            for line, data in enumerate(lines_of(stream, file.name), start=1):
                if data.strip():
                    yield _read_line(file.name, line, data)
        except BadLine as bad:
            yield bad.fault


def _read_line(file: str, line: int, data: bytes) -> RawReply | Fault:
    text = data.decode("utf-8-sig" if line == 1 else "utf-8", "replace")
    try:
        # Read like a server's answer, which may have numbers that strict JSON does not allow.
        row = json.loads(text)
    except (ValueError, RecursionError) as error:
        rule, message, remedy = "not JSON", f"this is not JSON ({error}).", _ONE_A_LINE
        if not data.endswith(b"\n"):
            message, remedy = "the file ends in the middle of this line.", _COMPLETE
            rule = "cut off"
        return Fault(line, "", rule, message, remedy, text.strip()[:80], file)
    try:
        return _batch_reply(file, line, row)
    except (KeyError, TypeError, ValueError, AttributeError):
        message = "a reply needs custom_id, and response or error."
        return Fault(line, "", "not a reply", message, _ONE_A_LINE, text.strip()[:80], file)


def _batch_reply(file: str, line: int, row: Mapping[str, Any]) -> RawReply:
    if not is_batch_line(row):
        raise ValueError("neither response nor error")
    response, error = row.get("response") or {}, _error(row.get("error"))
    body = response.get("body")
    status = int(response.get("status_code") or (200 if body else _ENDED_IN_ERROR))
    return RawReply(
        file=file,
        where=f"Line {line}",
        line=line,
        custom_id=str(row["custom_id"]),
        status=status,
        content=json.dumps(body or {"error": error}),
        request_id=str(response.get("request_id") or ""),
        expired=not response and error.get("code") in _NEVER_ASKED,
    )


def _error(value: Any) -> dict[str, Any]:
    """An error as an object; `vllm` writes its fields at the top level."""
    if isinstance(value, dict):
        inner = value.get("error")
        return inner if isinstance(inner, dict) else value
    return {"message": str(value)} if value else {}


def is_promptfoo(document: Mapping[str, Any]) -> bool:
    """Whether a JSON document holds results."""
    return bool(_results(document)) or "evalId" in document


def read_promptfoo(name: str, document: Mapping[str, Any]) -> Iterator[RawReply | Fault]:
    """Every reply of a document."""
    stated = _stated_by_provider(document)
    for number, result in enumerate(_results(document), start=1):
        try:
            yield _promptfoo_reply(name, number, result, stated)
        except (KeyError, TypeError, ValueError, AttributeError):
            message = f"Result {number}: it has no prompt, or no readable response."
            remedy = "Write the results with “promptfoo eval --output results.json”."
            yield Fault(None, "", "not a result", message, remedy, file=name)


def _results(document: Mapping[str, Any]) -> list[Any]:
    found = document.get("results")
    if isinstance(found, dict):
        found = found.get("results")
    return found if isinstance(found, list) else []


def _promptfoo_reply(
    name: str,
    number: int,
    result: Mapping[str, Any],
    stated: Mapping[str, Mapping[str, Any]],
) -> RawReply:
    response = result.get("response") or {}
    output = response.get("output")
    has_reply = output is not None and not response.get("error")
    problem = response.get("error") or result.get("error") or "the result has no output"
    content = (
        _promptfoo_completion(output, response)
        if has_reply
        else {"error": {"message": str(problem)}}
    )
    identity = f"promptfoo:{result['id']}"
    return RawReply(
        file=name,
        where=f"Result {number}",
        line=None,
        custom_id=str((result.get("vars") or {}).get("custom_id") or ""),
        prompt_sha256=prompt_sha256(_sent_by_promptfoo(result["prompt"]["raw"])),
        identity=identity,
        status=200 if has_reply else _ENDED_IN_ERROR,
        content=json.dumps(content),
        request_id=identity,
        stated=stated.get(_provider_id(result.get("provider")), {}),
    )


def _sent_by_promptfoo(raw: str) -> list[Message]:
    """The messages of a prompt, which is a text, or a list of messages as JSON."""
    try:
        found = json.loads(raw)
        return [Message(each["role"], str(each["content"])) for each in found]
    except (ValueError, KeyError, TypeError, RecursionError):
        return [Message("user", raw)]


def _promptfoo_completion(output: Any, response: Mapping[str, Any]) -> dict[str, Any]:
    """A response as a chat completion. promptfoo parses an output that is JSON."""
    text = output if isinstance(output, str) else json.dumps(output)
    completion: dict[str, Any] = {
        "choices": [
            {
                "message": {"content": text},
                "finish_reason": response.get("finishReason") or "stop",
            }
        ]
    }
    usage = response.get("tokenUsage") or {}
    # A reply from promptfoo's cache states only its number of tokens.
    if isinstance(usage.get("prompt"), int) and isinstance(usage.get("completion"), int):
        thought = (usage.get("completionDetails") or {}).get("reasoning")
        completion["usage"] = {
            "prompt_tokens": usage["prompt"],
            "completion_tokens": usage["completion"],
            "completion_tokens_details": {"reasoning_tokens": thought},
        }
    return completion


def _stated_by_provider(document: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """The parameters of each provider that the configuration in the results states."""
    stated: dict[str, dict[str, Any]] = {}
    config = document.get("config")
    providers = config.get("providers") if isinstance(config, dict) else None
    for provider in providers if isinstance(providers, list) else []:
        options = provider.get("config") if isinstance(provider, dict) else None
        if isinstance(options, dict):
            stated[_provider_id(provider)] = {
                key: options[key] for key in COMPARED if options.get(key) is not None
            }
    return stated


def _provider_id(provider: Any) -> str:
    return str(provider.get("id") if isinstance(provider, dict) else provider or "")


_ZSTANDARD = 93  # a compression that Python's zipfile cannot read before version 3.14
_LOCAL_HEADER = struct.Struct("<26xHH")
_ATTACHMENT = "attachment://"
_FINISH = {
    "max_tokens": "length",
    "model_length": "length",
    "content_filter": "content_filter",
}
_ENDED_IN_ERROR = 503  # the status of a sample that ended with an error


class _CannotUnpack(Exception):
    """The log's compression needs another package."""


def is_inspect_log(log: Mapping[str, Any]) -> bool:
    """Whether a JSON document is a log."""
    return isinstance(log.get("eval"), dict) and "status" in log


def read_log(name: str, log: Mapping[str, Any]) -> Iterator[RawReply | Fault]:
    """Every reply of a log read from JSON."""
    yield from _replies(name, log, log.get("samples") or [])


def read_zipped(file: File) -> Iterator[RawReply | Fault]:
    """Every reply of a log in the zipped format. Raises `Refused`."""
    source = file.source if isinstance(file.source, Path) else io.BytesIO(file.read())
    try:
        with open_zip(file.name, source) as archive:
            names = archive.namelist()
            start = next((n for n in ("header.json", "_journal/start.json") if n in names), "")
            if not start:
                raise refused(
                    file.name,
                    "this zip file is not a log of Inspect: it has no header.json.",
                    "Give the .eval file as Inspect wrote it.",
                )
            header = document(io.BytesIO(_member(archive, start)))
            yield from _replies(file.name, header, _samples(archive, names))
    except _CannotUnpack:
        raise refused(
            file.name,
            "this log is packed with Zstandard, which cannot be unpacked here.",
            "Convert it with “inspect log convert --to json”, or ask the administrator to "
            "install the Python package zstandard.",
        ) from None
    except (ValueError, RecursionError) as error:
        message = f"a part of this log is not JSON ({error})."
        raise refused(file.name, message, "Copy the file again.") from error
    except BROKEN_ZIP as error:
        raise bad_zip(file.name, error) from error


def _samples(archive: zipfile.ZipFile, names: Sequence[str]) -> Iterator[Any]:
    values = 0
    for name in names:
        if name.startswith("samples/") and name.endswith(".json"):
            data = _member(archive, name)
            values += values_in(data)
            if values > MAX_FILE_VALUES:
                raise ValueError("there are too many values up to here")
            yield document(io.BytesIO(data))


def _member(archive: zipfile.ZipFile, name: str) -> bytes:
    info = archive.getinfo(name)
    if info.file_size > MAX_BYTES:
        message = f"{name} in it is larger than {MAX_BYTES // 2**20} MB."
        raise refused(str(archive.filename), message, "Split the log.")
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
            yield _inspect_reply(name, number, sample, run, stated)
        except (KeyError, TypeError, ValueError, AttributeError, LookupError):
            message = f"Sample {number}: it has no messages, or no readable output."
            remedy = "Give the log as Inspect wrote it, with all its samples."
            yield Fault(None, "", "not a sample", message, remedy, file=name)


def _inspect_reply(
    name: str, number: int, sample: Mapping[str, Any], run: str, stated: Mapping[str, Any]
) -> RawReply:
    output = sample.get("output") or {}
    error = sample.get("error") or output.get("error")
    has_choice = bool(output.get("choices"))
    content = _inspect_completion(sample, output) if has_choice else _problem(error)
    identity = sample.get("uuid") or f"{run}/{sample['id']}/{sample.get('epoch', 1)}"
    return RawReply(
        file=name,
        where=f"Sample {number} (id {sample['id']}, epoch {sample.get('epoch', 1)})",
        line=None,
        custom_id=str(sample["id"]),
        prompt_sha256=prompt_sha256(_sent_by_inspect(sample)),
        identity=f"inspect:{identity}",
        status=200 if has_choice else _ENDED_IN_ERROR,
        content=json.dumps(content),
        request_id=f"inspect:{identity}",
        stated=stated,
    )


def _problem(error: Any) -> dict[str, Any]:
    message = error.get("message") if isinstance(error, dict) else error
    return {"error": {"message": str(message or "the sample has no output")}}


def _sent_by_inspect(sample: Mapping[str, Any]) -> list[Message]:
    """The messages of the request: all before the model's reply."""
    messages = sample.get("messages") or sample["input"]
    if isinstance(messages, str):
        return [Message("user", _text(messages, sample))]
    sent = list(messages)
    while sent and sent[-1]["role"] == "assistant":
        sent.pop()
    if not sent:
        raise ValueError("no message was sent")
    return [Message(each["role"], _text(each["content"], sample)) for each in sent]


def _inspect_completion(sample: Mapping[str, Any], output: Mapping[str, Any]) -> dict[str, Any]:
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
    """The text of a message without thoughts; long texts are attachments of the sample."""
    if not isinstance(content, str):
        return "".join(_text(p["text"], sample) for p in content if p["type"] == "text")
    if content.startswith(_ATTACHMENT):
        attached: str = sample["attachments"][content.removeprefix(_ATTACHMENT)]
        return attached
    return content
