"""Items with pictures and sounds: imported, replaced, copied, exported, deleted."""

import io
import json
import stat
import unicodedata
import zipfile

import pytest
from django.core.management import CommandError, call_command

from extras.media.models import MediaFile
from extras.media.storage import stored_file
from studies.exporters.items import item_cells, item_rows
from studies.importers.files.faults import Refused
from studies.importers.items.import_source import read_paths
from studies.importers.items.item_bundle import ImportOptions
from studies.importers.items.storage import import_items
from studies.models import Item
from studies.services.studies import create_study
from tests.invariants import broken_invariants
from tests.studies.files import raw_item
from tests.studies.media_files import import_zip, picture, sound, with_media, zipped

pytestmark = pytest.mark.django_db
RED, BLUE = picture(color="red"), picture(color="blue")


@pytest.fixture(autouse=True)
def var_dir(settings, tmp_path):
    settings.VAR_DIR = tmp_path / "var"
    settings.VAR_DIR.mkdir()
    return settings.VAR_DIR


@pytest.fixture
def study():
    return create_study(slug="s", title="S")


def refused(path, **options):
    with pytest.raises(Refused) as caught:
        read_paths([path], ImportOptions("preference", **options))
    return str(caught.value)


@pytest.fixture
def package(tmp_path):
    """Two items; the red picture is in both."""
    items = [
        with_media(1, "pictures/red.png", "pictures/blue.png"),
        with_media(2, "pictures/red.png", "a.wav", media=[{"file": "b.wav", "description": "B."}]),
    ]
    files = {
        "pictures/red.png": RED,
        "pictures/blue.png": BLUE,
        "a.wav": sound(),
        "b.wav": sound(1),
    }
    return zipped(tmp_path / "items.zip", items, files)


def export(slug, what, out):
    call_command("export", slug, what=what, out=out, stdout=io.StringIO(), stderr=io.StringIO())


def kept(study):
    return sorted(MediaFile.objects.filter(study=study).values_list("type", flat=True))


def test_each_file_of_a_zip_is_kept_once_with_its_checksum(study, package):
    import_zip("s", package)

    assert kept(study) == ["audio/wav", "audio/wav", "image/png", "image/png"]
    item = Item.objects.get(key="x1")
    facts = item.r1["media"][0]
    file = MediaFile.objects.get(sha256=facts["sha256"])
    assert stored_file(file).read_bytes() == RED
    assert facts["description"] == "What pictures/red.png shows."
    assert "file" not in facts
    assert broken_invariants("media") == []


def test_another_picture_under_the_same_name_is_another_item(study, package, tmp_path):
    import_zip("s", package)
    items = [with_media(1, "pictures/red.png", "pictures/blue.png")]
    files = {"pictures/red.png": picture(color="green"), "pictures/blue.png": BLUE}
    other = zipped(tmp_path / "other.zip", items, files)

    with pytest.raises(Refused, match="item “x1” is in the study “s” with another r1"):
        import_zip("s", other)


def test_a_check_without_an_import_keeps_nothing(study, package, var_dir):
    import_zip("s", package, dry_run=True)

    assert not MediaFile.objects.exists()
    assert not (var_dir / "media").exists()


def test_items_in_a_folder_of_the_zip_and_names_with_accents(study, tmp_path):
    path = tmp_path / "items.zip"
    name = "bilder/käfer.png"
    with zipfile.ZipFile(path, "w") as archive:
        row = json.dumps(with_media(1, name, "blue.png"), ensure_ascii=False)
        archive.writestr("set/items.jsonl", row)
        archive.writestr(f"set/{unicodedata.normalize('NFD', name)}", RED)
        archive.writestr("set/blue.png", BLUE)

    import_zip("s", path)

    assert kept(study) == ["image/png", "image/png"]


def test_the_command_takes_a_folder_of_files_and_csv(study, tmp_path):
    (tmp_path / "files").mkdir()
    for name, data in (("red.png", RED), ("blue.png", BLUE), ("a.wav", sound())):
        (tmp_path / "files" / name).write_bytes(data)
    listed = json.dumps([{"file": "blue.png", "no_description": "It would tell."}])
    listed = listed.replace('"', '""')
    (tmp_path / "items.csv").write_text(
        "id,persona_id,feature:age,question,response_1,response_2,media_1,media_description_1,"
        "media_2,media,media_description\n"
        f'q1,p1,35-44,Which?,,,red.png,A red one.,"{listed}",a.wav,Hello.\n'
    )

    call_command(
        "import_items", "s", tmp_path / "items.csv", media=tmp_path / "files", stdout=io.StringIO()
    )

    item = Item.objects.get()
    assert item.r1["media"][0]["description"] == "A red one."
    assert item.r2["media"][0]["no_description"] == "It would tell."
    assert item.media[0]["type"] == "audio/wav"


