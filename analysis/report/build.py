"""Build report.json from the data of a study: a pure function, the same for the same inputs."""

import hashlib
import platform
from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from importlib import metadata
from inspect import getfile
from pathlib import Path
from types import MappingProxyType

from analysis.data.arrays import CHOICES, Dataset
from analysis.report.chapters import MORE
from analysis.report.contents import all_sentences, analyses, in_order_of_computing
from analysis.report.encode import Json, steps
from analysis.report.registration import alone_on_sealed, registration
from analysis.report.section import Section, attempted, merge
from analysis.report.study import ReportedStudy
from studies.prompts import BANDS
from studies.version import version

SCHEMA = "thirdperson.report/1"
# The parts that read the data, compute the numbers and draw the figures.
PACKAGES = ("django", "numpy", "plotly", "scipy")
COMPUTING = ("data/**/*.py", "report/**/*.py", "stats/**/*.py")

Progress = Callable[[int, str], None]


def build_report(
    data: Dataset,
    *,
    seed: int,
    threshold: int | None = None,
    bootstrap: int = 1000,
    asked: Mapping[str, str] = MappingProxyType({}),
    on_progress: Progress = lambda percent, sentence: None,
) -> Json:
    """Compute the complete content of a report.

    Parameters
    ----------
    data : Dataset
        The study.
    seed : int
        Seed of every resample; each starts again from it, so one more run changes no other number.
    threshold : int, optional
        Certainty from which an answer is high; the study's own by default, and any other is
        marked as explored.
    bootstrap : int
        Resamples of every kind.
    asked : mapping
        The day (`on`) and the account (`by`) of a report with other parameters than its plan's.
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
        study, analyses(), None if part is None else _headline_of(part, order), asked
    )
    report["limitations"] = [
        {"limit": sentence.code, "text": str(sentence.text)}
        for sentence in all_sentences(report, "limit")
    ]
    return report


def _headline_of(study: ReportedStudy, order: Sequence[Section]) -> Json:
    """A report with no more than its headline and what that needs."""
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
    return versions | {name: metadata.version(name) for name in PACKAGES}


def _code() -> str:
    """A hash of the modules that read the data and compute the numbers, independent of git.

    Of extras it counts all modules of those that have a chapter.
    """
    app = Path(__file__).resolve().parents[1]
    found = [path for part in COMPUTING for path in app.glob(part)]
    for folder in {Path(getfile(type(chapter))).resolve().parent for chapter in MORE}:
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
        # Open questions to a judge are not judgments yet.
        "judgments": sum(
            int((run.judgments.status != "open").sum()) for run in data.runs if not run.is_jury
        ),
        "runs": len(data.runs),
        **({"runs_left_out": data.runs_left_out} if data.runs_left_out else {}),
        "personas": len({item.persona for item in data.items}),
        "questions": len({item.question for item in data.items}),
        "truth": truths | {"unknown": int((data.truth < 0).sum())},
    }
