"""The chapter on annotators and judges: runs, costs and lenient reading."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from analysis.data.arrays import RunData
from analysis.data.verdicts import (
    Ints,
    Verdicts,
    run_verdicts,
)
from analysis.report.report_json import Json, number, pick, put
from analysis.report.section import RUN, NumberSource, ReportJson, ReportPage, Section, Sentence
from analysis.report.sections.record.participation import Annotators, ItemsSection, Participation
from analysis.report.study import ReportedStudy
from analysis.report.tables import (
    EntryField,
    ShownTable,
    Table,
    TableColumn,
    compact,
    table_of_entries,
)
from analysis.report.words import named_entries, number_of, percent, run_names, share_of
from analysis.stats.accuracy.general_accuracy import accuracy_bounds

STATUSES = ("done", "unparseable", "refused", "skipped", "error", "open")


def cost(run: RunData, correct: int) -> Json:
    """A run's usage and cost; unknown prices stay unknown."""
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
    """Numbers of judgments by replies needed until one could be read."""
    values, counts = np.unique(run.judgments.replies, return_counts=True)
    return {str(value): int(count) for value, count in zip(values, counts, strict=True)}


def _bounds(asked: Ints, truth: Ints, verdicts: Verdicts) -> Json:
    """Accuracy if all missing scorable items were wrong, or right."""
    could = np.zeros(truth.size, dtype=np.bool_)
    could[asked] = True
    could &= truth >= 0
    n, correct = int(verdicts.scored.sum()), int((verdicts.correct == 1).sum())
    found = accuracy_bounds(correct, n, int(could.sum()) - n)
    return {"not_scored": found.n_excluded} | pick(found, {"low": "low", "high": "high"})


def _record(run: RunData) -> Json:
    """A run's record for the methods."""
    own: Json = {}
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
    """Each text sent to the model, except item texts, with a description."""
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


def excluded(report: ReportJson) -> Table:
    reasons = (
        ("tie", "undecided"),
        ("no_truth", "no truth"),
        ("unparseable", "unparseable"),
        ("refused", "refused"),
        ("skipped", "skipped"),
        ("error", "error"),
        ("open", "not yet asked"),
    )
    fields: list[EntryField] = [("Items asked", "count", "items"), ("Scored", "count", "n")]
    fields += [(label, "count", f"excluded.{key}", "Not scored") for key, label in reasons]
    fields += [
        ("all wrong", "percent", "bounds.low", "Accuracy if they were"),
        ("all right", "percent", "bounds.high", "Accuracy if they were"),
    ]
    return table_of_entries(
        "excluded",
        "Scored items, and reasons for the others",
        named_entries(report, "judges"),
        fields,
        "Each item counts once. Missing answers are neither wrong nor low.",
        is_record=True,
    )


def cost_table(report: ReportJson) -> Table:
    return table_of_entries(
        "cost",
        "Cost of the judges",
        named_entries(report, "judges"),
        [
            ("Requests", "count", "cost.requests"),
            ("failed", "count", "cost.failed_requests"),
            ("Tokens in", "count", "cost.tokens_in"),
            ("Tokens out", "count", "cost.tokens_out"),
            ("US dollars", "money", "cost.usd"),
            ("per right answer", "money", "cost.usd_per_correct"),
        ],
        "From the ledger of requests, including failed ones; “–” if price or usage is unknown.",
        is_record=True,
    )


def price(report: ReportJson) -> Table:
    """The cost of a right answer from annotators and judges."""
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
        "Cost of a right label",
        columns,
        known,
        "People: rewards of those who finished, before platform fees and taxes; a majority label "
        "takes several answers. Judges: provider charges at the set prices; 0 for your own model "
        "without a price.",
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

    def compute(self, study: ReportedStudy, earlier: ReportJson) -> Json:
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

    def tables(self, report: ReportJson) -> Iterator[Table]:
        yield excluded(report)
        yield cost_table(report)
        yield price(report)


