"""The file croissant.json: a description of the bundle for machines, Croissant 1.1 with RAI."""

from typing import Any

from analysis.exports.catalogue import DescribedPart
from analysis.exports.columns import Column
from analysis.exports.table_files import added_format
from extras.publication.facts import (
    SIMULATED,
    DataDescription,
    annotator_demographics,
    answers_per_item,
    authors,
    bibtex,
    collection,
    licence_urls,
    limits,
    machine_tools,
    platform,
    privacy,
    protocol,
    summary,
)

_ENCODING = {
    "jsonl": "application/jsonlines",
    "csv": "text/csv",
    "xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
}
_TYPES = {
    "text": "sc:Text",
    "json": "sc:Text",
    "integer": "sc:Integer",
    "number": "sc:Float",
    "boolean": "sc:Boolean",
    "time": "sc:DateTime",
}
_KEYS = {
    "items": "id",
    "annotations": "answer_id",
    "judgments": "answer_id",
    "annotators": "rater_id",
}
_REFERENCES = {"item_id": ("items", "id")}
# Items in JSON Lines are nested: the path of each field inside its column.
_NESTED = (
    ("persona_id", "persona", "id", "sc:Text", False, "The person the item is about."),
    ("responses", "responses", "text", "sc:Text", True, "The texts of r1 and r2."),
    ("first_person", "first_person", "label", "sc:Text", False, "The person's own answer."),
)
_PLAIN_ITEM = (
    "id",
    "group",
    "task",
    "question",
    "context",
    "context_title",
    "split",
    "topic",
    "language",
)
_CONTEXT = {
    "@language": "en",
    "@vocab": "https://schema.org/",
    "arrayShape": "cr:arrayShape",
    "citeAs": "cr:citeAs",
    "column": "cr:column",
    "conformsTo": "dct:conformsTo",
    "containedIn": "cr:containedIn",
    "cr": "http://mlcommons.org/croissant/",
    "rai": "http://mlcommons.org/croissant/RAI/",
    "data": {"@id": "cr:data", "@type": "@json"},
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    "dct": "http://purl.org/dc/terms/",
    "description": {"@container": "@language"},
    "equivalentProperty": "cr:equivalentProperty",
    "examples": {"@id": "cr:examples", "@type": "@json"},
    "extract": "cr:extract",
    "field": "cr:field",
    "fileProperty": "cr:fileProperty",
    "fileObject": "cr:fileObject",
    "fileSet": "cr:fileSet",
    "format": "cr:format",
    "includes": "cr:includes",
    "isArray": "cr:isArray",
    "isLiveDataset": "cr:isLiveDataset",
    "jsonPath": "cr:jsonPath",
    "key": "cr:key",
    "md5": "cr:md5",
    "name": {"@container": "@language"},
    "parentField": "cr:parentField",
    "path": "cr:path",
    "recordSet": "cr:recordSet",
    "references": "cr:references",
    "regex": "cr:regex",
    "repeated": "cr:repeated",
    "replace": "cr:replace",
    "samplingRate": "cr:samplingRate",
    "sc": "https://schema.org/",
    "separator": "cr:separator",
    "source": "cr:source",
    "subField": "cr:subField",
    "transform": "cr:transform",
}


def croissant(described: DataDescription, *, url: str) -> dict[str, Any]:
    """The metadata; `url` is the address of the study. Record sets read Parquet or JSON Lines."""
    study, languages = described.study, described.languages
    return {
        "@context": _CONTEXT,
        "@type": "sc:Dataset",
        "conformsTo": [
            "http://mlcommons.org/croissant/1.1",
            "http://mlcommons.org/croissant/RAI/1.0",
        ],
        "name": study.title,
        "description": f"{SIMULATED if study.is_simulated else ''} {summary(described)}".strip(),
        "license": licence_urls(study, described.licence) or ["Not stated: see the file LICENSE."],
        "url": url,
        "creator": [{"@type": "sc:Person", "name": name} for name in authors(study)],
        "datePublished": described.on.isoformat(),
        "version": "1.0.0",
        "inLanguage": languages[0] if len(languages) == 1 else languages,
        "keywords": ["llm-as-a-judge", "personalization", "pairwise-preference", "certainty"],
        "citeAs": bibtex(study, on=described.on),
        "isLiveDataset": False,
        **_responsible(described),
        "distribution": [
            _file_object(part, kind) for part in described.parts for kind in sorted(part.files)
        ],
        "recordSet": [_record_set(part) for part in described.parts if part.rows],
    }


