"""What migrations of extras do with the names of extras that studies have."""

from collections.abc import Callable, Iterable

from django.apps.registry import Apps
from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.migrations import RunPython


def turn_on(name: str, study_ids: Callable[[Apps], Iterable[int]]) -> RunPython:
    """Turn an extra on in the studies of an older version whose rows need it."""

    def change(apps: Apps, schema_editor: BaseDatabaseSchemaEditor) -> None:
        ids = {*study_ids(apps)}
        for study in apps.get_model("studies", "Study").objects.filter(pk__in=ids):
            study.extras = sorted({*study.extras, name})
            study.save(update_fields=["extras"])

    return RunPython(change, RunPython.noop)


def rename(old: str, new: str) -> RunPython:
    """Call an extra by its new name in every study, and in the log of what was turned on."""

    def renamed(names: list[str]) -> list[str]:
        return sorted({new if name == old else name for name in names})

    def change(apps: Apps, schema_editor: BaseDatabaseSchemaEditor) -> None:
        for study in apps.get_model("studies", "Study").objects.only("extras").iterator():
            if old in study.extras:
                study.extras = renamed(study.extras)
                study.save(update_fields=["extras"])
        # A report says since when an extra is on.
        for row in apps.get_model("studies", "StudyLog").objects.filter(event="settings changed"):
            sides = [row.detail.get(side, {}) for side in ("before", "after")]
            if any(old in side.get("extras", ()) for side in sides):
                for side in sides:
                    if "extras" in side:
                        side["extras"] = renamed(side["extras"])
                row.save(update_fields=["detail"])

    return RunPython(change, RunPython.noop)
