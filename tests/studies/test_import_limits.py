"""A file made to keep the site busy is refused soon, and in words."""

import gzip
import io
import json
import os
import zipfile
from pathlib import Path
from threading import Thread

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import CommandError, call_command

from studies.importers.files import bundle, lines, packed
from studies.importers.files import faults as file_limits
from studies.importers.files.faults import Fault, Faults, Refused
from studies.importers.items.import_source import read_paths
from studies.importers.items.item_bundle import ImportOptions
from studies.importers.uploads import folder_of, run_import
from studies.models import ImportJob, Item
from tests.factories import make_item, make_study, sign_in
from tests.stored import path_of
from tests.studies.files import DATASET, faults, jsonl, raw_item, read, zipped

pytestmark = pytest.mark.usefixtures("read_here")

ROOT = Path(__file__).resolve().parents[2]
ABOUT = json.dumps(DATASET)
HEADER = b"id,persona_id,persona_text,question,response_1,response_2"


def lines_taken(monkeypatch) -> list[int]:
    """Counts the lines that are read from now on."""
    taken: list[int] = []
    whole = lines.lines_of

    def counted(stream, name):
        for line in whole(stream, name):
            taken.append(1)
            yield line

    monkeypatch.setattr("studies.importers.files.json_rows.lines_of", counted)
    monkeypatch.setattr(lines, "lines_of", counted)
    return taken


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("a.jsonl", b"{}\n" * 200_000),
        ("a.csv", HEADER + b"\n" + b"a\n" * 200_000),
        ("a.jsonl", b"\xff\n" * 200_000),
        ("a.zip", zipped(items__jsonl=b"{}\n" * 200_000, dataset__json=ABOUT)),
    ],
)
def test_reading_stops_after_a_thousand_faults_and_says_so(monkeypatch, name, data):
    taken = lines_taken(monkeypatch)

    with pytest.raises(Refused) as caught:
        read(data, name=name)

    assert len(caught.value.faults) == 1_000
    assert caught.value.is_cut
    assert len(taken) < 1_100
    assert str(caught.value).startswith(
        "1,000 faults found. Reading stopped there: the rest of the file was not checked."
    )


def test_exactly_a_thousand_faults_are_not_reported_as_cut():
    found = Faults(Fault(n, "", "r", "m") for n in range(1_000))

    assert not Refused(found).is_cut
    with pytest.raises(Refused):
        found.append(Fault(1, "", "r", "m"))


def test_a_row_full_of_faults_does_not_hide_the_next():
    row = raw_item(1, metadata={f"k{n}": "\x01" for n in range(5_000)})

    found = faults(jsonl(row, raw_item(2, id="a b")))

    assert len(found) == 101
    assert found[-1].startswith("Line 2")


def test_a_fault_repeats_little_of_a_long_value():
    found = faults(jsonl(raw_item(1, first_person={"label": "x" * 500_000})))

    assert max(map(len, found)) < 2_500


def test_too_many_columns_are_one_fault():
    columns = b",".join(b"c%d" % n for n in range(10_000))

    (fault,) = faults(HEADER + b"," + columns + b"\na,p", name="a.csv")

    assert fault.startswith("Line 1: there are 10,006 columns; at most 1,000 are read.")


def test_an_unknown_key_is_warned_of_once():
    rows = [raw_item(n, colour="red") for n in range(1, 51)]

    (warning,) = read(jsonl(*rows)).warnings

    assert (warning.line, "of 50 items" in warning.message) == (1, True)


@pytest.mark.parametrize("value", ["[" * 500 + "]" * 500, '{"a":' * 500 + "1" + "}" * 500])
def test_deep_nesting_is_a_fault(value):
    line = json.dumps(raw_item(1, metadata="X")).replace('"X"', value)

    assert "too deep" in faults(line.encode())[0]


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("a.jsonl", b'{"id": "' + b"x" * 2_000_000 + b'"}'),
        ("a.csv", b"x," * 1_000_001),
        ("a.csv", HEADER + b"\n" + b'"xxxxxxxxx\n",' * 160_000),
        ("a.csv", HEADER + b'\na,p,t,q,"' + b"x" * 1_500_000 + b'",b'),
        ("a.csv", HEADER + b'\na,p,t,q,"' + b"xxxxxxxxx\n" * 150_000),
    ],
)
def test_a_row_or_a_quoted_cell_of_megabytes_ends_the_reading(name, data):
    (fault,) = faults(data, name=name)

    assert "longer than 2,000,000 bytes" in fault or "field larger than field limit" in fault


