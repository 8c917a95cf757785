"""Pictures and sounds on pages, and who may open the files."""

import pytest
from django.test import Client
from django.utils import timezone

from annotation.files.answers_out import annotation_rows
from annotation.models import Annotation, Annotator
from extras.media.models import MediaFile
from studies.models import Item, Study
from tests.annotation.pages.walking import arrive, item_page, post_answer, start
from tests.factories import make_item, make_study, sign_in
from tests.studies.media_files import import_zip, picture, sound, with_media, zipped

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def var_dir(settings, tmp_path):
    settings.VAR_DIR = tmp_path / "var"
    settings.VAR_DIR.mkdir()


def make(slug, tmp_path, *, color="red"):
    study = make_study(slug=slug)
    question = [{"file": "x/q.wav", "no_description": "It is the answer."}]
    items = [with_media(1, "x/a.png", "x/a.wav", media=question)]
    files = {"x/a.png": picture(color=color), "x/a.wav": sound(), "x/q.wav": sound(1)}
    import_zip(slug, zipped(tmp_path / f"{slug}.zip", items, files))
    Study.objects.filter(pk=study.pk).update(state=Study.State.OPEN)
    return Study.objects.get(pk=study.pk)


@pytest.fixture
def study(tmp_path):
    return make("pictures", tmp_path)


def address(study, kind="image/png", base="/s"):
    file = MediaFile.objects.filter(study=study, type=kind).first()
    return f"{base}/{study.slug}/media/{file.sha256}/"


def status(client, url):
    response = client.get(url)
    if response.streaming:
        assert b"".join(response.streaming_content)
    return response.status_code


def test_a_participant_sees_the_picture_and_hears_the_sounds(study):
    client = start(study)

    html = item_page(client, study).content.decode()

    assert 'alt="What x/a.png shows."' in html
    assert 'width="64" height="48"' in html
    assert html.count("<audio controls") == 2
    assert "There is no text of this recording: It is the answer." in html
    assert "What x/a.wav shows." in html
    for file in MediaFile.objects.filter(study=study):
        assert f"/s/pictures/media/{file.sha256}/" in html


def test_a_file_is_sent_with_its_type_and_cannot_run(study):
    response = start(study).get(address(study))

    assert b"".join(response.streaming_content) == picture(color="red")
    assert response["Content-Type"] == "image/png"
    assert response["X-Content-Type-Options"] == "nosniff"
    assert response["Cache-Control"] == "private, max-age=3600, immutable"
    assert "default-src 'none'" in response["Content-Security-Policy"]
    assert "sandbox" in response["Content-Security-Policy"]
    assert response["Content-Disposition"].startswith("inline; filename=")


@pytest.mark.sampled(keep=1)
@pytest.mark.parametrize(
    ("asked", "part", "status"),
    [
        ("bytes=0-3", slice(0, 4), 206),
        ("bytes=-5", slice(-5, None), 206),
        ("bytes=100-99999999", slice(100, None), 206),
        ("bytes=99999999-", slice(0, 0), 416),
        ("bytes=9-3", slice(0, 0), 416),
    ],
)
def test_a_player_can_request_a_range(study, asked, part, status):
    client = start(study)
    url = address(study, "audio/wav")
    whole = b"".join(client.get(url).streaming_content)

    response = client.get(url, headers={"range": asked})

    assert (response.status_code, response.content) == (status, whole[part])
    total = len(whole)
    begin = total - len(whole[part]) if status == 206 and part.start else 0
    if status == 206:
        assert response["Content-Range"] == f"bytes {begin}-{begin + len(whole[part]) - 1}/{total}"
    else:
        assert response["Content-Range"] == f"bytes */{total}"


class TestWhoMayOpenAFile:
    def test_nobody_without_an_item(self, study):
        assert status(Client(), address(study)) == 404
        assert status(Client(), address(study, base="/studies")) == 302  # to signing in

    def test_no_participant_before_the_items(self, study):
        assert status(arrive(study), address(study)) == 404

    @pytest.mark.nightly
    def test_no_participant_of_another_study(self, study, tmp_path):
        other = make("others", tmp_path, color="blue")
        client = start(other)

        assert status(client, address(other)) == 200
        assert status(client, address(study)) == 404
        foreign = address(study).replace("/pictures/", "/others/")
        assert status(client, foreign) == 404

    @pytest.mark.nightly
    def test_no_participant_of_the_same_study_with_other_items(self, study, tmp_path):
        client = start(study)
        more = zipped(
            tmp_path / "more.zip",
            [with_media(2, "x/c.png", "x/d.png")],
            {"x/c.png": picture(color="green"), "x/d.png": picture(color="white")},
        )
        import_zip("pictures", more)
        sha256 = Item.objects.get(key="x2").r1["media"][0]["sha256"]

        assert status(client, f"/s/pictures/media/{sha256}/") == 404

    def test_no_participant_after_the_end_or_in_a_closed_study(self, study):
        client = start(study)
        assert status(client, address(study)) == 200

        Study.objects.filter(pk=study.pk).update(state=Study.State.CLOSED)
        assert status(client, address(study)) == 404
        Study.objects.filter(pk=study.pk).update(state=Study.State.OPEN)
        Annotator.objects.update(state=Annotator.State.WITHDREW, ended_at=timezone.now())
        assert status(client, address(study)) == 404

    @pytest.mark.nightly
    def test_every_member_and_no_member_of_another_study(self, study, tmp_path):
        other = make("others", tmp_path, color="blue")
        for role in ("viewer", "editor", "owner"):
            client = sign_in(study, role=role)
            assert status(client, address(study, base="/studies")) == 200
            assert status(client, address(study)) == 200  # the preview
        client = sign_in(other, role="owner")
        assert status(client, address(study, base="/studies")) == 404
        assert status(client, address(study)) == 404
        foreign = address(study, base="/studies").replace("/pictures/", "/others/")
        assert status(client, foreign) == 404

    def test_a_lost_file_is_not_found(self, study, settings):
        client = start(study)
        settings.VAR_DIR = settings.VAR_DIR / "elsewhere"

        assert status(client, address(study)) == 404


@pytest.mark.nightly
def test_a_file_costs_few_queries(study, django_assert_max_num_queries):
    client = start(study)

    with django_assert_max_num_queries(6):
        assert status(client, address(study)) == 200


@pytest.mark.nightly
def test_an_answer_without_a_picture_is_marked_everywhere():
    study = make_study(items_per_annotator=1)
    make_item(study=study, key="one")
    browser = start(study)
    at = f"/s/{study.slug}/task/1/"
    page = browser.get(at)

    post_answer(browser, page, at, media_missing="yes")

    (row,) = annotation_rows(study)
    assert row["media_missing"] is True
    shown = sign_in(study).get(f"/studies/{study.slug}/items/one/").content.decode()
    assert "Answered without a picture or recording that did not load" in shown

    # The picture is there at the next look, and the same answer is given with it.
    post_answer(browser, browser.get(at), at)
    answer = Annotation.objects.get()
    assert (answer.media_missing, answer.revision) == (False, 2)
    (first, second) = answer.revisions.order_by("number")
    assert (first.media_missing, second.media_missing) == (True, False)
