"""One hash of everything that annotators and models see in a study."""

import hashlib
import re
from functools import cache
from pathlib import Path

from django.conf import settings
from django.db import connection
from django.db.models.functions import Collate
from django.utils.translation import to_locale

from studies.models import Item, Study
from studies.prompts import SETTINGS
from studies.prompts.own_answers import wording_in
from studies.texts.normalisation import canonical, digest

# This catalogue is complete, so its originals are the English texts of the annotators' pages.
_COMPLETE = "de"
_CHUNK = 2_000


def study_content_hash(study: Study) -> str:
    """SHA-256 of items, instructions, consent, language and wording; without numbers and pay.

    Criteria, the meaning of a tie and the display of sets count only where they are set, so that
    other studies keep their hashes.
    """
    words = [wording_in(study, study.task, setting).sha256 for setting in SETTINGS]
    # The hash of one list whose last part is the list of all items, without that list in memory.
    before = canonical(
        [
            study.language,
            study.instructions,
            "\n".join(
                filter(None, [study.consent, study.researchers, study.storage, study.ethics])
            ),
            words,
            interface_version(study.language),
            *([study.criteria] if study.criteria else []),
            *(["either"] if study.offers_either else []),
            *(["whole sets"] if study.shows_whole_sets else []),
            [],
        ]
    )
    hashed = hashlib.sha256(before.removesuffix("]]").encode())
    # By code point on every database: the same study has the same hash on each.
    by_code_point = Collate("key", "C" if connection.vendor == "postgresql" else "BINARY")
    ordered = Item.everything.filter(study=study).order_by(by_code_point)
    items = ordered.values_list("key", "content_hash")
    for number, item in enumerate(items.iterator(chunk_size=_CHUNK)):
        hashed.update(f"{',' if number else ''}{canonical(item)}".encode())
    hashed.update(b"]]")
    return hashed.hexdigest()


@cache
def interface_version(language: str) -> str:
    """SHA-256 of the texts of the annotators' pages in `language`; English if untranslated."""
    for name in (to_locale(language), to_locale(language).partition("_")[0]):
        if (own := _catalogue(name)).is_file():
            return digest(own.read_text("utf-8"))
    text = _catalogue(_COMPLETE).read_text("utf-8")
    return digest(re.findall(r"^msgid.*", text, re.MULTILINE))


def _catalogue(locale: str) -> Path:
    return Path(settings.LOCALE_PATHS[0]) / locale / "LC_MESSAGES/django.po"
