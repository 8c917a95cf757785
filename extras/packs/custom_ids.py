"""The name of a request in a pack, which its reply repeats."""

import re
from dataclasses import dataclass
from typing import Self

_HASH_LETTERS = 16
# The id of a run can contain dashes itself. No name is longer than 64 letters, which is the limit
# of some providers.
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
        """The parts of a name; None if it is not one of a pack."""
        found = _NAME.fullmatch(text)
        if found is None:
            return None
        return cls(found[1], int(found[2]), int(found[3]), found[4])

    def __str__(self) -> str:
        return f"{self.run}-{self.judgment}-{self.attempt}-{self.prompt}"

    def is_about(self, prompt_sha256: str) -> bool:
        """Whether it names the prompt with this hash."""
        return prompt_sha256.startswith(self.prompt)
