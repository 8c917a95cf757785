"""Rows about people: their answers and they themselves, with what may leave and nothing else."""

from collections.abc import Iterator
from itertools import groupby
from operator import itemgetter
from typing import Any

from analysis.exports.tables.columns import ANNOTATIONS, names
from analysis.exports.tables.pseudonyms import exported_id, in_cells_of_k, to_the_minute
from annotation.files.answers_out import annotation_rows, annotator_rows
from annotation.models import Annotation, Annotator, DemographicQuestion
from studies.models import Item, Persona, Study

# By these a row can be found again in another export, whatever the people are called in it.
_TIMES = (
    "started_at", "answered_at", "ended_at", "active_ms", "elapsed_ms", "median_active_ms", "flags",
)  # fmt: skip


def annotation_table(
    study: Study, *, free_text: bool = False, times: bool = True
) -> Iterator[dict[str, Any]]:
    """People's answers to the items that count, under their exported names.

    Free text about people, such as the reason of an exclusion, stays inside unless `free_text`;
    so does, always, every answer that somebody has withdrawn. Without `times` no time and no
    duration leaves.
    """
    untold = dict.fromkeys(() if times else _TIMES)
    shown = feature_keys(study)
    columns = names(ANNOTATIONS)
    for key, answers in groupby(_that_leave(study), key=itemgetter("item_id")):
        for slot, row in enumerate(answers, start=1):
            rater = exported_id(study.export_key, row["rater_id"])
            known = {
                "answer_id": f"{rater}:{key}",
                "rater_id": rater,
                "slot": slot,
                "persona_features_shown": shown[row["persona"]],
                "parse_status": "ok",
                "started_at": to_the_minute(row["started_at"]),
                "answered_at": to_the_minute(row["answered_at"]),
                "checks_passed": not row["failed_attention"],
                "exclude_reason": row["exclude_reason"] if free_text else None,
            }
            yield {column: (row | known | untold).get(column) for column in columns}


def _that_leave(study: Study) -> Iterator[dict[str, Any]]:
    for row in annotation_rows(study):
        if row["split"] == Item.Split.MAIN and row["standing"] != Annotation.Standing.WITHDRAWN:
            yield row


def annotator_table(
    study: Study, columns: tuple[str, ...], *, identified: bool = False, times: bool = True
) -> Iterator[dict[str, Any]]:
    """The people of a study, by exported name: the order of arrival would tell who is who.

    Demographics only in cells of at least five. Whoever did not consent, or withdrew, is there
    only where people are named, for paying them.
    """
    untold = dict.fromkeys(() if times else _TIMES)
    found = Annotator.objects.filter(study=study)
    if not identified:
        found = found.exclude(state__in=(Annotator.State.DECLINED, Annotator.State.WITHDREW))
    people = list(found.values_list("pk", "pseudonym", "demographics"))
    keys = list(DemographicQuestion.objects.filter(study=study).values_list("key", flat=True))
    told = in_cells_of_k({pseudonym: given for _, pseudonym, given in people}, keys)
    by_name = sorted((exported_id(study.export_key, pseudonym), pk) for pk, pseudonym, _ in people)
    order = [pk for _, pk in by_name]
    for row in annotator_rows(study, identified=identified, order=order):
        person = row["rater_id"]
        known = {
            "rater_id": exported_id(study.export_key, person),
            "pseudonym": person,
            "demographics": told[person],
            "all_demographics": row["demographics"],
            "started_at": to_the_minute(row["started_at"]),
            "ended_at": to_the_minute(row["ended_at"]),
        }
        yield {column: (row | known | untold).get(column) for column in columns}


def feature_keys(study: Study) -> dict[int, list[str]]:
    """The keys of each persona's features, by the persona's id; equal lists are one list."""
    lists: dict[tuple[str, ...], list[str]] = {}
    shown = {}
    rows = Persona.objects.filter(study=study).order_by().values_list("pk", "features")
    for pk, features in rows.iterator():
        keys = tuple(feature["key"] for feature in features)
        shown[pk] = lists.setdefault(keys, list(keys))
    return shown
