"""A complete export: every table in several formats, with its documentation and licence."""

import hashlib
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from analysis.data.judgment_rows import asked_words, wordings_of
from analysis.errors import ExportError
from analysis.exports.catalogue import (
    BUNDLED,
    DESCRIPTIONS,
    DOCUMENTS,
    MORE,
    BundleContents,
    DescribedFile,
    DescribedPart,
    Disclosure,
    FolderOrder,
    make_table,
)
from analysis.exports.columns import EXPLAINED_COLUMNS, Column
from analysis.exports.table_files import (
    ExportTableFile,
    OnRows,
    added_format,
    sha256_of,
    suffix_of,
    to_json,
    write_table,
    write_text,
)
from analysis.lifecycle.storage import marked
from analysis.models import Report
from analysis.report.build import all_figures, all_tables
from analysis.report.figures import write_figures
from analysis.report.render import render_html
from analysis.report.report_json import to_json as report_as_json
from analysis.report.report_json import without_people
from analysis.report.table_files import write_tables
from studies.exporters.items import dataset_description, media_files
from studies.extra import extras
from studies.models.studies import Study
from studies.statements import clock

Redacted = Callable[[Any], Any]


@contextmanager
def new_folder(out: Path, *, private: bool = False) -> Iterator[Path]:
    """A draft folder that becomes the new or empty folder `out` when complete.

    If writing fails, nothing is left. Raises `ExportError` or `OSError`.
    """
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise ExportError(f"{out} exists already. Choose a new or empty folder.")
    out.parent.mkdir(parents=True, exist_ok=True)
    part = Path(tempfile.mkdtemp(dir=out.parent, prefix=f".{out.name}."))
    try:
        yield part
        if not private:
            part.chmod(0o755)
        if out.exists():
            out.rmdir()
        part.rename(out)
    finally:
        shutil.rmtree(part, ignore_errors=True)


def write_folder(
    study: Study, out: Path, order: FolderOrder, *, also: str | None = None
) -> dict[str, int]:
    """Write every table to the new or empty folder `out`, which appears once complete.

    Tables are JSON Lines and CSV, and another format if `also` names one. Returns the number of
    rows of each table. Raises `ExportError` or `OSError`.
    """
    with new_folder(out, private=order.disclosure.identified) as part:
        contents = fill_folder(study, part, order, also=also)
        describe(part, contents)
        write_checksums(part)
    return contents.rows


def current_report(study: Study, only: Report | None = None) -> Report | None:
    """The newest own report, or `only`.

    None if answers were withdrawn, left out or counted again since.
    """
    reports = Report.objects.filter(pk=only.pk) if only else Report.own.filter(study=study)
    report = marked(reports.filter(state=Report.State.DONE)).order_by("-number").first()
    if report is None or report.withdrawn_since or report.excluded_since:  # type: ignore[attr-defined]  # annotated
        return None
    return report


def write_report(report: Report | None, folder: Path, redacted: Redacted) -> bool:
    """Write the page, its numbers, tables and figures to `folder`, from the stored result.

    They take the place of an earlier copy.

    Unlike the report's own files, the copy has no rows about annotators; `redacted` changes the
    rest. Returns False and writes nothing if this version of Thirdperson cannot render the result
    of another.
    """
    shutil.rmtree(folder, ignore_errors=True)
    if report is None or report.result is None or report.finished_at is None:
        return False
    public, failed = redacted(without_people(report.result)), list[str]()
    tables, figures = all_tables(public, failed), all_figures(public, failed)
    date = report.finished_at.date()
    try:
        page = render_html(public, date=date, tables=tables, figures=figures, failed=failed)
    except KeyError:
        return False
    if failed and "failed_parts" not in public:
        return False
    folder.mkdir(parents=True)
    write_text(folder / "report.html", page)
    write_text(folder / "report.json", report_as_json(public))
    write_tables(list(tables.values()), folder / "tables")
    write_figures(list(figures.values()), folder / "figures")
    return True


def _named_report(report: Report | None, *, is_here: bool) -> str:
    """The sentence about the report on the card of a bundle."""
    if report is None or report.finished_at is None:
        return "No report had been built from these answers."
    if not is_here:
        return (
            f"Report v{report.number} is left out because an older version of Thirdperson built "
            "it. Build it again and export again."
        )
    return (
        f"`report/` holds report v{report.number} of {report.finished_at:%Y-%m-%d}, without rows "
        "about single people or items; the page saves its figures as PNG, SVG and CSV. Hash of "
        f"its inputs: `{report.inputs_hash}`."
    )


