"""SPSS and Stata files and Parquet for R, with labels, and CSV for spreadsheets of other countries.

Excel splits a CSV file at the separator of the computer's region, and reads UTF-8 only after a byte
order mark. R reads semicolons with decimal commas by `read.csv2`.
"""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from analysis.exports.table_files import ExportFormat, ExportTableFile, Put, csv_writer
from extras.documents.data_files.meanings import WhyMissing
from extras.documents.data_files.variables import (
    Variable,
    Variables,
    label_of,
    labels_of_missing,
    named_study,
    shortened,
    variable_names,
)
from studies.exporters.tables import TooLarge

# What the formats can hold: bytes of names and labels of SPSS, and of its longest text.
_SPSS_NAME, _SPSS_LABEL, _SPSS_WORD, _SPSS_TITLE = 64, 255, 120, 64
_SPSS_TEXT = 32_767
# Characters of names and labels of Stata. A name has 32 at most, and pyreadstat makes a longer one
# of it for the labels of its values.
_STATA_NAME, _STATA_LABEL = 26, 80


@contextmanager
def _sav(table: ExportTableFile, path: Path) -> Iterator[Put]:
    import pyreadstat

    variables = Variables(table)
    yield variables.put
    names = variable_names(table.columns, most=_SPSS_NAME)
    named = [(names[variable.column.name], variable) for variable in variables.all]
    _check_texts(variables)
    pyreadstat.write_sav(
        _frame({name: _in_spss(variable) for name, variable in named}),
        path,
        file_label=shortened(_title(table), most=_SPSS_TITLE, in_bytes=True),
        column_labels={
            name: shortened(label_of(variable.column, name), most=_SPSS_LABEL, in_bytes=True)
            for name, variable in named
        },
        row_compress=True,
        variable_value_labels={
            name: {
                float(code): shortened(word, most=_SPSS_WORD, in_bytes=True)
                for code, word in (*variable.labels.items(), *labels_of_missing(variable).items())
            }
            for name, variable in named
            if variable.words or variable.rule
        },
        missing_ranges={
            name: [{"lo": float(min(WhyMissing)), "hi": float(max(WhyMissing))}]
            for name, variable in named
            if variable.rule
        },
        variable_measure={name: _measure(variable) for name, variable in named},
        variable_format={
            name: "F10.0"
            for name, variable in named
            if variable.kind == "coded" or variable.column.kind == "integer"
        },
    )


@contextmanager
def _dta(table: ExportTableFile, path: Path) -> Iterator[Put]:
    import pyreadstat

    variables = Variables(table)
    yield variables.put
    names = variable_names(table.columns, most=_STATA_NAME)
    named = [(names[variable.column.name], variable) for variable in variables.all]
    # Letters and numbers: the library's types leave out the letters that its help describes.
    labels: dict[str, dict[Any, str]] = {
        name: {
            **{float(code): word for code, word in variable.labels.items()},
            **{why.letter: label for why, label in labels_of_missing(variable).items()},
        }
        for name, variable in named
        if variable.words or variable.rule
    }
    pyreadstat.write_dta(
        _frame({name: _in_stata(variable) for name, variable in named}),
        path,
        file_label=shortened(_title(table), most=_STATA_LABEL, in_bytes=False),
        column_labels={
            name: shortened(label_of(variable.column, name), most=_STATA_LABEL, in_bytes=False)
            for name, variable in named
        },
        version=15,
        variable_value_labels=labels,
        missing_user_values={
            name: [why.letter for why in WhyMissing] for name, variable in named if variable.rule
        },
    )


def _title(table: ExportTableFile) -> str:
    return f"{named_study(table)[1]}: {table.name}"


def _frame(series: dict[str, Any]) -> Any:
    import pandas

    return pandas.DataFrame(series, copy=False)


def _in_spss(variable: Variable) -> Any:
    import numpy

    numbers = _plain(variable)
    if variable.rule:
        reasons = numpy.asarray(variable.reasons)
        return numpy.where(reasons != 0, reasons, numbers)
    return numbers


def _in_stata(variable: Variable) -> Any:
    import pandas

    numbers = _plain(variable)
    if not any(variable.reasons):
        return numbers
    letters = {int(why): why.letter for why in WhyMissing}
    cells = zip(variable.values, variable.reasons, strict=True)
    return pandas.Series([letters.get(reason, number) for number, reason in cells], dtype=object)


def _plain(variable: Variable) -> Any:
    """The values of a variable as a column of pandas, without reasons."""
    import numpy
    import pandas
    import pyarrow

    if variable.kind == "text":
        # Both formats have no missing texts.
        texts = pyarrow.chunked_array(variable.texts, pyarrow.string())
        return pandas.Series(texts.fill_null("").to_pandas(), dtype="str")
    numbers = numpy.asarray(variable.numbers)
    if variable.kind == "time":
        return pandas.Series(pandas.to_datetime(numbers, unit="s"))
    return numbers


