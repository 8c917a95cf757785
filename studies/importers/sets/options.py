"""Options of a data set, and their values read from text."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from studies.errors import BadOption

Value = bool | int | float | str | list[str]
_FLAGS = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}
ALL = "all"


@dataclass(frozen=True)
class Option:
    """One option; its kind is that of its default.

    A default of "all" makes it a list of words, from `words` if they are known. A text must be
    one of `words`; if `is_open`, it can also be a list of other words.
    """

    name: str
    default: bool | int | float | str
    meaning: str
    words: tuple[str, ...] = ()
    low: float = 0
    high: float = 1_000_000
    is_open: bool = False
    label: str = ""

    @property
    def is_list(self) -> bool:
        return self.default == ALL

    def parse(self, text: str) -> Value:
        """The value that `text` means. Raises `BadOption` with the allowed values."""
        text = text.strip()
        if isinstance(self.default, bool):
            if text.casefold() not in _FLAGS:
                raise self._bad(text, "true or false")
            return _FLAGS[text.casefold()]
        if isinstance(self.default, (int, float)):
            return self._number(text)
        if self.is_list:
            return self._list(text)
        if text in self.words:
            return text
        listed = _split(text)
        if not self.is_open or not listed:
            also = ", or names with commas between them" if self.is_open else ""
            raise self._bad(text, f"one of {', '.join(self.words)}{also}")
        return listed

    def _number(self, text: str) -> int | float:
        whole = isinstance(self.default, int)
        wanted = f"a {'whole ' if whole else ''}number from {self.low:,} to {self.high:,}"
        try:
            number = int(text) if whole else float(text)
        except ValueError:
            raise self._bad(text, wanted) from None
        if not self.low <= number <= self.high:
            raise self._bad(text, wanted)
        return number

    def _list(self, text: str) -> str | list[str]:
        if text == ALL:
            return ALL
        listed = _split(text)
        if not listed or (self.words and not set(listed) <= set(self.words)):
            some = ", ".join(self.words) if self.words else "names"
            raise self._bad(text, f"all, or some of {some} with commas between them")
        return listed

    def _bad(self, text: str, wanted: str) -> BadOption:
        return BadOption(self.name, f"The option {self.name} must be {wanted}, not “{text[:80]}”.")


def parse_options(options: Sequence[Option], given: Mapping[str, str]) -> dict[str, Value]:
    """Every option with its value, given or default. Raises `BadOption`."""
    known = {option.name: option for option in options}
    for name in given:
        if name not in known:
            listed = ", ".join(f"{o.name} ({as_text(o.default)})" for o in options)
            raise BadOption(name, f"There is no option “{name}”. The options are: {listed}.")
    return {
        name: option.parse(given[name]) if name in given else option.default
        for name, option in known.items()
    }


def as_text(value: Any) -> str:
    """A value as it is written after `--option NAME=`."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list):
        return ",".join(value)
    return str(value).removesuffix(".0")


def chosen(value: Any, name: str) -> bool:
    """Whether a list of words, or “all”, contains `name`."""
    return bool(value == ALL or name in value)


def _split(text: str) -> list[str]:
    return [word.strip() for word in text.split(",") if word.strip()]
