"""Something is deleted between the look of a page and the lock of the service."""

import pytest
from django.db import IntegrityError
from django.urls import reverse

from judging import wordings
from judging.models import PromptTemplate
from studies.models import Study
from studies.pages import team_views
from studies.services.whole_studies import delete_rows, delete_study
from tests.factories import make_study, sign_in

pytestmark = pytest.mark.django_db


@pytest.fixture
def study():
    return make_study(slug="s", state="draft")


@pytest.fixture
def wording(study):
    return PromptTemplate.objects.create(
        study=study, name="w", setting="standard", version=1, template="Choose."
    )


def test_a_second_press_of_delete_says_that_it_is_gone(study, monkeypatch):
    client = sign_in(study, "owner")

    def delete_twice(**wanted):
        delete_study(**wanted)
        delete_study(**wanted)

    monkeypatch.setattr(team_views, "delete_study", delete_twice)

    answer = client.post(
        reverse("studies:whole", args=["s"]), {"action": "delete", "confirmation": "s"}
    )

    assert answer.status_code == 404
    assert "This no longer exists" in answer.content.decode()
    assert not Study.objects.exists()


@pytest.mark.parametrize("error", [PromptTemplate.DoesNotExist, IntegrityError])
def test_changing_something_deleted_is_not_a_server_error(error, study, wording, monkeypatch):
    client = sign_in(study, "owner")

    def lose(**_):
        delete_rows(study)
        raise error

    monkeypatch.setattr("judging.pages.wording_views.delete_wording", lose)

    answer = client.post(
        reverse("judging:wording", args=["s", wording.public_id]), {"action": "delete"}
    )

    assert answer.status_code == 404


def test_an_error_in_an_existing_study_stays_an_error(study, wording, monkeypatch):
    client = sign_in(study, "owner")

    def fail(study_id):
        raise IntegrityError

    monkeypatch.setattr(wordings, "lock_study", fail)

    with pytest.raises(IntegrityError):
        client.post(reverse("judging:wording", args=["s", wording.public_id]), {"action": "delete"})
