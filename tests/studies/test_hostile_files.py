"""Whatever stands in a file, it is imported or refused with reasons: nothing breaks."""

import copy
import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from studies.importers.files.faults import Refused
from studies.importers.items.import_source import read_paths
from studies.importers.items.item_bundle import ImportOptions
from tests.sampling import examples
from tests.studies.files import DATASET, faults, jsonl, raw_item, read, zipped

FULL = raw_item(
    1,
    group="g",
    task="preference",
    context="c",
    context_title="t",
    topic="t",
    language="en",
    split="main",
    check={"correct": "r1", "instruction": "i"},
    warnings=["w"],
    metadata={"a": 1},
    order={"shuffle": False, "fixed_first": "r1"},
    first_person={"label": "r1", "tie": False, "margin": 1, "source": "derived"},
    persona={
        "id": "p",
        "features": [{"key": "age", "label": "A", "value": "4", "text": "T."}],
        "text": "x",
        "history": [{"prompt": "p", "chosen": "c", "rejected": "r"}],
    },
    responses=[
        {"key": "r1", "text": "a", "prompt": "p", "score": 1, "generated_by": {"kind": "human"}},
        {"key": "r2", "text": "b", "prompt": "p", "score": 2, "generated_by": {"kind": "human"}},
    ],
)


def places(value, path=()):
    """The path of every value inside `value`."""
    yield path
    inside = value.items() if isinstance(value, dict) else []
    for name, part in enumerate(value) if isinstance(value, list) else inside:
        yield from places(part, (*path, name))


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=4,
)


@settings(
    max_examples=examples(100, every=400),
    suppress_health_check=[HealthCheck.too_slow],
)
@given(st.sampled_from(list(places(FULL))[1:]), json_values)
def test_any_value_in_any_place_is_accepted_or_refused(path, value):
    item = copy.deepcopy(FULL)
    holder = item
    for name in path[:-1]:
        holder = holder[name]
    holder[path[-1]] = value

    found = faults(jsonl(item))

    assert all(fault.startswith("Line 1") for fault in found)
    assert found or len(read(jsonl(item)).items[0].content_hash) == 64


@given(st.binary(max_size=200))
@pytest.mark.parametrize("name", ["items.jsonl", "items.csv", "items.zip"])
def test_any_bytes_are_refused_with_reasons(name, data):
    with pytest.raises(Refused) as caught:
        read(data, name=name)

    assert caught.value.faults


HEADER = "id,persona_id,persona_text,question,response_1,response_2,score_1,shuffle,metadata"


@given(st.lists(st.text(max_size=8), min_size=9, max_size=9))
def test_any_cells_are_accepted_or_refused(cells):
    quoted = ",".join('"' + cell.replace('"', '""') + '"' for cell in cells)
    try:
        data = f"{HEADER}\n{quoted}\n".encode()
    except UnicodeEncodeError:
        return

    found = faults(data, name="items.csv")

    assert found or len(read(data, name="items.csv").items) == 1


def test_a_zip_that_is_damaged_near_its_end_is_refused_in_words(tmp_path):
    rows = "\n".join(json.dumps(raw_item(n)) for n in range(5_000)).encode()
    data = bytearray(zipped(dataset__json=json.dumps(DATASET), items__jsonl=rows))
    end = data.index(b"PK\x01\x02") - 400
    data[end : end + 8] = b"\xff" * 8
    path = tmp_path / "items.zip"
    path.write_bytes(data)

    with pytest.raises(Refused, match="the zip file cannot be read"):
        read_paths([path], ImportOptions("preference"))


def test_a_zip_with_damaged_bytes_is_refused_in_words():
    data = bytearray(zipped(items__jsonl=b'{"id": "a"}\n' * 500))
    start = len("items.jsonl") + 30  # where the header of the first file ends
    data[start : start + 8] = b"\xff" * 8

    with pytest.raises(Refused, match="the zip file cannot be read"):
        read(bytes(data), name="items.zip")
