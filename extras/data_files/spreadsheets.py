"""CSV as spreadsheets of different countries open it by a double click.

Excel splits a file at the separator of the computer's region, and reads UTF-8 only after a byte
order mark. R reads semicolons with decimal commas by `read.csv2`.
"""

from analysis.exports.table_files import ExportFormat, csv_writer


def _format(name: str, label: str, *, separator: str, decimal: str, mark: bool) -> ExportFormat:
    write = csv_writer(separator=separator, decimal=decimal, mark=mark)
    return ExportFormat(name, label, "csv", "text/csv", write)


BOM = _format(
    "csv-bom", "CSV with a byte order mark, for Excel", separator=",", decimal=".", mark=True
)
CSV2 = _format(
    "csv2", "CSV with semicolons and decimal commas", separator=";", decimal=",", mark=False
)
CSV2_BOM = _format(
    "csv2-bom",
    "CSV with semicolons, decimal commas and a byte order mark, for Excel",
    separator=";",
    decimal=",",
    mark=True,
)
SEMICOLON = _format(
    "csv-s", "CSV with semicolons and decimal points", separator=";", decimal=".", mark=False
)
SEMICOLON_BOM = _format(
    "csv-s-bom",
    "CSV with semicolons, decimal points and a byte order mark, for Excel",
    separator=";",
    decimal=".",
    mark=True,
)
