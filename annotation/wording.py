"""The words of the task page, from the same files as the judges' prompts."""

from django.utils.translation import gettext_noop

from studies.models import Item, Study
from studies.prompts import Wording, wording

# The page translates what the files say. Translators are shown Python and templates alone, so
# the words stand here again; a test holds them to the files.
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
        "The user profile provides insufficient or minimal evidence. "
        "The decision is largely based on weak or indirect hints."
    ),
    gettext_noop(
        "There is noticeable evidence supporting a preference, though it is not comprehensive, "
        "and other interpretations are possible."
    ),
    gettext_noop(
        "You find clear and convincing evidence that supports your prediction, "
        "though it is not entirely decisive."
    ),
    gettext_noop(
        "The user profile contains strong evidence that clearly supports your prediction, "
        "with very little ambiguity."
    ),
    gettext_noop(
        "The user profile provides direct and explicit evidence that decisively supports "
        "your prediction."
    ),
)


def setting_of(study: Study) -> str:
    """The prompt setting whose words people see."""
    if study.allow_tie:
        return "tie"
    return "certainty" if study.ask_certainty else "standard"


def wording_for(item: Item, study: Study) -> Wording:
    """The words that people see at an item."""
    return wording(item.task, setting_of(study))
