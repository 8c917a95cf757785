"""What a folder and a bucket do alike."""

import hashlib
import io
import random
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import pytest
from django.core.files.storage import storages
from django.db import IntegrityError, transaction
from django.http import FileResponse

from studies.file_storage.storage import Stored

LONG = random.Random(1).randbytes(1_060_921)


def put(folder: Stored, **files: bytes) -> None:
    with folder.replacing() as draft:
        for name, content in files.items():
            path = draft / name.replace("__", "/").replace("_", ".")
            path.parent.mkdir(exist_ok=True)
            path.write_bytes(content)


def names(folder: Stored) -> list[str]:
    return [file.path.removeprefix(f"{folder.path}/") for file in folder.files()]


def test_a_folder_gets_all_its_files_together(storage):
    report = Stored("reports/one")

    put(report, report_html=b"<p>", tables__items_csv=b"a,b\n", empty=b"")

    assert names(report) == ["empty", "report.html", "tables/items.csv"]
    assert names(report / "tables") == ["items.csv"]
    assert (report / "tables" / "items.csv").read_text() == "a,b\n"
    assert ((report / "empty").read_bytes(), (report / "empty").size()) == (b"", 0)
    assert (report / "report.html").is_file()
    assert not (report / "tables").is_file()
    assert not (report / "REPORT.HTML").is_file()


def test_new_files_replace_all_old_ones(storage):
    report = Stored("reports/one")
    put(report, report_html=b"old", shared_html=b"old")

    put(report, report_html=b"new")

    assert names(report) == ["report.html"]
    assert (report / "report.html").read_bytes() == b"new"


def test_nothing_changes_if_writing_fails(storage, settings):
    report = Stored("reports/one")
    put(report, report_html=b"old")

    with suppress(RuntimeError), report.replacing() as draft:
        (draft / "report.html").write_bytes(b"half")
        raise RuntimeError

    assert (report / "report.html").read_bytes() == b"old"
    assert not list(Path(settings.VAR_DIR).glob("reports/.*"))


def test_a_long_file_is_read_from_any_position(storage):
    put(Stored("exports/one"), data_zip=LONG)
    stored = Stored("exports/one/data.zip")

    with stored.open() as file:
        assert file.read() == LONG
        assert file.read() == b""
        for position in (0, 399_999, len(LONG) - 5):
            file.seek(position)
            assert file.read(10) == LONG[position : position + 10]
        assert file.seek(-3, io.SEEK_END) == len(LONG) - 3
        assert file.tell() == len(LONG) - 3
        assert file.read() == LONG[-3:]

    assert stored.size() == len(LONG)
    assert stored.sha256() == hashlib.sha256(LONG).hexdigest()


def test_a_download_states_its_length(storage):
    put(Stored("exports/one"), data_zip=LONG)

    response = FileResponse(Stored("exports/one/data.zip").open(), filename="data.zip")

    assert response["Content-Length"] == str(len(LONG))
    assert b"".join(response.streaming_content) == LONG
    response.close()


def test_one_file_is_saved_next_to_others_and_replaces_its_predecessor(storage):
    report = Stored("reports/one")
    put(report, report_html=b"<p>")

    (report / "shared.html").save(b"first")
    (report / "shared.html").save(io.BytesIO(LONG))

    assert (report / "shared.html").read_bytes() == LONG
    assert names(report) == ["report.html", "shared.html"]


def test_readers_that_need_a_folder_get_one(storage, settings):
    put(Stored("imports/one"), items_jsonl=b"{}\n", more__people_csv=b"id\n")

    with Stored("imports/one").local() as folder:
        found = {path.name: path.read_bytes() for path in folder.rglob("*") if path.is_file()}

    assert found == {"items.jsonl": b"{}\n", "people.csv": b"id\n"}
    assert not list(Path(settings.VAR_DIR).glob("imports/.*"))
    assert names(Stored("imports/one")) == ["items.jsonl", "more/people.csv"]


def test_a_copy_stays_when_the_original_is_deleted(storage):
    put(Stored("imports/one"), items_jsonl=LONG)

    Stored("imports/one").copy_to(Stored("imports/two"))
    Stored("imports/one").delete()

    assert Stored("imports/two/items.jsonl").read_bytes() == LONG
    assert names(Stored("imports/one")) == []


@pytest.mark.nightly
def test_only_the_files_of_one_owner_are_deleted(storage):
    for owner in ("one", "oneX", "One"):
        put(Stored(f"reports/{owner}"), report_html=owner.encode())
    put(Stored("exports/one"), data_zip=b"zip")

    Stored("reports/one").delete()
    Stored("reports/one").delete()
    Stored("reports/unknown").delete()

    files = storages["files"]
    assert list(files.owners("reports")) == ["One", "oneX"]
    assert list(files.owners("exports")) == ["one"]
    assert files.owners("media") == {}
    assert (files.usage("reports"), files.usage("media")) == ((7, 2), (0, 0))


def test_a_missing_file_is_not_found(storage):
    with pytest.raises(FileNotFoundError):
        Stored("reports/none/report.html").open().read()
    with pytest.raises(FileNotFoundError):
        Stored("reports/none/report.html").size()
    assert not Stored("reports/none/report.html").is_file()
    assert Stored("reports/none").files() == []


def test_names_of_files_may_have_spaces_and_any_letters(storage):
    with Stored("imports/one").replacing() as draft:
        (draft / "Fragen & Antworten (2) – über+uns.csv").write_bytes(b"x")

    assert names(Stored("imports/one")) == ["Fragen & Antworten (2) – über+uns.csv"]
    assert Stored("imports/one/Fragen & Antworten (2) – über+uns.csv").read_bytes() == b"x"


def exchange(settings: Any, *, is_refused: bool) -> None:
    """Exchange all files for one report, as restoring a backup does."""
    new = Path(settings.VAR_DIR) / ".restore.x" / "new"
    (new / "reports/new").mkdir(parents=True)
    (new / "reports/new/report.html").write_bytes(b"new")
    with ExitStack() as stack, transaction.atomic():
        stack.enter_context(storages["files"].exchanged(new, ["reports", "media"]))
        if is_refused:
            raise IntegrityError


def test_all_files_are_exchanged(storage, settings):
    put(Stored("reports/old"), report_html=b"old")
    put(Stored("media/old"), picture_png=b"old")

    exchange(settings, is_refused=False)

    assert list(storages["files"].owners("reports")) == ["new"]
    assert storages["files"].owners("media") == {}
    assert Stored("reports/new/report.html").read_bytes() == b"new"


def test_files_come_back_if_the_rows_are_refused(storage, settings):
    put(Stored("reports/old"), report_html=b"old")
    put(Stored("media/old"), picture_png=b"old")

    with pytest.raises(IntegrityError):
        exchange(settings, is_refused=True)

    assert list(storages["files"].owners("reports")) == ["old"]
    assert list(storages["files"].owners("media")) == ["old"]
    assert Stored("media/old/picture.png").read_bytes() == b"old"
