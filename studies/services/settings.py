"""Changes to the settings of a study."""

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass

from django.contrib.auth.models import User
from django.db import transaction

from studies.errors import ExtraNeeded, FrozenStudy, StaleVersion
from studies.extra import Kind
from studies.models import Study
from studies.models.added_settings import added_fields, extras_of, read_added, store_added
from studies.services.items import has_begun, seat_items, seats_changing, study_content_hash
from studies.services.studies import lock_study, record

# Content that annotators and models have seen by the first answer.
FROZEN_FIELDS = (
    "task",
    "perspective",
    "criteria",
    "allow_tie",
    "tie_meaning",
    "ask_certainty",
    "certainty_control",
    "persona_style",
    "show_history",
    "phone_features",
    "show_markdown",
    "set_display",
    "language",
    "instructions",
    "consent",
    "researchers",
    "storage",
    "ethics",
)

# Of them, what only annotators see.
FOR_ANNOTATORS = ("instructions", "consent", "researchers", "storage", "ethics")

# An event of the study's log. Logs of existing studies contain this text.
SETTINGS_CHANGED = "settings changed"
# How answers are read; a change after the first answer is logged.
READING_FIELDS = ("certainty_threshold", "equivalence_margin")
# The log event of such a change, with its field, old and new value. Logs of existing studies
# contain this text; do not change it.
READ_OTHERWISE = "read otherwise after the first answer"


# What has to end before the extra can be turned off, in sentences.
NEEDED: Kind[Callable[[Study], Iterable[str]]] = Kind("holdings", "needed")


@dataclass(frozen=True)
class SettingsLock:
    """Settings that the apps above fix; `why` is the reason in a sentence, empty while they can
    change."""

    name: str
    fields: tuple[str, ...]
    why: Callable[[Study], str]


LOCKS: Kind[SettingsLock] = Kind("holdings", "locked_settings")


def locked_settings(study: Study) -> dict[str, str]:
    """The settings that an app above has fixed, with the reason."""
    reasons = [(lock, lock.why(study)) for lock in LOCKS]
    return {name: why for lock, why in reasons if why for name in lock.fields}


def frozen_fields(study: Study) -> tuple[str, ...]:
    """The settings that somebody has answered by. In a draft, only judges can have done so."""
    if study.frozen_at is None:
        return ()
    unseen = FOR_ANNOTATORS if study.state == Study.State.DRAFT else ()
    return tuple(name for name in FROZEN_FIELDS if name not in unseen)


def fixed_settings(study: Study) -> tuple[str, ...]:
    """The settings that can no longer change, because somebody has seen their effect."""
    locked = tuple(locked_settings(study))
    if study.frozen_at is not None:
        return (*frozen_fields(study), *locked)
    return ("set_display", *locked) if has_begun(study) else locked


@transaction.atomic
def save_settings(
    study: Study, *, changed: Collection[str], user: User | None = None, version: int | None = None
) -> None:
    """Store the `changed` fields of an edited study, and their consequences.

    Seats follow `annotations_per_item` and `human_sample`. How answers are read can change after
    the first answer; the log then has the old and the new value. Raises `FrozenStudy` if a first
    answer was stored while a user was editing what it depends on, and `StaleVersion` if `version`
    is given and another user has saved the study since.
    """
    locked = lock_study(study.pk)
    if version is not None and version != locked.version:
        raise StaleVersion(
            f"Someone else changed “{study.slug}” while you edited it. Nothing was saved. "
            "Compare your settings with theirs, then save again."
        )
    if added := added_fields().keys() & changed:
        read_added(locked)
    study.extras = sorted({*study.extras, *extras_of({n: getattr(study, n) for n in added})})
    changed = [
        name for name in {*changed, "extras"} if getattr(study, name) != getattr(locked, name)
    ]
    if not changed:
        return
    if fixed := sorted(set(changed) & set(frozen_fields(locked))):
        raise FrozenStudy(
            f"“{study.slug}” has answers or judgments, so these settings cannot change: "
            f"{', '.join(fixed)}. Nothing was saved. Create a new study to use other settings."
        )
    if promised := [why for name, why in locked_settings(locked).items() if name in changed]:
        raise FrozenStudy(f"{promised[0]} Nothing was saved.")
    if "set_display" in changed:
        _check_set_display(locked)
    if "extras" in changed and (
        needed := needed_extras(locked, {*locked.extras}.difference(study.extras))
    ):
        raise ExtraNeeded(" ".join(needed))
    if "human_sample" in changed and locked.draw and has_begun(locked):
        raise FrozenStudy(
            f"The items of “{study.slug}” were drawn by a judge's certainty and annotators have "
            "some of them, so their number cannot change. Nothing was saved."
        )
    before = {name: getattr(locked, name) for name in sorted(changed)}
    with seats_changing(locked):
        for name in changed:
            setattr(locked, name, getattr(study, name))
        locked.version += 1
        locked.save(update_fields=[*({*changed} - added), "version"])
        if added:
            store_added(locked)
        seat_items(locked)
    locked.content_hash = study_content_hash(locked)
    locked.save(update_fields=["content_hash"])
    after = {name: getattr(locked, name) for name in before}
    record(locked, SETTINGS_CHANGED, user=user, fields=[*before], before=before, after=after)
    for name in READING_FIELDS if locked.frozen_at else ():
        if name in before:
            both = {"before": before[name], "after": after[name]}
            record(locked, READ_OTHERWISE, user=user, field=name, **both)


def needed_extras(study: Study, names: Collection[str]) -> list[str]:
    """What has to end before these extras can be turned off, a sentence each."""
    sources = NEEDED.where(lambda name: name in names)
    return [sentence for source in sources for sentence in source(study)]


def _check_set_display(study: Study) -> None:
    """Refuse to change the display of sets once annotators have items, or after a judge's draw."""
    if has_begun(study):
        raise FrozenStudy(
            f"Annotators already have items of “{study.slug}”, so the display of sets cannot "
            "change. Nothing was saved. Copy the study to use the other display."
        )
    if study.draw:
        raise FrozenStudy(
            f"The items of “{study.slug}” were drawn by a judge's certainty, which is about pairs. "
            "Nothing was saved. Draw the items at random first, under Items, “For annotators”."
        )
