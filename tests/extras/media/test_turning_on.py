"""The extra is on where items show files, and only there."""

from io import StringIO

import pytest
from django.core.management import call_command

from extras.media.models import MediaFile
from studies.models import Study
from studies.services.studies import create_study
from studies.services.whole_studies import copy_study
from tests.extras.turning_off import refusal, turn_off
from tests.factories import make_item, make_study
from tests.moved import update_from_before
from tests.studies.media_files import import_zip, picture, with_media, zipped

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def settings_of_a_new_installation(settings, tmp_path):
    settings.VAR_DIR = tmp_path / "var"
    settings.VAR_DIR.mkdir()
    settings.EXTRAS_OF_NEW_STUDIES = []


@pytest.fixture
def study(tmp_path):
    create_study(slug="s", title="S")
    files = {"a.png": picture(color="red"), "b.png": picture(color="blue")}
    import_zip("s", zipped(tmp_path / "i.zip", [with_media(1, "a.png", "b.png")], files))
    return Study.objects.get(slug="s")


def test_items_with_pictures_turn_it_on_and_others_do_not(study):
    create_study(slug="plain", title="Plain")
    make_item(study=Study.objects.get(slug="plain"))

    assert study.extras == ["media"]
    assert Study.objects.get(slug="plain").extras == []


def test_the_import_says_so(tmp_path):
    files = {"a.png": picture(color="red"), "b.png": picture(color="blue")}
    path = zipped(tmp_path / "i.zip", [with_media(1, "a.png", "b.png")], files)

    out = StringIO()
    call_command("import_items", "shown", str(path), "--create", stdout=out)

    assert "Turned on for this study: Pictures, sounds and films." in out.getvalue()


def test_it_stays_on_while_an_item_shows_a_file(study):
    assert refusal(study, "media") == (
        "Items show pictures, sounds or films. Delete or replace these items first."
    )

    MediaFile.objects.all().delete()

    turn_off(study, "media")


def test_a_copy_with_files_has_it(study):
    copy = copy_study(study_id=study.pk, slug="t", title="T", with_items=True)

    assert Study.objects.get(pk=copy.pk).extras == ["media"]


@pytest.mark.nightly
@pytest.mark.django_db(transaction=True)
def test_studies_of_an_earlier_version_keep_their_files_and_get_it(study):
    make_study(slug="plain", extras=[])
    Study.objects.update(extras=[])

    call_command("migrate", "media", "0001", verbosity=0)  # without what films need
    update_from_before("media")

    assert dict(Study.objects.values_list("slug", "extras")) == {"s": ["media"], "plain": []}
    assert MediaFile.objects.filter(study=study).count() == 2
