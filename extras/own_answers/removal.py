"""Removing a person's personas from every study."""

from django.db import transaction
from django.db.models import Q, QuerySet

from studies.models import Item, Persona, RemovedPerson, Study
from studies.services.items import study_content_hash
from studies.services.studies import lock_study, record
from studies.services.whole_studies import (
    REMOVERS,
    backups_sentence,
    delete_with_all_that_refers,
)


@transaction.atomic
def remove_personas(key: str) -> int:
    """Remove a person's personas from every study, with items, answers and judgments about them.

    Includes copies of a study, and personas made from this one. Returns how many studies had one.
    The log of each says what backups may still contain.
    """
    slugs = dict(_personas(key).values_list("study", "study__slug").order_by("study").distinct())
    for study_id in slugs:
        _remove(lock_study(study_id), key)
    return len(slugs)


def _personas(key: str) -> QuerySet[Persona]:
    return Persona.objects.filter(Q(key=key) | Q(key__startswith=f"{key}:"))


def _remove(study: Study, key: str) -> None:
    personas = list(_personas(key).filter(study=study).values_list("pk", flat=True))
    own = Item.everything.filter(persona__in=personas)
    items = list(own.values_list("pk", flat=True))
    labels = own.exclude(first_person="").count()
    for remover in REMOVERS:
        remover(study, items)
    delete_with_all_that_refers(Persona, pk__in=personas)
    RemovedPerson.objects.create(study=study, own_answers=labels)
    study.content_hash = study_content_hash(study)
    study.save(update_fields=["content_hash"])
    backups = backups_sentence(study)
    record(study, "profile removed", items=len(items), backups=backups)
