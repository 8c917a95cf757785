"""Two people who change one judge: the second sees what the first has changed."""

import re

import pytest
from django.urls import reverse

from judging.catalog.changes import OutdatedJudge, save_judge, version_of
from judging.models import Judge
from studies.models import Study
from tests.factories import make_study
from tests.judging.conftest import make_judge
from tests.judging.judge_pages.pages import FORM

pytestmark = pytest.mark.django_db


@pytest.fixture
def judge():
    make_study(slug="s")
    return make_judge(name="mine", base_url=FORM["base_url"], concurrency=8)


def test_the_second_sees_the_difference_and_may_save_all_the_same(admin_client, judge):
    url = reverse("judging:change-judge", args=["s", judge.pk])
    page = admin_client.get(url).text
    seen = re.search(r'name="seen" value="(\w+)"', page)[1]
    Judge.objects.filter(pk=judge.pk).update(concurrency=5, price_input=1, price_output=2)

    refused = admin_client.post(url, FORM | {"concurrency": "16", "seen": seen})

    assert refused.status_code == 422
    assert "Somebody else has changed this judge" in refused.text
    assert "Stored now: 5." in refused.text
    assert 'value="16"' in refused.text
    assert Judge.objects.get().concurrency == 5
    again = re.search(r'name="seen" value="(\w+)"', refused.text)[1]
    assert again != seen
    saved = admin_client.post(url, FORM | {"concurrency": "16", "seen": again})
    assert saved.status_code == 302
    assert Judge.objects.get().concurrency == 16


def test_the_service_refuses_an_old_version_without_naming_a_key(judge, django_user_model):
    user = django_user_model.objects.create_superuser("root")
    seen = version_of(judge)
    Judge.objects.update(sealed_key="secret", rpm=7)

    with pytest.raises(OutdatedJudge) as refused:
        save_judge(
            judge=judge,
            study=Study.objects.get(slug="s"),
            user=user,
            fields={"rpm": 9, "sealed_key": "other"},
            seen=seen,
        )

    assert refused.value.now == {"rpm": "7"}
