"""Presets for new studies; all other settings keep their defaults."""

from dataclasses import dataclass, field
from typing import Any

from studies.models import Study


@dataclass(frozen=True)
class StudyPreset:
    """A preset; `settings` are fields of a study, as `create_study` takes them."""

    label: str
    about: str
    settings: dict[str, Any] = field(default_factory=dict)


PRESETS = {
    "paper": StudyPreset(
        "Study of the paper",
        "300 items with 3 answers each, 30 items per annotator, certainty from 1 to 100, "
        "20 minutes at $13.50 an hour on Prolific.",
        {"human_sample": 300},
    ),
    "ties": StudyPreset(
        "Tie setting of the paper",
        "As above, with “No clear difference” as a third answer and without certainty.",
        {"human_sample": 300, "allow_tie": True, "ask_certainty": False},
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
        },
    ),
}
