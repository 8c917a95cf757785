"""The extra is on where items were audited, and a study without it is not audited."""

import pytest
from django.urls import reverse

from extras.audit.models import Audit
from studies.models import Study
from studies.services.studies import registered_checks
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


@pytest.mark.django_db(transaction=True)
def test_studies_of_an_earlier_version_keep_their_audit_and_get_it(study):
    make_study(slug="plain", extras=[])
    Audit.objects.create(study=study)

    update_from_before("audit")

    assert dict(Study.objects.values_list("slug", "extras")) == {"s": ["audit"], "plain": []}
    assert Audit.objects.filter(study=study).count() == 1
