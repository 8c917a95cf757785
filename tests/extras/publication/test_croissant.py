"""The metadata for machines: the reference library loads it and reads every record back."""

import json

import pytest

from analysis.exports.catalogue import BUNDLED
from studies.models import Study
from tests.analysis.exports.helpers import export, judged, rows

# The library's own use of its dependencies.
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning:(rdflib|mlcroissant)")

RAI = (
    "dataCollection dataCollectionType dataCollectionTimeframe dataAnnotationProtocol "
    "dataAnnotationPlatform dataAnnotationAnalysis annotationsPerItem annotatorDemographics "
    "machineAnnotationTools dataBiases dataLimitations dataUseCases "
    "personalSensitiveInformation dataReleaseMaintenancePlan "
).split()


def records(dataset, name):
    """Rows of a record set by the names of its fields; the library gives texts as bytes."""

    def text(value):
        if isinstance(value, list):
            return [text(each) for each in value]
        return value.decode() if isinstance(value, bytes) else value

    return [
        {key.split("/", 1)[1]: text(value) for key, value in record.items()}
        for record in dataset.records(name)
    ]


@pytest.fixture
def loaded(study, tmp_path):
    def load(format):
        judged(study)
        out = export(study, "all", tmp_path / "out", format=format, licence="CC-BY-4.0")
        import mlcroissant  # takes a second

        dataset = mlcroissant.Dataset(jsonld=out / "croissant.json")
        assert dataset.metadata.issues.errors == set()
        assert dataset.metadata.issues.warnings == set()
        return out, dataset

    return load


@pytest.mark.nightly
@pytest.mark.sampled(keep=1)
@pytest.mark.parametrize("format", ["jsonl", "parquet"])
def test_every_record_of_every_table_is_read_back(loaded, format):
    if format == "parquet":
        pytest.importorskip("extras.documents.data_files")
    out, dataset = loaded(format)

    for name in BUNDLED:
        written = rows(out / f"jsonl/{name}.jsonl")
        read = records(dataset, name)
        assert len(read) == len(written) > 0, name
        for column in ("item_id", "rater_id", "choice", "certainty", "verdict"):
            if column in written[0]:
                assert [row[column] for row in read] == [row[column] for row in written]


def test_items_in_json_lines_are_found_inside_their_objects(loaded):
    out, dataset = loaded("jsonl")

    (first, _) = records(dataset, "items")

    written = rows(out / "jsonl/items.jsonl")[0]
    assert first["persona_id"] == written["persona"]["id"]
    assert first["responses"] == [response["text"] for response in written["responses"]]
    assert first["first_person"] == "r1"


def test_the_metadata_says_what_it_has_to(loaded):
    out, _ = loaded("jsonl")
    said = json.loads((out / "croissant.json").read_text())

    assert "http://mlcommons.org/croissant/1.1" in said["conformsTo"]
    for key in ("name", "description", "license", "url", "creator", "datePublished"):
        assert said[key], key
    for key in RAI:
        assert said[f"rai:{key}"], key
    assert said["license"] == ["https://creativecommons.org/licenses/by/4.0/"]
    for file in said["distribution"]:
        assert file["contentSize"] == f"{(out / file['contentUrl']).stat().st_size} B"
        assert f"{file['sha256']}  {file['contentUrl']}" in (out / "CHECKSUMS.sha256").read_text()
    fields = {field["@id"]: field for table in said["recordSet"] for field in table["field"]}
    assert "cr:Label" in fields["annotations/choice"]["dataType"]
    assert fields["annotations/item_id"]["references"] == {"field": {"@id": "items/id"}}


def test_withheld_items_are_described_as_ids_and_hashes(study, loaded):
    Study.objects.update(source={"redistribution": "forbidden"})
    study.refresh_from_db()

    _, dataset = loaded("jsonl")

    assert records(dataset, "items")[0].keys() == {"id", "split", "topic", "content_hash"}
