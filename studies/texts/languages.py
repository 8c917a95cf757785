"""Which catalogue participants of a study read, for every way to write a language's code."""

from functools import cache
from pathlib import Path

from django.conf import settings
from django.conf.locale import LANG_INFO
from django.utils.translation import get_language_bidi, to_language, to_locale

SOURCE = "en"  # of the texts themselves, which need no catalogue
_FILE = "LC_MESSAGES/django.po"


@cache
def page_language(language: str) -> str:
    """The language that Django speaks on the pages of a study.

    That of the study where Django finds the texts itself: `pt-br` has the texts of `pt` and its own
    dates. Otherwise that of the texts: `zh-hans` for `zh` and `zh-cn`.
    """
    texts = language_of_texts(language)
    is_known = texts == SOURCE or _code(language).partition("-")[0] == texts
    return language if is_known else texts


def language_of_texts(language: str) -> str:
    """The language whose texts participants read: `pt` for `pt-br`; English if there are none."""
    return _language_of_texts(_code(language), tuple(map(str, settings.LOCALE_PATHS)))


@cache
def _language_of_texts(code: str, folders: tuple[str, ...]) -> str:
    files = (path for folder in folders for path in Path(folder).glob("*/LC_MESSAGES/django.?o"))
    translated = sorted({to_language(path.parent.parent.name) for path in files})
    parts = code.split("-")
    shorter = ["-".join(parts[:n]) for n in range(len(parts), 0, -1)]
    # Django knows in which script a country writes: Chinese of China is simplified.
    same_script = LANG_INFO.get(code, {}).get("fallback", [])
    only_base = [name for name in translated if name.startswith(f"{code}-")]
    wanted = [*same_script, *shorter, *only_base]
    return next((name for name in wanted if name in translated), SOURCE)


def isolated(text: str) -> str:
    """A text for a slot of a sentence, set apart where sentences run from right to left.

    Otherwise the “?” of an English question, or the “$” of an amount, goes to the wrong side.
    """
    return f"\u2068{text}\u2069" if get_language_bidi() else text


def catalogue_file(language: str) -> Path:
    """The file with the product's own texts in `language`."""
    return Path(settings.LOCALE_PATHS[0]) / to_locale(language) / _FILE


def _code(language: str) -> str:
    return language.casefold().replace("_", "-")
