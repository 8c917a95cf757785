"""Build report.json from the data of a study, and gather what all sections show."""

import hashlib
import platform
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from functools import cache, partial
from graphlib import TopologicalSorter
from importlib import metadata
from inspect import getfile
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeVar

from analysis.data.arrays import CHOICES, Dataset
from analysis.report.figures import Figure
from analysis.report.registration import alone_on_sealed, main_part, registration
from analysis.report.report_json import Json, steps
from analysis.report.rules import (
    FOLDS,
    LEVEL,
    MIN_COMPARED,
    MORE_CHAPTERS,
    PLOTLY_VERSION,
    SMALL,
    TOO_SMALL,
    method_changes,
)
from analysis.report.section import (
    RUN,
    Analysis,
    NumberSource,
    ReportJson,
    Section,
    Sentence,
    SentencePlace,
    attempted,
    merge,
    of_extras,
    with_parts,
)
from analysis.report.sections import SECTIONS
from analysis.report.sections.methods import run_facts
from analysis.report.sentences import at
from analysis.report.study import ReportedStudy
from analysis.report.tables import Table, TableColumn, compact
from analysis.report.words import run_names
from analysis.stats.core.clusters import MIN_BLOCKS
from analysis.stats.core.shared_variance import (
    ANNOTATORS_PER_ANSWER,
    FEW_CLUSTERS,
    FEWEST_ANNOTATORS,
)
from studies.prompts import BANDS
from studies.version import version

SCHEMA = "thirdperson.report/1"
# The parts that read the data, compute the numbers and draw the figures.
PACKAGES = ("django", "numpy", "scipy")
COMPUTING = ("data/**/*.py", "report/**/*.py", "stats/**/*.py")

ProgressCallback = Callable[[int, str], None]


def build_report(
    data: Dataset,
    *,
    seed: int,
    threshold: int | None = None,
    bootstrap: int = 1000,
    asked: Mapping[str, str] = MappingProxyType({}),
    on_progress: ProgressCallback = lambda percent, sentence: None,
) -> Json:
    """Compute the complete content of a report.

    Parameters
    ----------
    data : Dataset
        The study.
    seed : int
        Seed of every resample. Each one restarts from it, so a further run changes no other number.
    threshold : int, optional
        Certainty from which an answer is high; by default the study's. Any other is marked as
        explored.
    bootstrap : int
        Resamples of every kind.
    asked : mapping
        Day (`on`) and account (`by`) of a report whose parameters differ from its plan.
    on_progress : callable
        Receives the percentage and the current step.
    """
    registered = data.study.certainty_threshold
    study = ReportedStudy(data, registered if threshold is None else threshold, seed, bootstrap)
    report = frame(study)
    failed: list[str] = []
    on_progress(5, "Counting votes.")
    order = in_order_of_computing()
    progress = steps(on_progress, 10, 90)
    for done, section in enumerate(order):
        progress(done / len(order), f"Computing {section.name.replace('_', ' ')}.")
        compute = partial(section.compute, study, report)
        found = attempted(compute, part=section.name, failed=failed)
        if found is not None:
            merge(report, found)
    if failed:
        report["failed_parts"] = sorted(failed)
    part = alone_on_sealed(study)
    report["registration"] = registration(
        study, report, analyses(), None if part is None else _headline_of(part, order), asked
    )
    report["limitations"] = [
        {"limit": sentence.code, "text": str(sentence.text)}
        for sentence in all_sentences(report, "limit")
    ]
    return report


def main_results(data: Dataset, *, seed: int, threshold: int, bootstrap: int) -> Json:
    """The headline and the accuracies of a report, without the rest of it."""
    study = ReportedStudy(data, threshold, seed, bootstrap)
    return main_part(_headline_of(study, in_order_of_computing()))


def _headline_of(study: ReportedStudy, order: Sequence[Section]) -> Json:
    """A report with only its headline and the sections that it needs."""
    wanted = {"headline"}
    for section in reversed(order):
        if section.name in wanted:
            wanted.update(section.needs)
    report = frame(study)
    for section in order:
        if section.name in wanted:
            merge(report, section.compute(study, report))
    return report


def frame(study: ReportedStudy) -> Json:
    """The report's own data: study, inputs, parameters and software."""
    data = study.data
    registered = data.study.certainty_threshold
    late = any(change.setting == "threshold" for change in data.late_changes)
    is_own = study.threshold == registered
    return {
        "schema": SCHEMA,
        "study": _study(data),
        "inputs": _inputs(data),
        "seed": study.seed,
        "parameters": {
            "threshold": study.threshold,
            "threshold_registered": registered,
            "explored": not is_own,
            "threshold_chosen": "before the data" if is_own and not late else "post hoc",
            "bootstrap": study.draws,
            "margin": data.study.equivalence_margin,
        },
        "bands": [
            {"slug": b.slug, "name": b.name, "from": b.low, "to": b.high, "meaning": b.definition}
            for b in BANDS
        ],
        "software": software(),
    }