def fill_folder(
    study: Study,
    folder: Path,
    order: FolderOrder,
    *,
    also: str | None = None,
    redacted: Redacted = lambda result: result,
) -> BundleContents:
    """Write all tables, prompts and the report, which is `redacted`, but no description of them."""
    disclosure, report = order.disclosure, current_report(study, order.report)
    has_report = write_report(report, folder / "report", redacted)
    parts = {
        name: _write_part(make_table(study, name, disclosure), folder, also, order.on_rows)
        for name in BUNDLED
    }
    # Descriptions list items first.
    ordered = tuple(parts[name] for name in ("items", *BUNDLED[:-1]))
    others = dict[str, tuple[Column, ...]]()
    left_out = tuple(_write_others(study, folder / "other", disclosure, others))
    items = parts["items"]
    described = dataset_description(study, items=items.rows, sha256=items.files["jsonl"].sha256)
    write_text(folder / "jsonl" / "dataset.json", to_json(described, indent=1) + "\n")
    _write_media(study, folder / "jsonl")
    _write_prompts(study, folder / "prompts")
    for document in DOCUMENTS.of(study):
        for name, text in document.files(study).items() if document.follows_answers else ():
            write_text(folder / name, text)
    return BundleContents(
        study=study,
        on=clock.now().date(),
        licence=order.licence,
        disclosure=disclosure,
        parts=ordered,
        others=others,
        left_out=left_out,
        report=_named_report(report, is_here=has_report),
        data_sha256=data_sha256(folder),
        is_blind=False,
    )


def _write_part(
    table: ExportTableFile, folder: Path, also: str | None, on_rows: OnRows | None
) -> DescribedPart:
    name = table.name
    paths = {
        "jsonl": folder / "jsonl" / f"{name}.jsonl",
        "csv": folder / "csv" / f"{name}.csv",
    }
    if also:
        added = added_format(also)
        place = added.folder.format(table=name) if added else ""
        paths[also] = folder / (place or also) / f"{name}.{suffix_of(also)}"
    rows = write_table(table, paths, on_rows)
    files = {
        kind: DescribedFile(
            path.relative_to(folder).as_posix(), path.stat().st_size, sha256_of(path)
        )
        for kind, path in paths.items()
    }
    return DescribedPart(name, table.columns, rows, files)


def _write_others(
    study: Study, folder: Path, disclosure: Disclosure, others: dict[str, tuple[Column, ...]]
) -> Iterator[str]:
    """Write extras' tables of the same answers, and yield why one cannot be written.

    Shapes of files are in every bundle, whether their extra is on or off. The columns of each file
    are added to `others`.
    """
    for added in MORE.where(lambda name: study.has_extra(name) or extras()[name].group == "files"):
        if not added.bundled:
            continue
        name = added.bundled
        try:
            table = make_table(study, added.name, disclosure)
        except ExportError as error:
            yield f"`other/{name}`. {error}"
            continue
        write_table(table, {Path(name).suffix[1:]: folder / name})
        others[name] = table.columns
        if added.explained:
            about = ExportTableFile(
                Path(added.explained).stem, EXPLAINED_COLUMNS, partial(_explained, table.columns)
            )
            write_table(about, {"csv": folder / added.explained})


def _explained(columns: Iterable[Column]) -> Iterator[dict[str, str]]:
    return ({"column": c.name, "kind": c.kind, "meaning": c.meaning} for c in columns)


def _write_media(study: Study, folder: Path) -> None:
    """Write the pictures and sounds next to the items that refer to them."""
    for name, opened in media_files(study).items():
        path = folder / name
        path.parent.mkdir(exist_ok=True)
        with opened() as source, path.open("wb") as out:
            shutil.copyfileobj(source, out)


def _write_prompts(study: Study, folder: Path) -> None:
    """Write each run's prompt texts, without a file for runs whose words are gone."""
    files, runs = asked_words(study)
    for name, words in files.items():
        write_text(folder / name, to_json(words, indent=1) + "\n")
    write_text(folder / "runs.json", to_json(runs, indent=1) + "\n")
    for own in wordings_of(study):
        write_text(folder / own.file_name, f"sha256: {own.sha256}\n\n{own.text}\n")


def describe(folder: Path, contents: BundleContents) -> None:
    """Write the files in which extras describe a bundle."""
    for description in DESCRIPTIONS:
        for name, text in description.texts(contents, folder).items():
            write_text(folder / name, text)


def write_checksums(folder: Path) -> None:
    """The checksum file that `sha256sum --check` reads."""
    write_text(folder / "CHECKSUMS.sha256", _checksums(folder, "*"))


def data_sha256(folder: Path) -> str:
    """One hash of all tables, the same in every bundle of these answers."""
    return hashlib.sha256(_checksums(folder, "jsonl/*.jsonl").encode()).hexdigest()


def _checksums(folder: Path, which: str) -> str:
    return "".join(
        f"{sha256_of(path)}  {path.relative_to(folder).as_posix()}\n"
        for path in sorted(folder.rglob(which))
        if path.is_file()
    )
