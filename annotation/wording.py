"""The words of the task page, from the same files as the judges' prompts."""

from studies.models import Item, Study
from studies.prompts import Wording, wording


def setting_of(study: Study) -> str:
    """The prompt setting whose words people see."""
    if study.allow_tie:
        return "tie"
    return "certainty" if study.ask_certainty else "standard"


def wording_for(item: Item, study: Study) -> Wording:
    """The words that people see at an item."""
    return wording(item.task, setting_of(study))
