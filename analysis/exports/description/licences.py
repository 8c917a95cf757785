"""The licences of a bundle, and how to cite it."""

from datetime import date
from typing import Any

from analysis.data.collection import owners
from analysis.exports.tables.table_files import to_json
from analysis.report.files.table_files import tex
from studies.models.studies import Study

# SPDX names. The study's owner chooses the licence of the answers, the source that of the items.
LICENCES = {
    "CC0-1.0": "https://creativecommons.org/publicdomain/zero/1.0/",
    "CC-BY-4.0": "https://creativecommons.org/licenses/by/4.0/",
    "CC-BY-SA-4.0": "https://creativecommons.org/licenses/by-sa/4.0/",
    "CC-BY-NC-4.0": "https://creativecommons.org/licenses/by-nc/4.0/",
    "ODC-By-1.0": "https://opendatacommons.org/licenses/by/1-0/",
}
_NOT_STATED = "not stated; ask the owners of the study before you pass it on"


def licence_urls(study: Study, licence: str) -> list[str]:
    """The addresses of the licences of the answers and of the items, where they are known."""
    found = [LICENCES.get(licence, ""), study.source.get("licence_url") or ""]
    return [url for url in dict.fromkeys(found) if url]


def licence_text(study: Study, licence: str) -> str:
    """The text of the file LICENSE."""
    source = study.source
    items = _named(source.get("licence") or "", source.get("licence_url") or "")
    withheld = (
        "\nThe source forbids redistribution: no text of an item is part of this data set.\n"
        if source.get("redistribution") == "forbidden"
        else ""
    )
    return f"""Licence of the data set “{study.title}”

Answers of people, judgments of models, aggregates and descriptions
  {_named(licence, LICENCES.get(licence, ""))}

Items (questions, responses, profiles){f", from {source['name']}" if source.get("name") else ""}
  {items}
{withheld}
Replies of models may be subject to the terms of the model's provider.
"""


def _named(name: str, url: str) -> str:
    return " ".join(filter(None, [name, f"<{url}>" if url else ""])) or _NOT_STATED


def authors(study: Study) -> list[str]:
    """The owners by their full names; owners without one are named together."""
    return owners(study) or [f"Owners of the study “{study.slug}”"]


def citation_cff(study: Study, *, licence: str, on: date) -> str:
    """The file CITATION.cff, version 1.2.0. Its values are JSON, which is YAML."""
    fields: dict[str, Any] = {
        "cff-version": "1.2.0",
        "message": "If you use these data, please cite them and the source of their items.",
        "type": "dataset",
        "title": study.title,
        "authors": [{"name": name} for name in authors(study)],
        "date-released": on.isoformat(),
    }
    if licence:
        fields["license"] = licence
    if study.content_hash:
        fields["identifiers"] = [
            {
                "type": "other",
                "value": f"sha256:{study.content_hash}",
                "description": "Hash of everything that was shown.",
            }
        ]
    if reference := _source_reference(study):
        fields["references"] = [reference]
    return "".join(f"{key}: {to_json(value)}\n" for key, value in fields.items())


def _source_reference(study: Study) -> dict[str, Any] | None:
    source = study.source
    if not source.get("name"):
        return None
    reference: dict[str, Any] = {
        "type": "dataset",
        "title": source["name"],
        "authors": [{"name": source.get("citation") or source["name"]}],
    }
    return reference | ({"url": source["url"]} if source.get("url") else {})


def bibtex(study: Study, *, on: date) -> str:
    names = " and ".join(f"{{{tex(name)}}}" for name in authors(study))
    return (
        f"@misc{{{study.slug.replace('-', '_')}_data_{on.year},\n"
        f"  title  = {{{{{tex(study.title)}}}}},\n"
        f"  author = {{{names}}},\n"
        f"  year   = {{{on.year}}},\n"
        f"  note   = {{Data set of {on.isoformat()}, made with Thirdperson}}\n}}\n"
    )
