"""Parquet files: items, columns of any names, data sets, and files that are refused."""

import datetime as dt
import io
import json
import subprocess
import sys
import textwrap
import zipfile
from decimal import Decimal

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import call_command

from studies.importers.files import packed
from studies.importers.files.bundle import File
from studies.importers.files.faults import Refused
from studies.importers.items.import_source import read_paths
from studies.importers.items.item_bundle import ImportOptions
from studies.importers.uploads import run_import
from studies.models import ImportJob, Item
from tests.factories import make_study, sign_in
from tests.studies.files import raw_item
from tests.studies.hostile import HOSTILE
from tests.studies.sets.made import fixture, keys, made

pytestmark = pytest.mark.usefixtures("read_here")

ROWS = [
    {
        "Question": f"Tea or coffee on day {n}?",
        "picked": f"Tea {n}.",
        "other": f"Coffee {n}.",
        "who": {"age": "35-44", "tags": ["a", "b"]},
    }
    for n in range(1, 4)
]
MAPPING = {
    "format": "thirdperson-mapping",
    "columns": [
        {"column": "Question", "field": "question"},
        {"column": "picked", "field": "chosen"},
        {"column": "other", "field": "rejected"},
        {"column": "who.age", "field": "feature", "label": "Age"},
        {"column": "who.tags.0", "field": ""},
        {"column": "who.tags.1", "field": ""},
    ],
}


def written(rows, path=None, **options):
    """The bytes of a Parquet file with these rows."""
    out = io.BytesIO()
    pq.write_table(pa.Table.from_pylist(rows), out, **options)
    if path is not None:
        path.write_bytes(out.getvalue())
    return out.getvalue()


def lines(data, name="rows.parquet"):
    with File(name, data).open() as stream:
        return [json.loads(line) for line in stream]


def refusal(data):
    with pytest.raises(Refused) as error:
        lines(data)
    return str(error.value)


def test_rows_are_lines_of_json_with_lists_objects_times_and_missing_values():
    rows = [
        {
            "text": "Grüße 🌊",
            "list": [{"role": "user", "content": "Hi"}],
            "when": dt.datetime(2026, 1, 2, 3, 4, tzinfo=dt.UTC),
            "price": Decimal("1.50"),
            "share": float("nan"),
            "picture": b"\xff\xd8",
            "name": b"Ada",
            "none": None,
        }
    ]

    (row,) = lines(written(rows))

    assert row == {
        "text": "Grüße 🌊",
        "list": [{"role": "user", "content": "Hi"}],
        "when": "2026-01-02T03:04:00+00:00",
        "price": "1.50",
        "share": None,
        "picture": None,
        "name": "Ada",
        "none": None,
    }


def test_several_row_groups_and_codecs_are_read():
    rows = [{"n": n, "text": f"Text {n}"} for n in range(1_000)]

    for codec in ("snappy", "gzip", "none"):
        assert lines(written(rows, row_group_size=300, compression=codec)) == rows


@pytest.mark.django_db
def test_columns_of_any_names_are_mapped_by_the_command(tmp_path):
    written(ROWS, tmp_path / "rows.parquet")

    call_command(
        "import_items", "one", tmp_path / "rows.parquet", "--create", mapping=json.dumps(MAPPING)
    )

    assert Item.objects.count() == 3
    item = Item.objects.get(question="Tea or coffee on day 1?")
    assert item.response(item.first_person)["text"] == "Tea 1."
    assert item.persona.features[0]["value"] == "35-44"


@pytest.mark.django_db(transaction=True)
def test_columns_of_any_names_are_mapped_on_the_page(tmp_path, settings):
    settings.VAR_DIR = tmp_path / "var"
    client = sign_in(make_study(slug="one"))
    file = SimpleUploadedFile("rows.parquet", written(ROWS))

    sent = client.post("/studies/one/import/", {"file": file, "task": "preference"})
    page = client.get(sent["Location"]).content.decode()

    assert sent.status_code == 302
    assert "who.tags.1" in page
    assert "Tea or coffee on day 1?" in page


@pytest.mark.django_db
def test_a_data_set_in_parquet_gives_the_items_of_its_json(tmp_path):
    text = (fixture("multipref/MultiPref-Train.jsonl")).read_text()
    folder = tmp_path / "data"
    folder.mkdir()
    rows = [json.loads(line) for line in text.splitlines()]
    data = written(rows, folder / "train-00000-of-00001.parquet")
    with zipfile.ZipFile(tmp_path / "data.zip", "w") as archive:
        archive.writestr("data/train.parquet", data)

    assert keys(made("multipref", folder)) == keys(made("multipref"))
    assert keys(made("multipref", tmp_path / "data.zip")) == keys(made("multipref"))
    call_command("import_items", "one", folder, "--create")
    call_command(
        "import_annotations", "one", folder / "train-00000-of-00001.parquet", format="multipref"
    )


@pytest.mark.django_db(transaction=True)
def test_a_worker_reads_every_upload_in_parquet(tmp_path, settings):
    settings.VAR_DIR = tmp_path / "var"
    client = sign_in(make_study(slug="one"))
    file = SimpleUploadedFile("items.parquet", written([raw_item(1)]))

    address = client.post("/studies/one/import/", {"file": file, "task": "preference"})["Location"]
    run_import(job_id=ImportJob.objects.get().pk)

    assert "Imported 1 item" in client.get(address).content.decode()


