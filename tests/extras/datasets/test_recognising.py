"""Data sets are recognised where the files clearly are such; what is neutral stays neutral."""

import json
import shutil
import zipfile

import pytest

from studies.errors import BadOption
from studies.importers.files.faults import Refused
from studies.importers.items.import_source import read_paths
from studies.importers.items.item_bundle import ImportOptions, quantiles, report_on
from studies.importers.sets import data_sets
from tests.studies.files import jsonl, raw_item
from tests.studies.sets.made import RECOGNISED, fixture, keys, made

WAVE = fixture("opinionqa/American_Trends_Panel_W99")


def formats(*paths):
    return [read.format for read in read_paths(paths, ImportOptions("preference"))]


@pytest.mark.parametrize("name", RECOGNISED)
def test_the_folder_of_a_data_set_is_recognised(name):
    assert formats(fixture(name)) == [name]


@pytest.mark.parametrize(
    ("name", "files"),
    [
        ("prism", [fixture("prism/utterances.jsonl"), fixture("prism/survey.jsonl")]),
        ("opinionqa", [WAVE / "responses.csv", WAVE / "info.csv", WAVE / "metadata.csv"]),
        ("ec", sorted((fixture("ec")).iterdir())),
        ("pr", [fixture("pr/synthetic_dataset.jsonl")]),
    ],
)
def test_its_files_are_recognised_by_their_columns_in_any_order(tmp_path, name, files):
    renamed = []
    for n, file in enumerate(files):
        renamed.append(tmp_path / f"download ({n}){file.suffix}")
        shutil.copy(file, renamed[-1])

    assert formats(*files[::-1]) == [name]
    assert formats(*renamed) == [name]


def test_a_file_of_items_is_never_taken_for_a_data_set(tmp_path):
    """Not even with every column of every data set beside its own."""
    columns = {c for s in data_sets().values() for role in s.roles for c in role.columns}
    item = dict.fromkeys(columns, "x") | raw_item(1)
    (tmp_path / "a.jsonl").write_bytes(jsonl(item))
    header = ["id", "persona_id", "persona_text", "response_1", "response_2", "question"]
    names = [*header, *sorted(columns - set(header))]
    row = ["i1", "p1", "Somebody.", "Yes", "No", "Tea?", *["x"] * (len(names) - len(header))]
    (tmp_path / "b.csv").write_text(f"{','.join(names)}\n{','.join(row)}\n")

    assert formats(tmp_path / "a.jsonl") == ["jsonl"]
    assert formats(tmp_path / "b.csv") == ["csv"]


def test_a_bundle_is_a_bundle_whatever_else_lies_in_it(tmp_path):
    shutil.copytree(fixture("prism"), tmp_path / "bundle")
    (tmp_path / "bundle/items.jsonl").write_bytes(jsonl(raw_item(1)))
    about = {"format": "thirdperson-items", "format_version": "1.0"}
    (tmp_path / "bundle/dataset.json").write_text(json.dumps(about))
    with zipfile.ZipFile(tmp_path / "bundle.zip", "w") as archive:
        for path in (tmp_path / "bundle").iterdir():
            archive.write(path, path.name)

    assert formats(tmp_path / "bundle") == ["jsonl"]
    assert formats(tmp_path / "bundle.zip") == ["jsonl"]


def test_files_of_different_kinds_are_refused_together(tmp_path):
    (tmp_path / "items.jsonl").write_bytes(jsonl(raw_item(1)))

    with pytest.raises(Refused, match=r"different kinds: prism \(prism\), items.jsonl \(items\)"):
        formats(fixture("prism"), tmp_path / "items.jsonl")
    with pytest.raises(Refused, match=r"different kinds: prism \(prism\), ec \(ec\)"):
        formats(fixture("prism"), fixture("ec"))


def test_a_file_without_a_use_is_named(tmp_path):
    (tmp_path / "metadata.jsonl").write_text('{"column_id": "x"}\n')

    read = made("prism", fixture("prism"), tmp_path / "metadata.jsonl")

    assert read.notes == {"files that are not used here (metadata.jsonl)": 1}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"m": 3}, r"no option “m”. The options are: n \(1000\), turn \(0\), pair \(best_vs_rand"),
        ({"n": 0}, "n must be a whole number from 1 to 1,000,000, not “0”"),
        ({"n": "many"}, "n must be a whole number"),
        ({"tie_margin": "nan"}, "tie_margin must be a number from 0 to 100"),
        ({"inclusive": "maybe"}, "inclusive must be true or false"),
        ({"pair": "best"}, "pair must be one of best_vs_random, best_vs_second, best_vs_worst, a"),
        ({"conversation_types": "odd"}, "must be all, or some of unguided, values guided, contr"),
    ],
)
def test_an_option_that_is_not_there_or_cannot_be_is_told_with_what_there_is(options, message):
    with pytest.raises(BadOption, match=message):
        made("prism", **options)


@pytest.mark.parametrize("name", data_sets())
def test_same_files_options_and_seed_give_the_same_items_in_any_order_of_files(name):
    (first, again), other = (made(name, seed=3) for _ in "ab"), made(name, seed=4)

    assert list(first.items) == list(again.items)
    assert first.dataset["importer"] == {
        "name": name,
        "version": "1",
        "options": {option.name: option.default for option in data_sets()[name].options},
        "seed": 3,
    }
    assert sorted(keys(first)) == sorted(keys(other)) or name == "prism"


def test_a_zip_that_is_damaged_is_refused(tmp_path):
    path = tmp_path / "prism.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for file in (fixture("prism")).iterdir():
            archive.write(file, file.name)
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 0xFF
    path.write_bytes(bytes(data))

    with pytest.raises(Refused, match="the zip file cannot be read"):
        made("prism", path)


def test_a_file_beyond_the_limit_is_refused(monkeypatch):
    monkeypatch.setattr("studies.importers.sets.data_set.MAX_BYTES", 1_000)

    with pytest.raises(Refused, match="larger than 200 MB"):
        made("prism")


def test_the_report_says_all_that_it_promises():
    facts = dict(report_on([made("prism", pair="best_vs_second", limit=2)]).facts)

    assert facts == {
        "Rows read": "prism/survey.jsonl 4, prism/utterances.jsonl 21",
        "Items made": "2 (limit 2)",
        "Left out": "rows of another turn 2, ties 1, responses that refuse 2, messages with fewer "
        "than two responses left 2, responses that are empty 1, messages with a single response 1, "
        "messages of people without a survey row 1, pairs of identical texts 1",
        "Ties found": "1",
        "Personas": "2",
        "Person's own answer": facts["Person's own answer"],
        "Characters (median, 95 %, longest)": facts["Characters (median, 95 %, longest)"],
        "Seconds to read and judge an item (median, 95 %, longest)": "30, 33, 33",
        "Languages": "en 2",
        "Licence": "human text CC BY 4.0; model responses CC BY-NC 4.0 and each model's own terms "
        "(passing on: non-commercial)",
        "Made by": "prism 1 with seed 20240701",
    }
    assert facts["Person's own answer"] == "response 1: 1, response 2: 1"
    lengths = facts["Characters (median, 95 %, longest)"]
    assert lengths.startswith("question 33, 52, 52; response ")


def test_quantiles_are_values_that_occur():
    assert quantiles(range(1, 101)) == (50, 95, 100)
    assert quantiles([7]) == (7, 7, 7)
