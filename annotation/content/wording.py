"""The wording of the task page, from the same files as the judges' prompts."""

from django.utils.translation import gettext_noop

from studies.models import Item, Study
from studies.prompts import BANDS, Band, Wording
from studies.prompts.own_answers import own_bands, wording_in
from studies.texts.normalisation import digest

# The page translates what the files say. Translators see only Python and templates, so the words
# are repeated here; a test compares them with the files.
FOR_TRANSLATORS = (
    gettext_noop("Which response would this person prefer?"),
    gettext_noop("Which answer would this person give?"),
    gettext_noop("Which response did this person write?"),
    gettext_noop("Which answer did this person write?"),
    gettext_noop("Uncertain"),
    gettext_noop("Moderately Confident"),
    gettext_noop("Quite Confident"),
    gettext_noop("Confident"),
    gettext_noop("Highly Confident"),
    gettext_noop(
        "Close to a guess. What you know about this person says little about your choice."
    ),
    gettext_noop("A hint or two point to your choice, but the other one could easily be right."),
    gettext_noop("Several things point to your choice, but there is real room for doubt."),
    gettext_noop(
        "Most of what you know points to your choice. You would be surprised to be wrong."
    ),
    gettext_noop(
        "What you know about this person all but settles it. "
        "You can hardly imagine the other choice."
    ),
)

# The words of people who answer for themselves.
OWN_FOR_TRANSLATORS = (
    gettext_noop("Which response do you prefer?"),
    gettext_noop("Which answer would you give?"),
    gettext_noop("Close to a guess. You could as well have chosen the other one."),
    gettext_noop("You lean to your choice, but the other one could easily be yours too."),
    gettext_noop("You prefer your choice, but there is real room for doubt."),
    gettext_noop("You would be surprised to choose the other one on another day."),
    gettext_noop("You can hardly imagine that you would ever choose the other one."),
)

# Below the question, where a whole set of responses is shown.
PLACES = gettext_noop(
    "Give every response its own place: 1st for your answer to this question, 2nd for the "
    "response that comes next, and so on."
)


def setting_of(study: Study) -> str:
    """The prompt setting whose wording annotators see."""
    if study.allow_tie:
        return "tie"
    return "certainty" if study.ask_certainty else "standard"


def wording_for(item: Item, study: Study) -> Wording:
    """The wording that annotators see at an item."""
    return wording_in(study, item.task, setting_of(study))


def wording_sha256(item: Item, study: Study, *, ranks: bool) -> str:
    """The hash of the words at an item; a screen with a whole set has one more sentence."""
    own = wording_for(item, study).sha256
    return digest([own, PLACES]) if ranks else own


def bands_for(*, own_answers: bool) -> tuple[Band, ...]:
    """The levels of certainty that annotators see."""
    return own_bands() if own_answers else BANDS
