"""What people read who answer for themselves. Models are never asked for answers of their own."""

from dataclasses import replace
from functools import cache

from studies.models import Study, Task
from studies.prompts import BANDS, Band, Wording, wording
from studies.texts.normalisation import digest

OWN_QUESTIONS: dict[str, str] = {
    Task.PREFERENCE: "Which response do you prefer?",
    Task.SURVEY_ANSWER: "Which answer would you give?",
}
# By the names of the bands in bands.txt, whose definitions are about somebody else.
OWN_DEFINITIONS = {
    "uncertain": "Close to a guess. You could as well have chosen the other one.",
    "moderately_confident": "You lean to your choice, but the other one could easily be yours too.",
    "quite_confident": "You prefer your choice, but there is real room for doubt.",
    "confident": "You would be surprised to choose the other one on another day.",
    "highly_confident": "You can hardly imagine that you would ever choose the other one.",
}


@cache
def own_bands() -> tuple[Band, ...]:
    """The bands of certainty about an answer of one's own."""
    return tuple(replace(band, definition=OWN_DEFINITIONS[band.slug]) for band in BANDS)


@cache
def own_wording(task: str, setting: str) -> Wording:
    """The question to people who answer for themselves; there is no prompt."""
    question = OWN_QUESTIONS.get(task, OWN_QUESTIONS[Task.PREFERENCE])
    return Wording(question, "", digest([question, setting, OWN_DEFINITIONS]))


def wording_in(study: Study, task: str, setting: str) -> Wording:
    """The wording of `task` for the annotators of a study."""
    return own_wording(task, setting) if study.asks_own_answers else wording(task, setting)
