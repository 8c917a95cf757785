import pytest

from studies.models import Study
from tests.analysis.exports.helpers import PID
from tests.factories import answer_all, make_item, make_study, walk_in


@pytest.fixture
def study(db) -> Study:
    """Two items, one person, two answers."""
    study = make_study(slug="one", annotations_per_item=3, items_per_annotator=2)
    make_item(study=study, key="i1")
    make_item(study=study, key="i2")
    person = walk_in(study, pid=PID)
    answer_all(person, choice="r2", certainty=81)
    return study
