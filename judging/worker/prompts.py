"""The prompts of a run: the text for a judgment, and the hash of their wording."""

import hashlib
from collections.abc import Sequence

from studies.models import Item, Study
from studies.prompts import wording


def prompt_hash(study: Study, setting: str, keys: Sequence[str] | None) -> str:
    """Hash of the words of every task that the study's items have."""
    of_items = Item.objects.filter(study=study).order_by().values_list("task", flat=True)
    tasks = sorted({study.task, *of_items.distinct()})
    hashes = [wording(task, setting, persona=keys != []).sha256 for task in tasks]
    if len(hashes) == 1:
        return hashes[0]
    return hashlib.sha256("".join(hashes).encode()).hexdigest()
