"""Build a report in a worker (read, compute, write files), and copy it for exports."""

import gc
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from analysis.data.answers import removed_own_answers
from analysis.data.arrays import Dataset
from analysis.data.dataset import load_dataset
from analysis.data.identities import Blinding
from analysis.data.pooling import pool
from analysis.data.runs import asked_on
from analysis.data.views import AS_IT_IS, View
from analysis.errors import AnalysisError
from analysis.exports.table_files import write_text
from analysis.lifecycle.deviation_effects import with_effects
from analysis.lifecycle.differences import main_numbers
from analysis.lifecycle.storage import (
    FOR_PAPER,
    ITEM_ROWS,
    marked,
    report_dir,
)
from analysis.models import Report
from analysis.report.build import all_figures, all_tables, build_report
from analysis.report.citation import bibtex, methods_paragraph
from analysis.report.figures import write_figures
from analysis.report.render import (
    content_security_policy,
    is_pooled,
    render_across,
    render_html,
    tables_across,
)
from analysis.report.report_json import json_parts, to_json, without_people
from analysis.report.rules import DEFAULT_BOOTSTRAP, DEFAULT_SEED
from analysis.report.section import ReportJson as Contents
from analysis.report.section import attempted
from analysis.report.table_files import item_rows, write_item_rows, write_tables
from analysis.report.tables import FIRST_ROWS, Table
from analysis.report.words import run_name
from studies.jobs.runner import JobProgress, carry_out
from studies.models.studies import Study
from studies.statements import clock

OnProgress = Callable[[int, str], None]


def build_queued(*, report_id: int) -> Report:
    """Build a queued report; safe to repeat, because the same inputs give the same files."""
    return carry_out(Report, report_id, _build, expected=(AnalysisError, OSError))


def _build(report: Report, progress: JobProgress) -> dict[str, Any]:
    """Write the files of a report; return the fields for its database row."""
    removed, read_at = removed_own_answers(report.study), clock.now()
    with report_dir(report.public_id).replacing() as draft:
        result = write_report(
            slug=report.study.slug,
            out=draft,
            threshold=report.threshold,
            seed=report.seed,
            bootstrap=report.bootstrap,
            view=View.of(report.view),
            number=report.number,
            by=report.requested_by.get_username() if report.requested_by else "",
            on=f"{report.created_at:%Y-%m-%d}",
            on_progress=progress,
            # A card or a page for a paper could pass for the verdict of the study.
            for_paper=not report.view,
        )
    not_counted = result.get("human", {}).get("not_counted", {})
    return {
        # The items' rows are far larger than the rest, and are in the files.
        "result": {**result, "items": []},
        "inputs_hash": result["inputs"]["hash"],
        "read_at": read_at,
        "withdrawn_answers": not_counted.get("withdrawn", 0) + removed,
        "software": result["software"],
        "content_security_policy": content_security_policy(),
    }


