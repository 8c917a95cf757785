"""A participant at the first of three items."""

import pytest
from django.test import Client

from studies.models import Study
from tests.annotation.pages.walking import start
from tests.factories import make_items, make_study


@pytest.fixture
def study(db: None) -> Study:
    study = make_study(items_per_annotator=3)
    make_items(study, 3)
    return study


@pytest.fixture
def client(study: Study) -> Client:
    return start(study)
