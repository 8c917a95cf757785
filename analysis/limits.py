"""Limits of every study of this kind, in the same words in its report and on its dataset card."""

from collections.abc import Collection

from studies.prompts.language import base_of, language_name

STEREOTYPES = (
    "A profile is not the person: anyone who judges from one, human or model, may answer with "
    "a stereotype of people like that."
)
OPT_IN = "People chose to take part and were paid; they stand for nobody but themselves."
CHOSEN_ELSEWHERE = (
    "How people were chosen, and whether they were paid, is not stored here; they stand for nobody "
    "but themselves."
)
INDIVIDUALS = (
    "What is measured is how well answers can be guessed on average. It must not be used for "
    "decisions about individuals."
)


def language_limit(
    language: str, asked_in: Collection[str] = (), items: Collection[str] = ()
) -> str:
    """The sentence on languages; `asked_in` are those of the judges' prompts, if there are any.

    `items` are the languages of the items' own texts.
    """
    if not language:
        return "The language is not stated; other languages may come out differently."
    if {base_of(each) for each in items} - {base_of(language)}:
        own = " and ".join(f"“{each}”" for each in items)
        judges = " and ".join(language_name(each) for each in sorted(asked_in))
        around = f"people were asked in {language_name(language)}" + (
            f", and judges in {judges}" if judges else ""
        )
        return (
            f"The items' own texts are in {own}; around them, {around}. Part of what sets judges "
            "and people apart may be the language; others may come out differently."
        )
    others = sorted({each for each in asked_in if each != base_of(language)})
    if others:
        names = " and ".join(language_name(each) for each in others)
        whose = "The prompts of judges" if len(set(asked_in)) == 1 else "The prompts of some judges"
        return (
            f"People were asked in {language_name(language)}. {whose} are in {names} "
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
