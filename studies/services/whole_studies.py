"""Whole studies: copies, the archive, deletion, retention dates, and people no longer shown."""

import datetime as dt
import logging
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from django.contrib.auth.models import User
from django.db import connection, transaction
from django.db.models import ManyToOneRel, Model, QuerySet

from studies.errors import StudyError
from studies.extra import Kind
from studies.file_storage.storage import Stored
from studies.jobs.models import Job
from studies.media import keeper
from studies.models import (
    Backup,
    FeatureSet,
    ImportJob,
    Item,
    Persona,
    Retention,
    Study,
    StudyLog,
)
from studies.models.added_settings import read_added
from studies.services.items import seat_items, study_content_hash
from studies.services.presets import COPIED, preset_of
from studies.services.studies import check_seen, create_study, lock_study, record, seen_of
from studies.statements import clock

M = TypeVar("M", bound=Model)
_AT_ONCE = 500
# A copy begins as a draft with its own seed and pseudonyms, and without an owner's decisions about
# the items.
_OWN = {
    "slug",
    "title",
    "state",
    "seed",
    "export_key",
    "version",
    "frozen_at",
    "archived_at",
    "content_hash",
    "sharing",
    "draw",
    "created_at",
}
# Called with a study and its copy.
COPIERS: Kind[Callable[[Study, Study], None]] = Kind("holdings", "copies")


@transaction.atomic
def copy_study(
    *,
    study_id: int,
    slug: str,
    title: str,
    with_items: bool,
    only: Mapping[str, Mapping[str, Any]] | None = None,
    by: User | None = None,
    **changes: Any,
) -> Study:
    """A draft with the settings of a study, but not its answers, judgments and reports.

    `only`: the keys of the judged items to copy, with notes to add to each. Without `by` the copy
    has no members. Raises `StudyError` if the short name is taken.
    """
    study = lock_study(study_id)
    settings = {
        name: value
        for name, value in (values_of(study) | read_added(study)).items()
        if name not in _OWN | {*changes}
    }
    copy = create_study(slug=slug, title=title, owner=by, **settings, **changes)
    copy_rows(FeatureSet.objects.filter(study=study), study_id=copy.pk)
    for copier in COPIERS:
        copier(study, copy)
    if with_items:
        copy_rows(Persona.objects.filter(study=study), study_id=copy.pk)
        _copy_items(study, copy)
        keeper().copy(study, copy)
        if only is not None:
            _keep(copy, only)
        seat_items(copy)
        copy.content_hash = study_content_hash(copy)
        copy.save(update_fields=["content_hash"])
    else:
        Study.objects.filter(pk=copy.pk).update(source={})
    preset = {"preset": name} if (name := preset_of(study)) else {}
    record(copy, COPIED, user=by, of=study.slug, with_items=with_items, **preset)
    return copy


def _keep(copy: Study, only: Mapping[str, Mapping[str, Any]]) -> None:
    """Remove other items and unused personas from a copy, and add the notes."""
    Item.everything.filter(study=copy, split=Item.Split.LEFT_OUT).delete()
    items = {item.key: item for item in Item.objects.filter(study=copy)}
    away = [item.pk for key, item in items.items() if key not in only]
    for start in range(0, len(away), _AT_ONCE):
        Item.objects.filter(pk__in=away[start : start + _AT_ONCE]).delete()
    Persona.objects.filter(study=copy, all_items=None).delete()
    kept = [item for key, item in items.items() if key in only]
    for item in kept:
        item.metadata = item.metadata | dict(only[item.key])
        if item.metadata.get(Item.REPLACES) not in only:
            item.metadata.pop(Item.REPLACES, None)
    Item.objects.bulk_update(kept, ["metadata"], batch_size=_AT_ONCE)
    keeper().forget_unused(copy)


def copy_rows(rows: QuerySet[M], **changes: Any) -> list[M]:
    """Store copies of rows of one model, with new values for some fields."""
    copies = [type(row)(**values_of(row) | changes) for row in rows.order_by("pk")]
    stored: list[M] = rows.model._base_manager.bulk_create(copies, batch_size=1000)
    return stored


def values_of(row: Model) -> dict[str, Any]:
    """The values of a row without its key, by column: `study_id`, not `study`."""
    return {
        field.attname: getattr(row, field.attname)
        for field in row._meta.concrete_fields
        if not field.primary_key
    }


def _copy_items(study: Study, copy: Study) -> None:
    """Copy all items in one statement, because a study can have a hundred thousand."""
    quote = connection.ops.quote_name
    own: dict[str, tuple[str, list[Any]]] = {
        "study_id": ("%s", [copy.pk]),
        "persona_id": ("theirs.id", []),
        "seats_taken": ("0", []),
        "answered": ("0", []),
        "draw_probability": ("NULL", []),
        "created_at": ("%s", [connection.ops.adapt_datetimefield_value(clock.now())]),
    }
    columns = [str(field.column) for field in Item._meta.concrete_fields if not field.primary_key]
    values = [own.get(column, (f"item.{quote(column)}", [])) for column in columns]
    table, personas = quote(Item._meta.db_table), quote(Persona._meta.db_table)
    with connection.cursor() as cursor:
        cursor.execute(
            f"INSERT INTO {table} ({', '.join(map(quote, columns))})"  # noqa: S608
            f" SELECT {', '.join(sql for sql, _ in values)} FROM {table} item"
            f" JOIN {personas} ours ON ours.id = item.persona_id"
            f" JOIN {personas} theirs ON theirs.study_id = %s AND theirs.key = ours.key"
            " WHERE item.study_id = %s ORDER BY item.id",
            [*(value for _, parts in values for value in parts), copy.pk, study.pk],
        )


