"""An account is closed, and what works through it goes to others."""

import pytest
from django.contrib.auth.models import User

from extras.administration.closing import close_account, left_behind
from studies.models import AccessToken
from studies.services.accounts.credentials import end_all
from tests.studies.team.test_hand_over import assert_all_are_of, keys, study

__all__ = ["study"]
pytestmark = pytest.mark.django_db


def test_an_account_is_closed_with_nothing_of_the_lab_lost(study):
    root = User.objects.create_superuser("root")
    ada = User.objects.get(username="ada")

    close_account(user=ada, by=root, heirs={study.pk: root.pk}, keep=keys(study))
    end_all(user=ada)

    ada.refresh_from_db()
    assert not ada.is_active
    assert not left_behind(ada)
    assert study.memberships.get(role="owner").user == root
    assert not AccessToken.objects.exists()
    study.refresh_from_db()
    assert_all_are_of(study, root)
