"""From the data of a study to report.json: a pure function, the same for the same inputs."""

import hashlib
import platform
import tomllib
from collections.abc import Callable
from functools import cache
from importlib.metadata import version
from pathlib import Path

import numpy as np
import numpy.typing as npt

from analysis.data.arrays import CHOICES, Dataset
from analysis.data.verdicts import Floats, Ints, Verdicts, people_verdicts, run_verdicts
from analysis.report.clusters import add_as_best, add_clusters, shared_by
from analysis.report.competition import families
from analysis.report.encode import Json, put, steps
from analysis.report.judges import judge_entry
from analysis.report.people import correct_alone, people_entry
from analysis.report.registration import registration
from analysis.report.sections.ablations import ablations
from analysis.report.sections.accuracy.general_difference import add_general
from analysis.report.sections.accuracy.ranking import several_judges
from analysis.report.sections.accuracy.thresholds import Grid, by_threshold
from analysis.report.sections.agreement.replacement import (
    adjust_for_several,
    agreement_matrix,
    comparison_entry,
    likenesses,
)
from analysis.report.sections.certainty.certified import selective
from analysis.report.sections.certainty.headline import certainty_headline
from analysis.report.sections.certainty.validation import checks, held_out_items, item_folds
from analysis.report.sections.choices.multiverse import multiverse
from analysis.report.sections.glance.crowd_equivalence import interaction
from analysis.report.sections.glance.headline import headline
from analysis.report.sections.groups.accuracy import annotator_groups, group_tables
from analysis.report.sections.groups.cross_group import who_judges_whom
from analysis.report.sections.limits import limitations
from analysis.report.sections.position.length import verbosity
from studies.prompts import BANDS

SCHEMA = "thirdperson.report/1"
# What reads the data, computes the numbers and draws the figures.
PACKAGES = ("django", "numpy", "plotly", "scipy")
COMPUTING = ("data/**/*.py", "report/**/*.py", "stats/**/*.py")

Progress = Callable[[int, str], None]


def build_report(
    data: Dataset,
    *,
    seed: int,
    threshold: int | None = None,
    bootstrap: int = 1000,
    on_progress: Progress = lambda percent, sentence: None,
) -> Json:
    """Compute everything that a report says.

    Parameters
    ----------
    data : Dataset
        The study.
    seed : int
        Of every resample; each starts from it anew, so one more run changes no other number.
    threshold : int, optional
        Certainty from which an answer is high; the study's own by default, and any other is
        marked as explored.
    bootstrap : int
        Resamples of every kind.
    on_progress : callable
        Told the percentage and what happens.
    """
    registered = data.study.certainty_threshold
    tau = registered if threshold is None else threshold
    late = any(change.setting == "threshold" for change in data.late_changes)
    on_progress(5, "Counting votes.")
    people = people_verdicts(data)
    judges = [run_verdicts(data, run) for run in data.runs]

    on_progress(10, "Measuring people.")
    votes = people.majority.votes
    shared = shared_by(data, votes)
    alone = correct_alone(votes, data.scored_truth(offers_tie=data.study.allow_tie))
    items = np.arange(len(data.items))
    folds, held_out = item_folds(data), held_out_items(data)

    def hold_to_account(side: Json, certainty: Floats, correct: Ints, item: Ints) -> None:
        side["certainty"] |= checks(
            certainty, correct, item, folds=folds, held_out=held_out, seed=seed, draws=bootstrap
        )

    human = people_entry(data, people, threshold=tau, seed=seed, draws=bootstrap)
    add_clusters(
        human["majority"],
        people.correct,
        people.certainty,
        shared.items,
        threshold=tau,
    )
    add_clusters(
        human["individual"],
        alone,
        votes.certainty,
        shared.answers,
        threshold=tau,
    )
    hold_to_account(human["majority"], people.certainty, people.correct, items)
    hold_to_account(human["individual"], votes.certainty, alone, votes.item)
    human["verbosity"] = verbosity(data, people, shared, by_people=True)
    likeness = likenesses(data, judges, people, seed=seed, draws=bootstrap)
    entries, comparisons = [], []
    progress = steps(on_progress, 30, 85)
    for index, (run, verdicts) in enumerate(zip(data.runs, judges, strict=True)):
        progress(index / len(judges), f"Measuring {run.judge} ({run.setting}, {run.features}).")
        options = {"threshold": tau, "seed": seed, "draws": bootstrap}
        entry = judge_entry(data, run, verdicts, **options)
        add_clusters(entry, verdicts.correct, verdicts.certainty, shared.judged, threshold=tau)
        hold_to_account(entry, verdicts.certainty, verdicts.correct, items)
        entry["verbosity"] = verbosity(data, verdicts, shared, by_people=False)
        entries.append(entry)
        versus = comparison_entry(data, run, verdicts, people, likeness[index], **options)
        versus["certainty"]["interaction"] = interaction(
            verdicts, votes, alone, shared, threshold=tau
        )
        comparisons.append(versus)
    competing = families(entries)
    adjust_for_several(comparisons, competing)
    for family in competing:
        for index in family:
            correct, certainty = judges[index].correct, judges[index].certainty
            add_as_best(
                entries[index],
                correct,
                certainty,
                shared.judged,
                threshold=tau,
                among=len(family),
            )
    margin = data.study.equivalence_margin
    add_general(comparisons, judges, people, shared, competing, margin=margin, threshold=tau)

    on_progress(85, "Trying other thresholds.")
    thresholds = by_threshold(data, people, alone, judges, shared, Grid.around(tau, registered))
    on_progress(88, "Looking at topics and personas.")
    groups, group_rows = group_tables(data, people, judges, shared, threshold=tau)
    report: Json = {
        "schema": SCHEMA,
        "study": _study(data),
        "inputs": _inputs(data),
        "seed": seed,
        "parameters": {
            "threshold": tau,
            "threshold_registered": registered,
            "explored": tau != registered,
            "threshold_chosen": "before the data" if tau == registered and not late else "post hoc",
            "bootstrap": bootstrap,
            "margin": margin,
        },
        "human": human,
        "judges": entries,
        "comparison": comparisons,
        "selective": selective(data, judges, shared, threshold=tau),
        "several_judges": several_judges(data, judges, shared, seed=seed, draws=bootstrap),
        "matrix": agreement_matrix(people, judges, data.truth),
        "ablations": ablations(data, judges, seed=seed, draws=bootstrap),
        "groups": groups,
        "who_judges_whom": who_judges_whom(data, votes, alone, shared),
        "annotator_groups": annotator_groups(data, votes, alone, shared),
        "by_threshold": thresholds,
        "items": _items(data, people, judges, group_rows),
        "bands": [
            {"slug": b.slug, "name": b.name, "from": b.low, "to": b.high, "meaning": b.definition}
            for b in BANDS
        ],
        "registration": registration(data, threshold=tau, seed=seed, bootstrap=bootstrap),
        "software": software(),
    }
    report["headline"] = headline(report)
    report["certainty_headline"] = certainty_headline(report)
    on_progress(90, "Trying other choices.")
    report["multiverse"] = multiverse(report, data, shared)
    report["limitations"] = limitations(report)
    return report


