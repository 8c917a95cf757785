"""A study with one item, and those who open the pages of its judges."""

import pytest
from django.contrib.auth.models import User
from django.test import Client

from tests.factories import make_item, make_study, sign_in


@pytest.fixture
def study(db):
    study = make_study(slug="s")
    make_item(study=study, key="first", question="Tea or coffee?")
    return study


@pytest.fixture
def editor(study):
    return sign_in(study)


@pytest.fixture
def owner(study):
    return sign_in(study, role="owner")


@pytest.fixture
def admin(study):
    User.objects.create_superuser("root")
    client = Client()
    client.force_login(User.objects.get(username="root"))
    return client
