"""Write an export to a file or a folder, or pack a requested export in a worker."""

import shutil
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from django.contrib.auth.models import User

from analysis.data.item_comparisons import table_sizes
from analysis.errors import AnalysisError, BadChoice, ExportError
from analysis.exports.catalogue import (
    LICENCES,
    MORE,
    Disclosure,
    FolderOrder,
    added_folder,
    formats_of,
    is_blind,
    is_folder,
    make_table,
)
from analysis.exports.rows import renew_export_key
from analysis.exports.table_files import (
    OnRows,
    added_format,
    sha256_of,
    suffix_of,
    write_table,
)
from analysis.lifecycle.storage import export_dir, kept_for, remove_files
from analysis.models import Export, Report
from studies.errors import StudyError
from studies.jobs.runner import JobProgress, Steps, carry_out
from studies.models.studies import Study, StudyLog
from studies.services.studies import record
from studies.statements import clock


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
    on_doubts: Callable[[list[str]], object] = lambda doubts: None,
    report: Report | None = None,
    named: Path | None = None,
    **noted: Any,
) -> dict[str, int]:
    """Write one table to the file `out`, or all tables or the study's design to the folder `out`.

    Returns the number of rows of each table. A file is replaced; a folder must be new or empty.
    Both appear only once complete. Platform ids are written only if `identified`, to a file that
    only its owner can read. With `fresh_pseudonyms` all annotators get new names, and times that
    could match the names are left out. `on_doubts` gets what may still name somebody in an export
    for blind review, which is also written with names to the new folder `named`. The report in a
    bundle is the newest one, or `report`. The study's log records who exported what, together with
    `noted`.

    Raises `ExportError`.
    """
    format = check_choice(what, format, licence)
    asked_at = clock.now()  # as of an export on the page: who withdraws meanwhile may be in it
    disclosure = Disclosure(
        identified=identified, free_text=free_text, times=identified or not fresh_pseudonyms
    )
    if fresh_pseudonyms:
        renew_export_key(study_id=study.pk)
        study.refresh_from_db(fields=["export_key"])
    try:
        order = FolderOrder(disclosure, licence, on_rows, report, on_doubts, named)
        if what == "all":
            from analysis.exports.bundle import write_folder

            also = None if format in ("jsonl", "csv") else format
            counts = write_folder(study, out, order, also=also)
        elif folder := added_folder(what):
            from analysis.exports.bundle import new_folder

            with new_folder(out, private=identified) as part:
                counts = folder.write(study, part, order)
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
    entry = record(
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
    StudyLog.objects.filter(pk=entry.pk).update(created_at=asked_at)
    return counts


def check_choice(what: str, format: str, licence: str = "") -> str:
    """Return the format for `what`, by default its first. Raises `ExportError`."""
    known = formats_of()[what]
    if format and format not in known:
        raise BadChoice(f"“{what}” is available as {' or '.join(known)}, not as {format}.")
    if licence and licence not in LICENCES:
        raise BadChoice(f"The licence “{licence}” is not one of {', '.join(LICENCES)}.")
    if (added := added_format(format)) and (missing := added.missing()):
        raise BadChoice(missing)
    return format or known[0]


def expected_rows(study: Study, what: str) -> int:
    """Estimate the number of rows, for the progress of the export."""
    sizes = table_sizes(study)
    for added in MORE:
        if added.name == what:
            return sum(sizes[name] for name in added.counts)
    items = sizes.pop("main_items")
    if what == "all" or is_blind(what):
        return sum(sizes.values())
    if added_folder(what):
        return sizes["items"]
    return sizes.get(what) or items


WITH_NAMES = "with-names.zip"  # next to a blind export that was made for an extra
# Progress steps after the last row: checksums and packing.
_ROWS_PERCENT = 90


def write_queued(*, export_id: int) -> Export:
    """Write a queued export; delete the file if a user deletes the export meanwhile."""
    export = carry_out(Export, export_id, _write, expected=(AnalysisError, OSError))
    if export.state == Export.State.GONE:
        remove_files(export.public_id)
    return export


def _write(export: Export, progress: JobProgress) -> dict[str, Any]:
    """Write and pack in a draft folder, and store the file once complete."""
    steps = Steps(
        progress,
        total=expected_rows(export.study, export.what),
        share=_ROWS_PERCENT,
        sentence=_sentence,
    )
    with export_dir(export.public_id).replacing() as draft:
        of, today = f"{export.study.slug}-", f"{clock.now():%Y-%m-%d}"
        name = f"{'' if is_blind(export.what) else of}{export.what}-{today}"
        out = draft / (
            f"export-{name}" if is_folder(export.what) else f"{name}.{suffix_of(export.format)}"
        )
        # Who offers a blind export elsewhere may reveal the names later.
        has_both = export.made_for and is_blind(export.what)
        named = draft / f"export-{of}all-{today}" if has_both else None
        doubts = list[str]()
        rows = export_study(
            export.study,
            on_doubts=doubts.extend,
            what=export.what,
            format=export.format,
            out=out,
            licence=export.licence,
            identified=export.identified,
            free_text=export.free_text,
            fresh_pseudonyms=export.fresh_pseudonyms,
            user=export.requested_by,
            on_rows=steps.update,
            report=export.report,
            named=named,
            export=export.public_id,
        )
        progress(_ROWS_PERCENT, "Packing the files.")
        if named:
            _packed(named).rename(draft / WITH_NAMES)
        tables = _hash_of_tables(out) if export.what == "all" or is_blind(export.what) else ""
        file = _packed(out) if out.is_dir() else out
        stored = {
            "rows": rows,
            "filename": file.name,
            "size": file.stat().st_size,
            "sha256": sha256_of(file),
            "data_sha256": tables,
            "expires_at": export.expires_at or clock.now() + kept_for(export),
            "message": f"Look at these words: {'; '.join(doubts)}." if doubts else "Ready.",
        }
    return stored


def _sentence(done: int, total: int) -> str:
    return f"{done:,} of about {total:,} rows."


def _hash_of_tables(folder: Path) -> str:
    from analysis.exports.bundle import data_sha256

    return data_sha256(folder)


def _packed(folder: Path) -> Path:
    """Pack the folder as a zip file next to it, and remove the folder.

    Its entries have no times and no owners, which depend on the place and not on the data.
    """
    archive = folder.with_name(f"{folder.name}.zip")
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as bundle:
        for path in sorted(folder.rglob("*")):
            if path.is_file():
                entry = zipfile.ZipInfo(path.relative_to(folder.parent).as_posix())
                entry.compress_type = zipfile.ZIP_DEFLATED
                entry.external_attr = 0o644 << 16
                entry.file_size = path.stat().st_size  # large ones need another form of entry
                with path.open("rb") as source, bundle.open(entry, "w") as target:
                    shutil.copyfileobj(source, target)
    shutil.rmtree(folder)
    return archive
