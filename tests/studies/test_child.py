"""Files from outside are read in a child process, and whatever they do to it stays there."""

import gzip
import json
import resource
import subprocess
import tempfile
from pathlib import Path

import pytest

from studies.errors import BadOption
from studies.importers.columns.table_file import table_of
from studies.importers.files import child
from studies.importers.files.bundle import File
from studies.importers.files.child import from_child
from studies.importers.files.faults import Refused
from studies.importers.items.import_source import read_list, read_paths
from studies.importers.items.item_bundle import ImportOptions, report_on
from tests.studies.child_work import (
    breaks_down,
    finds_a_bad_option,
    finds_no_file,
    prints,
    refuses,
    sends_for_ever,
    takes_memory,
    takes_time,
)
from tests.studies.files import DATASET, jsonl, raw_item, zipped
from tests.studies.media_files import needs_media, picture
from thirdperson.check.command import options_of
from thirdperson.check.reading import read_labels

PICTURE = picture("PNG")
MANY = [raw_item(n, metadata={"padding": "x" * 1_000}) for n in range(1, 700)]


def died(function, **options):
    with pytest.raises(Refused) as caught:
        list(from_child(function, name="a.csv", size=0, **options))
    return str(caught.value.faults[0])


@pytest.fixture
def children(monkeypatch):
    """The child processes that are started from now on."""
    started = []
    whole = subprocess.Popen

    def counted(*args, **options):
        started.append(whole(*args, **options))
        return started[-1]

    monkeypatch.setattr(child.subprocess, "Popen", counted)
    return started


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="needs a limit of memory")
def test_a_file_that_takes_too_much_memory_is_refused():
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

    assert died(takes_memory) == (
        "there was not enough memory to read it. Leave out what you do not need, or split the file "
        "and import the parts."
    )
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - most < 20_000


def test_a_file_that_takes_too_long_is_refused(monkeypatch):
    monkeypatch.setattr(child, "SECONDS", 1)

    assert died(takes_time).startswith("reading it takes more than 1 seconds of computing. Leave")


def test_a_file_that_ends_the_process_that_reads_it_is_refused():
    assert died(breaks_down).startswith("the process that reads files crashed on it.")


@pytest.mark.parametrize("work", [refuses, finds_a_bad_option, finds_no_file])
def test_reading_errors_are_passed_on_unchanged(work):
    with pytest.raises((Refused, BadOption, FileNotFoundError)) as here:
        work(None)
    with pytest.raises(type(here.value)) as there:
        list(from_child(work, name="a", size=0))

    assert str(there.value) == str(here.value)
    assert {**vars(there.value), "__notes__": ""} == {**vars(here.value), "__notes__": ""}


def test_modules_of_the_current_folder_are_not_imported(tmp_path, monkeypatch):
    (tmp_path / "random.py").write_text("raise SystemExit(1)")
    monkeypatch.chdir(tmp_path)

    assert list(from_child(prints, name="a", size=0)) == ["read"]


def test_what_a_library_prints_does_not_disturb():
    assert list(from_child(prints, name="a", size=0)) == ["read"]


def test_a_reader_that_stops_ends_the_child_and_leaves_nothing(children, tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    found = from_child(sends_for_ever, name="a", size=0)
    next(found)
    found.close()

    assert children[0].returncode is not None
    assert list(tmp_path.iterdir()) == []


def test_a_system_without_a_limit_reads_without_it(monkeypatch):
    def refuses(kind, limits):
        raise ValueError("not here")

    monkeypatch.setattr(resource, "setrlimit", refuses)

    child._limit(resource.RLIMIT_AS, 1)


@pytest.mark.parametrize("kind", ["lines", pytest.param("zip", marks=needs_media), "mapped"])
def test_items_read_by_a_child_are_those_read_here(kind, children, monkeypatch, tmp_path):
    path, options = tmp_path / "items.jsonl", {}
    rows = [row | {"media": [{"file": "a.png", "description": "d"}]} for row in MANY]
    path.write_bytes(jsonl(*MANY))
    if kind == "zip":
        path, about = tmp_path / "items.zip", json.dumps(DATASET)
        path.write_bytes(zipped(items__jsonl=jsonl(*rows), dataset__json=about, a__png=PICTURE))
    if kind == "mapped":
        fields = {
            "id": "id",
            "persona.id": "persona_id",
            "question": "question",
            "responses.0.text": "response_1",
            "responses.1.text": "response_2",
        }
        columns = [{"column": column, "field": field} for column, field in fields.items()]
        options["mapping"] = {
            "format": "thirdperson-mapping",
            "columns": columns,
            "persona_text": "p",
        }

    class Rows:
        total = done = 0

        def update(self, n=1):
            self.done += n

    [there] = read_paths([path], ImportOptions("preference", **options), watch=Rows())
    assert len(children) == 1
    monkeypatch.setattr(child, "_is_child", True)
    [here] = read_paths([path], ImportOptions("preference", **options))

    assert list(there.items) == list(here.items)
    assert there.items[600] == here.items[600]
    assert len(there.items) == len(MANY)
    assert report_on([there]) == report_on([here])
    assert (there.rows, there.warnings, there.notes) == (here.rows, here.warnings, here.notes)
    if kind == "zip":
        assert [data for _, data in there.media.contents()] == [PICTURE]


def test_small_files_start_no_process(children, tmp_path):
    (tmp_path / "items.jsonl").write_bytes(jsonl(raw_item(1)))

    read_paths([tmp_path / "items.jsonl"], ImportOptions("preference"))

    assert children == []


def rows_of(path):
    return list(table_of(File(path.name, path)))


def labels_of(path):
    return read_labels(options_of([str(path)])).labels


ANSWERS = "item,annotator,label,judge\n" + "".join(
    f"{n:090},{rater},{'yes' if n % 3 else 'no'},yes\n" for n in range(1_000) for rater in "abcdef"
)
OBJECT = json.dumps({f"i{n}": {"text": "x" * 500, "label": "a"} for n in range(2_000)})


@pytest.mark.parametrize(
    ("name", "data", "read"),
    [
        ("a.csv.gz", gzip.compress(ANSWERS.encode()), rows_of),
        ("a.json", OBJECT.encode(), rows_of),
        ("a.csv", ANSWERS.encode(), labels_of),
    ],
)
def test_files_not_read_by_line_are_read_by_a_child(
    name, data, read, children, monkeypatch, tmp_path
):
    path = tmp_path / name
    path.write_bytes(data)
    there = read(path)

    assert children
    monkeypatch.setattr(child, "_is_child", True)
    assert len(there) > 800
    assert list(map(str, there)) == list(map(str, read(path)))


@pytest.mark.parametrize(
    "faulty", [b"[" * 100_000, b'{"id": "a", "x": [' + b"[]," * 99_000 + b"0]}"]
)
def test_a_list_of_items_is_read_within_the_limits_of_lines(faulty, tmp_path):
    path = tmp_path / "items.jsonl"
    path.write_bytes(b'{"id": "a", "content_hash": "b"}\n')
    assert read_list(path) == {"a": "b"}
    path.write_bytes(faulty)

    with pytest.raises(Refused, match="does not list items by id and content_hash"):
        read_list(path)
