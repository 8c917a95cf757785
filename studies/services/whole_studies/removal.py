"""Deleting a study with everything that refers to it. There is no way back."""

import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from django.contrib.auth.models import User
from django.db import connection, transaction
from django.db.models import ManyToOneRel, Model, QuerySet

from studies.errors import StudyError
from studies.file_storage.stored import Stored
from studies.jobs.models import Job
from studies.media import storage
from studies.models import ImportJob, Item, MediaFile, Study

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class StudyContent:
    """What one app has of a study: numbers of things, reasons not to delete it, and its files."""

    counts: list[tuple[str, int]] = field(default_factory=list)
    obstacles: list[str] = field(default_factory=list)
    folders: list[Stored] = field(default_factory=list)


_sources: list[Callable[[Study], StudyContent]] = []


def register(source: Callable[[Study], StudyContent]) -> None:
    """Add what another app has of a study; a second call changes nothing."""
    if source not in _sources:
        _sources.append(source)


def content_of(study: Study) -> StudyContent:
    """Everything that would be deleted with a study, and what stands against it."""
    parts = [_own(study), *(source(study) for source in _sources)]
    return StudyContent(
        [count for part in parts for count in part.counts],
        [obstacle for part in parts for obstacle in part.obstacles],
        [folder for part in parts for folder in part.folders],
    )


def _own(study: Study) -> StudyContent:
    obstacles = []
    if study.archived_at is None and study.state != Study.State.DRAFT:
        obstacles.append("The study is not archived. Archive it first.")
    if ImportJob.objects.filter(study=study, state__in=Job.OPEN).exists():
        obstacles.append("A file is being imported. Wait until the import has ended.")
    items = Item.everything.filter(study=study).count()
    files = MediaFile.objects.filter(study=study).count()
    return StudyContent(
        [("items", items), *([("pictures and sounds", files)] if files else [])], obstacles
    )


def delete_study(*, study_id: int, by: User | None) -> None:
    """Delete a study; `by` is nobody if its time is over.

    Raises `StudyError` if something stands against it.
    """
    with transaction.atomic():
        # Stronger than the usual lock, because it is deleted: nobody adds a row that refers to it.
        study = Study.objects.select_for_update(no_key=False).get(pk=study_id)
        content = content_of(study)
        if content.obstacles:
            raise StudyError(" ".join(content.obstacles))
        delete_rows(study)
        transaction.on_commit(lambda: _delete_folders(content.folders))
    counts = ", ".join(f"{n} {name}" for name, n in content.counts)
    name = by.get_username() if by else "The server"
    logger.warning("%s deleted the study “%s” (%s).", name, study.slug, counts)


@transaction.atomic
def delete_rows(study: Study) -> None:
    """Delete a study, every row that refers to it, and its pictures and sounds."""
    storage.delete_after_commit(MediaFile.objects.filter(study=study))
    delete_with_all_that_refers(Study, pk=study.pk)


def delete_with_all_that_refers(model: type[Model], **found: object) -> None:
    """Delete the rows of `model` that are `found`, after all rows that refer to them.

    By one statement for each way from a table to them, without loading a row. Rows of one table
    that refer to each other must be freed of that before.
    """
    for relation in model._meta.get_fields(include_hidden=True):
        if not isinstance(relation, ManyToOneRel) or relation.related_model in (model, None):
            continue
        through = relation.field.name
        delete_with_all_that_refers(
            relation.related_model, **{f"{through}__{way}": value for way, value in found.items()}
        )
    delete_alone(model._base_manager.filter(**found))


def delete_alone(rows: QuerySet[Any]) -> None:
    """Delete rows by one statement; Django would first load all that refers to them."""
    chosen, values = rows.order_by().values("pk").query.sql_with_params()
    meta, quoted = rows.model._meta, connection.ops.quote_name
    assert meta.pk is not None  # noqa: S101  every table has one
    with connection.cursor() as cursor:
        cursor.execute(
            f"DELETE FROM {quoted(meta.db_table)}"  # noqa: S608  names of the program's tables
            f" WHERE {quoted(meta.pk.column)} IN ({chosen})",
            values,
        )


def _delete_folders(folders: list[Stored]) -> None:
    for folder in folders:
        folder.delete()
