"""The codebook: what every variable and code of the tables means, and how often each occurs.

It is a page, a file of the standard DDI Codebook 2.5, or JSON Lines with one row per variable.
"""

import re
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from itertools import groupby, islice
from operator import itemgetter
from pathlib import Path
from typing import Any

from analysis.exports.catalogue import BUNDLED, Disclosure, ExportTable, make_table
from analysis.exports.columns import Column
from analysis.exports.table_files import (
    ExportFormat,
    ExportRow,
    ExportTableFile,
    Put,
    TableBatch,
    write_text,
)
from extras.documents.data_files.meanings import WhyMissing
from extras.documents.data_files.variables import Variable, Variables, named_study
from studies.models import Study

_COLUMNS = (
    Column("table", "text", "Name of the table."),
    Column("variable", "text", "Name of the column."),
    Column("kind", "text", "coded, number, time or text."),
    Column("meaning", "text", "What it holds."),
    Column("rows", "integer", "Rows of the table."),
    Column("present", "integer", "Rows with a value."),
    Column("values", "json", "Codes with label and count, of a coded column."),
    Column("missing", "json", "Codes of missing values with letter, label, meaning and count."),
    Column("minimum", "number", "The smallest number."),
    Column("maximum", "number", "The largest number."),
    Column("mean", "number", "The mean of the numbers."),
)
_ROWS_PER_READ = 1_000


def _table(study: Study, disclosure: Disclosure) -> ExportTableFile:
    return ExportTableFile("codebook", _COLUMNS, partial(_rows, study, disclosure))


def _rows(study: Study, disclosure: Disclosure) -> Iterator[ExportRow]:
    for what in ("items", *BUNDLED[:-1]):
        variables = Variables(make_table(study, what, disclosure))
        rows = variables.table.rows()
        while batch := list(islice(rows, _ROWS_PER_READ)):
            variables.put(TableBatch(variables.table, batch))
        for variable in variables.all:
            yield _described(what, variable, variables.rows)


def _described(table: str, variable: Variable, rows: int) -> ExportRow:
    present = variable.present
    is_number = variable.kind == "number" and present
    numbers = [value for value in variable.values if value is not None] if is_number else []
    labels, counts = variable.labels, variable.counts()
    reasons = variable.counts_of_missing() if variable.rule else {}
    return {
        "table": table,
        "variable": variable.column.name,
        "kind": variable.kind,
        "meaning": variable.column.meaning,
        "rows": rows,
        "present": present,
        "values": [
            {"code": code, "label": label, "count": counts[code]} for code, label in labels.items()
        ],
        "missing": [
            {
                "code": int(why),
                "letter": f".{why.letter}",
                "label": why.label,
                "meaning": why.meaning,
                "count": count,
            }
            for why, count in reasons.items()
        ],
        "minimum": min(numbers, default=None),
        "maximum": max(numbers, default=None),
        "mean": sum(numbers) / present if numbers else None,
    }


def _collected(
    write: Callable[[ExportTableFile, list[ExportRow]], str],
) -> Callable[[ExportTableFile, Path], AbstractContextManager[Put]]:
    """A writer of a text that is made of all rows."""

    @contextmanager
    def writer(table: ExportTableFile, path: Path) -> Iterator[Put]:
        rows: list[ExportRow] = []
        yield lambda batch: rows.extend(batch.rows)
        write_text(path, write(table, rows))

    return writer


def _by_table(rows: list[ExportRow]) -> Iterator[tuple[str, list[ExportRow]]]:
    for name, of_table in groupby(rows, itemgetter("table")):
        yield name, list(of_table)


def _page(table: ExportTableFile, rows: list[ExportRow]) -> str:
    from analysis.report.render import render_document

    slug, title = named_study(table)
    return render_document(
        "data_files/codebook.html",
        slug=slug,
        study=title,
        tables=list(_by_table(rows)),
        reasons=list(WhyMissing),
    )


_NAMESPACE = "ddi:codebook:2_5"
_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def _ddi(table: ExportTableFile, rows: list[ExportRow]) -> str:
    slug, name_of_study = named_study(table)
    book = ElementTree.Element("codeBook", {"xmlns": _NAMESPACE, "version": "2.5"})
    title = _child(_child(_child(book, "stdyDscr"), "citation"), "titlStmt")
    _child(title, "titl", name_of_study)
    _child(title, "IDNo", slug)
    for name, variables in _by_table(rows):
        file = _child(_child(book, "fileDscr", ID=name), "fileTxt")
        _child(file, "fileName", name)
        size = _child(file, "dimensns")
        _child(size, "caseQnty", str(variables[0]["rows"]))
        _child(size, "varQnty", str(len(variables)))
    described = _child(book, "dataDscr")
    for row in rows:
        _add_variable(described, row)
    ElementTree.indent(book)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{ElementTree.tostring(book, "unicode")}\n'


def _add_variable(parent: ElementTree.Element, row: ExportRow) -> None:
    interval = {"coded": "discrete", "number": "contin", "time": "contin"}.get(row["kind"])
    variable = _child(
        parent,
        "var",
        ID=f"{row['table']}.{row['variable']}",
        name=row["variable"],
        files=row["table"],
        **({"intrvl": interval} if interval else {}),
    )
    _child(variable, "labl", row["meaning"])
    _child(variable, "sumStat", str(row["present"]), type="vald")
    _child(variable, "sumStat", str(row["rows"] - row["present"]), type="invd")
    for kind, key in (("min", "minimum"), ("max", "maximum"), ("mean", "mean")):
        if row[key] is not None:
            _child(variable, "sumStat", f"{row[key]:.12g}", type=kind)
    for value in row["values"]:
        _add_category(variable, value)
    for value in row["missing"]:
        _add_category(variable, value, missing="Y")
    is_text = row["kind"] in ("text", "time")
    _child(variable, "varFormat", type="character" if is_text else "numeric")


def _add_category(variable: ElementTree.Element, value: dict[str, Any], **attributes: str) -> None:
    category = _child(variable, "catgry", **attributes)
    _child(category, "catValu", str(value["code"]))
    _child(category, "labl", value["label"])
    if meaning := value.get("meaning"):
        _child(category, "txt", meaning)
    _child(category, "catStat", str(value["count"]), type="freq")


def _child(
    parent: ElementTree.Element, tag: str, text: str | None = None, **attributes: str
) -> ElementTree.Element:
    child = ElementTree.SubElement(parent, tag, attributes)
    child.text = None if text is None else _NOT_XML.sub("\ufffd", text)
    return child


PAGE = ExportFormat("html", "Page (HTML)", "html", "text/html", _collected(_page), is_general=False)
DDI = ExportFormat(
    "xml", "DDI Codebook (XML)", "xml", "application/xml", _collected(_ddi), is_general=False
)
CODEBOOK = ExportTable(
    "codebook",
    ("html", "xml", "jsonl"),
    "Codebook: one row per variable, with its codes and how often each occurs",
    _table,
)
