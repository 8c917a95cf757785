"""The chapter on annotators and judges: runs, costs and lenient reading."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from analysis.data.arrays import Judgments, RunData
from analysis.data.verdicts import (
    Ints,
    Verdicts,
    run_verdicts,
)
from analysis.report.quantities import (
    Name,
    Population,
    Quantity,
    Text,
    Words,
    clause,
    joined,
    say,
    sentences,
)
from analysis.report.report_json import Json, pick, put
from analysis.report.results import NOTHING, excluded_people, items, no_people
from analysis.report.section import RUN, NumberSource, ReportJson, ReportPage, Section, Sentence
from analysis.report.sections.record.participation import Annotators, ItemsSection, Participation
from analysis.report.study import ReportedStudy, tally
from analysis.report.tables import (
    EntryField,
    ShownTable,
    Table,
    TableColumn,
    compact,
    table_of_entries,
)
from analysis.report.words import named_entries, run_names
from analysis.stats.accuracy.general_accuracy import accuracy_bounds
from studies.money import format_cost

STATUSES = ("done", "unparseable", "refused", "skipped", "error", "open")


def cost(run: RunData, correct: int, *, is_part: bool) -> Json:
    """A run's usage and cost; unknown prices stay unknown, and what a part of its answers costs."""
    used = run.cost
    out: Json = {"requests": used.requests, "failed_requests": used.failed_requests}
    known = "not_reported"
    put(out, "tokens_in", used.tokens_in, known)
    put(out, "tokens_out", used.tokens_out, known)
    put(out, "usd", used.usd, known)
    usd = None if is_part else used.usd
    per_label = usd / correct if usd is not None and correct else None
    put(out, "usd_per_correct", per_label, known if usd is None else "empty_group")
    remarks = [run.price_remark]
    if used.usd and run.usd_at_most:
        remarks.append(
            f"${format_cost(run.usd_at_most)} of its cost is an upper estimate, because the server "
            "did not report tokens."
        )
    remark = " ".join(filter(None, remarks))
    return out | ({"price_remark": remark} if remark else {})


def _bounds(asked: Ints, truth: Ints, verdicts: Verdicts) -> Json:
    """Accuracy if all missing scorable items were wrong, or right."""
    could = np.zeros(truth.size, dtype=np.bool_)
    could[asked] = True
    could &= truth >= 0
    n, correct = int(verdicts.scored.sum()), int((verdicts.correct == 1).sum())
    bounds = accuracy_bounds(correct, n, int(could.sum()) - n)
    return {"not_scored": bounds.n_excluded} | pick(bounds, "low high")


