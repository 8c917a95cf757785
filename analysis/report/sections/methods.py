"""The chapters on methods (with sources of all rules and numbers) and on downloads."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

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
from analysis.report.results import NOTHING, about, is_about_themselves, items
from analysis.report.section import RUN, NumberSource, ReportJson, ReportPage, Section, Sentence
from analysis.report.sentences import at, shown
from analysis.report.tables import Table, TableColumn, compact
from analysis.report.words import run_names, threshold_standing

# Keys that a run's record describes in sentences.
_OWN_WORDS = {
    "study",
    "judge",
    "backend",
    "setting",
    "features",
    "orders",
    "samples",
    "seed",
    "prompts",
}


def run_facts(report: ReportJson, index: int) -> Iterator[tuple[str, str, str]]:
    """Facts about a run for the methods: name, text, and path if it is a number."""
    judge, path = report["judges"][index], f"judges.{index}"
    record = judge["record"]
    yield "Backend", record["backend"], ""
    yield "Model as reported", ", ".join(record["snapshots"]) or "not reported", ""
    yield "Setting, features", f"{judge['setting']}, {judge['features']}", ""
    is_imported = record["parameters"].get("imported")
    if not is_imported:
        yield "Orders", record["orders"], ""
        for key in ("samples", "seed"):
            yield key.capitalize(), str(record[key]), f"{path}.record.{key}"
    own = {key: value for key, value in record["parameters"].items() if key not in _OWN_WORDS}
    for name, value, where in flat(own, f"{path}.record.parameters"):
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        yield name, str(value), where if is_number else ""
    for sentence in record["conditions"]:
        yield "Conditions", sentence, ""
    yield from _versions(record, f"{path}.record")
    yield "State", f"{record['state']}: {record['state_reason']}", ""
    for state, n in judge["judgments"].items():
        if n or state == "done":
            yield f"Judgments: {state}", f"{n:,}", f"{path}.judgments.{state}"
    for replies, n in {} if is_imported else judge["replies"].items():
        yield f"Readable after replies: {replies}", f"{n:,}", f"{path}.replies.{replies}"


def _versions(record: Mapping[str, Any], path: str) -> Iterator[tuple[str, str, str]]:
    """Answers of each version, if the server named several."""
    if len(record["reported"]) < 2:
        return
    for place, version in enumerate(record["reported"]):
        name = f"{version['model'] or 'no name'}, fingerprint {version['fingerprint'] or 'none'}"
        times = " to ".join(filter(None, (version.get("first"), version.get("last"))))
        yield (
            f"Answers of {name}",
            f"{version['judgments']:,}",
            f"{path}.reported.{place}.judgments",
        )
        if times:
            yield f"Time of {name}", times, ""


def flat(values: Mapping[str, Any], path: str, prefix: str = "") -> Iterator[tuple[str, Any, str]]:
    """Flatten nested values to name, value and path, without empty ones."""
    for key, value in values.items():
        name, where = f"{prefix}{key.replace('_', ' ')}", f"{path}.{key}"
        if isinstance(value, Mapping):
            yield from flat(value, where, f"{name}: ")
        elif isinstance(value, list):
            if value:
                yield name, ", ".join(map(str, value)), where
        elif value not in (None, ""):
            yield name, value, where


# Path prefixes of the numbers that the methods state, except those of runs and the plan.
_STATED = (
    "inputs.items inputs.personas inputs.questions inputs.truth study.annotations_per_item "
    "study.items_per_annotator human.annotators human.answers human.people human.checks "
    "human.not_counted human.coverage human.majority.ties parameters.threshold parameters.margin "
    "parameters.bootstrap seed software"
).split()
_OF_PLAN = "frozen_at answers_by_then judgments_by_then threshold margin bootstrap seed".split()


def _stated_paths(report: ReportJson, sentences: Iterable[Sentence]) -> list[str]:
    """The distinct paths of the numbers in the sentences and the methods."""
    paths = [number["path"] for sentence in sentences for number in sentence.text.numbers]
    for beginning in _STATED:
        paths += _below(at(report, beginning), beginning)
    if report["registration"]["plan"]:
        paths += [f"registration.plan.{key}" for key in _OF_PLAN]
    for index in range(len(report["registration"]["departures"])):
        paths += [f"registration.departures.{index}.{key}" for key in ("planned", "done")]
    for index in range(len(report["judges"])):
        paths += [path for _, _, path in run_facts(report, index) if path]
    return list(dict.fromkeys(paths))


def _below(value: Any, path: str) -> Iterator[str]:
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _below(inner, f"{path}.{key}")
    else:
        yield path


def sources_table(
    report: ReportJson, sentences: Iterable[Sentence], sources: Sequence[NumberSource]
) -> Table:
    """One row per number: name, value, path, and the table that also shows it."""
    names = run_names(report)
    rows: list[list[Any]] = []
    for path in _stated_paths(report, sentences):
        value = at(report, path)
        text = compact(value) if isinstance(value, list) else value
        rows.append([_path_words(path, names), text, path, *_shown_in(path, names, sources)])
    columns = (
        TableColumn("Number"),
        TableColumn("Value", "exact"),
        TableColumn("Path in report.json"),
        TableColumn("Table"),
        TableColumn("Row"),
    )
    return Table(
        "methods",
        "Where each number of the headlines and the methods comes from",
        columns,
        rows,
        say(
            "Path: keys, with list positions counted from 0. Table: the file of that name in "
            "tables/, also behind the button CSV here. All are computed from the data "
            "with the hash {inputs}… by the code with the hash {code}… of Thirdperson {version}, "
            "and from the runs above with their prompts.",
            inputs=Name(report["inputs"]["hash"][:12]),
            code=Name(report["software"].get("code", "–")[:12]),
            version=Name(report["software"]["thirdperson"]),
        ),
        is_record=True,
    )


def _path_words(path: str, names: list[str]) -> str:
    """The path as words, with a run's name instead of its number."""
    first, *keys = path.split(".")
    if first in {"judges", "comparison"}:
        first = names[int(keys.pop(0))]
    rest = " ".join(keys).replace("_", " ")
    return f"{first}: {rest}" if rest else first


