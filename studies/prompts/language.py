"""The languages of prompts, and a note for studies in which judges are asked in another one."""

from functools import cache
from pathlib import Path

from django.utils.translation import get_language_info

PROMPT_LANGUAGE = "en"  # of the files in this folder; each other language has a folder here
_FOLDER = Path(__file__).parent


@cache
def prompt_languages() -> tuple[str, ...]:
    """The languages in which judges can be asked, English first."""
    others = sorted(path.parent.name for path in _FOLDER.glob("*/bands.txt"))
    return (PROMPT_LANGUAGE, *others)


def folder_of(language: str) -> Path:
    """The folder with the prompts of a language."""
    return _FOLDER if language == PROMPT_LANGUAGE else _FOLDER / language


def base_of(language: str) -> str:
    """A language without its region: `de` for `de-at`."""
    return language.casefold().replace("_", "-").split("-")[0]


def is_prompt_language(language: str) -> bool:
    """Whether judges can be asked in a study's language."""
    return base_of(language) in prompt_languages()


def language_or_english(language: str) -> str:
    """The language of a preview or a test: that of a study, or English if it has no prompts."""
    return base_of(language) if is_prompt_language(language) else PROMPT_LANGUAGE


def language_name(language: str) -> str:
    """The English name of a language, or its code if Django has none."""
    try:
        return str(get_language_info(language)["name"])
    except KeyError:
        return f"the language “{language}”"


def language_note(language: str, asked_in: str = "") -> str:
    """A note on judges that are asked in another language than the annotators; empty otherwise.

    `asked_in` is the language of the prompts; without one, that of a study's judges as long as
    nobody chooses another.
    """
    if not asked_in and not is_prompt_language(language):
        return (
            f"People are asked in {language_name(language)}. There are no prompts in this "
            "language, so judges can be asked only if you choose English. The question, the scale "
            "and all other words around the items are then English in a prompt. The items’ own "
            "words are sent as they are."
        )
    if not asked_in or base_of(language) == asked_in:
        return ""
    name = language_name(asked_in)
    return (
        f"People are asked in {language_name(language)}, judges in {name}: the question, the "
        f"scale and all other words around the items are {name} in a prompt. The items’ own words "
        "are sent as they are."
    )
