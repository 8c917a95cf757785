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
