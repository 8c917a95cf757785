"""The README.md of an export: a dataset card with its YAML head."""

from collections.abc import Iterable, Sequence
from typing import Any

from analysis.exports.catalogue import LICENCES, DescribedPart
from analysis.exports.columns import ITEMS
from analysis.exports.table_files import to_json
from extras.publication.collection import RunFacts, rebuild_commands
from extras.publication.facts import (
    SIMULATED,
    DataDescription,
    annotator_demographics,
    answers_per_item,
    bibtex,
    collection,
    from_files,
    has_certainty,
    licence_text,
    limits,
    privacy,
    promise,
    protocol,
    summary,
)
from studies.prompts import BANDS

_SIZES = ((1_000, "n<1K"), (10_000, "1K<n<10K"), (100_000, "10K<n<100K"), (1_000_000, "100K<n<1M"))
_TABLES = {
    "items": "What was judged: a persona, a question, two responses, the persona's own answer.",
    "annotations": "Answers of people, one row each, in content terms (`r1`, `r2`, `tie`).",
    "judgments": "Models' answers in the same shape, with run, sample, raw reply and attempts.",
    "annotators": "Annotators under their exported names: progress, checks, demographics.",
    "aggregates": "One verdict per item of all people together, and of each run of a model.",
}
_TYPES = {
    "text": "string",
    "json": "string",
    "integer": "int64",
    "number": "float64",
    "boolean": "bool",
    "time": "timestamp[s, tz=UTC]",
}


_NESTED = (
    "Columns of CSV and Parquet. In JSON Lines an item is one object, with the persona and the "
    "responses nested in it.\n\n"
)


def dataset_card(described: DataDescription) -> str:
    """The card: a YAML head for machines, then text for readers."""
    return f"---\n{_head(described)}---\n{_body(described)}"


def _head(described: DataDescription) -> str:
    study, source = described.study, described.study.source
    total = sum(part.rows for part in described.parts)
    own = described.licence if described.licence in LICENCES else ""
    fields: dict[str, Any] = {"pretty_name": study.title, "language": described.languages}
    if own and source.get("licence", own) == own:
        fields["license"] = own.lower()
    else:
        answers, items = own or "not stated", source.get("licence") or "not stated"
        fields |= {
            "license": "other",
            "license_name": f"answers: {answers}; items: {items}",
            "license_link": "LICENSE",
        }
    fields |= {
        "annotations_creators": [
            *(["crowdsourced"] if described.collection.standings else []),
            *(["machine-generated"] if described.collection.runs else []),
        ]
        or ["no-annotation"],
        "language_creators": ["found"],
        "multilinguality": ["multilingual" if len(described.languages) > 1 else "monolingual"],
        "size_categories": [next((name for top, name in _SIZES if total < top), "n>1M")],
        "source_datasets": [f"extended|{source['name']}"] if source.get("name") else ["original"],
        "task_categories": ["text-classification"],
        "tags": [
            "llm-as-a-judge",
            "personalization",
            "pairwise-preference",
            "certainty",
            "human-feedback",
        ],
        "configs": [
            {
                "config_name": part.name,
                "data_files": [{"split": "train", "path": _data_path(part)}],
            }
            for part in described.parts
        ],
        "dataset_info": [_info(part) for part in described.parts],
    }
    # JSON is also YAML, so no text of the study can end the block or act as a directive.
    return "".join(f"{key}: {to_json(value)}\n" for key, value in fields.items())


def _data_path(part: DescribedPart) -> str:
    return (part.files.get("parquet") or part.files["jsonl"]).path


def _info(part: DescribedPart) -> dict[str, Any]:
    """Size and, for Parquet, columns; readers of JSON Lines find the columns themselves."""
    parquet = part.files.get("parquet")
    features = [{"name": c.name, "dtype": _TYPES[c.kind]} for c in part.columns]
    size = (parquet or part.files["jsonl"]).bytes
    return {
        "config_name": part.name,
        **({"features": features} if parquet else {}),
        "splits": [{"name": "train", "num_bytes": size, "num_examples": part.rows}],
        "dataset_size": size,
    }