@cache
def software() -> Json:
    """Versions of the software; `code` is a hash of the lines that computed the report."""
    versions = {"thirdperson": version(), "code": _code(), "python": platform.python_version()}
    versions["methods"] = method_changes()[0].date
    installed = {name: metadata.version(name) for name in PACKAGES}
    return versions | installed | {"plotly": PLOTLY_VERSION}


def _code() -> str:
    """A hash of the modules that read the data and compute the numbers, independent of git.

    It includes all modules of extras that have a chapter or a part of one.
    """
    app = Path(__file__).resolve().parents[1]
    found = [path for part in COMPUTING for path in app.glob(part)]
    for folder in {Path(getfile(type(section))).resolve().parent for section in of_extras()}:
        found += [path for path in folder.rglob("*.py") if "migrations" not in path.parts]
    digest = hashlib.sha256()
    for path in sorted(found):
        digest.update(f"{path.relative_to(app.parent).as_posix()}\n".encode() + path.read_bytes())
    return digest.hexdigest()


def _study(data: Dataset) -> Json:
    study = data.study
    return {
        "slug": study.slug,
        "title": study.title,
        "task": study.task,
        "question": study.question,
        "perspective": "own" if study.asks_own_answers else "persona",
        "language": study.language,
        "item_languages": list(study.item_languages),
        "simulated": study.is_simulated,
        "allow_tie": study.allow_tie,
        "ask_certainty": study.ask_certainty,
        "annotations_per_item": study.annotations_per_item,
        "items_per_annotator": study.items_per_annotator,
        "persona_style": study.persona_style,
        "show_history": study.show_history,
        "minutes": study.minutes,
        "reward_minor_units": study.reward,
        "currency": study.currency,
        "source": dict(study.source),
    }


def _inputs(data: Dataset) -> Json:
    truths = {name: int((data.truth == code).sum()) for code, name in enumerate(CHOICES)}
    return {
        "hash": data.inputs_hash,
        "record_hash": data.record_hash,
        "items": len(data.items),
        "annotations": len(data.answers),
        # Open questions to a judge are not yet judgments.
        "judgments": sum(
            int((run.judgments.status != "open").sum()) for run in data.runs if not run.is_jury
        ),
        "runs": len(data.runs),
        **({"runs_left_out": data.runs_left_out} if data.runs_left_out else {}),
        "personas": len({item.persona for item in data.items}),
        "questions": len({item.question for item in data.items}),
        "truth": truths | {"unknown": int((data.truth < 0).sum())},
    }


Content = TypeVar("Content")


def all_chapters() -> list[Section]:
    """The chapters of the core and of extras, in reading order."""
    return MORE_CHAPTERS.among(SECTIONS)


def sections() -> list[Section]:
    """Every section and part, in reading order."""
    return list(with_parts(all_chapters()))


def made_sections(report: ReportJson) -> list[Section]:
    """The sections with a part of report.json; failed sections have none."""
    return [section for section in sections() if section.name not in report.get("failed_parts", ())]


def _each(
    section: Section,
    contents: Callable[[ReportJson], Iterable[Content]],
    report: ReportJson,
    failed: list[str] | None,
) -> list[Content]:
    """One kind of a section's contents; empty if it cannot be made."""
    made = attempted(lambda: list(contents(report)), part=section.name, failed=failed)
    return [] if made is None else made


def in_order_of_computing() -> list[Section]:
    """The sections, each after those that it needs."""
    named = {section.name: section for section in sections()}
    # A chapter may need a section of an extra that is not installed.
    needs = {
        name: [other for other in section.needs if other in named]
        for name, section in named.items()
    }
    return [named[name] for name in TopologicalSorter(needs).static_order()]


def analyses() -> list[Analysis]:
    """The analyses that a plan can name; parts of extras add to those of the core."""
    found: dict[str, Analysis] = {}
    for one in (analysis for section in sections() for analysis in section.analyses):
        found[one.code] = found[one.code] + one if one.code in found else one
    return list(found.values())


def all_sources() -> list[NumberSource]:
    return [source for section in sections() for source in section.sources]


def all_tables(report: ReportJson, failed: list[str] | None = None) -> dict[str, Table]:
    """Every non-empty table of report.json, by name.

    Sections whose tables cannot be made are added to `failed`, as in the functions below.
    """
    made = [table for s in made_sections(report) for table in _each(s, s.tables, report, failed)]
    sentences = list(all_sentences(report))
    sources = attempted(
        lambda: sources_table(report, sentences, all_sources()), part="sources", failed=failed
    )
    if sources is not None:
        made.append(sources)
    return {table.name: table for table in made if table.rows}


def all_figures(report: ReportJson, failed: list[str] | None = None) -> dict[str, Figure]:
    """Every figure that has something to draw, by name."""
    made = [plot for s in made_sections(report) for plot in _each(s, s.figures, report, failed)]
    found = {figure.name: figure for figure in made if figure is not None}
    for section in of_extras():
        if (figure := found.get(section.redraws)) is not None:
            again = attempted(
                partial(section.redraw, figure, report), part=section.name, failed=failed
            )
            found[figure.name] = again or figure
    return found


