"""Reading the fields of one row and collecting what is wrong with them."""

import math
from collections.abc import Sequence
from typing import Any

from studies.importers.files.faults import Fault
from studies.importers.files.limits import MAX_FAULTS_OF_A_ROW

LIMITS = {"question": 4_000, "context": 20_000, "response": 8_000, "metadata": 16 * 1024}
_SHOWN = 80


class Row:
    """The faults of one line of one file."""

    def __init__(self, line: int, file: str = "") -> None:
        self.line = line
        self.file = file
        self.faults: list[Fault] = []

    def fault(
        self, field: str, rule: str, message: str, remedy: str = "", *, value: Any = ""
    ) -> None:
        shown = str(value)
        if len(shown) > _SHOWN:
            shown = f"{shown[:_SHOWN]}…"
        if len(self.faults) < MAX_FAULTS_OF_A_ROW:
            self.faults.append(Fault(self.line, field, rule, message, remedy, shown, self.file))

    def text(self, raw: dict[str, Any], field: str, *, limit: int, name: str = "") -> str:
        """An optional text, trimmed; "" when it is absent, empty or faulty."""
        name = name or field
        value = raw.get(field)
        if value is None:
            return ""
        if not isinstance(value, str):
            self.fault(name, f"{name} is not text", f"{name} must be text.", value=value)
            return ""
        value = value.strip()
        if len(value) > limit:
            self.fault(
                name,
                f"{name} is too long",
                f"{name} has {len(value):,} characters; the limit is {limit:,}.",
            )
        return value

    def number(self, raw: dict[str, Any], field: str) -> int | float | None:
        """An optional finite number; truth values are none."""
        value = raw.get(field)
        if value is None:
            return None
        try:
            if isinstance(value, (int, float)) and not isinstance(value, bool):
                if math.isfinite(value):
                    return value
        except OverflowError:
            pass
        self.fault(field, f"{field} is no number", f"{field} must be a number.", value=value)
        return None

    def one_of(
        self,
        raw: dict[str, Any],
        field: str,
        allowed: Sequence[str],
        *,
        default: str,
        name: str = "",
    ) -> str:
        """A word from a fixed list; `default` when it is absent or faulty."""
        name = name or field
        value = raw.get(field)
        if value is None or value == "":
            return default
        if value not in allowed:
            self.fault(
                name,
                f"{name} is not known",
                f"{name} “{value}” is not known.",
                f"Use one of: {', '.join(allowed)}.",
                value=value,
            )
            return default
        return str(value)
