"""Settings to start a study from; everything else keeps its default."""

from dataclasses import dataclass, field
from typing import Any

from studies.models import Study


@dataclass(frozen=True)
class Preset:
    """`settings` are fields of a study, as `create_study` takes them."""

    label: str
    about: str
    settings: dict[str, Any] = field(default_factory=dict)


PRESETS = {
    "paper": Preset(
        "As in the paper",
        "300 items for people, 3 answers each, 30 items a person, certainty from 1 to 100, "
        "20 minutes at $13.50 an hour on Prolific.",
        {"human_sample": 300},
    ),
    "ties": Preset(
        "The paper’s tie setting",
        "The same, with “No clear difference” as a third answer and no certainty.",
        {"human_sample": 300, "allow_tie": True, "ask_certainty": False},
    ),
    "class": Preset(
        "A class or a lab",
        "An open link instead of Prolific, 10 items and 8 minutes a person, no pay.",
        {
            "entry": Study.Entry.LINK,
            "items_per_annotator": 10,
            "minutes": 8,
            "reward": 0,
        },
    ),
    "pilot": Preset(
        "A pilot",
        "30 items, 2 answers each, 15 items and 10 minutes a person: what takes long, what is "
        "unclear.",
        {
            "human_sample": 30,
            "annotations_per_item": 2,
            "items_per_annotator": 15,
            "minutes": 10,
            "reward": 225,
        },
    ),
}
