"""Who may open the pages of watched sets."""

from extras.watching.models import WatchedSet
from studies.models import Study
from tests.analysis.builders import make_run

FOR_VIEWERS = {"watched-sets/", "watched-sets/<public_id>/"}
NEEDS_DATA = r"watching:"


def things(study: Study) -> dict[str, WatchedSet]:
    frozen = {"items": [], "features": [], "people": {"scores": []}, "judge": {"versions": []}}
    watched = WatchedSet.objects.create(
        study=study, run=make_run(study=study), frozen=frozen, at_once=1
    )
    return {"watched-sets/": watched}