def _responsible(described: DataDescription) -> dict[str, Any]:
    """The properties of the RAI vocabulary."""
    return {
        "rai:dataCollection": collection(described),
        "rai:dataCollectionType": [
            *(["Surveys", "Crowdsourcing"] if described.collection.standings else []),
            *(["Model outputs"] if described.collection.runs else []),
        ],
        "rai:dataCollectionTimeframe": described.collection.days or "not known",
        "rai:dataAnnotationProtocol": protocol(described),
        "rai:dataAnnotationPlatform": platform(described),
        "rai:dataAnnotationAnalysis": (
            "All answers are included, with their standing; aggregates have the majority of "
            "those that count. The study's report has agreement and its uncertainty."
        ),
        "rai:annotationsPerItem": answers_per_item(described),
        "rai:annotatorDemographics": annotator_demographics(described),
        "rai:machineAnnotationTools": machine_tools(described),
        "rai:dataBiases": limits(described),
        "rai:dataLimitations": limits(described),
        "rai:dataUseCases": (
            "Measuring how well models and people judge on somebody else's behalf. Not for "
            "decisions about individuals."
        ),
        "rai:personalSensitiveInformation": privacy(described),
        "rai:dataReleaseMaintenancePlan": (
            "A snapshot of its date. Answers that are withdrawn later are not in the next "
            "export; if you pass this one on, please replace it then."
        ),
    }


def _file_object(part: DescribedPart, kind: str) -> dict[str, Any]:
    file, added = part.files[kind], added_format(kind)
    return {
        "@type": "cr:FileObject",
        "@id": _file_id(part, kind),
        "name": _file_id(part, kind),
        "description": f"The table {part.name}.",
        "contentUrl": file.path,
        "contentSize": f"{file.bytes} B",
        "encodingFormat": added.media_type if added else _ENCODING[kind],
        "sha256": file.sha256,
    }


def _file_id(part: DescribedPart, kind: str) -> str:
    return f"{part.name}.{kind}"


def _record_set(part: DescribedPart) -> dict[str, Any]:
    kind = "parquet" if "parquet" in part.files else "jsonl"
    nested = kind == "jsonl" and part.name == "items" and len(part.columns) > len(_PLAIN_ITEM)
    fields = (
        _item_fields(part)
        if nested
        else [_field(part, column, kind) for column in part.columns if _readable(column, kind)]
    )
    record_set: dict[str, Any] = {
        "@type": "cr:RecordSet",
        "@id": part.name,
        "name": part.name,
        "description": f"{part.rows:,} rows.",
        "field": fields,
    }
    if key := _KEYS.get(part.name):
        record_set["key"] = {"@id": f"{part.name}/{key}"}
    return record_set


def _readable(column: Column, kind: str) -> bool:
    """Whether Croissant can read the column: JSON columns in JSON Lines are not fields."""
    return kind == "parquet" or column.kind != "json"


def _field(part: DescribedPart, column: Column, kind: str) -> dict[str, Any]:
    types = [_TYPES[column.kind]]
    if column.label:
        types.append("cr:Label")
    described: dict[str, Any] = {
        "@type": "cr:Field",
        "@id": f"{part.name}/{column.name}",
        "name": column.name,
        "description": column.meaning,
        "dataType": types if len(types) > 1 else types[0],
        "source": {
            "fileObject": {"@id": _file_id(part, kind)},
            "extract": {"column": column.name},
        },
    }
    if column.name in _REFERENCES:
        table, field = _REFERENCES[column.name]
        described["references"] = {"field": {"@id": f"{table}/{field}"}}
    return described


def _item_fields(part: DescribedPart) -> list[dict[str, Any]]:
    plain = [column for column in part.columns if column.name in _PLAIN_ITEM]
    fields = [_field(part, column, "jsonl") for column in plain]
    for name, column, path, kind, repeated, meaning in _NESTED:
        fields.append(
            {
                "@type": "cr:Field",
                "@id": f"items/{name}",
                "name": name,
                "description": meaning,
                "dataType": kind,
                "repeated": repeated,
                "source": {
                    "fileObject": {"@id": _file_id(part, "jsonl")},
                    "extract": {"column": column},
                    "transform": {"jsonPath": path},
                },
            }
        )
    return fields
