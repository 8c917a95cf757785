"""Limits of every study of this kind, in the same words in its report and on its dataset card."""

from studies.prompts.language import is_prompt_language, language_name

STEREOTYPES = (
    "A profile is not the person: anyone who judges from one, human or model, may answer with "
    "a stereotype of people like that."
)
OPT_IN = "People chose to take part and were paid; they stand for nobody but themselves."
INDIVIDUALS = (
    "What is measured is how well answers can be guessed on average. It must not be used for "
    "decisions about individuals."
)


def language_limit(language: str) -> str:
    if not is_prompt_language(language):
        return (
            f"People were asked in {language_name(language)}. The prompts of judges are in English "
            "around the items' own words, so that part of what sets judges and people apart may "
            "be the language; others may come out differently."
        )
    return (
        f"Everything was asked in the language “{language}”; other languages may come out "
        "differently."
    )


def certainty_limit(threshold: float) -> str:
    """The sentence on what high certainty does not mean; at 80 the threshold lies inside a band."""
    high = f"A certainty of {threshold:g} or more counts as high"
    if threshold == 80:
        return f"{high}; one of exactly 80 is high and still only in the band “Confident”."
    return f"{high}; the bands that people and models were shown begin elsewhere."
