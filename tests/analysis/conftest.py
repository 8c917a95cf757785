"""Studies that several tests read."""

import pytest
from django.db import transaction


@pytest.fixture(scope="module")
def module_db(django_db_setup, django_db_blocker):
    """What fixtures of a module write stays until its end; what its tests write does not."""
    with django_db_blocker.unblock(), transaction.atomic():
        yield
        transaction.set_rollback(True)
