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
from typing import TypeVar, cast

from analysis.data.arrays import CHOICES, Dataset
from analysis.data.frozen_plan import keeper
from analysis.report.figures import Figure
from analysis.report.registration import main_part, registration
from analysis.report.report_json import Json, rounded, steps
from analysis.report.rules import CHAPTERS, method_changes
from analysis.report.section import (
    Analysis,
    IsOn,
    ReportJson,
    Section,
    Sentence,
    SentencePlace,
    attempted,
    everything,
    merge,
    of_extras,
    on_in,
    with_parts,
)
from analysis.report.sections.ablations import Ablations
from analysis.report.sections.accuracy.section import Accuracy
from analysis.report.sections.agreement.section import AgreementSection
from analysis.report.sections.bias.section import Bias
from analysis.report.sections.certainty.section import CertaintySection
from analysis.report.sections.glance.section import Glance, ViewSection
from analysis.report.sections.groups.section import GroupsSection
from analysis.report.sections.limits import LimitsSection
from analysis.report.sections.methods import Downloads, Methods, sources_table
from analysis.report.sections.position import Position
from analysis.report.sections.record.section import Record
from analysis.report.study import ReportedStudy
from analysis.report.tables import Table
from analysis.report.verdict.claims import what_was_found
from studies.prompts import BANDS
from studies.version import version

# In reading order. Chapters of extras come after “position”, where people look for more findings.
OWN: tuple[Section, ...] = (
    ViewSection(),
    Glance(),
    Accuracy(GroupsSection(), Ablations()),
    CertaintySection(),
    AgreementSection(),
    Position(Bias()),
    Record(),
    LimitsSection(),
    Methods(Downloads()),
)

SCHEMA = "thirdperson.report/1"
# The parts that read the data, compute the numbers and draw the figures.
PACKAGES = ("django", "numpy", "plotly", "scipy")
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
    """Compute the complete content of a report."""
    registered = data.study.certainty_threshold
    study = ReportedStudy(data, registered if threshold is None else threshold, seed, bootstrap)
    report = frame(study)
    failed: list[str] = []
    on_progress(5, "Counting votes.")
    is_on = on_in(report)
    order = in_order_of_computing(is_on)
    progress = steps(on_progress, 10, 90)
    for done, section in enumerate(order):
        progress(done / len(order), f"Computing {section.name.replace('_', ' ')}.")
        compute = partial(section.compute, study, report)
        findings = attempted(compute, part=section.name, failed=failed)
        if findings is not None:
            merge(report, findings)
    if failed:
        report["failed_parts"] = sorted(failed)
    plans = keeper()
    part = plans.alone(study) if plans else None
    report["registration"] = registration(
        study, report, analyses(is_on), None if part is None else _headline_of(part, order), asked
    )
    report["limitations"] = [
        {"limit": sentence.code, "text": str(sentence.text)}
        for sentence in all_sentences(report, "limit")
    ]
    return cast("Json", rounded(report))


def main_results(data: Dataset, *, seed: int, threshold: int, bootstrap: int) -> Json:
    """The headline and the accuracies of a report, without the rest of it."""
    study = ReportedStudy(data, threshold, seed, bootstrap)
    return main_part(_headline_of(study, in_order_of_computing(data.study.has_extra)))


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
        "software": software(data.study.extras),
    }


@cache
def software(extras: tuple[str, ...]) -> Json:
    """Versions of the software; `code` is a hash of the lines that computed the report."""
    versions = {
        "thirdperson": version(),
        "code": _code(extras),
        "python": platform.python_version(),
    }
    versions["methods"] = method_changes()[0].date
    return versions | {name: metadata.version(name) for name in PACKAGES}


def _code(extras: Sequence[str]) -> str:
    """A hash of the modules that read the data and compute the numbers, independent of git.

    It includes all modules of those extras that have a chapter or a part of one.
    """
    app = Path(__file__).resolve().parents[1]
    paths = [path for part in COMPUTING for path in app.glob(part)]
    for folder in {
        Path(getfile(type(section))).resolve().parent for section in of_extras(extras.__contains__)
    }:
        paths += [path for path in folder.rglob("*.py") if "migrations" not in path.parts]
    digest = hashlib.sha256()
    for path in sorted(paths):
        digest.update(f"{path.relative_to(app.parent).as_posix()}\n".encode() + path.read_bytes())
    return digest.hexdigest()