def test_a_row_of_the_exported_csv_is_the_same_item(study, package, tmp_path):
    import_zip("s", package)
    rows = [item_cells(row) for row in item_rows(study)]

    assert json.loads(rows[0]["media_1"])[0]["file"].startswith("media/")
    assert rows[0]["media"] is None


FAULTS = {
    "missing": ({"file": "gone.png", "description": "x"}, "gone.png is not among the files."),
    "no description": ({"file": "red.png"}, "red.png has no description"),
    "no file": ({"description": "x"}, "media of r1 names no file."),
    "other key": ({"file": "red.png", "description": "x", "alt": "y"}, "the key “alt”"),
    "svg": ({"file": "x.png", "description": "x"}, "x.png is SVG, HTML or XML"),
    "damaged": ({"file": "cut.png", "description": "x"}, "cut.png is cut off or damaged."),
    "link": ({"file": "link.png", "description": "x"}, "link.png is a link to another file."),
}


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_is_named_with_its_line_and_file(name, tmp_path):
    media, words = FAULTS[name]
    item = raw_item(responses=[{"text": "", "media": [media]}, {"text": "B"}])
    path = zipped(
        tmp_path / "i.zip", [item], {"red.png": RED, "x.png": b"<svg/>", "cut.png": RED[:60]}
    )
    with zipfile.ZipFile(path, "a") as archive:
        link = zipfile.ZipInfo("link.png")
        link.external_attr = (stat.S_IFLNK | 0o777) << 16
        archive.writestr(link, "/etc/passwd")
        archive.writestr("more/readme.txt", "x")

    message = refused(path)

    assert "Line 1, item “x1”: media of r1" in message
    assert words in message


@pytest.mark.parametrize(
    "name", ["../secret.png", "/etc/hostname", "in/../../secret.png", "link.png"]
)
def test_nothing_outside_the_folder_is_read(name, tmp_path):
    folder = tmp_path / "items"
    folder.mkdir()
    (tmp_path / "secret.png").write_bytes(RED)
    (folder / "link.png").symlink_to(tmp_path / "secret.png")
    (folder / "in").mkdir()
    (tmp_path / "items.jsonl").write_text(json.dumps(with_media(1, name, name)))

    message = refused(tmp_path / "items.jsonl", media=folder)

    assert "is outside the folder" in message or "is a link to another file" in message


def test_a_name_that_no_system_has_is_refused(tmp_path):
    (tmp_path / "items.jsonl").write_text(json.dumps(with_media(1, "a" * 400, "b")))

    assert "cannot be read" in refused(tmp_path / "items.jsonl", media=tmp_path)


def test_a_file_of_items_alone_says_how_to_send_the_pictures(tmp_path):
    (tmp_path / "items.jsonl").write_text(json.dumps(with_media(1, "a.png", "b.png")))

    message = refused(tmp_path / "items.jsonl")
    with pytest.raises(CommandError) as at_the_command_line:
        call_command("import_items", "s", str(tmp_path / "items.jsonl"), "--create")

    assert "Pack the items and their files into one zip" in message
    assert "--media" not in message  # pages show it too
    assert "--media FOLDER" in str(at_the_command_line.value)


def test_equal_pictures_are_equal_responses(tmp_path):
    path = zipped(
        tmp_path / "i.zip", [with_media(1, "x/a.png", "x/b.png")], {"x/a.png": RED, "x/b.png": RED}
    )

    assert "both responses have the same files" in refused(path)


class TestLater:
    @pytest.fixture(autouse=True)
    def imported(self, study, package):
        import_zip("s", package)

    def test_replacing_the_items_deletes_files_that_no_item_shows(
        self, study, tmp_path, django_capture_on_commit_callbacks, var_dir
    ):
        path = zipped(
            tmp_path / "n.zip",
            [with_media(9, "x/a.png", "x/b.png")],
            {"x/a.png": RED, "x/b.png": BLUE},
        )
        with django_capture_on_commit_callbacks(execute=True):
            import_zip("s", path, replace=2)

        assert kept(study) == ["image/png", "image/png"]
        assert len(list((var_dir / "media").iterdir())) == 2
        assert broken_invariants("media") == []

    def test_everything_has_the_files_next_to_the_items(self, study, tmp_path):
        before = dict(Item.everything.values_list("key", "content_hash"))
        out = tmp_path / "all"
        export("s", "all", out)
        assert len(list((out / "jsonl" / "media").iterdir())) == 4
        listed = (out / "CHECKSUMS.sha256").read_text()
        assert listed.count("jsonl/media/") == 4

        create_study(slug="again", title="Again")
        import_items("again", read_paths([out / "jsonl"], ImportOptions("preference")))

        again = Item.everything.filter(study__slug="again")
        assert dict(again.values_list("key", "content_hash")) == before


def test_a_zip_without_other_files_still_needs_its_description(tmp_path):
    path = zipped(tmp_path / "i.zip", [raw_item()], {})

    assert "the bundle has no dataset.json" in refused(path)
