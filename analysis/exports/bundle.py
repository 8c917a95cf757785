"""A complete export: every table in several formats, with its documentation and licence."""

import hashlib
import io
import re
import shutil
import tempfile
import zipfile
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path

from analysis.data.identities import CODE, Blinding, Identity, identities_of
from analysis.data.judgment_rows import asked_words, wordings_of
from analysis.data.plans import read_plan
from analysis.errors import ExportError
from analysis.exports.catalogue import (
    BUNDLED,
    DESCRIPTIONS,
    MORE,
    BundleContents,
    DescribedFile,
    DescribedPart,
    Disclosure,
    make_table,
)
from analysis.exports.columns import EXPLAINED_COLUMNS, Column
from analysis.exports.table_files import (
    ExportTableFile,
    OnRows,
    sha256_of,
    suffix_of,
    to_json,
    write_table,
    write_text,
)
from analysis.lifecycle.plans import deviations_as_json, deviations_as_text
from analysis.lifecycle.storage import marked
from analysis.models import Report
from analysis.report.build import all_figures, all_tables
from analysis.report.figures import write_figures
from analysis.report.render import render_html
from analysis.report.report_json import to_json as report_as_json
from analysis.report.report_json import without_people
from analysis.report.table_files import write_tables
from studies.exporters.items import dataset_description, media_files
from studies.models.studies import Study
from studies.statements import clock

OnDoubts = Callable[[list[str]], None]


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
    study: Study,
    out: Path,
    *,
    also: str | None,
    disclosure: Disclosure,
    licence: str,
    on_rows: OnRows | None = None,
    on_doubts: OnDoubts | None = None,
    report: Report | None = None,
    named: Path | None = None,
) -> dict[str, int]:
    """Write every table to the new or empty folder `out`, which appears once complete.

    Tables are JSON Lines and CSV, and another format if `also` names one. With `on_doubts` the
    bundle is for blind review, and what may still name somebody is passed to it; `named` is then a
    new folder for the same bundle with names. The report is the newest one, or `report`.
    Returns the number of rows of each table. Raises `ExportError` or `OSError`.
    """
    blinding = Blinding(identities_of(study)) if on_doubts else None
    report = _current_report(study, report)
    with new_folder(out, private=disclosure.identified) as part:
        write_report = partial(_write_report, report, part / "report")
        has_copy = write_report(None if named else blinding)
        contents = _fill(
            study, part, also, disclosure, licence, on_rows, _named_report(report, is_here=has_copy)
        )
        if blinding and on_doubts:
            if named:
                shutil.copytree(part, named)
                _describe(named, contents)
                _write_checksums(named)
                write_report(blinding)
            _describe(part, replace(contents, is_blind=True))
            on_doubts(blind_folder(part, blinding))
        else:
            _describe(part, contents)
        _write_checksums(part)
    return {table.name: table.rows for table in contents.parts}


def _current_report(study: Study, only: Report | None = None) -> Report | None:
    """The newest own report, or `only`.

    None if answers were withdrawn, left out or counted again since.
    """
    reports = Report.objects.filter(pk=only.pk) if only else Report.own.filter(study=study)
    report = marked(reports.filter(state=Report.State.DONE)).order_by("-number").first()
    if report is None or report.withdrawn_since or report.excluded_since:  # type: ignore[attr-defined]  # annotated
        return None
    return report


def _write_report(report: Report | None, folder: Path, blinding: Blinding | None) -> bool:
    """Write the page, its numbers, tables and figures to `folder`, from the stored result.

    They take the place of an earlier copy.

    Unlike the report's own files, the copy has no rows about annotators, and with `blinding` no
    names of researchers. Returns False and writes nothing if this version of Thirdperson cannot
    render the result of another.
    """
    shutil.rmtree(folder, ignore_errors=True)
    if report is None or report.result is None or report.finished_at is None:
        return False
    shown, failed = without_people(report.result), list[str]()
    shown = blinding.value(shown) if blinding else shown
    tables, figures = all_tables(shown, failed), all_figures(shown, failed)
    date = report.finished_at.date()
    try:
        page = render_html(shown, date=date, tables=tables, figures=figures, failed=failed)
    except KeyError:
        return False
    if failed and "failed_parts" not in shown:
        return False
    folder.mkdir(parents=True)
    write_text(folder / "report.html", page)
    write_text(folder / "report.json", report_as_json(shown))
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


