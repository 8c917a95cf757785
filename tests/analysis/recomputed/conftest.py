"""The studies of this folder are built once for all of its files."""

import pytest
from django.db import transaction

from tests.analysis import brute_force_groups as by_hand
from tests.analysis.recomputed.studies import PARAMETERS, reported, with_ages


@pytest.fixture(scope="package")
def package_db(django_db_setup, django_db_blocker):
    """What fixtures of this folder write stays until its end; what its tests write does not."""
    with django_db_blocker.unblock(), transaction.atomic():
        yield
        transaction.set_rollback(True)


@pytest.fixture(scope="package", **PARAMETERS)
def study(request, package_db):
    return with_ages(request.param)


@pytest.fixture(scope="package")
def report(study):
    return reported(study)


@pytest.fixture(scope="package")
def counted(study):
    return by_hand.Counted(study)
