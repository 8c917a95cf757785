"""Requirements of the documented researcher API: parameters, fields and types.

The table is derived from the published OpenAPI description. A call that lacks a required
parameter, or sends one of the wrong type or one that the table does not list, is refused with 400
and its name.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

from demo.prolific.records import Refusal

REQUIRED, UNKNOWN = "This field is required.", "Unknown field."
_TABLE: dict[str, Any] = json.loads(
    files("annotation.prolific.api").joinpath("contract.json").read_text("utf-8")
)
_YES_OR_NO = {"0", "1", "true", "false", "yes", "no", "t", "f"}
_TYPES: dict[str, tuple[type, ...]] = {
    "string": (str,),
    "number": (int, float),
    "integer": (int,),
    "boolean": (bool,),
    "array": (list,),
    "object": (dict,),
    "null": (type(None),),
}


@dataclass(frozen=True)
class Call:
    """A row of the table: the query and the body of a call, and the names that it needs.

    One name of each group in `either` is required, in the query or the body.
    """

    row: Mapping[str, Any]

    def check(self, query: Mapping[str, str], body: Any, *, is_strict: bool) -> None:
        """Raise `Refusal` with every error by name."""
        if not isinstance(body, dict):
            raise Refusal(400, "Expected an object.")
        values: dict[str, Any] = {**query, **body}
        needed = [*self.row.get("required", ()), *self.row.get("required_too", ())]
        problems = {name: REQUIRED for name in needed if values.get(name) in (None, "")}
        for group in self.row.get("either", ()):
            if not any(values.get(name) for name in group):
                problems[group[0]] = f"One of {' or '.join(group)} must be given."
        for part, sent, read in (("query", query, _of_query), ("body", body, fault_of)):
            known = self.row.get(part, {})
            for name, value in sent.items():
                if name not in known:
                    if is_strict:
                        problems[name] = UNKNOWN
                elif name not in problems and value is not None:
                    if wrong := read(known[name], value):
                        problems[name] = wrong
        if problems:
            raise Refusal(400, {name: [words] for name, words in sorted(problems.items())})


CONTRACT: dict[tuple[str, str], Call] = {
    (method, path): Call(row)
    for name, row in _TABLE["operations"].items()
    for method, path in [name.split(" ")]
}


def _of_query(schema: Mapping[str, Any], value: str) -> str:
    """The error in a parameter of a query, where everything is text."""
    if schema.get("type") == "integer":
        return "" if re.fullmatch(r"-?[0-9]+", value) else "A valid integer is required."
    if schema.get("type") == "boolean":
        return "" if value.casefold() in _YES_OR_NO else "Must be a valid boolean."
    return fault_of(schema, value)


def fault_of(schema: Mapping[str, Any], value: Any) -> str:
    """The error in a value; empty when there is none."""
    if "$ref" in schema:
        return fault_of(_TABLE["shapes"][schema["$ref"]], value)
    if "oneOf" in schema:
        faults = [fault_of(one, value) for one in schema["oneOf"]]
        # Report errors for the variant that fits best.
        return "" if "" in faults else min(faults, key=lambda fault: "is not a valid" in fault)
    if "enum" in schema and value not in schema["enum"]:
        return f"“{value}” is not a valid choice."
    if wrong := _of_type(schema.get("type", []), value):
        return wrong
    if isinstance(value, str) and not re.fullmatch(schema.get("pattern", ".*"), value, re.DOTALL):
        return "Not a valid id."
    if isinstance(value, list):
        return _in_list(schema, value)
    return _in_object(schema, value) if isinstance(value, dict) else ""


def _of_type(names: str | list[str], value: Any) -> str:
    wanted = [names] if isinstance(names, str) else names
    good = any(
        isinstance(value, _TYPES[name]) and (isinstance(value, bool) == (name == "boolean"))
        for name in wanted
    )
    return "" if good or not wanted else f"Expected {' or '.join(wanted)}: it is not a valid one."


def _in_list(schema: Mapping[str, Any], value: list[Any]) -> str:
    if len(value) > schema.get("maxItems", len(value)):
        return f"At most {schema['maxItems']:,}."
    return next((wrong for item in value if (wrong := fault_of(schema["items"], item))), "")


def _in_object(schema: Mapping[str, Any], value: dict[str, Any]) -> str:
    known, others = schema.get("properties", {}), schema.get("additionalProperties")
    if missing := [name for name in schema.get("required", ()) if name not in value]:
        return f"{missing[0]}: {REQUIRED}"
    for name, one in value.items():
        if name not in known and not isinstance(others, dict):
            if "properties" in schema:
                return f"{name}: {UNKNOWN}"
        elif wrong := fault_of(known.get(name, others), one):
            return f"{name}: {wrong}"
    return ""
