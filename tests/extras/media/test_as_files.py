"""Pictures and sounds of a study as files."""

import io

import pytest
from django.core.management import call_command

from extras.media.models import MediaFile
from studies.models import Item
from tests.extras.media.test_importing import export, package, study
from tests.extras.media.test_stored_files import given_by, kept_of
from tests.extras.media.test_stored_files import study as stored_study
from tests.studies.file_storage.conftest import s3, storage, use
from tests.studies.media_files import import_zip

pytest.importorskip("extras.editing")
pytestmark = pytest.mark.django_db
__all__ = ["package", "s3", "storage", "stored_study", "study", "use"]


@pytest.fixture
def var_dir(settings, tmp_path):
    settings.VAR_DIR = tmp_path / "var"
    settings.VAR_DIR.mkdir()


@pytest.mark.usefixtures("var_dir")
def test_the_study_as_files_is_the_same_elsewhere_to_the_byte(package, study, tmp_path):
    import_zip("s", package)
    export("s", "study", tmp_path / "one")
    Item.everything.all().delete()
    MediaFile.objects.all().delete()
    toml = tmp_path / "one" / "study.toml"
    toml.write_text(toml.read_text().replace('slug = "s"', 'slug = "u"'))

    call_command("apply", toml, yes=True, stdout=io.StringIO(), stderr=io.StringIO())
    export("u", "study", tmp_path / "two")

    files, again = (
        {p.relative_to(top): p.read_bytes() for p in top.rglob("*") if p.is_file()}
        for top in (tmp_path / "one", tmp_path / "two")
    )
    assert files == again
    assert sum(path.parts[0] == "media" for path in files) == 4


@pytest.mark.usefixtures("var_dir")
def test_a_study_whose_texts_stay_exports_no_picture(package, study, tmp_path):
    import_zip("s", package)
    study.source = {"redistribution": "forbidden"}
    study.save()

    export("s", "study", tmp_path / "one")

    assert not (tmp_path / "one" / "media").exists()


@pytest.mark.nightly
def test_the_files_have_the_same_bytes_from_every_storage(stored_study, tmp_path):
    assert given_by("study", stored_study, tmp_path / "study") == kept_of(stored_study)