def _study(data: Dataset) -> Json:
    study = data.study
    return {
        "slug": study.slug,
        "extras": list(study.extras),
        "title": study.title,
        "task": study.task,
        "question": study.question,
        "perspective": "own" if study.asks_own_answers else "persona",
        "language": study.language,
        **({"unreviewed_translation": data.unreviewed} if data.unreviewed else {}),
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
        "personas": len({item.persona for item in data.items} - {""}),
        "questions": len({item.question for item in data.items} - {""}),
        "truth": truths | {"unknown": int((data.truth < 0).sum())},
    }


Content = TypeVar("Content")


def all_chapters(is_on: IsOn) -> list[Section]:
    """The chapters of the core and of extras that are on, in reading order."""
    return CHAPTERS.where(is_on)


def sections(is_on: IsOn = everything) -> list[Section]:
    """Every section and part, in reading order."""
    return list(with_parts(all_chapters(is_on), is_on))


def made_sections(report: ReportJson) -> list[Section]:
    """The sections with a part of report.json; failed sections have none."""
    failed = report.get("failed_parts", ())
    return [section for section in sections(on_in(report)) if section.name not in failed]


def _each(
    section: Section,
    contents: Callable[[ReportJson], Iterable[Content]],
    report: ReportJson,
    failed: list[str] | None,
) -> list[Content]:
    """One kind of a section's contents; empty if it cannot be made."""
    entries = attempted(lambda: list(contents(report)), part=section.name, failed=failed)
    return [] if entries is None else entries


def in_order_of_computing(is_on: IsOn = everything) -> list[Section]:
    """The sections, each after those that it needs."""
    named = {section.name: section for section in sections(is_on)}
    return [named[name] for name in TopologicalSorter(needs_of(named)).static_order()]


def needs_of(named: Mapping[str, Section]) -> dict[str, list[str]]:
    """The names of the sections that each one needs, without those that are not there."""
    with_claims = [name for name, section in named.items() if section.has_claims]
    return {
        name: [
            *(other for other in section.needs if other in named),
            *(with_claims if section.collects_claims else ()),
        ]
        for name, section in named.items()
    }


def analyses(is_on: IsOn = everything) -> list[Analysis]:
    """The analyses that a plan can name; parts of extras add to those of the core."""
    by_code: dict[str, Analysis] = {}
    for one in (analysis for section in sections(is_on) for analysis in section.analyses):
        by_code[one.code] = by_code[one.code] + one if one.code in by_code else one
    return list(by_code.values())


def all_tables(report: ReportJson, failed: list[str] | None = None) -> dict[str, Table]:
    """Every non-empty table of report.json, by name.

    Sections whose tables cannot be made are added to `failed`, as in the functions below.
    """
    tables = [table for s in made_sections(report) for table in _each(s, s.tables, report, failed)]
    claims = attempted(lambda: what_was_found(report), part="glance", failed=failed)
    if claims is not None:
        tables.insert(0, claims)
    numbers = [source for s in sections(on_in(report)) for source in s.sources]
    sources = attempted(
        lambda: sources_table(report, list(all_sentences(report)), numbers),
        part="sources",
        failed=failed,
    )
    if sources is not None:
        tables.append(sources)
    return {table.name: table for table in tables if table.rows}


def all_figures(report: ReportJson, failed: list[str] | None = None) -> dict[str, Figure]:
    """Every figure that has something to draw, by name."""
    figures = [plot for s in made_sections(report) for plot in _each(s, s.figures, report, failed)]
    by_name = {figure.name: figure for figure in figures if figure is not None}
    for section in of_extras(on_in(report)):
        if (figure := by_name.get(section.redraws)) is not None:
            again = attempted(
                partial(section.redraw, figure, report), part=section.name, failed=failed
            )
            by_name[figure.name] = again or figure
    return by_name


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
