"""Checked items of a file, on disk while they wait to be stored."""

import pickle
import shutil
import tempfile
import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

from studies.importers.items.item_facts import ItemFacts
from studies.importers.items.records import ItemRecord

_BATCH = 500
_BLOCK = 1 << 20


class KeptItems:
    """Items in the order of their file, in memory only the last few hundred of them.

    The others are in a temporary file without a name, so that an import of any size needs the
    same memory. They can be read any number of times.
    """

    def __init__(self) -> None:
        self.facts = ItemFacts()
        self._batch: list[ItemRecord] = []
        self._starts: list[int] = []
        self._file: IO[bytes] = tempfile.TemporaryFile()
        weakref.finalize(self, self._file.close)

    def __getstate__(self) -> dict[str, Any]:
        """For another process, which takes the file over."""
        with tempfile.NamedTemporaryFile(delete=False) as copy:
            self._file.seek(0)
            shutil.copyfileobj(self._file, copy, _BLOCK)
        return {**self.__dict__, "_file": copy.name}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._file = Path(state["_file"]).open("r+b")
        Path(state["_file"]).unlink()
        weakref.finalize(self, self._file.close)

    def append(self, item: ItemRecord) -> None:
        self.facts.note(item)
        self._batch.append(item)
        if len(self._batch) == _BATCH:
            self._write()

    def __len__(self) -> int:
        return len(self._starts) * _BATCH + len(self._batch)

    def __iter__(self) -> Iterator[ItemRecord]:
        for number in range(len(self._starts)):
            yield from self._read(number)
        yield from self._batch

    def __getitem__(self, index: int) -> ItemRecord:
        number, place = divmod(index, _BATCH)
        return (self._read(number) if number < len(self._starts) else self._batch)[place]

    def _write(self) -> None:
        self._starts.append(self._file.seek(0, 2))
        # One pickle for a batch, in which items share what they have in common.
        pickle.dump(self._batch, self._file, pickle.HIGHEST_PROTOCOL)
        self._batch = []

    def _read(self, number: int) -> list[ItemRecord]:
        self._file.seek(self._starts[number])
        batch: list[ItemRecord] = pickle.load(self._file)  # noqa: S301  written just before
        return batch
