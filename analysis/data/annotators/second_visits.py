"""The answers of second visits as rows; pages that only name this table load no arrays."""

from django.db.models import QuerySet

from annotation.models import Annotator, RetestAnswer
from studies.models import Study


def answered_again(study: Study) -> QuerySet[RetestAnswer]:
    """The answers of second visits to a study, also of people whom a researcher excluded."""
    found = RetestAnswer.objects.exclude(choice="").filter(
        visit__annotator__study=study, visit__annotator__state=Annotator.State.COMPLETED
    )
    return found.select_related("item", "visit__annotator").order_by(
        "visit__annotator__pseudonym", "position"
    )
