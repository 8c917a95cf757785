"""Build a report, in a worker or by a command: read the data, compute, write the files."""

import gc
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from analysis.data.answers import removed_own_answers
from analysis.data.arrays import Dataset
from analysis.data.dataset import load_dataset
from analysis.data.deviations import Deviation, deviations_of
from analysis.data.plans import read_plan
from analysis.data.runs import asked_on
from analysis.data.views import AS_IT_IS, View
from analysis.errors import AnalysisError, BadParameters
from analysis.lifecycle.differences import main_numbers
from analysis.lifecycle.storage import (
    FOR_PAPER,
    ITEM_ROWS,
    report_dir,
)
from analysis.models import Report
from analysis.report.build import all_figures, all_tables, build_report, main_results
from analysis.report.citation import bibtex, methods_paragraph
from analysis.report.figures import write_figures
from analysis.report.render import (
    content_security_policy,
    render_html,
)
from analysis.report.report_json import json_parts
from analysis.report.rules import DEFAULT_BOOTSTRAP, DEFAULT_SEED, several_studies
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
    for_paper: bool = False,
) -> dict[str, Any]:
    """Write report.html, report.json, tables/ and figures/ of a study to the folder `out`.

    Several studies are pooled; raises `BadParameters` if they cannot be. `for_paper` adds what
    takes drawing: card.svg and card.png, two pages with figures in paper/, and the article's tables
    and figures in article/.

    The files are written to a draft folder and moved at the end, so that no reader sees half a
    report. None takes the value of the study's plan, or else the default. `number` is only printed
    on the page; `by` and `on` say who requested other values than the plan's, and when (by default
    today). A `view` changes the data, and its report has a table of what that changes. Returns the
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
        if not slugs and (found := _effects_of_deviations(dataset.study.slug, bootstrap=bootstrap)):
            result["deviations"] = found
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


def _effects_of_deviations(slug: str, *, bootstrap: int) -> list[dict[str, Any]]:
    """The deviations that can be undone in the data, each with its effect, for a report."""
    study = Study.objects.get(slug=slug)
    plan = read_plan(study)
    found = [] if plan is None else [each for each in deviations_of(study, plan) if each.undone]
    if plan is None or not found:
        return []

    def results(view: View) -> dict[str, Any]:
        return main_results(
            load_dataset(slug, view),
            seed=plan.content["seed"],
            threshold=plan.content["threshold"],
            bootstrap=bootstrap,
        )

    own = results(View())
    return [_effect_entry(each, own, results) for each in found]


def _effect_entry(
    each: Deviation, own: Mapping[str, Any], results: Callable[[View], Mapping[str, Any]]
) -> dict[str, Any]:
    effect, reason = None, ""
    try:
        effect = list(_effect_rows(own, results(View.of(dict(each.undone)))))
    except BadParameters as error:
        reason = str(error).rstrip(".")
    entry = {
        "key": each.key,
        "what": each.what,
        "registered": each.registered,
        "done": each.done,
        "on": each.on,
        "by": each.by,
        "effect": effect,
    }
    return entry if effect else entry | {"effect_reason": reason}


def _effect_rows(
    with_it: Mapping[str, Any], without: Mapping[str, Any]
) -> Iterator[dict[str, Any]]:
    """The main results with and without a deviation."""

    def share(entry: Mapping[str, Any] | None) -> dict[str, Any]:
        return {name: (entry or {}).get(name) for name in ("accuracy", "n")}

    yield {
        "result": "Majority of people",
        "with": share(with_it["majority"]),
        "without": share(without["majority"]),
    }
    ours, theirs = ({each["run"]: each for each in side["judges"]} for side in (with_it, without))
    for run in dict.fromkeys([*ours, *theirs]):
        named = ours.get(run) or theirs[run]
        yield {
            "result": f"{named['judge']} ({named['setting']}, {named['features']})",
            "with": share(ours.get(run)),
            "without": share(theirs.get(run)),
        }
    yield {
        "result": "Headline",
        "with": {"state": with_it["state"]},
        "without": {"state": without["state"]},
    }


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
