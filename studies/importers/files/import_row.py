"""Reads the fields of one row of a file and collects their faults."""

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

from studies.importers.files.faults import Fault, FaultEntry
from studies.importers.files.limits import MAX_FAULTS_OF_A_ROW

LIMITS = {"question": 4_000, "context": 20_000, "response": 8_000, "metadata": 16 * 1024}
_SHOWN = 80
_WHOLE = re.compile(r"\s*(-?[0-9]{1,18})(?:\.0*)?\s*")


def same_id(value: str) -> str:
    """An id as it is compared: 5.0, as columns of numbers with gaps are written, is 5."""
    found = _WHOLE.fullmatch(value)
    return found[1] if found and "." in value else value


class ImportRow:
    """One row of one file: reads its fields and keeps its faults in `faults`."""

    def __init__(self, line: int, file: str = "") -> None:
        self.line = line
        self.file = file
        self.item_id = ""  # of its item, once it is known
        self.faults: list[Fault] = []

    def on(self, line: int) -> str:
        """Where another row of the same file is: “on line 3”, or “in entry 3”."""
        return f"in entry {line}" if isinstance(self.line, FaultEntry) else f"on line {line}"

    def fault(
        self, field: str, rule: str, message: str, remedy: str = "", *, value: Any = ""
    ) -> None:
        shown = str(value)
        if len(shown) > _SHOWN:
            shown = f"{shown[:_SHOWN]}…"
        if len(self.faults) < MAX_FAULTS_OF_A_ROW:
            found = Fault(
                self.line, field, rule, message, remedy, shown, self.file, item=self.item_id
            )
            self.faults.append(found)

    def text(self, raw: Mapping[str, Any], field: str, *, limit: int, name: str = "") -> str:
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

    def number(self, raw: Mapping[str, Any], field: str) -> int | float | None:
        """An optional finite number; true and false are faults."""
        value = raw.get(field)
        if value is None:
            return None
        try:
            if isinstance(value, (int, float)) and not isinstance(value, bool):
                if math.isfinite(value):
                    return value
        except OverflowError:
            pass
        self.fault(field, f"{field} is not a number", f"{field} must be a number.", value=value)
        return None

    def whole_number(
        self, raw: Mapping[str, Any], field: str, *, low: int, high: int
    ) -> int | None:
        """An optional whole number, perhaps as text or as 7.0; true, 7.5 and “seven” are faults."""
        value = raw.get(field)
        if value is None or value == "":
            return None
        number = None
        if isinstance(value, int) and not isinstance(value, bool):
            number = value
        elif isinstance(value, float) and value.is_integer():
            number = int(value)
        elif isinstance(value, str) and (found := _WHOLE.fullmatch(value)):
            number = int(found[1])
        if number is None or not low <= number <= high:
            self.fault(
                field,
                f"{field} is out of range",
                f"{field} “{str(value)[:_SHOWN]}” is not a whole number from {low:,} to {high:,}.",
                "Correct it, or leave it empty.",
                value=value,
            )
            return None
        return number

    def one_of(
        self,
        raw: Mapping[str, Any],
        field: str,
        allowed: Sequence[str],
        *,
        default: str = "",
        name: str = "",
        hint: str = "",
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
                f"{name} “{str(value)[:_SHOWN]}” is not known.",
                f"Use one of: {', '.join(allowed)}. {hint}".rstrip(),
                value=value,
            )
            return default
        return str(value)
