"""People who allowed others to see a profile of them, and took that back."""

from django.db import transaction

from studies.models import Persona


@transaction.atomic
def remove_personas(key: str) -> int:
    """Delete the personas named `key` from every study; return how many there were."""
    removed, _ = Persona.objects.filter(key=key).delete()
    return removed