def _side(verdicts: Verdicts, people: Verdicts) -> Json:
    """Accuracy, and agreement with the majority on the items that both decided."""
    n, correct = int(verdicts.scored.sum()), int((verdicts.correct == 1).sum())
    both = (verdicts.answer >= 0) & (people.answer >= 0)
    same = int((verdicts.answer == people.answer)[both].sum())
    out: Json = {"n": n, "correct": correct, "common_items": int(both.sum())}
    put(out, "accuracy", number(correct / n) if n else None, "empty_group")
    common = out["common_items"]
    put(out, "agreement", number(same / common) if common else None, "empty_group")
    return out


def _entry(study: ReportedStudy, run: RunData, verdicts: Verdicts) -> Json:
    if run.strictly is None:
        return {}
    strict = run_verdicts(study.data, replace(run, judgments=run.strictly))
    rows, only = run.judgments, run.strictly
    return {
        "reading": {
            "judgments": int((rows.choice >= 0).sum()),
            "leniently": int(((rows.choice >= 0) & (only.choice < 0)).sum()),
            "only_certainty": run.certainties_read_leniently,
            "codes": dict(run.read_leniently),
            "verdicts_changed": int(np.sum(verdicts.answer != strict.answer)),
            "lenient": _side(verdicts, study.people),
            "strict": _side(strict, study.people),
        }
    }


def _entries(report: ReportJson) -> list[tuple[str, ReportJson]]:
    named = zip(run_names(report), report["judges"], strict=True)
    return [(name, judge["reading"]) for name, judge in named if "reading" in judge]


def reading_table(report: ReportJson) -> Table:
    entries = [
        (name, {**entry, "as": ", ".join(f"{code} {n:,}" for code, n in entry["codes"].items())})
        for name, entry in _entries(report)
    ]
    return table_of_entries(
        "reading",
        "Effect of lenient reading",
        entries,
        [
            ("Answers", "count", "judgments"),
            ("read only leniently", "count", "leniently", "Answers"),
            ("certainty only", "count", "only_certainty", "Answers"),
            ("Read as", "text", "as"),
            ("Other verdicts", "count", "verdicts_changed", "Items"),
            ("lenient", "percent", "lenient.accuracy", "Accuracy"),
            ("strict", "percent", "strict.accuracy", "Accuracy"),
            ("lenient", "percent", "lenient.agreement", "Agreement with the majority"),
            ("strict", "percent", "strict.agreement", "Agreement with the majority"),
        ],
        "Only runs with replies that strict reading rejects. Strict: these replies count as "
        "unanswered, and leniently read certainties as missing. A run with strict reading would "
        "have asked again, so its answers could differ. Agreement: on items that both decided.",
        is_record=True,
    )


def reading_sentences(report: ReportJson) -> Iterator[tuple[str, str]]:
    """One limit per run with answers that only lenient reading gives."""
    for name, entry in _entries(report):
        lenient, strict = entry["lenient"]["accuracy"], entry["strict"]["accuracy"]
        text = (
            f"{name}: {entry['leniently']:,} of {entry['judgments']:,} answers were read only "
            "leniently"
        )
        if not entry["leniently"]:
            text = f"{name}: {entry['only_certainty']:,} certainties were read only leniently"
        if lenient is None:
            yield "reading", f"{text}."
        elif strict is None:
            yield "reading", f"{text}. Without them, nothing can be scored."
        else:
            was = f"its accuracy is {percent(strict)} instead of {percent(lenient)}"
            yield "reading", f"{text}. Without them, {was}."


class ReadingSection(Section):
    """The reading of replies, if any was read only leniently."""

    name = "reading"
    needs = ("accuracies",)
    sources = (NumberSource("judges.*.reading", "reading", RUN),)

    def compute(self, study: ReportedStudy, earlier: ReportJson) -> Json:
        runs = zip(study.data.runs, study.judges, strict=True)
        return {"judges": [_entry(study, run, verdicts) for run, verdicts in runs]}

    def tables(self, report: ReportJson) -> Iterator[Table]:
        yield reading_table(report)


def _of_judges(report: ReportJson) -> Iterator[str]:
    if not report["judges"]:
        yield "No judge was run, so people cannot be compared with judges."
    for name, judge in zip(run_names(report), report["judges"], strict=True):
        left = {
            key: n for key, n in judge["excluded"].items() if n and key not in {"tie", "no_truth"}
        }
        if judge["judgments"]["done"] == 0:
            words = ", ".join(f"{n} {WHY[key]}" for key, n in left.items())
            yield (
                f"{name} has no readable answer to any of {_items(judge['items'])} ({words}). "
                "Its accuracy is undefined, not 0."
            )
        elif judge["items"] < report["inputs"]["items"]:
            yield (
                f"{name} was asked about {judge['items']} of {report['inputs']['items']} items; "
                "comparisons use the items that both sides decided."
            )