def _body(described: DataDescription) -> str:
    study = described.study
    simulated = f"\n**{SIMULATED}**\n" if study.is_simulated else ""
    left_out = "".join(f"\nLeft out: {reason}\n" for reason in described.left_out)
    bands = "\n"
    if has_certainty(described) and not from_files(described):
        rows = [(f"{b.low}–{b.high}", b.name, b.definition) for b in BANDS]
        bands = f"\n{_table(('certainty', 'band', 'meaning'), rows)}\n"
    tables = _table(
        ("table", "rows", "what"),
        [(part.name, f"{part.rows:,}", _TABLES[part.name]) for part in described.parts],
    )
    known = "\n".join(f"- {sentence}" for sentence in limits(described))
    return f"""
# {study.title}
{simulated}
{summary(described)}

Created on {described.on.isoformat()} (UTC) from the study “{study.slug}”.

## Tables

{tables} Rows join on `item_id` (items: `id`) and `rater_id`. `jsonl/` can be imported again as a
bundle, `csv/` opens in a spreadsheet; cells that a spreadsheet would compute start with `'`.
{_other_shapes(described)}`prompts/` has the texts that models were sent, with hashes;
`prompts/runs.json` names the file of each run, if its words are still stored. `croissant.json`
describes the files for machines; `CHECKSUMS.sha256` covers every file (`sha256sum --check
CHECKSUMS.sha256`). Hash of all tables: `{described.data_sha256}`, from `grep ' jsonl/.*[.]jsonl$'
CHECKSUMS.sha256 | sha256sum`. A bundle for blind review has the same tables and the same hash.

{described.report}
{left_out}
## How the answers were collected

{collection(described)} {answers_per_item(described)}

{protocol(described)}

Questions that checked whether the instructions were understood: \
{described.collection.comprehension_questions}. Attention checks among the items: \
{described.collection.attention_checks}.

{_standings(described)}

{_texts(described)}

## The people

{annotator_demographics(described)}

{_people(described)}
## The judges

{_judges(described.collection.runs)}
## Certainty

{_certainty(described)}
{bands}## Statistics

{_scores(described)}
## Fields

{_fields(described.parts)}
{_wide(described)}
## Privacy

{privacy(described)}

## Known limits

{known}

## Licence

```
{licence_text(study, described.licence).strip()}
```

{_source(described)}
{_rebuilding(described)}
## Citation

```
{bibtex(study, on=described.on).strip()}
```
"""


def _other_shapes(described: DataDescription) -> str:
    if not described.others and not described.left_out:
        return ""
    return """`other/` holds the answers in other shapes: `mt_bench.jsonl` (pairwise comparisons), \
`wide.csv` (one
row per item, one column per person, for R and SPSS) and `reliability.csv` (people by items; 1, 2, 3
for `r1`, `r2`, `tie`). """


def _texts(described: DataDescription) -> str:
    """The consent and the instructions, if people answered here."""
    if from_files(described):
        return "The consent and instructions are not known, because nobody answered here."
    return (
        f"### The text of the consent\n\n{_agreed(described)}\n\n"
        f"### Instructions\n\n{_quoted(described.collection.instructions)}"
    )


def _people(described: DataDescription) -> str:
    counts = described.collection.people.items()
    return _table(("state", "people"), [(state, f"{n:,}") for state, n in counts])


def _agreed(described: DataDescription) -> str:
    """Each text that people agreed to, with its checkboxes and dates."""
    paragraphs = []
    for form in described.collection.agreed:
        if form.version:
            paragraphs.append(
                f"**Version {form.version[:12]}**, days of consent (UTC): {form.days}; people: "
                f"{form.people}. {promise(form.terms)}".rstrip()
            )
        if form.text and described.is_blind:
            paragraphs.append(
                "The text says who runs the study, so it is left out for blind review. The bundle "
                "with names has it under the same version."
            )
        elif form.text:
            boxes = "\n".join(f"- [ ] {box}" for box in form.boxes)
            paragraphs.append(_quoted("\n".join(filter(None, (form.text, boxes)))))
        else:
            paragraphs.append("Only the hash of this text was stored.")
    return "\n\n".join(paragraphs)


def _standings(described: DataDescription) -> str:
    standings = described.collection.standings
    withdrawn = standings.get("withdrawn", 0)
    parts = [f"{count:,} {name}" for name, count in standings.items() if name != "withdrawn"]
    sentence = f"Answers by standing: {', '.join(parts)}." if parts else "There are no answers yet."
    if withdrawn:
        sentence += f" Withdrawn, and not in this data set: {withdrawn:,}."
    return (
        f"{sentence} `counted` fills a seat of an item, `surplus` is beyond the seats, "
        "`released` is from somebody who left early, `imported` is from a file. The report of "
        "the study uses `counted` and `imported` answers of people who are not `excluded`; "
        f"{_n(len(described.collection.exclusions), 'person', 'people')} "
        f"{'is' if len(described.collection.exclusions) == 1 else 'are'} "
        f"excluded.{_exclusions(described)}"
    )


def _exclusions(described: DataDescription) -> str:
    """When and why people were excluded, and by whom, without the excluded people's names."""
    rows = [
        (
            exclusion.on,
            exclusion.by or "a command",
            "after it" if exclusion.after_report else "before it",
            f"{exclusion.answers:,}",
            exclusion.reason
            if described.disclosure.free_text
            else "only exported with --free-text",
        )
        for exclusion in sorted(
            described.collection.exclusions, key=lambda exclusion: (exclusion.on, exclusion.reason)
        )
    ]
    heading = ("excluded on", "by", "first report", "answers", "reason")
    return f"\n\n{_table(heading, rows)}" if rows else ""


