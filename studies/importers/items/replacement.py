"""Removing a study's items so that others can replace them, while nothing depends on them."""

from django.db.models import ProtectedError

from studies.errors import StudyError
from studies.models import Item, Persona, Study


def what_rests_on_items(study: Study) -> str:
    """Why the items cannot be removed, in words; empty where they can.

    Other apps refer to items; the models know which.
    """
    if study.frozen_at is not None:
        return "the study has answers or judgments"
    for relation in Item._meta.related_objects:
        model = relation.related_model
        rows = model._default_manager.filter(**{f"{relation.field.name}__study": study})
        if rows.exists():
            return f"its items have {model._meta.verbose_name_plural}"
    return ""


def counts(study: Study) -> tuple[int, int]:
    """How many items and personas the study has."""
    return Item.everything.filter(study=study).count(), study.personas.count()


def replaceable(study: Study) -> tuple[int, int] | None:
    """How many items and personas could be replaced; None where none are, or none may be."""
    found = counts(study)
    return found if found[0] and not what_rests_on_items(study) else None


def remove_items(study: Study, *, seen: int) -> tuple[int, int]:
    """Remove all items and personas of a study and return how many there were.

    The caller holds the study's lock and a transaction. Raises `StudyError` where something
    rests on the items, or where there are not as many as were `seen`.
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
    except ProtectedError as error:
        raise StudyError(f"The items of “{study.slug}” are in use and stay.") from error
    study.source = {}
    return found