@cache
def software() -> Json:
    """Versions of what made the report; `code` is a hash of the very lines that computed it."""
    project = Path(__file__).resolve().parents[2] / "pyproject.toml"
    own = tomllib.loads(project.read_text("utf-8"))["project"]["version"]
    versions = {"thirdperson": own, "code": _code(), "python": platform.python_version()}
    return versions | {name: version(name) for name in PACKAGES}


def _code() -> str:
    """A hash of the modules that read the data and compute the numbers, whatever git says."""
    app = Path(__file__).resolve().parents[1]
    digest = hashlib.sha256()
    for path in sorted(path for part in COMPUTING for path in app.glob(part)):
        digest.update(f"{path.relative_to(app).as_posix()}\n".encode() + path.read_bytes())
    return digest.hexdigest()


def _study(data: Dataset) -> Json:
    study = data.study
    return {
        "slug": study.slug,
        "title": study.title,
        "task": study.task,
        "question": study.question,
        "language": study.language,
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
        "items": len(data.items),
        "annotations": len(data.answers),
        # Questions that still wait for their answer are no judgments yet.
        "judgments": sum(
            int((run.judgments.status != "open").sum())
            for run in data.runs
            if run.backend != "jury"
        ),
        "runs": len(data.runs),
        "personas": len({item.persona for item in data.items}),
        "questions": len({item.question for item in data.items}),
        "truth": truths | {"unknown": int((data.truth < 0).sum())},
    }


def _items(
    data: Dataset, people: Verdicts, judges: list[Verdicts], group_rows: list[list[int]]
) -> list[Json]:
    """One row per item: the truth, how people voted, what each run said, its row in each group."""
    counts = people.majority.counts
    # Taken once: a property of the vote is counted anew each time it is read.
    undecided = [side.majority.undecided for side in (people, *judges)]
    rows = []
    for index, item in enumerate(data.items):
        row: Json = {"item": item.key, "topic": item.topic, "persona": item.persona}
        row["question"] = item.question
        put(row, "truth", item.truth or None, "no_truth")
        row["votes"] = {
            name: int(counts[index, code]) for code, name in enumerate(CHOICES[: counts.shape[1]])
        }
        row["people"] = _verdict(people, undecided[0], index)
        row["judges"] = [
            _verdict(verdicts, ties, index)
            for verdicts, ties in zip(judges, undecided[1:], strict=True)
        ]
        row["groups"] = group_rows[index]
        rows.append(row)
    return rows


def _verdict(verdicts: Verdicts, undecided: npt.NDArray[np.bool_], index: int) -> Json:
    answer, certainty = int(verdicts.answer[index]), float(verdicts.certainty[index])
    correct = int(verdicts.correct[index])
    missing = "tie" if undecided[index] else "no_votes"
    out: Json = {}
    put(out, "choice", CHOICES[answer] if answer >= 0 else None, missing)
    put(out, "certainty", None if np.isnan(certainty) else certainty, "not_stated")
    put(out, "correct", None if correct < 0 else bool(correct), "not_scored")
    return out
