"""Whether somebody reviewed the translation that participants and judges of a study read."""

from collections.abc import Iterable
from pathlib import Path

from django.conf import settings
from django.contrib.auth.models import User
from django.utils.translation import to_locale

from studies.errors import StudyError
from studies.extra import folders
from studies.models import Study, StudyLog
from studies.services.studies import record
from studies.texts.languages import catalogue_file, language_of_texts
from studies.texts.normalisation import digest

# The source, and what the product's own people reviewed for every study.
REVIEWED = frozenset({"en", "de"})
# What a study's texts and its judges' prompts begin with, next to the catalogues.
WORDING = (
    "annotation/content/ready_texts/{language}.toml",
    "annotation/content/ready_texts/practice.{language}.jsonl",
    "studies/prompts/{language}/*",
    "judging/*/texts/{language}.toml",
)
# The log event. Logs of existing studies contain this text; do not change it.
TRANSLATION_REVIEWED = "translation reviewed"


def texts_hash(language: str) -> str:
    """SHA-256 of a language's texts, those of extras included, so that a review is of these."""
    files = [catalogue_file(language), *_other_files(language)]
    return digest([path.read_text("utf-8") for path in files if path.is_file()])


def _other_files(language: str) -> list[Path]:
    """The catalogues of extras, the ready-made texts, and the prompts to judges."""
    catalogue = Path(to_locale(language), "LC_MESSAGES/django.po")
    files = sorted(folder / catalogue for folder in folders("locale"))
    files += sorted(folder / f"{language}.toml" for folder in folders("texts"))
    for pattern in WORDING:
        files += sorted(settings.BASE_DIR.glob(pattern.format(language=language)))
    return files


def reviews(study: Study) -> dict[str, StudyLog]:
    """The last review of each language, if its texts are still those that were reviewed."""
    if study.pk is None:
        return {}
    rows = study.log.filter(event=TRANSLATION_REVIEWED).select_related("user").order_by("pk")
    last = {row.detail["language"]: row for row in rows}
    return {name: row for name, row in last.items() if row.detail["texts"] == texts_hash(name)}


def marked(study: Study, languages: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    """Codes and names of languages for a choice; names say where nobody reviewed the texts."""
    reviewed = REVIEWED | reviews(study).keys()
    return [
        (code, name if code in reviewed else f"{name} (translation not reviewed)")
        for code, name in languages
    ]


def unreviewed_language(study: Study) -> str:
    """The language of a study's texts if nobody reviewed them; otherwise empty."""
    language = language_of_texts(study.language)
    return "" if language in REVIEWED or language in reviews(study) else language


def mark_reviewed(study: Study, *, texts: str, user: User) -> None:
    """Store that a user reviewed the study's texts, which have this hash; again stores nothing."""
    language = unreviewed_language(study)
    if not language:
        return
    if texts != texts_hash(language):
        raise StudyError(
            "The translation has changed since you opened this page. Read the changed texts in the "
            "preview, then confirm again."
        )
    record(study, TRANSLATION_REVIEWED, user=user, language=language, texts=texts)
