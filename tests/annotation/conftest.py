"""Somebody at work in a module's `study`."""

import pytest

from annotation.models import Annotator, Assignment
from studies.models import Study
from tests.factories import walk_in


@pytest.fixture
def annotator(study: Study) -> Annotator:
    """Somebody who has come to their first item."""
    return walk_in(study)


@pytest.fixture
def assignment(annotator: Annotator) -> Assignment:
    return annotator.assignments.get(position=1)
