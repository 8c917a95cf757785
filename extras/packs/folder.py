"""The files of a pack: requests within the limits of providers, their names, instructions."""

import hashlib
import json
import re
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO, Any, Self

from extras.packs.batch_files import MAX_BYTES
from judging.errors import BadRun

_HASH_LETTERS = 16
# A run's id may contain dashes. No name is longer than 64 letters, the limit of some providers.
_NAME = re.compile(rf"([\w-]{{1,22}})-(\d{{1,18}})-(\d{{1,4}})-([0-9a-f]{{{_HASH_LETTERS}}})", re.A)


@dataclass(frozen=True, slots=True)
class CustomId:
    """The run, the judgment, the number of the attempt, and the beginning of the prompt's hash."""

    run: str
    judgment: int
    attempt: int
    prompt: str

    @classmethod
    def of(cls, *, run: str, judgment: int, attempt: int, prompt_sha256: str) -> Self:
        return cls(run, judgment, attempt, prompt_sha256[:_HASH_LETTERS])

    @classmethod
    def read(cls, text: str) -> Self | None:
        """The parts of a name; None if it is not from a pack."""
        found = _NAME.fullmatch(text)
        if found is None:
            return None
        return cls(found[1], int(found[2]), int(found[3]), found[4])

    def __str__(self) -> str:
        return f"{self.run}-{self.judgment}-{self.attempt}-{self.prompt}"

    def is_about(self, prompt_sha256: str) -> bool:
        """Whether it names the prompt with this hash."""
        return prompt_sha256.startswith(self.prompt)


MAX_REQUESTS = 50_000  # of one file, as providers accept it
MANIFEST, README = "manifest.json", "README.txt"


@dataclass(frozen=True)
class RequestFile:
    """One file of requests."""

    name: str
    requests: int
    bytes: int
    sha256: str


@contextmanager
def new_folder(out: Path) -> Iterator[Path]:
    """A folder to write to, renamed to `out` at the end and removed after an error.

    Raises `BadRun` if `out` is not new or empty, and `OSError`.
    """
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise BadRun(f"{out} already exists. Choose a new or empty folder.")
    out.parent.mkdir(parents=True, exist_ok=True)
    part = Path(tempfile.mkdtemp(dir=out.parent, prefix=f".{out.name}."))
    try:
        yield part
        part.chmod(0o750)
        if out.exists():
            out.rmdir()
        part.rename(out)
    finally:
        shutil.rmtree(part, ignore_errors=True)


class RequestFiles:
    """Writes requests to a folder: to one file, or to numbered ones if one would be too large."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._stream: IO[bytes] | None = None
        self._hash = hashlib.sha256()
        self._requests = self._bytes = 0
        self._files: list[RequestFile] = []

    def add(self, line: bytes) -> None:
        """Add a request, including its line end."""
        is_full = self._requests >= MAX_REQUESTS or self._bytes + len(line) > MAX_BYTES
        if self._stream is None or (is_full and self._requests):
            self._end()
            self._stream = (self._folder / _numbered(len(self._files) + 1)).open("wb")
        self._stream.write(line)
        self._hash.update(line)
        self._requests += 1
        self._bytes += len(line)

    def close(self) -> list[RequestFile]:
        """End the last file; a single one has no number."""
        self._end()
        if len(self._files) == 1:
            (only,) = self._files
            (self._folder / only.name).rename(self._folder / "requests.jsonl")
            self._files = [RequestFile("requests.jsonl", only.requests, only.bytes, only.sha256)]
        return self._files

    def _end(self) -> None:
        if self._stream is None:
            return
        self._stream.close()
        name = _numbered(len(self._files) + 1)
        digest = self._hash.hexdigest()
        self._files.append(RequestFile(name, self._requests, self._bytes, digest))
        self._stream, self._hash, self._requests, self._bytes = None, hashlib.sha256(), 0, 0


def _numbered(number: int) -> str:
    return f"requests-{number:03d}.jsonl"


def write_manifest(
    folder: Path, facts: dict[str, Any], files: list[RequestFile], requests: list[dict[str, Any]]
) -> None:
    """Write the data needed to read the replies, one line for each request."""
    head = json.dumps(facts | {"files": [asdict(file) for file in files]}, indent=1)
    with (folder / MANIFEST).open("w", encoding="utf-8") as out:
        out.write(head.removesuffix("\n}") + ',\n "requests": [\n')
        out.write(",\n".join(f"  {json.dumps(request)}" for request in requests))
        out.write("\n ]\n}\n")


def write_readme(
    folder: Path, *, study: str, judge: str, model: str, count: int, may_leave: bool
) -> None:
    """Write instructions for the folder, including whether a provider may get it."""
    words = _WORDS.format(
        study=study,
        judge=judge,
        model=model,
        count=f"{count:,}",
        permission="" if may_leave else _FORBIDDEN,
    )
    (folder / README).write_text(words, encoding="utf-8")


_FORBIDDEN = """\

THE ITEMS OF THIS STUDY MUST NOT BE SENT TO A PROVIDER. Answer the requests on your own machines. An
owner of the study can change this on its settings page.
"""
_WORDS = """\
A pack of requests to a language model
======================================

Study “{study}”, judge “{judge}” (model {model}): {count} requests.

These files contain texts of the study and personal data from its profiles. Protect them like the
study’s own data. They contain no keys.
{permission}
  requests*.jsonl  one request a line, in the format of OpenAI’s Batch API
  manifest.json    which run asks what: parameters, and item, order, seed and prompt hash of
                   each request

What to do
----------
1. Get answers to the requests from one of these:
   - vLLM on your own machines:
       vllm run-batch -i requests.jsonl -o replies.jsonl --model {model}
   - a provider’s batch service: upload each requests file, start a batch of it, and download the
     file of answers and the file of errors.
   - another program that reads this format, or Inspect or promptfoo with the same messages and
     parameters. Keep custom_id if the program can.
2. Do not change the requests. A reply to a different prompt is refused.
3. Import the replies on the page of the run, or with:
       manage.py import_judgments {study} replies.jsonl --raw

Replies are read as if they had come over the network. A reply without a choice leaves its question
open: write another pack, which has only the open questions. Importing a file twice changes nothing.
"""
