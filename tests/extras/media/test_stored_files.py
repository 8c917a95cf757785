"""Pictures and sounds of items in every storage: imported, sent whole and in part, given away,
copied and deleted."""

import io
import zipfile
from hashlib import sha256
from pathlib import Path

import pytest
from django.core.management import call_command
from django.test import Client
from django.urls import reverse

from extras.media.models import MediaFile
from extras.media.storage import forget_unused, stored_file
from studies.file_storage.storage import files_storage
from studies.models import Item, Study
from studies.services.whole_studies import copy_study, delete_study
from tests.annotation.pages.walking import start
from tests.factories import make_study, sign_in
from tests.invariants import broken_invariants
from tests.stored import path_of
from tests.studies.file_storage.conftest import s3, storage, use
from tests.studies.file_storage.test_bucket import away
from tests.studies.media_files import import_zip, picture, sound, with_media, zipped

__all__ = ["away", "s3", "storage", "use"]
RED, BLUE, SOUND = picture(color="red"), picture(color="blue"), sound(1)


@pytest.fixture
def study(storage, tmp_path: Path) -> Study:
    study = make_study(slug="pictures", state="draft")
    items = [with_media(1, "a.png", "b.png"), with_media(2, "a.png", "c.wav")]
    import_zip(
        "pictures",
        zipped(tmp_path / "i.zip", items, {"a.png": RED, "b.png": BLUE, "c.wav": SOUND}),
    )
    return study


def get(client: Client, url: str, **headers: str):
    response = client.get(url, headers=headers)
    streamed = response.streaming
    return response, b"".join(response.streaming_content) if streamed else response.content


@pytest.mark.sampled(keep=1)
def test_files_are_kept_and_sent_whole_and_in_part(study):
    file = MediaFile.objects.get(study=study, type="audio/wav")
    Study.objects.update(state="open", items_per_annotator=2)
    owner, participant = sign_in(study, "owner"), start(study)

    assert len(files_storage().owners("media")) == 3
    assert broken_invariants("media") == []
    for client, page in ((owner, "media:file"), (participant, "shown_media:file")):
        url = reverse(page, args=[study.slug, file.sha256])
        whole, body = get(client, url)
        part, some = get(client, url, range="bytes=100-299")
        last, end = get(client, url, range="bytes=-7")
        assert (whole.status_code, part.status_code, last.status_code) == (200, 206, 206)
        assert body == stored_file(file).read_bytes()
        assert (some, end) == (body[100:300], body[-7:])
        assert part["Content-Range"] == f"bytes 100-299/{len(body)}"


@pytest.mark.nightly
def test_a_lost_file_is_named_not_found_and_brought_back(study, tmp_path):
    file = MediaFile.objects.filter(study=study, type="image/png").first()
    files_storage().delete(stored_file(file).path)
    owner = sign_in(study, "owner")
    url = reverse("media:file", args=[study.slug, file.sha256])

    assert owner.get(url).status_code == 404
    import_zip("pictures", tmp_path / "i.zip")
    assert get(owner, url)[0].status_code == 200


def given_by(what: str, study: Study, out: Path) -> set[bytes]:
    """The pictures and sounds in an export, also in its zip files."""
    call_command(
        "export", study.slug, what=what, out=out, stdout=io.StringIO(), stderr=io.StringIO()
    )
    given = {path.read_bytes() for path in out.rglob("media/*")}
    for archive in out.rglob("*.zip"):
        with zipfile.ZipFile(archive) as opened:
            given |= {opened.read(name) for name in opened.namelist() if "media/" in name}
    return given


def kept_of(study: Study) -> set[bytes]:
    return {stored_file(file).read_bytes() for file in MediaFile.objects.filter(study=study)}


@pytest.mark.nightly
def test_the_export_has_the_same_bytes(study, tmp_path):
    assert given_by("all", study, tmp_path / "all") == kept_of(study)


@pytest.mark.nightly
def test_copies_have_their_own_files_and_deletion_leaves_none(
    study, django_capture_on_commit_callbacks
):
    copy = copy_study(study_id=study.pk, slug="t", title="T", with_items=True)
    assert len(files_storage().owners("media")) == 6

    with django_capture_on_commit_callbacks(execute=True):
        Item.objects.get(key="x2", study=study).delete()
        forget_unused(study)
    assert len(files_storage().owners("media")) == 5
    with django_capture_on_commit_callbacks(execute=True):
        delete_study(study_id=study.pk, by=None)

    assert broken_invariants("media", "orphan-files") == []
    files = MediaFile.objects.filter(study=copy)
    assert {stored_file(file).read_bytes() for file in files} >= {RED, BLUE}
    with django_capture_on_commit_callbacks(execute=True):
        delete_study(study_id=copy.pk, by=None)
    assert not files_storage().owners("media")
    assert not Item.everything.exists()


def test_a_picture_in_a_bucket_that_is_away_is_asked_for_again(away):
    file = MediaFile.objects.create(
        study=make_study(), sha256="a" * 64, type="image/png", size=3, width=1, height=1
    )

    response = away.get(f"/studies/{file.study.slug}/media/{file.sha256}/")

    assert response.status_code == 503
    assert response.headers["Retry-After"]


@pytest.mark.parametrize("change", ["lose", "change"])
def test_the_doctor_finds_a_lost_and_a_changed_picture(use, db, change):
    examination = pytest.importorskip("extras.administration.doctor.examination")
    use("folder")
    file = MediaFile.objects.create(
        study=make_study(), sha256=sha256(RED).hexdigest(), type="image/png", size=7
    )
    stored_file(file).save(RED)
    path = path_of(stored_file(file))

    def found():
        return {one.check.name for one in examination.examine() if one.count}

    assert found() == set()

    path.unlink() if change == "lose" else path.write_bytes(BLUE)

    assert found() == {"media"}