WHY = {
    "unparseable": "unreadable",
    "refused": "refused",
    "skipped": "skipped",
    "error": "failed",
    "open": "not yet asked",
}


def _items(n: int) -> str:
    return f"{n:,} item" if n == 1 else f"{n:,} items"


def _missing(report: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    failures = ("unparseable", "refused", "skipped", "error", "open")
    missing = []
    for name, judge in zip(run_names(report), report["judges"], strict=True):
        failed = sum(judge["excluded"][key] for key in failures)
        # A run without answers has no accuracy and is named at the top of the page.
        if judge["n"] and failed / judge["items"] > MANY_MISSING:
            missing.append(f"{name} ({share_of(failed / judge['items'], judge['items'], 'item')})")
    if missing:
        yield (
            "missing",
            "Some runs lack answers to many items, and their accuracy is only about the others: "
            f"{'; '.join(missing)}.",
        )


def _conditions(report: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Runs with requests that differ from the settings, or with several answering models."""
    for name, judge in zip(run_names(report), report["judges"], strict=True):
        for sentence in judge["record"]["conditions"]:
            yield "conditions", f"{name}: {sentence}"


# Above this share of unread or refused items, accuracy may cover only the easy items.
MANY_MISSING = 0.05


def _item_rows(report: ReportJson, shown: ShownTable) -> Iterator[Any]:
    """The rows of the items table, with the values used by filters."""
    for row, item in zip(shown.rows, report["items"], strict=False):
        sides = [
            [side["choice"], side["certainty"], {True: 1, False: 0, None: None}[side["correct"]]]
            for side in (item["people"], *item["judges"])
        ]
        groups = " ".join(f"{number}.{code}" for number, code in enumerate(item["groups"]))
        yield row, {"key": item["item"], "sides": compact(sides), "groups": groups}


def _excluded(report: ReportJson) -> Iterator[tuple[str, str]]:
    if people := report["human"]["not_counted"].get("excluded_people", 0):
        yield (
            "excluded",
            f"{people} {'person is' if people == 1 else 'people are'} excluded. Another "
            "view of the report shows whether the headline would be the same with them.",
        )


def _pooled(report: ReportJson) -> Iterator[tuple[str, str]]:
    """People in several of the pooled studies, and those for whom this is unknown."""
    found = report["study"]["source"].get("pooled_people")
    if not found:
        return
    if n := found["in_several"]:
        words = number_of(n, "person")
        yield "pooled", f"{words} took part in several of the pooled studies; each counts once."
    if n := found["repeated_answers"]:
        yield (
            "pooled",
            f"{number_of(n, 'answer')} to an item that the same person had answered in an earlier "
            "study are left out.",
        )
    if n := found["unknown"]:
        yield (
            "pooled_unknown",
            f"For {number_of(n, 'annotator')} no platform id was stored, so we cannot tell "
            "whether they took part in several of the pooled studies; they count once in each. "
            "If somebody took part in several, the intervals are too narrow.",
        )


class Record(Section):
    """Participants, exclusions, and costs."""

    name = "record"
    title = "Who took part and how"
    inside = "Participation, exclusions, costs, people and items"
    parts = (Participation(), Annotators(), Runs(), ReadingSection(), ItemsSection())

    def sentences(self, report: ReportJson) -> Iterator[Sentence]:
        for text in _of_judges(report):
            yield Sentence.of("missing", text)
        more = (*_excluded(report), *_pooled(report), *reading_sentences(report))
        for code, text in (*_missing(report), *_conditions(report), *more):
            yield Sentence.of("limit", text, code)

    def context(self, page: ReportPage) -> Mapping[str, Any]:
        # Templates resolve a dictionary's method “items” before the key “items”.
        shown = page.tables.get("items")
        rows = list(_item_rows(page.report, shown)) if shown else []
        return {"item_table": shown, "item_rows": rows}
