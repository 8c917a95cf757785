"""The README.md of an export: a dataset card with its YAML head."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from studies.models import Study
from studies.money import format_money
from studies.prompts import BANDS

_SIZES = ((1_000, "n<1K"), (10_000, "1K<n<10K"), (100_000, "10K<n<100K"), (1_000_000, "100K<n<1M"))
_TABLES = {
    "items": "What was judged: a person, a question, two responses, the person's own answer.",
    "annotations": "People's answers, one row each, in content terms (`r1`, `r2`, `tie`).",
    "judgments": "Models' answers in the same shape, with run, sample, raw reply and attempts.",
    "annotators": "The people under their exported names: progress, checks, demographics.",
}


def dataset_card(study: Study, *, counts: Mapping[str, int], formats: Sequence[str]) -> str:
    """The card of an export with `counts` rows a table, in `formats`."""
    return f"---\n{_head(study, counts, formats)}---\n{_body(study, counts)}"


def _head(study: Study, counts: Mapping[str, int], formats: Sequence[str]) -> str:
    total = sum(counts.values())
    source = study.source
    fields: dict[str, Any] = {
        "pretty_name": study.title,
        "language": [study.language],
        "license": "other",
        "license_name": source.get("licence") or "not stated",
    }
    if source.get("licence_url"):
        fields["license_link"] = source["licence_url"]
    folder, ending = ("data", "parquet") if "parquet" in formats else ("jsonl", "jsonl")
    fields |= {
        "annotations_creators": ["crowdsourced", "machine-generated"],
        "multilinguality": ["monolingual"],
        "size_categories": [next((name for top, name in _SIZES if total < top), "n>1M")],
        "source_datasets": [f"extended|{source['name']}"] if source.get("name") else ["original"],
        "task_categories": ["text-classification"],
        "tags": [
            "llm-as-a-judge", "personalization", "pairwise-preference", "certainty",
            "human-feedback",
        ],
        "configs": [
            {
                "config_name": name,
                "data_files": [{"split": "train", "path": f"{folder}/{name}.{ending}"}],
            }
            for name in counts
        ],
    }  # fmt: skip
    # JSON is YAML: no text of the study can end the block or be taken for a directive.
    return "".join(
        f"{key}: {json.dumps(value, ensure_ascii=False)}\n" for key, value in fields.items()
    )


def _body(study: Study, counts: Mapping[str, int]) -> str:
    source = study.source
    rows = "".join(f"| {name} | {count:,} | {_TABLES[name]} |\n" for name, count in counts.items())
    bands = "".join(f"| {b.low}–{b.high} | {b.name} | {b.definition} |\n" for b in BANDS)
    asked = "a choice and a certainty from 1 to 100" if study.ask_certainty else "a choice"
    ties = "A tie could be chosen." if study.allow_tie else "A tie could not be chosen."
    simulated = "\n**Answers in this data set are simulated.**\n" if study.is_simulated else ""
    paid = format_money(study.reward, study.currency)
    withheld = (
        "\nThe source forbids redistribution: items are given as ids and content hashes.\n"
        if source.get("redistribution") == "forbidden"
        else ""
    )
    return f"""
# {study.title}
{simulated}
People and models were asked the same thing about the same items: {study.get_task_display()}.
Whoever judged saw a profile of a real person and answered as that person would.

## Tables

| table | rows | what |
| --- | --- | --- |
{rows}
Rows join on `item_id` (items: `id`) and `rater_id`. The fields are described in the program's
documentation of formats. `CHECKSUMS.sha256` covers every file; `prompts/` holds the words that
models were sent, with their hashes. `jsonl/` can be imported again as a bundle.

## How the answers were collected

Each item was to get {study.annotations_per_item} answers of people; each person got about
{study.items_per_annotator} items, {study.minutes} minutes and {paid}. Asked for was {asked}.
{ties} Answers whose `standing` is not `counted` or `imported`, and answers that are `excluded`,
are in the table and not in the report.

Certainty is banded like this; high certainty is {study.certainty_threshold} or more.

| certainty | band | meaning |
| --- | --- | --- |
{bands}
## Privacy

Nobody is named: `rater_id` comes from a key that stays with the study. Times are cut to the
minute. Demographics are given only in combinations that at least five people share. Free text
about people is left out.

## Source and licence

{_source(source)}
{withheld}
## Known limits

The report of the study says how well its answers agree, and what it cannot tell.
"""


def _source(source: Mapping[str, Any]) -> str:
    names = ("name", "url", "revision", "retrieved_on", "licence", "licence_url", "redistribution",
             "citation")  # fmt: skip
    lines = [f"- {name.replace('_', ' ')}: {source[name]}" for name in names if source.get(name)]
    return "\n".join(lines) or "Not stated. Ask the study's owner before you pass the items on."
