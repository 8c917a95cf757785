"""Removing a study's items so that others can replace them, as long as nothing depends on them."""

from django.db.models import ProtectedError

from studies.errors import StudyError
from studies.media import storage
from studies.models import Item, Persona, Study


def what_rests_on_items(study: Study) -> str:
    """The reason why the items cannot be removed, in words; empty if they can.

    Other apps refer to items; the database models know which.
    """
    if study.frozen_at is not None:
        return "the study has answers or judgments"
    # The last of the index of seats, where the assignments of all studies may be millions.
    seats = Item.objects.filter(study=study, seats_needed__gt=0).order_by("-seats_taken")
    if seats.values_list("seats_taken", flat=True).first():
        return "its items have assignments"
    for relation in Item._meta.related_objects:
        model = relation.related_model
        rows = model._default_manager.filter(**{f"{relation.field.name}__study": study})
        if rows.exists():
            return f"its items have {model._meta.verbose_name_plural}"
    return ""


def why_not(study: Study) -> str:
    """A sentence for a page: why items cannot be edited, deleted or replaced; empty if they can."""
    if not (reason := what_rests_on_items(study)):
        return ""
    if reason.endswith("assignments"):
        reason = "annotators have been given some of them"
    elif reason.endswith("judgments") and study.frozen_at is None:
        reason = "a run asks judges about them"
    return f"Items cannot be edited, deleted or replaced, because {reason}."


def counts(study: Study) -> tuple[int, int]:
    """The number of items and personas of the study."""
    return Item.everything.filter(study=study).count(), study.personas.count()


def remove_items(study: Study, *, seen: int) -> tuple[int, int]:
    """Remove all items and personas of a study and return their numbers.

    The caller holds the study's lock and a transaction. Raises `StudyError` if anything depends
    on the items, or if their number differs from `seen`.
    """
    if reason := what_rests_on_items(study):
        raise StudyError(
            f"The items of “{study.slug}” cannot be replaced: {reason}. Import the new items "
            "under other ids, or create another study."
        )
    found = counts(study)
    if found[0] != seen:
        raise StudyError(
            f"“{study.slug}” now has {found[0]:,} items, not {seen:,}. Nothing was replaced. Look "
            "at the study again, then repeat the import."
        )
    try:
        Item.everything.filter(study=study).delete()
        Persona.objects.filter(study=study).delete()
        storage.forget_unused(study)
    except ProtectedError as error:
        raise StudyError(f"The items of “{study.slug}” are in use and stay.") from error
    study.source = {}
    return found