@contextmanager
def _no_collections() -> Iterator[None]:
    """Pause the garbage collector: millions of rows are made, none of them in a cycle."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


@_no_collections()
def write_report(
    *,
    slug: str,
    out: Path,
    threshold: int | None,
    seed: int | None,
    bootstrap: int | None,
    view: View = AS_IT_IS,
    number: int | None = None,
    by: str = "a command",
    on: str = "",
    on_progress: OnProgress = lambda percent, sentence: None,
    for_paper: bool = False,
) -> dict[str, Any]:
    """Write report.html, report.json, tables/ and figures/ of the study `slug` to the folder `out`.

    `for_paper` adds what takes drawing: card.svg and card.png, two pages with figures in paper/,
    and the article's tables and figures in article/.

    The files are written to a draft folder and moved at the end, so that no reader sees half a
    report. None takes the value of the study's plan, or else the default. `number` is only printed
    on the page; `by` and `on` say who requested other values than the plan's, and when (by default
    today). A `view` changes the data, and its report has a table of what that changes. Returns the
    content of report.json.
    """
    on_progress(1, "Reading the answers.")
    return _write(
        load_dataset(slug, view),
        out,
        view=view,
        threshold=threshold if view.threshold is None else view.threshold,
        seed=seed,
        bootstrap=bootstrap,
        number=number,
        by=by,
        on=on,
        on_progress=on_progress,
        for_paper=for_paper,
    )


@_no_collections()
def write_pooled_report(
    *,
    slugs: Sequence[str],
    out: Path,
    threshold: int | None,
    seed: int | None,
    bootstrap: int | None,
    on_progress: OnProgress = lambda percent, sentence: None,
    for_paper: bool = False,
) -> dict[str, Any]:
    """Write one report of several studies. Raises `BadParameters` if they cannot be pooled."""
    on_progress(1, "Reading the answers.")
    return _write(
        pool([load_dataset(slug) for slug in slugs]),
        out,
        threshold=threshold,
        seed=seed,
        bootstrap=bootstrap,
        on_progress=on_progress,
        for_paper=for_paper,
    )


def _write(
    dataset: Dataset,
    out: Path,
    *,
    threshold: int | None,
    seed: int | None,
    bootstrap: int | None,
    view: View = AS_IT_IS,
    number: int | None = None,
    by: str = "a command",
    on: str = "",
    on_progress: OnProgress,
    for_paper: bool,
) -> dict[str, Any]:
    fixed = dataset.plan.content if dataset.plan else {}
    result = compute(
        dataset,
        view,
        seed=fixed.get("seed", DEFAULT_SEED) if seed is None else seed,
        threshold=threshold,
        bootstrap=fixed.get("bootstrap", DEFAULT_BOOTSTRAP) if bootstrap is None else bootstrap,
        asked={"on": on or f"{clock.now():%Y-%m-%d}", "by": by},
        on_progress=on_progress,
    )
    on_progress(92, "Drawing the figures.")
    out.parent.mkdir(parents=True, exist_ok=True)
    draft = Path(tempfile.mkdtemp(prefix=f".{out.name}.", dir=out.parent))
    try:
        failed: list[str] = []
        tables = all_tables(result, failed)
        with (draft / "report.json").open("w", encoding="utf-8") as file:
            file.writelines(json_parts(result))
        write_tables(list(tables.values()), draft / "tables")
        _write_page(result, tables, draft, number, failed, for_paper=for_paper)
        if for_paper:
            on_progress(96, "Drawing the pages for a paper.")
            _write_for_paper(result, tables, dataset, draft)
        out.mkdir(exist_ok=True)
        # report.json marks a folder as a report's, so it is moved first.
        for path in sorted(draft.iterdir(), key=lambda path: path.name != "report.json"):
            target = out / path.name
            if target.is_dir():
                shutil.rmtree(target)
            path.replace(target)
        for name in FOR_PAPER if not for_paper else ():
            target = out / name
            shutil.rmtree(target) if target.is_dir() else target.unlink(missing_ok=True)
    finally:
        shutil.rmtree(draft, ignore_errors=True)
    return result


def compute(
    dataset: Dataset,
    view: View,
    *,
    seed: int,
    threshold: int | None,
    bootstrap: int,
    asked: Mapping[str, str],
    on_progress: OnProgress,
) -> dict[str, Any]:
    """The content of report.json; of a view, with its main numbers beside those without it."""
    fixed: dict[str, Any] = {"seed": seed, "bootstrap": bootstrap, "asked": asked}
    if view.is_empty:
        result = build_report(dataset, threshold=threshold, on_progress=on_progress, **fixed)
        slugs = result["study"]["source"].get("pooled_from")
        if not slugs and (found := with_effects(dataset.study.slug, bootstrap=bootstrap)):
            result["deviations"] = found
        return result
    half = partial(_half, on_progress)
    own = build_report(load_dataset(dataset.study.slug), on_progress=half, **fixed)
    on_progress(50, "Computing the view.")
    result = build_report(dataset, threshold=threshold, **fixed)
    result["view"] = {
        "filters": view.content,
        "changes": view.changes(
            {run["run"]: run_name(run, own["judges"]) for run in own["judges"]}
        ),
        "of_inputs": own["inputs"]["hash"],
        "what_changes": [
            {
                "what": row.label,
                "registered": row.before,
                "view": row.after,
                "changes": row.is_changed,
            }
            for row in main_numbers(own, result)
        ],
    }
    return result


def _half(on_progress: OnProgress, percent: int, sentence: str) -> None:
    on_progress(percent // 2, sentence)


def _write_page(
    result: Contents,
    tables: Mapping[str, Table],
    draft: Path,
    number: int | None,
    failed: list[str],
    *,
    for_paper: bool,
) -> None:
    """Write the page, its figures, its rows of items and its citation."""
    if "items" in tables and len(result["items"]) > FIRST_ROWS:
        write_item_rows(item_rows(result, tables["items"]), draft / ITEM_ROWS)
    figures = all_figures(result, failed)
    write_figures(list(figures.values()), draft / "figures")
    date = clock.now().date()
    days = asked_on(result["study"]["slug"])
    page = render_html(
        result,
        date=date,
        number=number,
        asked_on=days,
        tables=tables,
        figures=figures,
        failed=failed,
        for_paper=for_paper,
    )
    (draft / "report.html").write_text(page, encoding="utf-8")
    (draft / "cite.bib").write_text(bibtex(result, date), encoding="utf-8")
    (draft / "methods.txt").write_text(methods_paragraph(result) + "\n", encoding="utf-8")


def _write_for_paper(
    result: Contents, tables: Mapping[str, Table], dataset: Dataset, draft: Path
) -> None:
    """Write the card, the two pages and the article's tables; a part that fails is left out."""
    # These load matplotlib.
    from analysis.report.article.counts import count_article
    from analysis.report.article.files import write_article
    from analysis.report.two_pages import write_cards, write_two_pages

    date = clock.now().date()
    attempted(lambda: write_cards(result, draft, date=date), part="card")
    figures = all_figures(result)
    attempted(
        lambda: write_two_pages(result, draft / "paper", date=date, tables=tables, figures=figures),
        part="paper",
    )
    data = [count_article(dataset, result["parameters"]["threshold"])]
    attempted(lambda: write_article(data, draft / "article", date=date), part="article")


