"""Pictures and sounds in a prompt: a name in the text of each, with the place where it is sent."""

import tomllib
from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any

from studies.prompts.language import PROMPT_LANGUAGE, folder_of
from studies.texts.slots import media_mark

_FILE = "media.toml"


class MediaMarks:
    """Numbers the pictures and sounds of a prompt in the order in which it shows them."""

    def __init__(self, language: str, *, shown: int = 0) -> None:
        self._language, self._shown = language, shown

    def marks(self, media: Iterable[Mapping[str, Any]]) -> str:
        """A line for each: its name, such as “[Picture 1]”, and its place."""
        lines = []
        for each in media:
            self._shown += 1
            word = _words_in(self._language)[each["type"].partition("/")[0]]
            lines.append(f"[{word} {self._shown}]{media_mark(each['sha256'])}")
        return "\n".join(lines)


@cache
def _words_in(language: str) -> dict[str, str]:
    """The words of a language, or those of English."""
    path = folder_of(language) / _FILE
    if not path.is_file():
        path = folder_of(PROMPT_LANGUAGE) / _FILE
    return tomllib.loads(path.read_text("utf-8"))
