"""The label of each item after adjudication, and where it comes from; tables of both."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from typing import Any

from analysis.data.item_comparisons import annotator_aggregates
from analysis.errors import ExportError
from analysis.exports.catalogue import Disclosure, ExportTable
from analysis.exports.columns import Column
from analysis.exports.rows import exported_id, to_the_minute
from analysis.exports.table_files import ExportTableFile
from extras.label_models.models import ExpertDecision, SplitItem
from studies.models import Item, Study

_FORMATS = ("csv", "jsonl", "parquet", "xlsx")
_LABELS = (
    Column("item_id", "text", "The item's id."),
    Column("own_answer", "text", "The persona's own answer; empty if unknown."),
    Column("label", "text", "The adjudicated label: r1, r2 or tie; empty while it is open."),
    Column(
        "source",
        "text",
        "majority: of the annotators, whose item was not split; expert: see experts; open: experts "
        "have not decided, or disagree; none: no annotator and no expert.",
    ),
    Column("experts", "json", "Exported names of the experts whose choice the label is."),
    Column("why_split", "text", "no_majority, share, set or file; empty if it was not split."),
    Column("answers", "integer", "Answers of annotators that count."),
    Column("majority", "text", "What most of them chose; empty without a majority."),
    Column("share", "number", "The share of the majority."),
)
_DECISIONS = (
    Column("item_id", "text", "The item's id."),
    Column("rater_id", "text", "The expert's exported name."),
    Column("choice", "text", "r1, r2 or tie."),
    Column("certainty", "integer", "1 to 100; empty if none was asked."),
    Column("shown_first", "text", "The response on side A; empty if unknown."),
    Column("by", "text", "account, link or file: how the expert decided."),
    Column("changes", "integer", "How often the decision was changed."),
    Column("answered_at", "time", "When it was decided, UTC, to the minute."),
)


def label_of(choices: Sequence[str]) -> str:
    """What most experts chose; empty without a decision, and if as many chose something else.

    >>> label_of(["r1", "r2", "r1"]), label_of(["r1", "r2"]), label_of([])
    ('r1', '', '')
    """
    most = Counter(choices).most_common(2)
    is_open = not most or (len(most) == 2 and most[0][1] == most[1][1])
    return "" if is_open else most[0][0]


def expert_name(study: Study, public_id: str) -> str:
    """The exported name of an expert, which says nothing about who it is."""
    return f"E{exported_id(study.export_key, public_id)[1:]}"


def decided_rows(study: Study) -> Iterator[ExpertDecision]:
    """What experts have decided about items that count, by item and expert."""
    rows = ExpertDecision.objects.exclude(choice="").filter(
        expert__study=study, item__split=Item.Split.MAIN
    )
    yield from rows.select_related("expert", "item").order_by("item__key", "expert__pk")


def label_rows(study: Study) -> Iterator[dict[str, Any]]:
    """One row for each item that counts."""
    reasons = dict(SplitItem.objects.filter(item__study=study).values_list("item__key", "reason"))
    decided: defaultdict[str, dict[str, str]] = defaultdict(dict)
    for row in decided_rows(study):
        decided[row.item.key][expert_name(study, row.expert.public_id)] = row.choice
    people = {row["item_id"]: row for row in annotator_aggregates(study)}
    items = Item.objects.filter(study=study).order_by("key")
    for key, own in items.values_list("key", "first_person"):
        answers = people.get(key, {})
        experts = decided.get(key, {})
        if key in reasons:
            label = label_of([*experts.values()])
            source = "expert" if label else "open"
        else:
            label = answers.get("verdict") or ""
            source = "majority" if label else "open" if answers else "none"
        yield {
            "item_id": key,
            "own_answer": own or None,
            "label": label or None,
            "source": source,
            "experts": sorted(name for name, choice in experts.items() if choice == label),
            "why_split": reasons.get(key),
            "answers": answers.get("answers", 0),
            "majority": answers.get("verdict"),
            "share": answers.get("share"),
        }


def decision_rows(study: Study) -> Iterator[dict[str, Any]]:
    for row in decided_rows(study):
        yield {
            "item_id": row.item.key,
            "rater_id": expert_name(study, row.expert.public_id),
            "choice": row.choice,
            "certainty": row.certainty,
            "shown_first": row.shown_first or None,
            "by": row.expert.way,
            "changes": row.changes,
            "answered_at": to_the_minute(row.decided_at),
        }


def _check(study: Study) -> None:
    if not SplitItem.objects.filter(item__study=study).exists():
        raise ExportError(
            f"No item of “{study.slug}” was sent to experts. Send split items under Report, "
            "“Adjudication”."
        )


def _labels(study: Study, disclosure: Disclosure) -> ExportTableFile:
    _check(study)
    return ExportTableFile("labels", _LABELS, lambda: label_rows(study))


def _decisions(study: Study, disclosure: Disclosure) -> ExportTableFile:
    _check(study)
    return ExportTableFile("decisions", _DECISIONS, lambda: decision_rows(study))


TABLES = (
    ExportTable(
        "labels", _FORMATS, "Labels after adjudication: one row per item, with its source", _labels
    ),
    ExportTable(
        "decisions", _FORMATS, "Decisions of experts: one row per expert and split item", _decisions
    ),
)