@pytest.mark.parametrize(
    "damage",
    [
        lambda data: data[:-20],
        lambda data: data[:100] + b"\0" * 60 + data[160:],
        lambda data: b"PAR1" + b"x" * 50,
        lambda data: data[:-8] + b"\xff\xff\xff\x7f" + b"PAR1",
        lambda data: b"PAR1",
    ],
)
def test_a_broken_file_is_refused_in_words(damage):
    said = refusal(damage(written(ROWS * 20)))

    assert "the Parquet file cannot be read: " in said
    assert "Write it again, or save it as JSON Lines or CSV." in said


def test_a_cell_that_is_far_too_long_is_refused_before_it_is_copied():
    column = pa.DictionaryArray.from_arrays(pa.array([0] * 200_000), pa.array(["x" * 3_000_000]))
    out = io.BytesIO()
    pq.write_table(pa.table({"text": column}), out)

    said = refusal(out.getvalue())

    assert len(out.getvalue()) < 1_000_000
    assert "a cell of the column text has 3,000,000 bytes" in said


def test_a_long_cell_inside_lists_and_objects_is_refused_too():
    texts = pa.DictionaryArray.from_arrays(pa.array([0] * 200), pa.array(["x" * 3_000_000]))
    lists = pa.ListArray.from_arrays(pa.array(range(201), pa.int32()), texts)
    out = io.BytesIO()
    pq.write_table(pa.table({"said": pa.StructArray.from_arrays([lists], ["parts"])}), out)

    assert "a cell of the column said has 3,000,000 bytes" in refusal(out.getvalue())


def test_rows_that_are_large_together_are_refused(monkeypatch):
    monkeypatch.setattr(packed, "MAX_BYTES", 100_000)
    column = pa.DictionaryArray.from_arrays(pa.array([0] * 5_000), pa.array(["x" * 1_000]))
    out = io.BytesIO()
    pq.write_table(pa.table({"text": column}), out)

    assert "the rows are larger than 0 MB as text" in refusal(out.getvalue())


@pytest.mark.parametrize(
    ("limit", "value", "message"),
    [
        ("MAX_LINES", 2, "the file has 3 rows; at most 2 are read."),
        ("MAX_COLUMNS", 3, "columns; at most 3 are read."),
        ("MAX_UNPACKED", 10, "the file unpacks to"),
    ],
)
def test_limits_are_checked_before_anything_is_read(monkeypatch, limit, value, message):
    monkeypatch.setattr(packed, limit, value)

    assert message in refusal(written(ROWS))


@pytest.mark.nightly
@pytest.mark.slow
def test_a_text_that_is_repeated_often_needs_little_memory(tmp_path):
    """A file of 1 MB with 1.5 GB of text, in a process that may have 1 GB."""
    column = pa.DictionaryArray.from_arrays(pa.array([0] * 1_000), pa.array(["x" * 1_500_000]))
    pq.write_table(pa.table({"text": column}), tmp_path / "rows.parquet")
    code = """
        import resource, sys
        from pathlib import Path
        sys.path.insert(0, sys.argv[2])
        from studies.importers.files.bundle import File
        from studies.importers.files.faults import Refused
        import pyarrow.parquet, pyarrow.compute
        try:
            with File("rows.parquet", Path(sys.argv[1])).open() as stream:
                for line in stream:
                    pass
        except Refused as error:
            print(error)
        print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024)
    """
    ran = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code), tmp_path / "rows.parquet", "."],
        capture_output=True,
        text=True,
        check=True,
    )

    said, megabytes = ran.stdout.rsplit("\n", 2)[0:2]
    assert "the rows are larger than 200 MB as text" in said
    assert int(megabytes) < 1000


def test_hostile_texts_arrive_as_they_are():
    rows = [{"text": text} for text in HOSTILE]

    assert lines(written(rows)) == rows


def test_binary_values_in_required_fields_are_refused(tmp_path):
    written([raw_item(1) | {"question": "Grüße?".encode("latin-1")}], tmp_path / "items.parquet")

    with pytest.raises(Refused, match="question is missing"):
        read_paths([tmp_path / "items.parquet"], ImportOptions("preference"))


@pytest.mark.nightly
def test_nulls_zeros_and_nested_lists_are_counted_before_they_are_read():
    """Each of these files has a few thousand bytes, and would need seconds to be read."""
    nulls = pa.table({f"c{number}": pa.nulls(50_000) for number in range(60)})
    zeros = pa.table({f"c{number}": [0] * 50_000 for number in range(60)})
    nested = pa.table({"id": pa.array([[[0] * 50] * 50] * 400)})
    texts = pa.table({"text": [f"{number}{'x' * 1_000_000}" for number in range(120)]})

    for table, message in (
        (nulls, "the file holds 3,000,000 values"),
        (zeros, "the file holds 3,000,000 values"),
        (nested, "more than its size allows"),
        (texts, "the file unpacks to"),
    ):
        buffer = io.BytesIO()
        pq.write_table(table, buffer, compression="zstd", use_dictionary=table is not texts)
        assert buffer.tell() < 100_000
        assert message in refusal(buffer.getvalue())
