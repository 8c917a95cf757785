"""The questions, gaps and costs of each run."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from analysis.data.arrays import RunData
from analysis.data.verdicts import (
    Ints,
    Verdicts,
)
from analysis.report.encode import Json, number, pick, put
from analysis.report.section import RUN, NumberSource, Report, Section
from analysis.report.study import ReportedStudy
from analysis.report.tables import Field, Table, TableColumn, table_of_entries
from analysis.report.text.names import named_entries, run_names
from analysis.stats.accuracy.bounds import accuracy_bounds

STATUSES = ("done", "unparseable", "refused", "skipped", "error", "open")


def cost(run: RunData, correct: int) -> Json:
    """The usage and cost of a run; unknown prices stay unknown."""
    used = run.cost
    out: Json = {"requests": used.requests, "failed_requests": used.failed_requests}
    known = "not_reported"
    put(out, "tokens_in", used.tokens_in, known)
    put(out, "tokens_out", used.tokens_out, known)
    put(out, "usd", number(used.usd), known)
    per_label = used.usd / correct if used.usd is not None and correct else None
    put(out, "usd_per_correct", number(per_label), known if used.usd is None else "empty_group")
    return out


def _replies(run: RunData) -> dict[str, int]:
    """The number of judgments by the replies that were needed until one could be read."""
    values, counts = np.unique(run.judgments.replies, return_counts=True)
    return {str(value): int(count) for value, count in zip(values, counts, strict=True)}


def _bounds(asked: Ints, truth: Ints, verdicts: Verdicts) -> Json:
    """Accuracy if every missing item that could be scored were wrong, or were right."""
    could = np.zeros(truth.size, dtype=np.bool_)
    could[asked] = True
    could &= truth >= 0
    n, correct = int(verdicts.scored.sum()), int((verdicts.correct == 1).sum())
    found = accuracy_bounds(correct, n, {"not scored": int(could.sum()) - n})
    return {"not_scored": found.n_excluded} | pick(found, {"low": "low", "high": "high"})


def _record(run: RunData) -> Json:
    """The run as the methods describe it."""
    own: Json = {} if run.anchors is None else {"anchors": dict(run.anchors)}
    gone = "words_gone" if run.prompt.stored else "not_reported"
    put(own, "prompt", run.prompt.template, gone)
    put(own, "prompt_file_hash", run.prompt.sha256, gone)
    return own | {
        "backend": run.backend,
        "snapshots": list(run.snapshots),
        "orders": run.orders,
        "samples": run.samples,
        "seed": run.seed,
        "parameters": dict(run.parameters),
        "sent": list(run.sent),
        "reported": list(run.reported),
        "conditions": list(run.conditions),
        "prompt_hash": run.prompt.stored,
        "words": [{"part": part, "text": text} for part, text in _words(run.prompt.words)],
        "state": run.state,
        "state_reason": run.state_reason,
    }


def _words(words: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Each text that the model was sent, other than those of items, with what it is."""
    for prompt in words.get("prompts", ()):
        about = "with a profile" if prompt["persona"] else "without a profile"
        text = prompt["template"]
        if "{{ ask }}" in text:
            text += f"\n\n{{{{ ask }}}} is: {prompt['question']}"
        yield f"{prompt['task']}, {about} ({prompt['sha256'][:12]})", text
    for name, text in words.items():
        if name != "prompts":
            shown = text if isinstance(text, str) else json.dumps(text, ensure_ascii=False)
            yield name.replace("_", " "), shown


def excluded(report: Report) -> Table:
    reasons = (
        ("tie", "undecided"),
        ("no_truth", "no truth"),
        ("unparseable", "unparseable"),
        ("refused", "refused"),
        ("skipped", "skipped"),
        ("error", "error"),
        ("open", "not yet asked"),
    )
    fields: list[Field] = [("Items asked", "count", "items"), ("Scored", "count", "n")]
    fields += [(label, "count", f"excluded.{key}", "Not scored") for key, label in reasons]
    fields += [
        ("all wrong", "percent", "bounds.low", "Accuracy, were they"),
        ("all right", "percent", "bounds.high", "Accuracy, were they"),
    ]
    return table_of_entries(
        "excluded",
        "Items that count, and why others do not",
        named_entries(report, "judges"),
        fields,
        "Each item is counted once. Missing answers are missing: neither wrong nor low.",
        is_record=True,
    )


def cost_table(report: Report) -> Table:
    return table_of_entries(
        "cost",
        "What the judges cost",
        named_entries(report, "judges"),
        [
            ("Requests", "count", "cost.requests"),
            ("failed", "count", "cost.failed_requests"),
            ("Tokens in", "count", "cost.tokens_in"),
            ("Tokens out", "count", "cost.tokens_out"),
            ("US dollars", "money", "cost.usd"),
            ("per right answer", "money", "cost.usd_per_correct"),
        ],
        "From the ledger of requests, failed ones included; “–” where no price or usage is known.",
        is_record=True,
    )


def price(report: Report) -> Table:
    """The cost of a right answer, from annotators and from judges."""
    pay, people = report["human"]["pay"], report["human"]
    rows: list[list[Any]] = []
    if pay["rewards"] is not None:
        for who, side in (
            ("People, single answers", "individual"),
            ("People, majority", "majority"),
        ):
            correct = people[side]["correct"]
            each = pay["rewards"] / correct if correct else None
            rows.append([who, pay["currency"], pay["rewards"], correct, each])
    for name, judge in zip(run_names(report), report["judges"], strict=True):
        cost = judge["cost"]
        rows.append([name, "USD", cost["usd"], judge["correct"], cost["usd_per_correct"]])
    columns = (
        TableColumn("Who"),
        TableColumn("Currency"),
        TableColumn("Paid", "money", currency_in=1),
        TableColumn("Right labels", "count"),
        TableColumn("Per right label", "money", currency_in=1),
    )
    known = [row for row in rows if row[2] is not None]
    return Table(
        "price",
        "What a right label costs",
        columns,
        known,
        "People: rewards of those who finished, before platform fees and taxes; a label of the "
        "majority takes several answers. Judges: what providers charged, by the prices that are "
        "set for them; 0 where a model of one's own has no price. Labels without a truth to score "
        "them by are paid for, too, but cannot be right.",
        is_record=True,
    )


class Runs(Section):
    """The record of every run."""

    name = "runs"
    needs = ("accuracies",)
    sources = (
        NumberSource("inputs.runs", "excluded"),
        NumberSource("judges.*.judgments", "excluded", RUN),
        NumberSource("judges.*.replies", "cost", RUN),
        NumberSource("judges.*.record", ""),
    )

    def compute(self, study: ReportedStudy, earlier: Report) -> Json:
        runs = zip(study.data.runs, study.judges, earlier["judges"], strict=True)
        return {
            "judges": [
                {
                    "bounds": _bounds(run.judgments.item, study.truth_for(run), verdicts),
                    "judgments": {
                        name: int((run.judgments.status == name).sum()) for name in STATUSES
                    },
                    "replies": _replies(run),
                    "cost": cost(run, entry["correct"]),
                    "record": _record(run),
                }
                for run, verdicts, entry in runs
            ]
        }

    def tables(self, report: Report) -> Iterator[Table]:
        yield excluded(report)
        yield cost_table(report)
        yield price(report)
