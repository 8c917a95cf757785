"""The worker's part of an export: write to a draft folder, pack, then offer the file."""

import shutil
import zipfile
from pathlib import Path
from typing import Any

from analysis.errors import AnalysisError
from analysis.exports.delivery.storage import export_dir, kept_for, remove_files
from analysis.exports.delivery.study_export import expected_rows, export_study
from analysis.exports.tables.catalogue import FOLDERS
from analysis.exports.tables.table_files import sha256_of
from analysis.models import Export
from studies.jobs.runner import JobProgress, Steps, carry_out
from studies.statements import clock

# Steps after the last row: checksums and packing.
_ROWS_PERCENT = 90


def write_queued(*, export_id: int) -> Export:
    """Write a queued export; the file is deleted if a user deletes the export meanwhile."""
    export = carry_out(Export, export_id, _write, expected=(AnalysisError, OSError))
    if export.state == Export.State.GONE:
        remove_files(export.public_id)
    return export


def _write(export: Export, progress: JobProgress) -> dict[str, Any]:
    """Write and pack in a draft folder, whose file is stored when complete."""
    steps = Steps(
        progress,
        total=expected_rows(export.study, export.what),
        share=_ROWS_PERCENT,
        sentence=_sentence,
    )
    with export_dir(export.public_id).replacing() as draft:
        name = f"{export.study.slug}-{export.what}-{clock.now():%Y-%m-%d}"
        out = draft / (f"export-{name}" if export.what in FOLDERS else f"{name}.{export.format}")
        rows = export_study(
            export.study,
            what=export.what,
            format=export.format,
            out=out,
            licence=export.licence,
            identified=export.identified,
            free_text=export.free_text,
            fresh_pseudonyms=export.fresh_pseudonyms,
            user=export.requested_by,
            on_rows=steps.update,
            export=export.public_id,
        )
        progress(_ROWS_PERCENT, "Packing the files.")
        file = _packed(out) if out.is_dir() else out
        stored = {
            "rows": rows,
            "filename": file.name,
            "size": file.stat().st_size,
            "sha256": sha256_of(file),
            "expires_at": clock.now() + kept_for(export),
            "message": "Ready.",
        }
    return stored


def _sentence(done: int, total: int) -> str:
    return f"{done:,} of about {total:,} rows."


def _packed(folder: Path) -> Path:
    """Pack the folder as a zip file next to it, and remove the folder."""
    archive = folder.with_name(f"{folder.name}.zip")
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED, compresslevel=6) as bundle:
        for path in sorted(folder.rglob("*")):
            if path.is_file():
                bundle.write(path, path.relative_to(folder.parent).as_posix())
    shutil.rmtree(folder)
    return archive
