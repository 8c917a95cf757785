"""Rare designs. Each is a Django app in one folder, named once in the list below.

An extra has everything of its design: models, services, pages, commands, templates, documentation.
It imports the core, and no other extra; it adds to lists of the core when Django starts. Deleting
its folder, `tests/extras/<name>` and its line leaves a program without that design.
"""

from pathlib import Path

NAMES = [
    "administration",
    "advice",
    "agents",
    "amended_consents",
    "annotator_groups",
    "authenticity",
    "certainty",
    "certificates",
    "check_page",
    "choices",
    "data_files",
    "datasets",
    "documents",
    "estimation",
    "frozen_plans",
    "graded",
    "heat_maps",
    "item_editing",
    "judge_models",
    "judges_compared",
    "label_models",
    "labelling",
    "load_test",
    "local_models",
    "messages",
    "methods",
    "model_lists",
    "option_sets",
    "own_answers",
    "packs",
    "personas",
    "planning",
    "planted_truth",
    "privacy",
    "prolific_tools",
    "provider_libraries",
    "publication",
    "replication",
    "rules",
    "sample",
    "several_studies",
    "share_links",
    "study_files",
    "telemetry",
    "validation",
    "verification",
]
APPS = [f"extras.{name}" for name in NAMES]


def _modules(name: str) -> list[str]:
    """The modules of this name, in the extras that have one."""
    folder = Path(__file__).parent
    return [f"extras.{each}.{name}" for each in NAMES if (folder / each / f"{name}.py").exists()]


# Modules whose names in capitals are settings; `SCHEDULE` has tasks of the schedule.
SETTINGS = _modules("settings")
# Modules of tasks; `tidy` of each runs every minute and restarts what a killed worker left behind.
TASKS = _modules("tasks")
