"""Writes an export: one table to a file or all of them to a folder, and an entry in the log."""

from pathlib import Path
from typing import Any

from django.contrib.auth.models import User

from analysis.data.collection import table_sizes
from analysis.exports.description.licences import LICENCES
from analysis.exports.errors import BadChoice, ExportError
from analysis.exports.tables.catalogue import Disclosure, formats_of, make_table
from analysis.exports.tables.pseudonyms import renew_export_key
from analysis.exports.tables.table_files import OnRows, write_table
from studies.errors import StudyError
from studies.models.studies import Study
from studies.services.studies import record


def export_study(
    study: Study,
    *,
    what: str,
    out: Path,
    format: str = "",
    identified: bool = False,
    free_text: bool = False,
    fresh_pseudonyms: bool = False,
    licence: str = "",
    user: User | None = None,
    on_rows: OnRows | None = None,
    **noted: Any,
) -> dict[str, int]:
    """Write one table to the file `out`; all of them, or the study's design, to the folder `out`.

    Returns the number of rows of each table. A file is replaced, a folder must be new or empty;
    both appear only when they are complete. Platform ids are written only when `identified`, and
    only to a file that its owner alone can read. With `fresh_pseudonyms` all annotators get new
    names, and no times are exported by which the names could be matched. The study's log records
    who exported what, together with `noted`. Raises `ExportError`.
    """
    format = check_choice(what, format, licence)
    disclosure = Disclosure(
        identified=identified, free_text=free_text, times=identified or not fresh_pseudonyms
    )
    if fresh_pseudonyms:
        renew_export_key(study_id=study.pk)
        study.refresh_from_db(fields=["export_key"])
    try:
        if what == "all":
            from analysis.exports.delivery.bundle import write_folder

            counts = write_folder(
                study,
                out,
                also=format if format in ("parquet", "xlsx") else None,
                disclosure=disclosure,
                licence=licence,
                on_rows=on_rows,
            )
        elif what == "study":
            from analysis.exports.delivery.new_folder import new_folder
            from studies.study_files.writing import write_study

            with new_folder(out) as part:
                counts = write_study(study, part, on_rows=on_rows)
        else:
            counts = {
                what: write_table(make_table(study, what, disclosure), {format: out}, on_rows)
            }
    except StudyError as error:
        raise ExportError(str(error)) from error
    except OSError as error:
        raise ExportError(
            f"{out} cannot be written: {error.strerror}. Choose another path."
        ) from error
    record(
        study,
        "exported",
        user=user,
        what=what,
        format=format,
        identified=identified,
        free_text=free_text,
        fresh_pseudonyms=fresh_pseudonyms,
        rows=counts,
        **noted,
    )
    return counts


def check_choice(what: str, format: str, licence: str = "") -> str:
    """Return the format for `what`, by default its first. Raises `ExportError`."""
    known = formats_of()[what]
    if format and format not in known:
        raise BadChoice(f"“{what}” is written as {' or '.join(known)}, not as {format}.")
    if licence and licence not in LICENCES:
        raise BadChoice(f"The licence “{licence}” is not one of {', '.join(LICENCES)}.")
    return format or known[0]


def expected_rows(study: Study, what: str) -> int:
    """Estimate the number of rows, for the progress of the export."""
    sizes = table_sizes(study)
    items = sizes.pop("main_items")
    if what == "all":
        return sum(sizes.values())
    if what == "study":
        return sizes["items"]
    if what == "mt-bench":
        return sizes["annotations"] + sizes["judgments"]
    return sizes.get(what) or items