@transaction.atomic
def archive(*, study_id: int, by: User | None) -> None:
    """Hide a study from the list. Raises `StudyError` while people can take part."""
    study = lock_study(study_id)
    if study.is_under_way:
        raise StudyError("Close the study before you archive it: people can still take part.")
    if study.archived_at is None:
        Study.objects.filter(pk=study.pk).update(archived_at=clock.now())
        record(study, "archived", user=by)


@transaction.atomic
def restore(*, study_id: int, by: User) -> None:
    study = lock_study(study_id)
    if study.archived_at is not None:
        Study.objects.filter(pk=study.pk).update(archived_at=None)
        record(study, "taken out of the archive", user=by)


logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class StudyContent:
    """An app's content of a study: numbers of things, reasons not to delete it, and files."""

    counts: list[tuple[str, int]] = field(default_factory=list)
    obstacles: list[str] = field(default_factory=list)
    folders: list[Stored] = field(default_factory=list)


CONTENT: Kind[Callable[[Study], StudyContent]] = Kind("holdings", "study")


def content_of(study: Study) -> StudyContent:
    """Everything that would be deleted with a study, and reasons not to delete it."""
    parts = [_own(study), *(source(study) for source in CONTENT)]
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
    return StudyContent([("items", items)], obstacles)


def delete_study(*, study_id: int, by: User | None) -> None:
    """Delete a study; without `by`, because its time is over.

    Raises `StudyError` if there is a reason not to delete it.
    """
    with transaction.atomic():
        # Stronger than the usual lock, so that nobody adds a row that refers to the study.
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
    """Delete a study and every row that refers to it."""
    delete_with_all_that_refers(Study, pk=study.pk)


def delete_with_all_that_refers(model: type[Model], **filters: object) -> None:
    """Delete the rows of `model` that match `filters`, after all rows that refer to them.

    One statement for each path from a table to them, without loading rows. References between rows
    of one table must be removed first.
    """
    for relation in model._meta.get_fields(include_hidden=True):
        if not isinstance(relation, ManyToOneRel) or relation.related_model in (model, None):
            continue
        through = relation.field.name
        delete_with_all_that_refers(
            relation.related_model, **{f"{through}__{way}": value for way, value in filters.items()}
        )
    delete_alone(model._base_manager.filter(**filters))


def delete_alone(rows: QuerySet[Any]) -> None:
    """Delete rows in one statement; Django would first load everything that refers to them."""
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


WARNED_DAYS = 14


@dataclass(frozen=True)
class Deletion:
    """A scheduled deletion."""

    what: str
    on: dt.date
    obstacle: str = ""

    @property
    def is_near(self) -> bool:
        return (self.on - clock.now().date()).days <= WARNED_DAYS


def seen_dates(study: Study) -> str:
    """The hash of the dates that a form shows."""
    dates = Retention.objects.filter(study=study).values_list("identities_days", "delete_on")
    return seen_of(*map(str, dates))


@transaction.atomic
def set_retention(
    *,
    study_id: int,
    identities_days: int | None,
    delete_on: dt.date | None,
    seen: str | None = None,
    user: User,
) -> None:
    """Store when data is deleted; without dates, everything is kept.

    Raises `StaleVersion` if the dates are not those whose `seen_dates` a form showed.
    """
    study = lock_study(study_id)
    check_seen(study, seen, seen_dates(study), what="the dates of deletion")
    chosen = {"identities_days": identities_days, "delete_on": delete_on}
    Retention.objects.update_or_create(
        study=study, defaults={**chosen, "set_by": user, "obstacle": ""}
    )
    on = delete_on.isoformat() if delete_on else None
    record(study, "retention set", user=user, identities_days=identities_days, delete_on=on)


def planned(study: Study) -> list[Deletion]:
    """The scheduled deletions of a study, the next one first."""
    retention = Retention.objects.filter(study=study).first()
    if retention is None:
        return []
    obstacles = []
    if (on := identities_due(study, retention)) is not None:
        obstacles.append(Deletion("the platform’s ids of its annotators", on, retention.obstacle))
    if (on := retention.delete_on) is not None:
        obstacles.append(Deletion("the study with everything in it", on, retention.obstacle))
    return sorted(obstacles, key=lambda deletion: deletion.on)


def identities_due(study: Study, retention: Retention) -> dt.date | None:
    """The day on which the ids of a closed study are deleted; None before it is closed."""
    if retention.identities_days is None or study.state != Study.State.CLOSED:
        return None
    closings = StudyLog.objects.filter(study=study, event="state", detail__after="closed")
    closed = closings.order_by("-created_at").values_list("created_at", flat=True).first()
    began = (closed or retention.created_at).date()
    return began + dt.timedelta(days=retention.identities_days)


def backups_with(study: Study) -> QuerySet[Backup]:
    """The backups made since the study exists: deleting it does not change them."""
    return Backup.objects.filter(taken_at__gte=study.created_at)


def backups_sentence(study: Study) -> str:
    """What the backups still hold, in a sentence."""
    backups = backups_with(study)
    number = backups.count()
    if not number:
        return "No backup made here contains this study."
    newest = backups.latest("taken_at")
    files = "1 backup was" if number == 1 else f"{number:,} backups were"
    return (
        f"{files} made here since this study was created and may still contain its data. The "
        f"newest is of {newest.taken_at:%Y-%m-%d}. The administrator of this server has a list of "
        "them."
    )


# Called with a study and the ids of its items before they are removed.
REMOVERS: Kind[Callable[[Study, Collection[int]], None]] = Kind("holdings", "removals")
