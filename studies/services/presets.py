"""Presets of new studies. Pages, commands, files, the API and agents all use this list."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from studies.errors import StudyError
from studies.extra import Kind, extras_for_studies, extras_of_new_studies
from studies.models import Study, StudyLog


@dataclass(frozen=True)
class RunGrid:
    """Runs of each judge that a preset plans: every setting with every set of features."""

    settings: tuple[str, ...]
    features: tuple[str, ...]
    orders: str = "both"


@dataclass(frozen=True)
class StudyPreset:
    """A preset; `settings` are fields of a study, as `create_study` takes them.

    `balanced` has standard questions of “About you” with the options that get equal numbers of
    places, and `runs` what each judge is asked.
    """

    label: str
    about: str
    settings: dict[str, Any] = field(default_factory=dict)
    balanced: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    runs: tuple[RunGrid, ...] = ()


PRESETS = {
    "personalized-judge": StudyPreset(
        "The paper’s study, again",
        "300 items with 3 answers each and 30 items per annotator; gender × politics balanced; "
        "judges with four sets of features, with certainty and with ties, in both orders; a plan "
        "to freeze, and the article’s tables.",
        {
            "human_sample": 300,
            "annotations_per_item": 3,
            "items_per_annotator": 30,
            "ask_certainty": True,
            "allow_tie": False,
            "certainty_threshold": 80,
            "minutes": 20,
            "reward": 450,
            "extras": ["audit", "documents", "frozen_plans", "planning"],
        },
        balanced={
            "gender": ("woman", "man"),
            "politics": ("democrat", "republican", "independent"),
        },
        runs=(
            RunGrid(("certainty",), ("all", "three_paper", "education", "none")),
            RunGrid(("tie",), ("all",)),
        ),
    ),
    "paper": StudyPreset(
        "Size of the paper",
        "300 items with 3 answers each, 30 items per annotator, certainty from 1 to 100, "
        "20 minutes at $13.50 an hour on Prolific.",
        {"human_sample": 300, "extras": ["audit", "documents"]},
    ),
    "ties": StudyPreset(
        "Tie setting of the paper",
        "As above, with “No clear difference” as a third answer and without certainty.",
        {
            "human_sample": 300,
            "allow_tie": True,
            "ask_certainty": False,
            "extras": ["audit", "documents"],
        },
    ),
    "class": StudyPreset(
        "Class or lab",
        "An open link instead of Prolific, 10 items and 8 minutes per annotator, no pay.",
        {
            "entry": Study.Entry.LINK,
            "items_per_annotator": 10,
            "minutes": 8,
            "reward": 0,
        },
    ),
    "pilot": StudyPreset(
        "Pilot",
        "30 items with 2 answers each, 15 items and 10 minutes per annotator. Shows what takes too "
        "long or is unclear.",
        {
            "human_sample": 30,
            "annotations_per_item": 2,
            "items_per_annotator": 15,
            "minutes": 10,
            "reward": 225,
            "extras": ["audit"],
        },
    ),
}
# Log events of new studies. Logs of existing studies contain these texts; do not change them.
CREATED, COPIED = "created", "copied"

# What follows in a study that was created from a preset, such as its quota groups.
FOLLOWERS: Kind[Callable[[Study, StudyPreset], None]] = Kind("events", "created")


def preset_named(name: str) -> StudyPreset:
    """The preset of this name. Raises `StudyError`."""
    if name not in PRESETS:
        raise StudyError(f"There is no preset “{name}”. Use one of: {', '.join(PRESETS)}.")
    return PRESETS[name]


def extras_of_preset(name: str) -> list[str]:
    """The extras that are on in a study made from a preset, or without one."""
    preset = PRESETS.get(name)
    wanted = preset.settings.get("extras", ()) if preset else ()
    known = extras_for_studies()
    return sorted({*extras_of_new_studies(), *(extra for extra in wanted if extra in known)})


def preset_of(study: Study) -> str:
    """The preset from which a study, or the one that it copies, was created; empty if none."""
    begun = StudyLog.objects.filter(
        study=study, event__in=(CREATED, COPIED), detail__has_key="preset"
    ).first()
    name = str(begun.detail["preset"]) if begun else ""
    return name if name in PRESETS else ""