def all_sentences(
    report: ReportJson,
    *places: SentencePlace,
    of: Container[str] | None = None,
    failed: list[str] | None = None,
) -> Iterator[Sentence]:
    """The sentences at some places, or at all, in reading order.

    `of` limits them to some sections.
    """
    for section in made_sections(report):
        if of is not None and section.name not in of:
            continue
        for sentence in _each(section, section.sentences, report, failed):
            if not places or sentence.place in places:
                yield sentence


# Fixed rules of the program; docs/methods.md gives the reasons.
CONSTANTS: Mapping[str, float] = {
    "level_of_intervals": 0.95,
    "level_of_equivalence_interval": 0.9,
    "level_of_tests": LEVEL,
    "fewest_for_a_percentage": TOO_SMALL,
    "fewest_for_a_comparison": SMALL,
    "fewest_common_items": MIN_COMPARED,
    "fewest_blocks": MIN_BLOCKS,
    "fewest_annotators": FEWEST_ANNOTATORS,
    "annotators_per_answer": ANNOTATORS_PER_ANSWER,
    "few_clusters": FEW_CLUSTERS,
    "folds": FOLDS,
}


# Path prefixes of the numbers that the methods state, except those of runs and the plan.
STATED = (
    "inputs.items inputs.personas inputs.questions inputs.truth study.annotations_per_item "
    "study.items_per_annotator human.annotators human.answers human.people human.checks "
    "human.not_counted human.coverage human.majority.ties parameters.threshold parameters.margin "
    "parameters.bootstrap seed software"
).split()


PLAN = "frozen_at answers_by_then judgments_by_then threshold margin bootstrap seed".split()


def paths(report: ReportJson, sentences: Iterable[Sentence]) -> list[str]:
    """The distinct paths of the numbers in the sentences and the methods."""
    found = [number["path"] for sentence in sentences for number in sentence.text.numbers]
    for beginning in STATED:
        found += _below(at(report, beginning), beginning)
    if report["registration"]["plan"]:
        found += [f"registration.plan.{key}" for key in PLAN]
    for index in range(len(report["registration"]["departures"])):
        found += [f"registration.departures.{index}.{key}" for key in ("planned", "done")]
    for index in range(len(report["judges"])):
        found += [path for _, _, path in run_facts(report, index) if path]
    return list(dict.fromkeys(found))


def _below(value: Any, path: str) -> Iterator[str]:
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _below(inner, f"{path}.{key}")
    else:
        yield path


def sources_table(
    report: ReportJson, sentences: Iterable[Sentence], sources: Sequence[NumberSource]
) -> Table:
    """One row per number: name, value, path, and the table that also shows it."""
    names = run_names(report)
    rows: list[list[Any]] = []
    for path in paths(report, sentences):
        value = at(report, path)
        text = compact(value) if isinstance(value, list) else value
        rows.append([_words(path, names), text, path, *_table(path, names, sources)])
    for name, constant in CONSTANTS.items():
        row = [name.replace("_", " "), constant, f"constant.{name}", "", "fixed by the program"]
        rows.append(row)
    columns = (
        TableColumn("Number"),
        TableColumn("Value", "exact"),
        TableColumn("Path in report.json"),
        TableColumn("Table"),
        TableColumn("Row"),
    )
    return Table(
        "methods",
        "Where each number of the headlines and the methods comes from",
        columns,
        rows,
        "Path: keys, with list positions counted from 0. Table: the file of that name in "
        "tables/, also behind the button CSV here. Numbers in no table are parameters of the "
        "report or of a run; docs/methods.md explains constants. All are computed from the data "
        f"with the hash {report['inputs']['hash'][:12]}… by the code with the hash "
        f"{report['software'].get('code', '–')[:12]}… of Thirdperson "
        f"{report['software']['thirdperson']}, and from the runs above with their prompts.",
        is_record=True,
    )


def _words(path: str, names: list[str]) -> str:
    """The path as words, with a run's name instead of its number."""
    first, *keys = path.split(".")
    if first in {"judges", "comparison"}:
        first = names[int(keys.pop(0))]
    rest = " ".join(keys).replace("_", " ")
    return f"{first}: {rest}" if rest else first


def _table(path: str, names: list[str], sources: Sequence[NumberSource]) -> tuple[str, str]:
    """The name of the table that shows the number at `path`, and the heading of its row."""
    keys = path.split(".")
    pattern = [keys[0], "*", *keys[2:]] if keys[0] in {"judges", "comparison"} else keys
    best, table, row = 0, "", ""
    for source in sources:
        parts = source.path.split(".")
        if len(parts) > best and pattern[: len(parts)] == parts:
            best, table, row = len(parts), source.table, source.row
    return table, names[int(keys[1])] if row == RUN else row
