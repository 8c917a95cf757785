"""Films of a study: imported, sent to people and judges, copied, exported and deleted."""

import json
from io import StringIO
from itertools import pairwise

import pytest
from django.core.management import call_command

from extras.media.models import MediaFile
from extras.media.storage import forget_unused, stored_file
from judging.errors import ConflictingValue
from judging.models import Judgment
from studies.importers.files.faults import Refused
from studies.importers.items.import_source import read_paths
from studies.importers.items.item_bundle import ImportOptions
from studies.importers.items.storage import import_items
from studies.models import Item, Study
from studies.services.whole_studies import copy_study
from tests.analysis.partial import report_of
from tests.annotation.pages.walking import item_page
from tests.annotation.pages.walking import start as begin
from tests.extras.media.test_stored_files import get
from tests.factories import make_study, sign_in
from tests.invariants import broken_invariants
from tests.judging.conftest import make_judge
from tests.judging.run_helpers import judge_all, start
from tests.judging.with_media import of
from tests.studies.files import raw_item
from tests.studies.film_files import CAPTIONS, film
from tests.studies.media_files import import_zip, picture, zipped

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("read_here")]
BEACH, FOREST = film(sound=True), film("webm", color=200)


@pytest.fixture(autouse=True)
def var_dir(settings, tmp_path):
    settings.VAR_DIR = tmp_path / "var"
    settings.VAR_DIR.mkdir()


def shows(first, second="b.webm"):
    """An item whose responses are two films."""
    files = [{"file": "a.mp4", "description": "A beach.", **first}]
    other = [{"file": second, "no_description": "It is the question."}]
    return raw_item(
        1,
        responses=[
            {"key": "r1", "text": "", "media": files},
            {"key": "r2", "text": "", "media": other},
        ],
    )


def package(tmp_path, item=None):
    files = {"a.mp4": BEACH, "b.webm": FOREST, "a.vtt": CAPTIONS.encode(), "c.png": picture()}
    item = shows({"captions": "a.vtt"}) if item is None else item
    return zipped(tmp_path / "films.zip", [item], files)


@pytest.fixture
def study(tmp_path):
    study = make_study(slug="films")
    import_zip("films", package(tmp_path))
    Study.objects.filter(pk=study.pk).update(state=Study.State.OPEN)
    return Study.objects.get(pk=study.pk)


def frames(kind):
    return MediaFile.objects.get(type=f"video/{kind}").frames


def test_films_captions_and_frames_are_stored_once(study):
    item = Item.objects.get()
    facts = item.r1["media"][0]

    assert facts["captions"]["type"] == "text/vtt"
    assert "frames" not in facts
    known = {file.sha256: file for file in MediaFile.objects.all()}
    for frame in (*frames("mp4"), *frames("webm")):
        file = known[frame["sha256"]]
        assert (file.type, file.width, file.height) == ("image/jpeg", 64, 48)
        assert stored_file(file).read_bytes().startswith(b"\xff\xd8\xff")
    assert len(known) == 2 + 8 + 8 + 1
    assert broken_invariants("media") == []


def test_a_copy_has_the_frames_too_and_items_that_go_leave_nothing(
    study, django_capture_on_commit_callbacks
):
    copy = copy_study(study_id=study.pk, slug="t", title="T", with_items=True)
    assert MediaFile.objects.filter(study=copy).exclude(frames=[]).count() == 2

    with django_capture_on_commit_callbacks(execute=True):
        forget_unused(study)
    assert MediaFile.objects.filter(study=study).count() == 19
    with django_capture_on_commit_callbacks(execute=True):
        Item.objects.filter(study=study).delete()
        forget_unused(study)

    assert set(MediaFile.objects.values_list("study", flat=True)) == {copy.pk}
    assert broken_invariants("media", "orphan-files") == []


def test_everything_can_be_imported_again_as_the_same_items(study, tmp_path):
    out = tmp_path / "all"
    call_command("export", "films", what="all", out=out, stdout=StringIO(), stderr=StringIO())
    endings = sorted(path.suffix for path in (out / "jsonl" / "media").iterdir())
    assert endings == [*[".jpg"] * 16, ".mp4", ".vtt", ".webm"]

    make_study(slug="again")
    import_items("again", read_paths([out / "jsonl"], ImportOptions("preference")))

    assert len(set(Item.objects.values_list("content_hash", flat=True))) == 1


def test_missing_captions_are_asked_for(tmp_path):
    make_study(slug="silent")
    result = import_zip("silent", package(tmp_path, shows({})))

    (warning,) = result.warnings
    assert warning.message.startswith("a.mp4 has sound and no captions")