def _certainty(described: DataDescription) -> str:
    if not described.study.ask_certainty:
        return "People were not asked how certain they were."
    if not has_certainty(described):
        return "No answer of a person states a certainty."
    if from_files(described):
        return (
            f"Certainty is from 1 to 100; {described.study.certainty_threshold} or more counts as "
            "high. What people were shown is not known, because their answers came from files."
        )
    return (
        f"Certainty is stated from 1 to 100; {described.study.certainty_threshold} or "
        "more counts as high. The bands were shown with these words:"
    )


def _judges(runs: Sequence[RunFacts]) -> str:
    if not runs:
        return "No model has judged.\n"
    table = _table(
        (
            "judge",
            "model",
            "as reported",
            "reached by",
            "setting",
            "features",
            "order",
            "samples",
            "temperature",
            "top-p",
            "days (UTC)",
            "questions",
            "replies",
            "without an answer",
        ),
        [
            (
                run.judge,
                run.model,
                ", ".join(run.snapshots) or "–",
                run.backend,
                run.setting,
                run.features,
                run.orders,
                run.samples,
                _given(run.temperature),
                _given(run.top_p),
                run.days or "–",
                f"{run.judgments:,}",
                f"{run.replies:,}",
                ", ".join(f"{count:,} {name}" for name, count in run.failed.items()) or "none",
            )
            for run in runs
        ],
    )
    drift = [
        f"- {run.judge}, {run.setting}, {run.features}: {' '.join(run.drift)}\n"
        for run in runs
        if run.drift
    ]
    return table + ("\nWhether the models changed:\n\n" + "".join(drift) if drift else "")


def _given(value: float | None) -> str:
    return "not known" if value is None else f"{value:g}"


def _scores(described: DataDescription) -> str:
    if not described.scores:
        return "Nothing was judged yet.\n"
    return _table(
        ("who", "items", "no majority", "scored", "right"),
        [
            (
                name,
                f"{score.items:,}",
                f"{score.tied:,}",
                f"{score.scored:,}",
                f"{score.correct:,} ({score.correct / score.scored:.1%})" if score.scored else "–",
            )
            for name, score in described.scores.items()
        ],
    ) + ("\nScored: with a verdict and a known own answer that was an option.\n")


def _fields(parts: Iterable[DescribedPart]) -> str:
    sections = []
    for part in parts:
        rows = [(f"`{c.name}`", c.kind, c.meaning) for c in part.columns]
        nested = _NESTED if part.name == "items" and part.columns == ITEMS else ""
        sections.append(f"### {part.name}\n\n{nested}{_table(('field', 'type', 'meaning'), rows)}")
    return "\n".join(sections)


def _wide(described: DataDescription) -> str:
    """The run columns of the wide table; people's are similar, and the file lists all."""
    wide = described.others.get("wide.csv", ())
    rows = [(f"`{c.name}`", c.kind, c.meaning) for c in wide if c.name.startswith("J_")]
    if not rows:
        return ""
    return (
        "### other/wide.csv\n\nOne row per item, and two columns per person (`R_…`) and per run "
        "(`J_…`): the answer and its certainty. `other/wide_columns.csv` explains every column.\n\n"
        f"{_table(('field', 'type', 'meaning'), rows)}"
    )


def _source(described: DataDescription) -> str:
    source = described.study.source
    names = (
        "name",
        "url",
        "revision",
        "retrieved_on",
        "licence",
        "licence_url",
        "redistribution",
        "citation",
    )
    lines = [f"- {name.replace('_', ' ')}: {source[name]}" for name in names if source.get(name)]
    return "Source of the items:\n\n" + "\n".join(lines) + "\n" if lines else ""


def _rebuilding(described: DataDescription) -> str:
    study = described.study
    if study.source.get("redistribution") != "forbidden":
        return ""
    listed = "\n".join(rebuild_commands(study.slug, described.collection.readings))
    return f"""
### Rebuilding the items

The source forbids redistribution: items are given as ids and content hashes. If you have
the source's files, this rebuilds the same items and reports each one that differs:

```
{listed or "manage.py import_items STUDY FILE… --create --like jsonl/items.jsonl"}
```
"""


def _quoted(text: str) -> str:
    """Quote the text in Markdown, one paragraph per line."""
    return "\n>\n".join(f"> {line}" for line in text.splitlines())


def _table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    lines = [" | ".join(head), " | ".join("---" for _ in head)]
    lines += [" | ".join(_cell(value) for value in row) for row in rows]
    return "".join(f"| {line} |\n" for line in lines)


def _cell(value: object) -> str:
    """Escape text so that it cannot end its cell or row."""
    return " ".join(str(value).split()).replace("|", "\\|")


def _n(count: int, one: str, many: str = "") -> str:
    return f"{count:,} {one if count == 1 else many or one + 's'}"
