"""Exports of Weave (Weights & Biases): feedback, or calls with their feedback.

Feedback: `client.get_feedback()` or its API as JSON. Calls: the export of the page of traces with
“Include feedback”, as JSON, JSON Lines or CSV. A human annotation is a label of the person who
gave it; so are reactions and feedback of an own type, such as of an own interface. The output of a
scorer is a judge's label, as feedback or in the results of an evaluation. Notes are texts and no
labels.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from thirdperson.check.exports.reader import (
    ExportedColumns,
    ExportReader,
    ReaderMark,
    first_of,
    objects,
    table_of_marks,
)

_FEEDBACK = "summary.weave.feedback"
_SCORES = "output.scores."
# A table has one column for the last feedback of each type and part.
_COLUMN = re.compile(
    rf"{re.escape(_FEEDBACK)}\.(?P<type>.+?)\.(?:payload\.(?P<part>.+)|(?P<about>\w+))"
)
_PERSON, _SCORER = "wandb.annotation.", "wandb.runnable."
_REACTION, _RESERVED = "wandb.reaction.1", "wandb."
# An evaluation has the row of its data set as the input “example”.
_INPUTS = re.compile(r"inputs\.(?:example\.)?")
_WHO = ("creator", "wb_user_id", "created_at")


def _records(document: Any) -> list[dict[str, Any]]:
    """The feedback or calls of a document: of its list, or below “result” or “calls”."""
    if isinstance(document, dict):
        lists = (document.get(name) for name in ("result", "calls"))
        document = next((one for one in lists if isinstance(one, list)), [document])
    return objects(document)


def _flat(value: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """What an object contains by its path, as in a table; lists are whole."""
    by_path: dict[str, Any] = {}
    for name, part in value.items():
        if isinstance(part, dict):
            by_path |= _flat(part, f"{prefix}{name}.")
        else:
            by_path[f"{prefix}{name}"] = part
    return by_path


def _is_feedback(record: Mapping[str, Any]) -> bool:
    return {"feedback_type", "payload", "weave_ref"} <= record.keys()


def _is_labelled_call(call: Mapping[str, Any]) -> bool:
    return any(
        path.startswith(_FEEDBACK) or ("op_name" in call and path.startswith(_SCORES))
        for path in _flat(call)
    )


def _is_weave(document: Any) -> bool:
    records = _records(document)
    return bool(records) and (
        all(map(_is_feedback, records))
        or any("id" in one and _is_labelled_call(one) for one in records)
    )


def _feedback_of(call: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """The feedback of a call, from its list or from columns for each part."""
    yield from objects(call.get(_FEEDBACK))
    by_type: dict[str, dict[str, Any]] = {}
    for path, value in call.items():
        if (match := _COLUMN.fullmatch(path)) and value is not None:
            entry = by_type.setdefault(match["type"], {"feedback_type": match["type"]})
            if match["part"]:
                entry.setdefault("payload", {})[match["part"]] = value
            elif match["about"] in _WHO:
                entry[match["about"]] = value
    yield from (entry for entry in by_type.values() if "payload" in entry)


def _values(metric: str, payload: Mapping[str, Any], name: str) -> Iterator[tuple[str, Any]]:
    """What a payload says below a name, such as output; a scorer can give several values."""
    for path, value in _flat(payload).items():
        if path == name:
            yield metric, value
        elif path.startswith(f"{name}."):
            yield f"{metric}.{path.removeprefix(f'{name}.')}", value


def _labels(entry: Mapping[str, Any]) -> Iterator[tuple[bool, str, str, Any]]:
    """Whether a label is a judge's, who gave it, of which metric, and its value."""
    kind, payload = str(entry.get("feedback_type") or ""), entry.get("payload") or {}
    if kind.startswith(_SCORER):
        scorer = kind.removeprefix(_SCORER)
        yield from ((True, scorer, of, value) for of, value in _values(scorer, payload, "output"))
        return
    person = first_of(*(entry.get(name) for name in _WHO[:2]), "person")
    if kind == _REACTION:
        yield False, person, "reaction", payload.get("detoned") or payload.get("emoji")
    elif kind.startswith(_PERSON) or not kind.startswith(_RESERVED):
        metric = kind.removeprefix(_PERSON)
        yield from ((False, person, of, value) for of, value in _values(metric, payload, "value"))


def _fields(call: Mapping[str, Any]) -> dict[str, Any]:
    """What a call was asked and answered."""
    return {
        _INPUTS.sub("", path): value
        for path, value in call.items()
        if path.startswith(("inputs.", "output")) and not path.startswith(_SCORES)
    }


def _table(document: Any, name: str, metric: str) -> ExportedColumns:
    records = _records(document)
    entries: list[tuple[str, str, dict[str, Any]]] = []
    fields: dict[str, dict[str, Any]] = {}
    scored: dict[str, dict[str, Any]] = {}
    if all(map(_is_feedback, records)):
        for number, entry in enumerate(records, start=1):
            item = str(entry["weave_ref"]).rpartition("/")[2]
            entries.append((f"{name}, entry {number}", item, entry))
    else:
        calls = {str(call["id"]): _flat(call) for call in records if call.get("id")}
        for number, (call_id, call) in enumerate(calls.items(), start=1):
            # An evaluation has its scores one call above that of the model.
            parent = calls.get(str(call.get("parent_id")), {})
            is_inner = any(path.startswith(_SCORES) for path in parent)
            item = str(call["parent_id"]) if is_inner else call_id
            where = f"{name}, call {number}"
            fields[item] = _fields(call) | fields.get(item, {})
            entries += [(where, item, entry) for entry in _feedback_of(call)]
            scored[item] = scored.get(item, {}) | {
                path.removeprefix(_SCORES): value
                for path, value in call.items()
                if path.startswith(_SCORES)
            }
    marks: dict[tuple[str, str, str], tuple[str, ReaderMark]] = {}
    for where, item, entry in entries:
        when = str(entry.get("created_at") or "")
        for is_judge, rater, of, value in _labels(entry):
            key = (item, rater, of)
            if value is not None and (key not in marks or marks[key][0] <= when):
                marks[key] = when, ReaderMark(where, item, rater, is_judge, of, value)
    for item, scores in scored.items():
        for of, value in scores.items():
            rater = of.partition(".")[0]
            if value is not None and (item, rater, of) not in marks:
                mark = ReaderMark(f"{name}, call {item}", item, rater, True, of, value)
                marks[item, rater, of] = "", mark
    return table_of_marks([mark for _, mark in marks.values()], fields, name, metric)


WEAVE = ExportReader(_is_weave, _table)