def test_too_many_lines_end_the_reading(monkeypatch):
    monkeypatch.setattr(lines, "MAX_LINES", 3)

    assert "there are more than 3 lines" in faults(b"\n" * 10)[0]


def test_a_zip_is_limited_by_its_unpacked_size(monkeypatch):
    monkeypatch.setattr(bundle, "MAX_UNPACKED", 100_000)
    data = zipped(items__jsonl=jsonl(raw_item(1)), dataset__json=ABOUT, other=b"x" * 10**6)

    assert "unpacks to 0 MB; at most" in faults(data, name="a.zip")[0]


def test_a_zip_of_very_many_files_is_refused_before_its_list_is_read(monkeypatch):
    data = zipped(**{f"f{n}": b"" for n in range(50)})
    monkeypatch.setattr(packed, "MAX_DIRECTORY", 500)
    monkeypatch.setattr(zipfile.ZipFile, "__init__", None)

    assert "holds more than 10,000 files" in faults(data, name="a.zip")[0]


@pytest.mark.parametrize("inner", ["inner.zip", "items.jsonl"])
def test_a_zip_in_a_zip_is_not_unpacked(inner):
    data = zipped(**{inner: zipped(items__jsonl=b"{}\n" * 10)})

    with pytest.raises(Refused, match=f"holds another (zip file, {inner}|packed file)"):
        read(data, name="a.zip")


@pytest.mark.django_db
class TestPage:
    @pytest.fixture
    def study(self, settings, tmp_path):
        settings.VAR_DIR = tmp_path
        return make_study(slug="one")

    @pytest.fixture
    def client(self, study):
        return sign_in(study)

    def send(self, client, name, data):
        file = SimpleUploadedFile(name, data)
        return client.post("/studies/one/import/", {"file": file, "task": "preference"})

    def test_a_small_zip_with_much_content_is_left_to_a_worker(self, client, study):
        data = zipped(items__jsonl=b"{}\n" * 200_000, dataset__json=ABOUT)

        response = self.send(client, "a.zip", data)

        job = ImportJob.objects.get()
        assert len(data) < 1_000
        assert response["Location"].endswith(f"/import/{job.public_id}/")
        run_import(job_id=job.pk)
        job.refresh_from_db()
        page = client.get(response["Location"]).text
        assert len(job.faults) == 1_000
        assert "The file has more than 1,000 errors. Checking stopped there" in page

    def test_a_page_says_that_it_stopped(self, client, study):
        response = self.send(client, "a.jsonl", b"{}\n" * 2_000)

        assert response.status_code == 422
        assert "The file has more than 1,000 errors. Checking stopped there" in response.text

    def test_a_zip_beyond_the_limits_is_refused_on_the_page(self, client, study, monkeypatch):
        monkeypatch.setattr(bundle, "MAX_MEMBERS", 3)

        response = self.send(client, "a.zip", zipped(**{f"f{n}": b"" for n in range(5)}))

        assert response.status_code == 422
        assert "the zip file holds more than" in response.text

    def test_a_name_that_no_file_system_takes_is_shortened(self, client, study, monkeypatch):
        monkeypatch.setattr("studies.importers.uploads.INLINE_BYTES", 0)

        self.send(client, "ä" * 240 + ".jsonl", jsonl(raw_item(1)))

        (path,) = path_of(folder_of(ImportJob.objects.get())).iterdir()
        assert len(path.name.encode()) <= 200
        assert path.suffix == ".jsonl"


@pytest.mark.django_db
@pytest.mark.parametrize("command", ["import_annotations", "import_judgments"])
@pytest.mark.parametrize("name", ["a.jsonl", "a.csv"])
def test_files_of_answers_stop_too(monkeypatch, tmp_path, command, name):
    study = make_study(slug="one")
    make_item(study=study, key="a")
    path = tmp_path / name
    header = b"" if name == "a.jsonl" else b"rater_id,item_id,choice\n"
    path.write_bytes(header + (b'{"item_id": "b"}\n' if not header else b"r,b,x\n") * 50_000)
    taken = lines_taken(monkeypatch)
    options = ["--judge", "gpt"] if command == "import_judgments" else []

    with pytest.raises(CommandError, match="Reading stopped there"):
        call_command(command, "one", path, *options)

    assert len(taken) < 1_100
    assert Item.objects.count() == 1


