"""Build a report, in a worker or by a command: read the data, compute, write the files."""

import gc
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from analysis.data.answer_rows import removed_own_answers
from analysis.data.arrays import Dataset
from analysis.data.dataset import load_dataset
from analysis.data.frozen_plan import keeper
from analysis.data.runs import asked_on
from analysis.data.views import AS_IT_IS, View
from analysis.errors import AnalysisError
from analysis.lifecycle.main_numbers import main_numbers
from analysis.lifecycle.storage import ITEM_ROWS, replaced, report_dir
from analysis.models import Report
from analysis.report.added_files import AddedFiles, MadeReport, of_pages
from analysis.report.build import all_figures, all_tables, build_report
from analysis.report.citation import bibtex, methods_paragraph
from analysis.report.figures import write_figures
from analysis.report.render import content_security_policy, render_html
from analysis.report.report_json import json_parts
from analysis.report.rules import DEFAULT_BOOTSTRAP, DEFAULT_SEED, several_studies
from analysis.report.section import ReportJson as Contents
from analysis.report.table_files import item_rows, write_item_rows, write_tables
from analysis.report.tables import FIRST_ITEMS
from analysis.report.words import run_name
from studies.jobs.runner import JobProgress, carry_out
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
            report.study.slug,
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
            added=() if report.view else of_pages(report.study),
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
    *slugs: str,
    out: Path,
    threshold: int | None = None,
    seed: int | None = None,
    bootstrap: int | None = None,
    view: View = AS_IT_IS,
    number: int | None = None,
    by: str = "a command",
    on: str = "",
    on_progress: OnProgress = lambda percent, sentence: None,
    added: Collection[AddedFiles] = (),
) -> dict[str, Any]:
    """Write report.html, report.json, tables/ and figures/ of a study to the folder `out`.

    Several studies are pooled; raises `BadParameters` if they cannot be. None takes the value of
    the study's plan, or else the default. `number` is only printed on the page; `by` and `on` say
    who requested other values than the plan's, and when (by default today). A `view` changes the
    data, and its report has a table of what that changes. `added` writes its files too. Returns the
    content of report.json.
    """
    on_progress(1, "Reading the answers.")
    dataset = load_studies(slugs, view)
    fixed = dataset.plan.content if dataset.plan else {}
    result = compute(
        dataset,
        view,
        seed=fixed.get("seed", DEFAULT_SEED) if seed is None else seed,
        threshold=view.threshold or threshold,
        bootstrap=fixed.get("bootstrap", DEFAULT_BOOTSTRAP) if bootstrap is None else bootstrap,
        asked={"on": on or f"{clock.now():%Y-%m-%d}", "by": by},
        on_progress=on_progress,
    )
    on_progress(92, "Drawing the figures.")
    with replaced(out) as draft:
        report = _write_files(result, dataset, draft, number, added)
        for files in added:
            on_progress(96, files.step)
            files.write(report, draft)
    return result


def load_studies(slugs: Sequence[str], view: View) -> Dataset:
    """The data of a study, or of several as one. Raises `BadParameters` if they cannot be one."""
    waves = [load_dataset(slug, view) for slug in slugs]
    return several_studies().pool(waves) if len(waves) > 1 else waves[0]


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
        plans = None if slugs or dataset.plan is None else keeper()
        if plans and (effects := plans.effects(dataset.study.slug, bootstrap=bootstrap)):
            result["deviations"] = effects
        return result
    own = build_report(
        load_dataset(dataset.study.slug),
        on_progress=lambda percent, sentence: on_progress(percent // 2, sentence),
        **fixed,
    )
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


def _write_files(
    result: Contents,
    data: Dataset,
    draft: Path,
    number: int | None,
    added: Collection[AddedFiles],
) -> MadeReport:
    """Write report.json, the tables, the page with its figures and rows of items, the citation."""
    failed: list[str] = []
    tables, figures = all_tables(result, failed), all_figures(result, failed)
    report = MadeReport(result, data, tables, figures, clock.now().date())
    with (draft / "report.json").open("w", encoding="utf-8") as file:
        file.writelines(json_parts(result))
    write_tables(list(tables.values()), draft / "tables")
    if "items" in tables and len(result["items"]) > FIRST_ITEMS:
        write_item_rows(item_rows(result, tables["items"]), draft / ITEM_ROWS)
    write_figures(list(figures.values()), draft / "figures")
    page = render_html(
        result,
        date=report.date,
        number=number,
        asked_on=asked_on(result["study"]["slug"]),
        tables=tables,
        figures=figures,
        failed=failed,
        links=[files.links for files in added if files.links],
    )
    (draft / "report.html").write_text(page, encoding="utf-8")
    (draft / "cite.bib").write_text(bibtex(result, report.date), encoding="utf-8")
    (draft / "methods.txt").write_text(methods_paragraph(result) + "\n", encoding="utf-8")
    return report
