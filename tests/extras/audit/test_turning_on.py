"""The extra is on where items were audited, and a study without it is not audited."""

import pytest
from django.urls import reverse

from extras.audit.models import Audit, ItemNote
from studies.models import Study
from studies.services.studies import registered_checks
from studies.statements import clock
from tests.factories import make_item, make_study, sign_in
from tests.moved import update_from_before

pytestmark = pytest.mark.django_db


@pytest.fixture
def study():
    study = make_study(slug="s", state="draft", extras=[])
    make_item(study=study)
    return study


def test_a_study_without_it_is_not_audited(study):
    client = sign_in(study)

    page = client.get(reverse("studies:detail", args=["s"])).text
    checks = registered_checks(study)

    assert reverse("audit:findings", args=["s"]) not in page
    assert not any("audit" in check.text for check in checks)
    assert not Audit.objects.exists()


@pytest.mark.nightly
@pytest.mark.django_db(transaction=True)
def test_studies_of_an_earlier_version_keep_their_rows_and_get_it(study):
    noted, _ = (make_study(slug=slug, extras=[]) for slug in ("noted", "plain"))
    Audit.objects.create(study=study)
    ItemNote.objects.create(study=noted, item=make_item(study=noted), changed_at=clock.now())

    update_from_before("audit", "0001_initial", "0002_notes")

    assert dict(Study.objects.values_list("slug", "extras")) == {
        "s": ["audit"],
        "noted": ["audit"],
        "plain": [],
    }
    assert (Audit.objects.count(), ItemNote.objects.count()) == (1, 1)
