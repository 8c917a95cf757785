"""Write the marking page of a table: its items, without the labels in sight."""

import base64
import hashlib
import json
from argparse import Namespace
from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

from analysis.report.words import number_of
from studies.importers.columns.mapping import plain_name
from studies.media import CAPTIONS, ENDINGS
from thirdperson.check.columns import CheckedRows, Columns, columns_of
from thirdperson.check.dataset import spellings_of, tied_labels
from thirdperson.check.labels import BadTable, LabelTable, listed, same_label
from thirdperson.check.reading import labels_of, rows_of

_HERE = Path(__file__).parent
_MOST_LABELS = 9  # one key each
# Labels that choose one of two responses, and how the columns of these are called.
_SIDES = {"a": 0, "b": 1, "1": 0, "2": 1, "r1": 0, "r2": 1}
_RESPONSES = ("response_", "output_", "answer_", "completion_", "text_", "response", "r")
# Files that a page can show, by the endings of their names, and the bytes that it may hold of them.
_SHOWN = {ending: kind for kind, ending in ENDINGS.items() if kind != CAPTIONS}
_SHOWN["jpeg"] = "image/jpeg"
_MOST_BYTES = 50 * 1024**2
_LONGEST_NAME = 300


def write_page(options: Namespace) -> str:
    """Write the page of `--mark`, and return what to say about it. Raises `BadTable`."""
    rows, known, _ = rows_of(options)
    names = list(dict.fromkeys(name for _, row in rows for name in row))
    columns = columns_of(names, rows, known, name=options.name)
    if not columns.item:
        raise BadTable(
            f"--mark needs a column that names each item: --item COLUMN. {options.name} has: "
            f"{listed(names, 40)}."
        )
    labels = labels_of(rows, columns, name=options.name)
    data = _data(rows, columns, labels, options)
    if not data["items"]:
        raise BadTable(f"{options.name} has no items to mark.")
    data["files"] = _files(data["items"], options.files[0].parent)
    options.mark.write_text(_page(data, options.title or options.files[0].stem), "utf-8")
    words = listed([*data["labels"], *(tie["value"] for tie in data["ties"])])
    judges = labels.raters(is_judge=True)
    hidden = f", with the labels of {listed(judges)} hidden" if judges else ""
    return (
        f"{options.mark}: {number_of(len(data['items']), 'item')} to mark as {words}{hidden}. "
        "Open it in a browser; nothing is sent.\n"
        f"Then: thirdperson check {listed([str(file) for file in options.files])} marks-NAME.csv "
        f"--on {columns.item}\n"
    )


def _files(items: Sequence[Mapping[str, Any]], folder: Path) -> dict[str, str]:
    """The pictures, sounds and films that cells name, as data, by these names.

    Only files in the folder of the table: a table from somebody else can show no other file.
    """
    names = {value for item in items for _, value in item["fields"]}
    names |= {value for item in items for value in item["sides"]}
    files: dict[str, str] = {}
    size = 0
    for name in sorted(names):
        kind = _SHOWN.get(name.rpartition(".")[2].casefold())
        if kind is None or len(name) > _LONGEST_NAME:
            continue
        path = (folder / name).resolve()
        if not (path.is_relative_to(folder.resolve()) and path.is_file()):
            continue
        size += path.stat().st_size
        if size > _MOST_BYTES:
            raise BadTable(
                f"--mark: the pictures, sounds and films that the table names have over "
                f"{_MOST_BYTES // 2**20} MB, which one page cannot hold. Split the table."
            )
        files[name] = f"data:{kind};base64,{base64.b64encode(path.read_bytes()).decode()}"
    return files


def _page(data: Mapping[str, Any], title: str) -> str:
    style, script = (_text(name) for name in ("page.css", "page.js"))
    # “<” would end the element that holds the data.
    packed = json.dumps(data, ensure_ascii=False).replace("<", "\\u003c")
    parts = {
        "title": escape(title),
        "style": style,
        "style_hash": _hash_of(style),
        "script_hash": _hash_of(script),
        "data": packed,
        "script": script,
    }
    page = _text("page.html")
    head, *rest = page.split("{")
    for part in rest:
        name, _, text = part.partition("}")
        head += parts[name] + text
    return head


