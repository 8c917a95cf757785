"""One hash for everything that people and models are shown in a study."""

from studies.importers.text import digest
from studies.models import Item, Study
from studies.prompts import SETTINGS, wording


def study_content_hash(study: Study) -> str:
    """SHA-256 of items, instructions, consent, language and wording; never of numbers or pay."""
    items = Item.everything.filter(study=study).order_by("key").values_list("key", "content_hash")
    words = [wording(study.task, setting).sha256 for setting in SETTINGS]
    return digest([study.language, study.instructions, study.consent, words, list(items)])
