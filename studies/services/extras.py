"""Turning extras of a study on and off, and since when they are on."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime

from django.contrib.auth.models import User

from studies.extra import Extra, current_name, extras_for_studies
from studies.models import Study, StudyLog
from studies.services.settings import SETTINGS_CHANGED, needed_extras, save_settings


@dataclass(frozen=True)
class ExtraInStudy:
    """An extra, whether it is on in a study, and what has to end before it can be turned off."""

    extra: Extra
    is_on: bool
    needed: Collection[str]


def extras_in(study: Study) -> list[ExtraInStudy]:
    """Every extra that a study can turn on, by title."""
    return [
        ExtraInStudy(
            extra, is_on := study.has_extra(name), needed_extras(study, {name} if is_on else ())
        )
        for name, extra in sorted(extras_for_studies().items(), key=lambda pair: pair[1].title)
    ]


def set_extras(study: Study, names: Collection[str], *, user: User | None = None) -> None:
    """Turn on exactly the extras with these names. Data of the others stays and is hidden.

    Raises `ValidationError` for an unknown one, and `ExtraNeeded` for one that cannot be turned off
    now.
    """
    study.extras = sorted(names)
    study.clean_extras()
    save_settings(study, changed=["extras"], user=user)


def turn_on(study: Study, *names: str, user: User | None = None) -> list[str]:
    """Turn on those that are off, and return a sentence for each. Empty names are ignored."""
    known = extras_for_studies()
    new = [name for name in dict.fromkeys(names) if name in known and not study.has_extra(name)]
    if new:
        stored = Study.objects.get(pk=study.pk)
        set_extras(stored, {*stored.extras, *new}, user=user)
        study.extras, study.version = stored.extras, stored.version
    return [_sentence(known[name]) for name in new]


def turn_off(study: Study, *names: str) -> None:
    """Turn these off again, unless something in the study needs one of them."""
    stored = Study.objects.get(pk=study.pk)
    if not needed_extras(stored, names):
        set_extras(stored, {*stored.extras}.difference(names))
    study.extras, study.version = stored.extras, stored.version


def turned_on_since(study: Study) -> list[str]:
    """A sentence for each extra that was turned on since this study was read."""
    known, now = extras_for_studies(), Study.objects.get(pk=study.pk)
    return [
        _sentence(known[name])
        for name in known
        if now.has_extra(name) and not study.has_extra(name)
    ]


def _sentence(extra: Extra) -> str:
    return f"Turned on for this study: {extra.title}."


def turned_on_at(study: Study) -> dict[str, datetime]:
    """When each extra that is on was turned on; without those that the study was created with."""
    rows = StudyLog.objects.filter(study=study, event=SETTINGS_CHANGED).order_by("created_at", "pk")
    moments: dict[str, datetime] = {}
    for row in rows:
        if "extras" in row.detail["fields"]:
            before, after = (
                set(map(current_name, row.detail[key]["extras"])) for key in ("before", "after")
            )
            moments |= dict.fromkeys(after - before, row.created_at)
    return {name: moment for name, moment in moments.items() if name in study.extras}