def _record(run: RunData) -> Json:
    """A run's record for the methods."""
    own: Json = {}
    gone = "words_gone" if run.prompt.stored else "not_reported"
    put(own, "prompt", run.prompt.template, gone)
    put(own, "prompt_file_hash", run.prompt.sha256, gone)
    return own | {
        "backend": run.backend,
        "snapshots": list(run.snapshots),
        "orders": _orders(run.judgments) if run.parameters.get("imported") else run.orders,
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


def _orders(rows: Judgments) -> str:
    """The orders of the responses of imported judgments, of which only the rows know."""
    closed = rows.status != "open"
    asked = np.unique(rows.item[closed])
    first, second = (
        np.isin(asked, rows.item[closed & (rows.shown_first == order)]) for order in (0, 1)
    )
    if not (first | second).all():
        return "not stored for all items" if (first | second).any() else "not stored"
    if not (first & second).any():
        return "one for each item"
    return "both" if (first & second).all() else "both for some items, one for the others"


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
            string = text if isinstance(text, str) else json.dumps(text, ensure_ascii=False)
            yield name.replace("_", " "), string


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
        [
            (name, judge)
            for name, judge in named_entries(report, "judges")
            if not judge["record"]["parameters"].get("imported")
        ],
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
    if pay["rewards"] is not None and pay.get("per_correct_reason") != "not_reported":
        for who, side in (
            ("People, single answers", "individual"),
            ("People, majority", "majority"),
        ):
            correct = people[side]["correct"]
            price_of_one = pay["rewards"] / correct if correct else None
            rows.append([who, pay["currency"], pay["rewards"], correct, price_of_one])
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
    known = [row for row in rows if row[2] is not None and (row[4] is not None or not row[3])]
    return Table(
        "price",
        "Cost of a right label",
        columns,
        known,
        say(
            "People: rewards of those who finished, before platform fees and taxes; a majority "
            "label takes several answers. Judges: provider charges at the set prices; 0 for your "
            "own model without a price.{remarks}",
            remarks=joined(list(_price_remarks(report)), "", ""),
        ),
        is_record=True,
    )


def _price_remarks(report: ReportJson) -> Iterator[Text]:
    """What was known of a price when the run last asked its model, if it may be out of date."""
    for name, judge in named_entries(report, "judges"):
        if remark := judge["cost"].get("price_remark"):
            yield clause(" {name}: {remark}", name=Name(name), remark=Name(remark))


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
                    # How many were needed until one could be read.
                    "replies": tally(run.judgments.replies),
                    "cost": cost(run, entry["correct"], is_part=study.data.is_part),
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
    put(out, "accuracy", correct / n if n else None, "empty_group")
    common = out["common_items"]
    put(out, "agreement", same / common if common else None, "empty_group")
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


def reading_table(report: ReportJson) -> Table:
    entries = [
        (name, {**entry, "as": ", ".join(f"{code} {n:,}" for code, n in entry["codes"].items())})
        for name, judge in named_entries(report, "judges")
        if (entry := judge.get("reading"))
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


def reading_sentences(report: ReportJson) -> Iterator[Text]:
    """One limit per run with answers that only lenient reading gives."""
    names = run_names(report)
    for place, judge in enumerate(report["judges"]):
        if "reading" in judge:
            yield _read_leniently(Name(names[place]), judge["reading"], f"judges.{place}.reading")


def _read_leniently(name: Name, entry: ReportJson, path: str) -> Text:
    answers = Population("answer", "read", entry["judgments"], path=f"{path}.judgments")
    count = Quantity("count", answers, entry["leniently"], f"{path}.leniently")
    read = clause("{name}: {n} of {n.n} were read only leniently", name=name, n=count)
    if not entry["leniently"]:
        n = Quantity("count", answers, entry["only_certainty"], f"{path}.only_certainty")
        form = "{name}: {n} {of} were read only leniently"
        of = Words("certainty" if n.value == 1 else "certainties")
        read = clause(
            form.replace("were", "was" if n.value == 1 else "were"), name=name, n=n, of=of
        )
    strict, lenient = (
        None
        if (side := entry[key])["accuracy"] is None
        else Quantity(
            "share",
            Population("item", "that can be scored", side["n"], path=f"{path}.{key}.n"),
            side["accuracy"],
            f"{path}.{key}.accuracy",
        )
        for key in ("strict", "lenient")
    )
    if lenient is None:
        return say("{read}.", read=read)
    if strict is None:
        return say("{read}. Without them, nothing can be scored.", read=read)
    # Each of the two sentences has numbers of its own.
    return sentences(
        say("{read}.", read=read),
        say(
            "Without them, it is right on {strict} of {strict.of} instead of {lenient} of "
            "{lenient.of}.",
            strict=strict,
            lenient=lenient,
        ),
    )


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


def _of_judges(report: ReportJson) -> Iterator[Text]:
    if not report["judges"]:
        yield say("No judge was run, so people cannot be compared with judges.")
    for place, (name, judge) in enumerate(named_entries(report, "judges")):
        asked = items(report, "", judge["items"], f"judges.{place}.items")
        if judge["judgments"]["done"] == 0:
            yield say(
                "{name} has no readable answer to any of {asked.n} ({why}). Its accuracy is "
                "undefined, not zero.",
                name=Name(name),
                asked=asked,
                why=joined(list(_unread(judge, asked, f"judges.{place}")), last=", "),
            )
        elif not asked.is_whole and judge.get("competes", True):
            yield say(
                "{name} was asked about {asked}; comparisons use the items that {both} decided.",
                name=Name(name),
                asked=asked,
                both=Words(
                    "every competing judge was asked and both sides"
                    if "asked_of_all" in report["comparison"][place]["difference_general"]
                    else "both sides"
                ),
            )


def _unread(judge: ReportJson, asked: Population, path: str) -> Iterator[Text]:
    for key, n in judge["excluded"].items():
        if n and (why := WHY.get(key)):
            yield clause(
                "{n} {why}",
                n=Quantity("count", asked, n, f"{path}.excluded.{key}"),
                why=Words(why),
            )


WHY = {
    "unparseable": "unreadable",
    "refused": "refused",
    "skipped": "skipped",
    "error": "failed",
    "open": "not yet asked",
}


def _missing(report: ReportJson) -> Text | None:
    """The runs whose accuracy may cover only the easy items."""
    missing = []
    for place, (name, judge) in enumerate(named_entries(report, "judges")):
        failed = sum(judge["excluded"][key] for key in WHY)
        # A run without answers has no accuracy and is named at the top of the page.
        if judge["n"] and failed / judge["items"] > MANY_MISSING:
            of = items(report, "that it was asked", judge["items"], f"judges.{place}.items")
            x = Quantity("share", of, failed / of.n)
            missing.append(clause("{name} lacks answers to {x} of {x.of}", name=Name(name), x=x))
    if not missing:
        return None
    return say(
        "{missing}; accuracy is only about the other items.",
        missing=joined(missing, "; ", "; "),
    )


# Above this share of unread or refused items, accuracy may cover only the easy items.
MANY_MISSING = 0.05


def _item_rows(report: ReportJson, table: ShownTable) -> Iterator[Any]:
    """The rows of the items table, with the values used by filters."""
    for row, item in zip(table.rows, report["items"], strict=False):
        sides = [
            [side["choice"], side["certainty"], {True: 1, False: 0, None: None}[side["correct"]]]
            for side in (item["people"], *item["judges"])
        ]
        groups = " ".join(f"{number}.{code}" for number, code in enumerate(item["groups"]))
        yield row, {"key": item["item"], "sides": compact(sides), "groups": groups}


def _excluded(report: ReportJson) -> Text | None:
    people = excluded_people(report)
    if people is None:
        return None
    return say(
        "{people}. Another view of the report shows whether the headline would be the same with "
        "them.",
        people=people,
    )


def _pooled(report: ReportJson) -> Iterator[tuple[str, Text]]:
    """People in several of the pooled studies, and those for whom this is unknown."""
    pooled, path = report["study"]["source"].get("pooled_people"), "study.source.pooled_people"
    if not pooled:
        return
    if n := pooled["in_several"]:
        people = Population("person", n=n, path=f"{path}.in_several")
        form = "{people} took part in several of the pooled studies; each counts once."
        yield "pooled", say(form, people=people)
    if n := pooled["repeated_answers"]:
        answers = Population("answer", n=n, path=f"{path}.repeated_answers")
        form = (
            "{answers} to an item that the same person had answered in an earlier study "
            "{answers.is} left out."
        )
        yield "pooled", say(form, answers=answers)
    if n := pooled["unknown"]:
        form = (
            "For {people} no platform id was stored, so we cannot tell whether they took part in "
            "several of the pooled studies; they count once in each. If somebody took part in "
            "several, the intervals are too narrow."
        )
        people = Population("annotator", n=n, path=f"{path}.unknown")
        yield "pooled_unknown", say(form, people=people)


def _limits(report: ReportJson) -> Iterator[tuple[str, Text]]:
    if text := _missing(report):
        yield "missing", text
    # Runs with requests that differ from the settings, or with several answering models.
    for name, judge in named_entries(report, "judges"):
        for sentence in judge["record"]["conditions"]:
            yield "conditions", say("{name}: {sentence}", name=Name(name), sentence=Name(sentence))
    if text := _excluded(report):
        yield "excluded", text
    yield from _pooled(report)
    yield from (("reading", text) for text in reading_sentences(report))


def _took_part(report: ReportJson) -> Text:
    """How many people gave how many answers, and which rewards those who finished were promised."""
    human, pay = report["human"], report["human"]["pay"]
    paid: Text | Words = NOTHING
    if n := pay["finished"]:
        finished = Population("person", n=n, path="human.pay.finished")
        form = "; {finished.size} finished, for {rewards}"
        if report["study"]["source"].get("pooled_from"):
            form = "; {finished.size} participations were finished, for {rewards}"
        totals = [(pay["rewards"], pay.get("currency"))]
        if pay["rewards"] is None:
            totals = [(one["rewards"], one["currency"]) for one in pay["promised"]]
        per_answer: Text | Words = NOTHING
        if pay["per_correct"]:
            amount = _amount(pay["per_correct"], pay["currency"])
            per_answer = clause(", {amount} per right answer", amount=amount)
        paid = clause(
            f"{form} in rewards, before platform fees and taxes{{per_answer}}",
            finished=finished,
            rewards=joined([_amount(*total) for total in totals]),
            per_answer=per_answer,
        )
    if not human["answers"]:
        return say("{none}{paid}.", none=no_people(report), paid=paid)
    return say(
        "{people} gave the {answers} of this report{paid}.",
        people=Population("person", n=human["annotators"], path="human.annotators"),
        answers=Population("answer", n=human["answers"], path="human.answers"),
        paid=paid,
    )


def _amount(value: float, currency: str) -> Text:
    return clause("{money}", money=Name(f"{format_cost(value, currency=currency)} {currency}"))


class Record(Section):
    """Participants, exclusions, and costs."""

    name = "record"
    title = "Who took part and how"
    inside = "Participation, exclusions, costs, people and items"
    parts = (Participation(), Annotators(), Runs(), ReadingSection(), ItemsSection())

    def sentences(self, report: ReportJson) -> Iterator[Sentence]:
        for text in _of_judges(report):
            yield Sentence("missing", text)
        for code, text in _limits(report):
            yield Sentence("limit", text, code)
        yield Sentence("own", _took_part(report))

    def context(self, page: ReportPage) -> Mapping[str, Any]:
        # Templates resolve a dictionary's method “items” before the key “items”.
        table = page.tables.get("items")
        rows = list(_item_rows(page.report, table)) if table else []
        took_part = _took_part(page.report)
        return {"item_table": table, "item_rows": rows, "took_part": took_part}