def _fill(
    study: Study,
    folder: Path,
    also: str | None,
    disclosure: Disclosure,
    licence: str,
    on_rows: OnRows | None,
    report: str,
) -> BundleContents:
    parts = {
        name: _write_part(make_table(study, name, disclosure), folder, also, on_rows)
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
    if read_plan(study) is not None:
        write_text(folder / "deviations.json", to_json(deviations_as_json(study), indent=1) + "\n")
        write_text(folder / "deviations.md", deviations_as_text(study))
    return BundleContents(
        study=study,
        on=clock.now().date(),
        licence=licence,
        disclosure=disclosure,
        parts=ordered,
        others=others,
        left_out=left_out,
        report=report,
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
    if also == "parquet":
        paths["parquet"] = folder / "data" / name / f"{name}.parquet"
    elif also:
        paths[also] = folder / also / f"{name}.{suffix_of(also)}"
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

    The columns of each file are added to `others`.
    """
    for added in (each for each in MORE if each.bundled):
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


def _describe(folder: Path, contents: BundleContents) -> None:
    for each in DESCRIPTIONS:
        for name, text in each.texts(contents, folder).items():
            write_text(folder / name, text)


def _write_checksums(folder: Path) -> None:
    """The checksum file that `sha256sum --check` reads."""
    write_text(folder / "CHECKSUMS.sha256", _checksums(folder, "*"))


def data_sha256(folder: Path) -> str:
    """One hash of all tables, the same in a bundle with names and in one for blind review."""
    return hashlib.sha256(_checksums(folder, "jsonl/*.jsonl").encode()).hexdigest()


def _checksums(folder: Path, which: str) -> str:
    return "".join(
        f"{sha256_of(path)}  {path.relative_to(folder).as_posix()}\n"
        for path in sorted(folder.rglob(which))
        if path.is_file()
    )


# The tables have the same bytes as in the named bundle, which proves later that they are the same.
DATA = ("jsonl", "csv", "data", "other", "prompts")
_NOT_DATA = ("dataset.json",)
_MOST_NAMED = 5


def is_data(name: str) -> bool:
    """Whether a file of the bundle, named from its folder, has rows or prompts."""
    folder, _, file = name.partition("/")
    return folder in DATA and file not in _NOT_DATA


def blind_folder(folder: Path, blinding: Blinding) -> list[str]:
    """Remove names from the texts of a bundle, and search all of its files.

    Returns sentences on words that may name somebody or mean something else. Raises `ExportError`
    if a name is left.
    """
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if path.is_file() and not is_data(name):
            _rewrite(path, blinding)
    left, doubts = list[str](), list[str]()
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            name = path.relative_to(folder).as_posix()
            for one, n in search(name, path.read_bytes(), blinding).items():
                (left if one.is_sure else doubts).append(_sentence(one, n, name))
    if left:
        more = f" and {len(left) - _MOST_NAMED:,} more" if len(left) > _MOST_NAMED else ""
        raise ExportError(
            f"Names are left: {'; '.join(left[:_MOST_NAMED])}{more}. The data is never changed. "
            "Correct the items, their source or the notes, and export again."
        )
    return doubts


def _rewrite(path: Path, blinding: Blinding) -> None:
    try:
        text = path.read_text("utf-8")
    except UnicodeDecodeError:
        return
    parts = CODE.split(text) if path.suffix == ".html" else [text]
    new = "".join(part if CODE.fullmatch(part) else blinding.text(part) for part in parts)
    if new != text:
        path.write_text(new, "utf-8")


def _sentence(one: Identity, n: int, name: str) -> str:
    return f"“{one.word}” ({one.kind}) {'once' if n == 1 else f'{n:,} times'} in {name}"


def search(name: str, data: bytes, blinding: Blinding) -> Counter[Identity]:
    """How often each word is in a file, in its name, and in what it packs: zip, PNG, PDF."""
    counts = blinding.found_in(name.encode())
    if name.endswith(".html"):
        data = CODE.sub("", data.decode("utf-8", errors="replace")).encode()
    for part in _parts(data):
        counts += blinding.found_in(part)
    return counts


def _parts(data: bytes) -> Iterator[bytes]:
    yield data
    if b"\0" in data:  # texts of two bytes a letter, as in properties of pictures and sounds
        yield data.replace(b"\0", b"")
    if data[:4] == b"PK\x03\x04":  # also XLSX
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            for entry in archive.infolist():
                yield b"\n".join((entry.filename.encode(), entry.comment, entry.extra))
                yield from _parts(archive.read(entry))
    elif data[:8] == b"\x89PNG\r\n\x1a\n":
        for kind, chunk in re.findall(rb"(zTXt|iTXt|eXIf)(.{,65536})", data, re.DOTALL):
            yield kind + b"".join(_inflated(chunk))
    elif data[:5] == b"%PDF-":
        for stream in re.findall(rb"stream\r?\n(.*?)endstream", data, re.DOTALL):
            yield b"".join(_inflated(stream))


def _inflated(data: bytes) -> Iterator[bytes]:
    """What a compressed part of a file says, wherever it begins."""
    for start in re.finditer(rb"\x78[\x01\x5e\x9c\xda]", data):
        try:
            yield zlib.decompressobj().decompress(data[start.start() :])
        except zlib.error:
            continue
