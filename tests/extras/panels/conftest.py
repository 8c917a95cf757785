"""An open study, and a panel of each kind."""

from collections.abc import Callable
from typing import Any

import pytest

from extras.panels.models import Panel
from studies.models import Study
from tests.extras.panels.builders import make_panel
from tests.factories import make_items, make_study


@pytest.fixture
def study(db: None) -> Study:
    study = make_study(entry="list", items_per_annotator=2, annotations_per_item=3)
    make_items(study, 2)
    return study


@pytest.fixture
def panel(study: Study) -> Callable[..., Panel]:
    def make(preset: str, **fields: Any) -> Panel:
        return make_panel(study, preset, **fields)

    return make
