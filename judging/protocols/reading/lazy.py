"""Patterns that are compiled when they are first used.

Compiling those of all readers takes a fifth of the start of a process, and most never read a reply.
"""

import re
from typing import Any, cast


class _Lazy:
    """What `re.compile` returns, once somebody asks for more than the text of the pattern.

    Only texts can be compared: a match knows the compiled pattern, not this one.
    """

    def __init__(self, pattern: str, flags: int) -> None:
        self.pattern = pattern
        self._flags = flags

    def __getattr__(self, name: str) -> Any:
        """A method of the compiled pattern, which later calls find here."""
        found = getattr(re.compile(self.pattern, self._flags), name)
        setattr(self, name, found)
        return found


def compiled_when_used(pattern: str, flags: int = 0) -> re.Pattern[str]:
    return cast("re.Pattern[str]", _Lazy(pattern, flags))
