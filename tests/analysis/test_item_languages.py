"""Items name their language, and everything that is published names it after them."""

import pytest

from tests.analysis.partial import report_of
from tests.factories import make_item, make_study

pytestmark = pytest.mark.django_db


@pytest.fixture
def study():
    study = make_study(language="en")
    for language in ("ar", "ar", "pt_BR", ""):
        make_item(study=study, language=language)
    return study


def test_an_item_without_a_language_counts_for_that_of_the_study(study):
    report = report_of(study)

    assert report["study"]["item_languages"] == ["ar", "en", "pt-BR"]


def test_researchers_read_items_in_their_language(study, client, django_user_model):
    user = django_user_model.objects.create_superuser("ada", "a@example.org", "pass-1234-word")
    client.force_login(user)
    item = study.all_items.filter(language="ar").first()

    for address in (f"/studies/{study.slug}/items/", f"/studies/{study.slug}/items/{item.key}/"):
        page = client.get(address, follow=True).content.decode()
        assert f'lang="ar" dir="auto">{item.question}<' in page, address