def _text(name: str) -> str:
    return (_HERE / name).read_text("utf-8")


def _hash_of(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


def _data(
    rows: CheckedRows, columns: Columns, labels: LabelTable, options: Namespace
) -> dict[str, Any]:
    first = {row[columns.item].strip(): row for _, row in reversed(rows) if row.get(columns.item)}
    ids = [
        item for item in dict.fromkeys(row.get(columns.item, "").strip() for _, row in rows) if item
    ]
    words, ties = _words(labels, options)
    sides = _sides(list(first[ids[0]]) if ids else [], words)
    codes = {same_label(value): code for code, value in enumerate([*words, *ties])}
    hides = {columns.item, columns.annotator, columns.label, columns.kind, columns.gold, *sides}
    hides |= {*columns.people, *columns.judges, *columns.certainty.values(), columns.unowned}
    hides |= {name for native in columns.probability.values() for name in native}
    leading = [name for name in (columns.persona, columns.question) if name]
    items = []
    for item in ids:
        row = first[item]
        names = [*leading, *(name for name in row if name not in leading and name not in hides)]
        fields = [[name, row[name]] for name in names if row.get(name)]
        items.append({"id": item, "fields": fields, "sides": [row.get(name, "") for name in sides]})
    marks = {
        (label.item, label.rater): codes.get(same_label(label.value)) for label in labels.labels
    }
    people, judges = (labels.raters(is_judge=is_judge) for is_judge in (False, True))
    of_people = [
        [code for rater in people if (code := marks.get((item, rater))) is not None] for item in ids
    ]
    hidden = {
        "judges": [[marks.get((item, one)) for item in ids] for one in judges],
        "people": of_people,
    }
    content = json.dumps([items, words, ties])
    return {
        "set": hashlib.sha256(content.encode()).hexdigest()[:16],
        "file": options.files[0].name,
        "item": columns.item,
        "labels": words,
        "ties": [
            {"value": tie, "text": tie, "label": len(words) + n} for n, tie in enumerate(ties)
        ],
        "sides": list(sides),
        "items": items,
        "epsilon": options.epsilon,
        "hidden": base64.b64encode(json.dumps(hidden).encode()).decode(),
    }


def _words(labels: LabelTable, options: Namespace) -> tuple[list[str], list[str]]:
    """The labels to choose from, and those that mean a tie."""
    values = [*options.labels, *(label.value for label in labels.labels), *labels.gold.values()]
    spellings = spellings_of(values)
    tied = tied_labels(spellings, options.tie, set(map(same_label, options.labels)))
    plain = [name for name in spellings if name not in tied]
    if not options.labels:
        plain.sort(key=_by_number)
    words, ties = [spellings[name] for name in plain], [spellings[name] for name in tied]
    ties += [tie for tie in options.tie if same_label(tie) not in spellings]
    if len(words) < 2:
        raise BadTable(
            f"--mark: which labels can be chosen? The table has {listed(words) or 'none'}. Name "
            "them: --labels FIRST,SECOND, and --tie WORD for a tie."
        )
    if len(words) + len(ties) > _MOST_LABELS:
        raise BadTable(
            f"--mark: there are {len(words) + len(ties)} labels, and a page has at most "
            f"{_MOST_LABELS}. If these columns are not labels, name others: --judge, --people."
        )
    return words, ties


def _by_number(name: str) -> tuple[int, float, str]:
    try:
        return (0, float(name), name)
    except ValueError:
        return (1, 0, name)


def _sides(names: Sequence[str], words: Sequence[str]) -> Sequence[str]:
    """The two columns of responses, in the order of the labels; empty if the labels are others."""
    order = [_SIDES.get(plain_name(word).removeprefix("response_")) for word in words]
    if sorted(place for place in order if place is not None) != [0, 1]:
        return ()
    plain = {plain_name(name): name for name in reversed(names)}
    for start in _RESPONSES:
        for ends in ("ab", "12"):
            columns = [plain.get(f"{start}{end}") for end in ends]
            if all(columns):
                return [str(columns[place or 0]) for place in order]
    return ()
