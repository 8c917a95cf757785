"""People who allowed others to see a profile of them, and took that back."""

from collections.abc import Callable, Collection

from django.db import transaction
from django.db.models import Q, QuerySet

from studies.models import Item, Persona, RemovedPerson, Study
from studies.services.items.content_hash import study_content_hash
from studies.services.studies import lock_study, record
from studies.services.whole_studies.removal import delete_with_all_that_refers
from studies.services.whole_studies.retention import backups_sentence

# What other apps remove first: of a study, and of these items of it, by id.
_removers: list[Callable[[Study, Collection[int]], None]] = []


def register(remover: Callable[[Study, Collection[int]], None]) -> None:
    """Add what an app does before items are removed; a second call changes nothing."""
    if remover not in _removers:
        _removers.append(remover)


@transaction.atomic
def remove_personas(key: str) -> int:
    """Remove a person's personas from every study, with items, answers and judgments about them.

    Also copies of a study, and personas that were made of this one. Returns how many studies had
    one. The log of each says what backups may still hold.
    """
    slugs = dict(_personas(key).values_list("study", "study__slug").order_by("study").distinct())
    for study_id in slugs:
        _remove(lock_study(study_id), key)
    return len(slugs)


def _personas(key: str) -> QuerySet[Persona]:
    """The personas named `key`, and those with another value of a feature."""
    return Persona.objects.filter(Q(key=key) | Q(key__startswith=f"{key}:"))


def _remove(study: Study, key: str) -> None:
    personas = list(_personas(key).filter(study=study).values_list("pk", flat=True))
    own = Item.everything.filter(persona__in=personas)
    items = list(own.values_list("pk", flat=True))
    labels = own.exclude(first_person="").count()
    for remover in _removers:
        remover(study, items)
    delete_with_all_that_refers(Persona, pk__in=personas)
    RemovedPerson.objects.create(study=study, own_answers=labels)
    study.content_hash = study_content_hash(study)
    study.save(update_fields=["content_hash"])
    backups = backups_sentence(study)
    record(study, "profile removed", items=len(items), backups=backups)