def write_across(results: Sequence[dict[str, Any]], out: Path, *, for_paper: bool = False) -> Path:
    """Write the page and tables across studies, replacing old ones; return the page.

    `for_paper` adds the article's tables and figures with a row for each study, in article/.
    """
    tables, page, date = tables_across(results), out / "report.html", clock.now().date()
    html = render_across(results, tables, date=date, for_paper=for_paper)
    page.write_text(html, encoding="utf-8")
    for name in ("tables", "article"):
        shutil.rmtree(out / name, ignore_errors=True)
    write_tables(tables, out / "tables")
    if for_paper:
        # These load matplotlib.
        from analysis.report.article.counts import count_article
        from analysis.report.article.files import write_article

        data = [
            count_article(load_dataset(result["study"]["slug"]), result["parameters"]["threshold"])
            for result in results
            if not is_pooled(result)
        ]
        attempted(lambda: write_article(data, out / "article", date=date), part="article")
    return page


def current_report(study: Study, only: Report | None = None) -> Report | None:
    """The newest own report, or `only`.

    None if answers were withdrawn, left out or counted again since.
    """
    reports = Report.objects.filter(pk=only.pk) if only else Report.own.filter(study=study)
    report = marked(reports.filter(state=Report.State.DONE)).order_by("-number").first()
    if report is None or report.withdrawn_since or report.excluded_since:  # type: ignore[attr-defined]  # annotated
        return None
    return report


def write_report_copy(report: Report, folder: Path, blinding: Blinding | None = None) -> bool:
    """Write the page, its numbers, tables and figures to `folder`, from the stored result.

    Unlike the report's own files, the copy has no rows about annotators, and with `blinding` no
    names of researchers. Returns False and writes nothing if this version of Thirdperson cannot
    render the result of another.
    """
    if report.result is None or report.finished_at is None:
        raise ValueError(f"report {report.pk} is not done")
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
    write_text(folder / "report.json", to_json(shown))
    write_tables(list(tables.values()), folder / "tables")
    write_figures(list(figures.values()), folder / "figures")
    return True


def named_report(report: Report | None, *, is_here: bool) -> str:
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
