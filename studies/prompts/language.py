"""The language of prompts, and a note for studies in which annotators have another one."""

from django.utils.translation import get_language_info

PROMPT_LANGUAGE = "en"  # of every file in this folder


def is_prompt_language(language: str) -> bool:
    return language.casefold().replace("_", "-").split("-")[0] == PROMPT_LANGUAGE


def language_name(language: str) -> str:
    """The English name of a language, or its code if Django has none."""
    try:
        return str(get_language_info(language)["name"])
    except KeyError:
        return f"the language “{language}”"


def language_note(language: str) -> str:
    """A note before judges are asked in a study in `language`; empty for English."""
    if is_prompt_language(language):
        return ""
    return (
        f"People are asked in {language_name(language)}, judges in English: the question, the "
        "scale and all other words around the items are English in a prompt. The items’ own words "
        "are sent as they are."
    )