def _shown_in(path: str, names: list[str], sources: Sequence[NumberSource]) -> tuple[str, str]:
    """The name of the table that shows the number at `path`, and the heading of its row."""
    keys = path.split(".")
    pattern = [keys[0], "*", *keys[2:]] if keys[0] in {"judges", "comparison"} else keys
    best, table, row = 0, "", ""
    for source in sources:
        parts = source.path.split(".")
        if len(parts) > best and pattern[: len(parts)] == parts:
            best, table, row = len(parts), source.table, source.row
    return table, names[int(keys[1])] if row == RUN else row


def prompts(report: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Each prompt once, with the runs that used it; without words if they are gone."""
    by_key: dict[str, dict[str, Any]] = {}
    for name, judge in zip(run_names(report), report["judges"], strict=True):
        record = judge["record"]
        words = record.get("words", [])
        if not record["prompt_hash"] and not words:  # a jury, or judgments of a file
            continue
        key = json.dumps([record["prompt_hash"], words])
        new = {"hash": record["prompt_hash"], "texts": words, "runs": []}
        by_key.setdefault(key, new)["runs"].append(name)
    return list(by_key.values())


def band_definitions(report: ReportJson) -> Table:
    """The certainty bands; empty if nobody was asked for a certainty."""
    is_asked = report["study"]["ask_certainty"] or any(
        judge["setting"] == "certainty" for judge in report["judges"]
    )
    rows = [[band["name"], band["from"], band["to"], band["meaning"]] for band in report["bands"]]
    columns = (
        TableColumn("Band"),
        TableColumn("From", "count"),
        TableColumn("To", "count"),
        TableColumn("Meaning"),
    )
    title = "Certainty bands, with the same words for people and models"
    return Table("band_definitions", title, columns, rows if is_asked else [], is_record=True)


def _origin(report: Mapping[str, Any]) -> str:
    """The origin of the report's threshold, for the methods."""
    if report["parameters"]["explored"]:
        return "explored: chosen for this report, post hoc"
    standing = threshold_standing(report)
    return {
        "registered": "registered in the plan frozen before the data",
        "set before the data": "set before the data in the study's settings",
        "from the settings": "from the settings",
    }.get(standing, f"{standing}, post hoc")


def _of_items(report: ReportJson) -> Text:
    """The items, their right answers and what was asked."""
    inputs, study = report["inputs"], report["study"]
    n = inputs["items"]
    every = items(report, "", n, "inputs.items")
    human = report["human"]
    # Answers of a file do not say what people were asked.
    is_asked = human["answers"] and human.get("imported", 0) < human["annotators"]
    unread = is_asked and study.get("unreviewed_translation")
    texts = list(filter(None, study.get("item_languages", ())))
    asked = say(
        "{every}{about}; task: {task}"
        + ("; people were asked in: {language}{unread}{texts}." if is_asked else "{texts}."),
        every=every,
        about=about(inputs, "personas", "questions"),
        # Items of several tasks have no common question.
        task=Name(study["task"]) if study["question"] else Words("several"),
        language=Name(study["language"] or "not stated"),
        unread=NOTHING
        if not unread
        else clause(
            " (nobody had reviewed the translation of the texts into “{name}”)", name=Name(unread)
        ),
        texts=clause("; language of the items: {names}", names=Name(", ".join(texts)))
        if texts
        else NOTHING,
    )
    right = {
        key: Quantity("count", every, inputs["truth"][key], f"inputs.truth.{key}")
        for key in ("r1", "r2", "tie", "unknown")
    }
    truth = say(
        "Of the {r1.n}, {r1} {have} response 1 as the person's own answer, {r2} response 2, {tie} "
        "a tie, and for {unknown} it is unknown.",
        have=Words("has" if inputs["truth"]["r1"] == 1 else "have"),
        **right,
    )
    known = [] if is_about_themselves(report) else [truth]
    if not is_asked:
        return sentences(asked, *known)
    wanted = {
        kind: Population(kind, n=study[key], path=f"study.{key}")
        for kind, key in (("answer", "annotations_per_item"), ("item", "items_per_annotator"))
    }
    target = say("Target: {answer} per item and {item} per person.", **wanted)
    tie = say("A tie was offered." if study["allow_tie"] else "No tie was offered.")
    certainty = [say("People were asked for a certainty from 1 to 100.")]
    return sentences(asked, *known, target, tie, *(certainty if study["ask_certainty"] else []))


def _checks(report: ReportJson) -> Iterator[tuple[str, Text]]:
    """What kept people or answers out, each with its title."""
    human = report["human"]

    def people(path: str, n: int) -> Population:
        return Population("person", n=n, path=f"human.{path}")

    if n := human["people"].get("quota_full"):
        form = "{people} {were} turned away because their group was full."
        full = people("people.quota_full", n)
        yield "Groups", say(form, people=full, were=_were(full))
    if n := human["people"].get("disqualified"):
        form = (
            "{people} {were} disqualified by the questions on the instructions (comprehension "
            "check)."
        )
        out = people("people.disqualified", n)
        yield "Before the task", say(form, people=out, were=_were(out))
    checks = human["checks"]
    if checks["seen"]:
        counted = people("annotators", human["annotators"])
        seen = Population("attention check", n=checks["seen"], path="human.checks.seen")
        yield (
            "Attention",
            say(
                "{n} of the {n.of} who count saw {seen} and failed {failed}. A failed check is a "
                "sign to look at; it does not exclude anybody by itself.",
                n=Quantity("count", counted, checks["people"], "human.checks.people"),
                seen=seen,
                failed=Quantity("count", seen, checks["failed"], "human.checks.failed"),
            ),
        )
    excluded = say("Researchers excluded nobody.")
    out = human["not_counted"]
    if n := out.get("excluded_people"):
        excluded = say(
            "Researchers excluded {people} with {answers}.",
            people=people("not_counted.excluded_people", n),
            answers=Population("answer", n=out["excluded"], path="human.not_counted.excluded"),
        )
    yield "Exclusions", excluded


def _were(of: Population) -> Words:
    return Words("was" if of.n == 1 else "were")


def _reproduced(report: ReportJson) -> Text:
    return say(
        "Seed {seed}, {draws} resamples of every kind.",
        seed=shown(report["seed"], "seed"),
        draws=Quantity("count", None, report["parameters"]["bootstrap"], "parameters.bootstrap"),
    )


def _versions_used(report: ReportJson) -> Text:
    versions = [
        clause("{name} {version}", name=Name(name), version=shown(version, f"software.{name}"))
        for name, version in report["software"].items()
    ]
    return say("Versions: {versions}.", versions=joined(versions, last=", "))


class Methods(Section):
    """Items, checks, runs and prompts, and the registration."""

    name = "methods"
    title = "Methods"
    inside = "The method in words, what was planned, runs, prompts, files and citation"

    def tables(self, report: ReportJson) -> Iterator[Table]:
        yield band_definitions(report)

    def context(self, page: ReportPage) -> Mapping[str, Any]:
        report, sources = page.report, page.tables["methods"].table
        # Without a truth the page has no accuracy tables, but their files exist.
        hidden = set() if page.has_truth else {"at_a_glance", "table_b", "comparison"}
        return {
            "linked": set(page.tables) - hidden,
            "source_rows": [(cells, cells[2].text, cells[3].text) for cells in sources.cells],
            "prompts": prompts(report),
            "threshold_origin": _origin(report),
            "of_items": _of_items(report),
            "checks": list(_checks(report)),
            "reproduced": _reproduced(report),
            "versions": _versions_used(report),
            "source": list(flat(report["study"]["source"], "study.source")),
        }


class Downloads(Section):
    """The report's citation and method in words."""

    name = "downloads"
    title = "Cite and download"