def _check_texts(variables: Variables) -> None:
    import pyarrow.compute

    for variable in variables.all:
        first = 1
        for part in variable.texts:
            longest = pyarrow.compute.max(pyarrow.compute.binary_length(part)).as_py() or 0
            if longest > _SPSS_TEXT:
                raise TooLarge(
                    f"A cell in the column “{variable.column.name}” (rows {first:,} to "
                    f"{first + len(part) - 1:,}) has {longest:,} bytes; an SPSS text holds "
                    f"{_SPSS_TEXT:,}. Export Stata, CSV or JSON Lines instead."
                )
            first += len(part)


def _measure(variable: Variable) -> str:
    if variable.column.name.endswith("certainty_band"):
        return "ordinal"
    return "scale" if variable.kind in ("number", "time") else "nominal"


def _not_installed() -> str:
    if find_spec("pyreadstat") and find_spec("pandas"):
        return ""
    return (
        "SPSS and Stata files need two more packages: pip install -r requirements-files.txt (of "
        "an installed package, pip install 'thirdperson[files]'). Or choose Parquet for R, CSV or "
        "Excel, which need none."
    )


@contextmanager
def _parquet_r(table: ExportTableFile, path: Path) -> Iterator[Put]:
    """Parquet with words as factors of R, and a factor of reasons for each column with a rule."""
    import pyarrow
    import pyarrow.parquet

    variables = Variables(table)
    yield variables.put
    arrays: dict[str, Any] = {}
    labels: dict[str, str] = {}
    taken = {column.name for column in table.columns}
    for variable in variables.all:
        arrays[variable.column.name] = _in_arrow(variable)
        labels[variable.column.name] = variable.column.meaning
        if variable.rule:
            name = f"{variable.column.name}_missing"
            while name in taken:
                name += "_"
            order = {int(why): place for place, why in enumerate(WhyMissing)}
            arrays[name] = _factor(
                [order.get(reason) for reason in variable.reasons],
                [why.label for why in WhyMissing],
            )
            labels[name] = f"Why {variable.column.name} is missing; empty if it is not, or unknown."
    schema = pyarrow.schema(
        [
            pyarrow.field(name, values.type, metadata={"label": labels[name]})
            for name, values in arrays.items()
        ],
        metadata={"title": _title(table), "variable_labels": json.dumps(labels)},
    )
    pyarrow.parquet.write_table(
        pyarrow.table(list(arrays.values()), schema=schema), path, compression="zstd"
    )


def _in_arrow(variable: Variable) -> Any:
    import pyarrow

    if variable.kind == "text":
        return pyarrow.chunked_array(variable.texts, pyarrow.string())
    if variable.kind == "coded":
        codes = list(variable.labels)
        order = {code: place for place, code in enumerate(codes)}
        places = [None if code is None else order[int(code)] for code in variable.values]
        return _factor(places, [variable.labels[code] for code in codes])
    values = list(variable.values)
    if variable.kind == "time":
        whole = [None if value is None else int(value) for value in values]
        return pyarrow.array(whole, pyarrow.timestamp("s", tz="UTC"))
    if variable.column.kind == "integer":
        return pyarrow.array([None if v is None else int(v) for v in values], pyarrow.int64())
    return pyarrow.array(values, pyarrow.float64())


def _factor(places: list[int | None], levels: list[str]) -> Any:
    import pyarrow

    indices = pyarrow.array(places, pyarrow.int32())
    return pyarrow.DictionaryArray.from_arrays(indices, pyarrow.array(levels, pyarrow.string()))


SPSS = ExportFormat(
    "sav", "SPSS (SAV)", "sav", "application/x-spss-sav", _sav, missing=_not_installed
)
STATA = ExportFormat(
    "dta", "Stata (DTA)", "dta", "application/x-stata-dta", _dta, missing=_not_installed
)
PARQUET_R = ExportFormat(
    "parquet-r", "Parquet for R, with factors", "parquet", "application/x-parquet", _parquet_r
)


def _csv(name: str, label: str, *, separator: str, decimal: str, mark: bool) -> ExportFormat:
    write = csv_writer(separator=separator, decimal=decimal, mark=mark)
    return ExportFormat(name, label, "csv", "text/csv", write)


BOM = _csv(
    "csv-bom", "CSV with a byte order mark, for Excel", separator=",", decimal=".", mark=True
)
CSV2 = _csv(
    "csv2", "CSV with semicolons and decimal commas", separator=";", decimal=",", mark=False
)
CSV2_BOM = _csv(
    "csv2-bom",
    "CSV with semicolons, decimal commas and a byte order mark, for Excel",
    separator=";",
    decimal=",",
    mark=True,
)
SEMICOLON = _csv(
    "csv-s", "CSV with semicolons and decimal points", separator=";", decimal=".", mark=False
)
SEMICOLON_BOM = _csv(
    "csv-s-bom",
    "CSV with semicolons, decimal points and a byte order mark, for Excel",
    separator=";",
    decimal=".",
    mark=True,
)