@pytest.mark.parametrize(
    ("first", "second", "words"),
    [
        ({"captions": "c.png"}, "b.webm", "c.png cannot be shown as captions"),
        ({"file": "c.png", "captions": "a.vtt"}, "b.webm", "a.vtt cannot be shown as captions"),
        ({"captions": "gone.vtt"}, "b.webm", "gone.vtt is not among the files"),
        ({}, "a.vtt", "a.vtt has captions. Write its name as captions of the film."),
    ],
)
def test_wrong_captions_are_refused(tmp_path, first, second, words):
    path = package(tmp_path, shows(first, second))

    with pytest.raises(Refused) as caught:
        read_paths([path], ImportOptions("preference"))

    assert words in str(caught.value)


class TestPeople:
    def test_get_a_player_with_captions_and_without_autoplay(self, study):
        html = item_page(begin(study), study).content.decode()

        assert html.count('<video controls playsinline preload="metadata" src="/s/films/') == 2
        assert html.count('<track kind="captions" default src="/s/films/') == 1
        assert "autoplay" not in html
        assert "This film has sound and no captions." not in html
        assert "There is no description of this film: It is the question." in html

    def test_get_the_film_and_its_captions_but_not_the_frames(self, study):
        client = begin(study)
        sums = {file.type: file.sha256 for file in MediaFile.objects.all()}

        for kind in ("video/mp4", "video/webm", "text/vtt"):
            response, _ = get(client, f"/s/films/media/{sums[kind]}/")
            assert (response.status_code, response["Content-Type"]) == (200, kind)
        frame = f"media/{sums['image/jpeg']}/"
        assert client.get(f"/s/films/{frame}").status_code == 404
        assert get(sign_in(study), f"/studies/films/{frame}")[0].status_code == 200

    def test_get_a_long_film_in_parts(self, study, monkeypatch):
        monkeypatch.setattr("extras.media.views._MOST_OF_A_RANGE", 1_000)
        file = MediaFile.objects.get(type="video/mp4")
        client, url = begin(study), f"/s/films/media/{file.sha256}/"
        data = stored_file(file).read_bytes()
        parts = b""

        while len(parts) < len(data):
            response = client.get(url, headers={"range": f"bytes={len(parts)}-"})
            assert response.status_code == 206
            parts += response.content

        assert parts == data


class TestJudges:
    def test_get_the_frames_in_the_order_of_time(self, engine, llm, study):
        judge = make_judge(base_url=llm.url, takes_images=True)

        run = judge_all(study, judge, orders="r1_first")

        assert run.sentence == "1 of 1 answered."
        parts = of(llm.requests[0]["messages"][0]["content"])
        names = [n for n, part in enumerate(parts) if isinstance(part, str)]
        assert parts[0].endswith("[Film 1: frames of it, in the order of time]")
        assert parts[names[1]].endswith("[Film 2: frames of it, in the order of time]")
        assert [b - a - 1 for a, b in pairwise(names)] == [8, 8]
        for start_of, kind in zip(names, ("mp4", "webm"), strict=False):
            files = [MediaFile.objects.get(sha256=frame["sha256"]) for frame in frames(kind)]
            sent = [data for _, data in parts[start_of + 1 : start_of + 9]]
            assert sent == [stored_file(file).read_bytes() for file in files]

    def test_the_judgment_and_the_report_say_which_frames(self, engine, llm, study, tmp_path):
        run = judge_all(study, make_judge(base_url=llm.url, takes_images=True), orders="both")

        out = tmp_path / "frames.jsonl"
        call_command("export", "films", what="frames", out=out, stdout=StringIO())

        rows = [json.loads(line) for line in out.read_text().splitlines()]
        assert len(rows) == 2 * 16
        assert {row["answer_id"].split(":")[2] for row in rows} == {"r1", "r2"}
        expected = [(frame["second"], frame["sha256"]) for frame in frames("mp4")]
        assert [(row["second"], row["frame"]) for row in rows[:8]] == expected
        assert run.parameters["films"].startswith("8 frames each, in the order of time")
        (judge,) = report_of(study)["judges"]
        (sentence,) = judge["record"]["conditions"]
        assert sentence == (
            "Of films the judge got 8 frames each, in the order of time, as pictures and without "
            "sound; people saw and heard the films."
        )

    def test_without_pictures_are_refused_before_the_run(self, study):
        judge = make_judge(base_url="http://127.0.0.1:9/v1", takes_audio=True)

        with pytest.raises(ConflictingValue, match="films, of which judges get frames") as caught:
            start(study, judge)

        assert "is not set to accept pictures" in str(caught.value)
        assert not Judgment.objects.exists()