def test_the_limits_are_the_documented_ones():
    text = " ".join((ROOT / "docs/formats.md").read_text(encoding="utf-8").split())

    for limit in ("1,000 columns", "1,000 faults", "1,000,000 lines", "500 MB", "10,000 files"):
        assert limit in text
    assert (file_limits.MAX_COLUMNS, file_limits.MAX_FAULTS, file_limits.MAX_LINES) == (
        1_000,
        1_000,
        10**6,
    )


LISTS = b"[]," * 20_000


@pytest.mark.parametrize(
    ("members", "message"),
    [
        (
            {"dataset__json": b'{"x":[' + b"[]," * 2_000_000 + b"0]}", "items__jsonl": b"{}\n"},
            "dataset.json is not JSON: it holds more than 3,000,000 values",
        ),
        (
            {
                "dataset__json": b'{"x":"' + "\U0001f600".encode() + b"a" * 51_000_000 + b'"}',
                "items__jsonl": b"{}\n",
            },
            "dataset.json is not JSON: it is larger than 48 MB",
        ),
        (
            {"dataset__json": ABOUT, "items__jsonl": b'{"x":[' + LISTS * 3 + b"0]}\n"},
            "1,000 faults found",
        ),
        (
            {
                "dataset__json": ABOUT,
                "items__csv": HEADER
                + b",metadata\n"
                + b'1,p,t,q,x,y,"{""x"":['
                + LISTS * 3
                + b'0]}"\n',
            },
            "is not JSON",
        ),
        (
            {
                "dataset__json": ABOUT,
                "items__jsonl": b"[" + b'{"x":[' + LISTS * 10 + b"0]}]",
            },
            "the file begins with a list of objects",
        ),
    ],
)
def test_many_values_in_few_bytes_are_refused_before_they_are_parsed(monkeypatch, members, message):
    parsed: list[int] = []
    whole = json.JSONDecoder.decode

    def counted(self, text, *more):
        parsed.append(text.count("["))
        return whole(self, text, *more)

    monkeypatch.setattr(json.JSONDecoder, "decode", counted)

    with pytest.raises(Refused) as refused:
        read(zipped(**members), name="a.zip")

    assert message in str(refused.value)
    # A file that is one JSON value may hold as many as a document.
    most = file_limits.MAX_DOCUMENT_VALUES if "1,000 faults" in message else file_limits.MAX_VALUES
    assert max(parsed, default=0) <= most


def test_punctuation_inside_texts_is_not_counted_as_values():
    text = json.dumps({"text": '[{,\\" ' * 20_000})

    assert not lines.has_too_many_values(text)
    assert lines.has_too_many_values("[" + "0," * 60_000 + "0]")


def test_a_file_of_many_small_rows_of_lists_is_given_up_before_it_is_parsed():
    stream = io.BytesIO((b'{"x":[' + LISTS + b"0]}\n") * 500)

    with pytest.raises(lines.BadLine, match="there are too many values, lists and objects"):
        list(lines.lines_of(stream, "items.jsonl"))


@pytest.mark.parametrize("pack", [bytes, gzip.compress], ids=["plain", "gzip"])
def test_a_pipe_is_read_once_like_a_file(tmp_path, pack):
    pipe = tmp_path / "items"
    os.mkfifo(pipe)
    writer = Thread(target=pipe.write_bytes, args=[pack(jsonl(raw_item()))])
    writer.start()

    (items,) = read_paths([pipe], ImportOptions(task="preference"))
    writer.join()

    assert len(items.items) == 1


@pytest.mark.skipif(not Path("/dev/zero").is_char_device(), reason="there is no /dev/zero")
def test_a_device_without_an_end_is_too_large(monkeypatch):
    monkeypatch.setattr(bundle, "MAX_BYTES", 1_000_000)

    with pytest.raises(Refused, match="is larger than"):
        read_paths([Path("/dev/zero")], ImportOptions(task="preference"))


def test_a_name_that_no_disk_can_hold_is_refused_in_words(tmp_path):
    with pytest.raises(Refused, match="cannot be read: File name too long"):
        read_paths([tmp_path / ("x" * 300)], ImportOptions(task="preference"))
