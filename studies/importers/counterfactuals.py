"""A linked study whose items are asked twice: as they are, and about a changed persona."""

import hashlib
import re
from collections.abc import Mapping
from typing import Any

from django.contrib.auth.models import User
from django.db import transaction

from studies.errors import StudyError
from studies.exporters.items import raw_item
from studies.importers.files.faults import Faults, Refused
from studies.importers.items.records import CONTENT
from studies.importers.items.validation import Validator
from studies.models import Item, Persona, Study
from studies.services.content_hash import study_content_hash
from studies.services.copies import copy_study
from studies.services.sampling import seat_items
from studies.services.studies import record

SOURCE = "counterfactual"  # the key in a study's source, and in the notes of changed items
MARK = ":changed-"  # between the key of an item or a persona and the feature that is changed


@transaction.atomic
def counterfactual_study(
    *,
    study_id: int,
    slug: str,
    feature: str,
    value: str = "",
    limit: int | None = None,
    title: str = "",
    by: User | None = None,
) -> Study:
    """A draft with the items of a study and, for each, the same about a persona with one change.

    The value of `feature` becomes `value`, or another one of the study's that is drawn once for
    each persona. Free text and history stay. Items whose persona lacks the feature, or has `value`
    already, are left out; `limit` keeps the first by key. The changed items have no own answer.
    Raises `StudyError` if nothing can be changed or the short name is taken.
    """
    study = Study.objects.get(pk=study_id)
    values = _values_of(study, feature)
    if value and value not in values:
        known = ", ".join(f"“{each}”" for each in sorted(values)[:10]) or "none"
        raise StudyError(f"No persona has “{value}” as “{feature}”. Known values: {known}.")
    changed: dict[str, dict[str, Any]] = {}
    for item in Item.objects.filter(study=study).select_related("persona").order_by("key"):
        old = _fact(item.persona, feature)
        new = _other(study, item.persona.key, old, values, value)
        if old is not None and new:
            changed[item.key] = {"feature": feature, "from": str(old["value"]), "to": new}
        if limit is not None and len(changed) == limit:
            break
    if not changed:
        raise StudyError(f"No persona has another value of “{feature}” that it could be given.")
    copy = copy_study(
        study_id=study.pk,
        slug=slug,
        title=title or f"{study.title}: another {feature}"[:200],
        with_items=True,
        only={key: {} for key in changed},
        by=by,
        human_sample=None,
    )
    personas: dict[str, Persona] = {}
    for item in Item.objects.filter(study=copy).select_related("persona").order_by("key"):
        _add_changed(copy, item, changed[item.key], values, personas)
    label = next(iter(values.values()))["label"]
    note = {"from": study.slug, "feature": feature, "label": label, "mark": mark_of(feature)}
    copy.source = copy.source | {SOURCE: note}
    seat_items(copy)
    copy.content_hash = study_content_hash(copy)
    copy.save(update_fields=["source", "content_hash"])
    record(copy, "counterfactual", user=by, of=study.slug, feature=feature, items=len(changed))
    return copy


def mark_of(feature: str) -> str:
    """What the keys of changed items and personas end with, in the letters that keys may have."""
    return MARK + re.sub(r"[^A-Za-z0-9._-]", "-", feature)


def _values_of(study: Study, feature: str) -> dict[str, dict[str, Any]]:
    """The facts that personas have for a feature, by value; of several words the first."""
    found: dict[str, dict[str, Any]] = {}
    for features in Persona.objects.filter(study=study).values_list("features", flat=True):
        for fact in features:
            if fact["key"] == feature:
                known = found.setdefault(str(fact["value"]), fact)
                if fact["text"] < known["text"]:
                    found[str(fact["value"])] = fact
    return found


def _fact(persona: Persona, feature: str) -> Mapping[str, Any] | None:
    return next((fact for fact in persona.features if fact["key"] == feature), None)


def _other(
    study: Study,
    persona: str,
    old: Mapping[str, Any] | None,
    values: Mapping[str, Any],
    value: str,
) -> str:
    """The value that a persona gets instead; empty if there is none."""
    others = sorted(each for each in values if old is not None and each != str(old["value"]))
    if value:
        return value if value in others else ""
    if not others:
        return ""
    digest = hashlib.blake2b(f"{study.seed}\0{persona}".encode(), digest_size=8).digest()
    return others[int.from_bytes(digest) % len(others)]


def _add_changed(
    copy: Study,
    item: Item,
    change: Mapping[str, Any],
    values: Mapping[str, Mapping[str, Any]],
    personas: dict[str, Persona],
) -> None:
    """Store the same item about the changed persona, checked by the rules of the item format."""
    raw = raw_item(item)
    mark = mark_of(change["feature"])
    raw["id"] += mark
    raw["persona"] |= {
        "id": f"{item.persona.key}{mark}",
        "features": [
            fact | {"value": values[change["to"]]["value"], "text": values[change["to"]]["text"]}
            if fact["key"] == change["feature"]
            else fact
            for fact in item.persona.features
        ],
    }
    raw["first_person"] = {"label": None, "tie": False, "source": "unknown"}
    raw["metadata"] |= {SOURCE: dict(change) | {"item": item.key}}
    faults = Faults()
    checked = Validator(file="", task=item.task, faults=faults).item(1, raw)
    if checked is None:
        raise Refused(faults)
    key = checked.persona.key
    if key not in personas:
        personas[key] = Persona.objects.create(
            study=copy,
            key=key,
            features=checked.persona.features,
            text=checked.persona.text,
            history=checked.persona.history,
        )
    Item.objects.create(
        study=copy,
        persona=personas[key],
        content_hash=checked.content_hash,
        **{name: checked.values[name] for name in CONTENT},
    )
