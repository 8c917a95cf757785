"""The chapters on methods (with sources of all rules and numbers) and on downloads."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from analysis.report.registration import mark_word
from analysis.report.section import ReportJson, ReportPage, Section
from analysis.report.tables import CellKind, Table, TableColumn
from analysis.report.words import effect_words, run_names, threshold_standing

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
    yield from _anchors(record, f"{path}.record.anchors")
    yield "State", f"{record['state']}: {record['state_reason']}", ""
    for state, n in judge["judgments"].items():
        yield f"Judgments: {state}", f"{n:,}", f"{path}.judgments.{state}"
    for replies, n in judge["replies"].items():
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


def _anchors(record: Mapping[str, Any], path: str) -> Iterator[tuple[str, str, str]]:
    if (found := record.get("anchors")) is None:
        return
    for sentence in found["sentences"]:
        yield "Anchors", sentence, ""
    yield "Anchors that changed", f"{found['changed']:,}", f"{path}.changed"
    yield "Anchors compared", f"{found['compared']:,}", f"{path}.compared"


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


def prompts(report: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Each prompt once, with the runs that used it; without words if they are gone."""
    found: dict[str, dict[str, Any]] = {}
    for name, judge in zip(run_names(report), report["judges"], strict=True):
        record = judge["record"]
        words = record.get("words", [])
        if not record["prompt_hash"] and not words:  # a jury, or judgments of a file
            continue
        key = json.dumps([record["prompt_hash"], words])
        new = {"hash": record["prompt_hash"], "texts": words, "runs": []}
        found.setdefault(key, new)["runs"].append(name)
    return list(found.values())


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


def registered(report: ReportJson) -> Table:
    """The mark of every analysis; empty without a plan, because then all are explored."""
    found = report["registration"]
    rows = [
        [entry["label"], mark_word(entry["mark"]), " ".join(_why(entry))]
        for entry in found["analyses"]
    ]
    columns = (TableColumn("Analysis"), TableColumn("Mark"), TableColumn("Why"))
    title = "What was registered and what was explored"
    return Table("registered", title, columns, rows if found["plan"] else [], is_record=True)


def _why(analysis: Mapping[str, str]) -> Iterator[str]:
    yield analysis["because"]
    if why := analysis.get("not_computed"):
        yield f"Not computed: {why}."


_GAP: tuple[tuple[str, CellKind], ...] = (("points", "points"), ("95 % interval", "points_range"))


def as_registered(report: ReportJson) -> Table:
    """The sealed items and all items; empty if the plan sealed all or none."""
    alone = report["registration"].get("as_registered")
    rows: list[list[Any]] = []
    if alone is not None:
        rows.append(["Majority of people", alone["majority"], report["human"]["majority"]])
        rows[0] += [None] * 4
        names = run_names(report)
        place = {judge["run"]: number for number, judge in enumerate(report["judges"])}
        for judge, difference in zip(alone["judges"], alone["differences"], strict=True):
            own = place[judge["run"]]
            gap = report["comparison"][own]["difference_general"]
            rows.append([names[own], judge, report["judges"][own]])
            rows[-1] += [each[key] for each in (difference, gap) for key in ("value", "ci")]
    columns = (
        TableColumn("Who"),
        TableColumn("sealed items", "share", "Accuracy"),
        TableColumn("all items", "share", "Accuracy"),
        *(
            TableColumn(heading, kind, group)
            for group in ("Judge minus majority, sealed items", "Judge minus majority, all items")
            for heading, kind in _GAP
        ),
    )
    return Table(
        "as_registered",
        "What was registered: the items that the plan sealed, and all items",
        columns,
        rows,
        "The first of each pair uses only the sealed items and planned runs, with the plan's "
        "threshold, seed and resamples. Items added or changed after the plan are only in the "
        "second, which is explored.",
        is_record=True,
    )


def deviation_effects(report: ReportJson) -> Table:
    """The main results with and without each deviation from the plan that can be undone."""
    rows = [
        [
            each["what"],
            each["done"],
            row["result"],
            *map(effect_words, (row["with"], row["without"])),
        ]
        for each in report.get("deviations", ())
        for row in each["effect"] or ()
    ]
    headings = ("Deviation", "Done", "Result", "With it", "Without it")
    return Table(
        "deviations",
        "Deviations from the plan, and the results without each of them",
        tuple(map(TableColumn, headings)),
        rows,
        "With the plan's threshold and seed. The page Deviations lists all of them, with reasons.",
        is_record=True,
    )


def _origin(report: Mapping[str, Any]) -> str:
    """The origin of the report's threshold, for the methods."""
    if report["parameters"]["explored"]:
        return "explored: chosen for this report, post hoc"
    standing = threshold_standing(report)
    return {
        "registered": "registered in the plan frozen before the data",
        "set before the data": "set before the data in the study's settings",
    }.get(standing, f"{standing}, post hoc")


class Methods(Section):
    """All rules, runs and prompts, and the registration."""

    name = "methods"
    title = "Methods"
    inside = "Items, checks, rules, formulas, runs, prompts, and where each number comes from"

    def tables(self, report: ReportJson) -> Iterator[Table]:
        yield band_definitions(report)
        yield registered(report)
        yield as_registered(report)
        yield deviation_effects(report)

    def context(self, page: ReportPage) -> Mapping[str, Any]:
        report, sources = page.report, page.tables["methods"].table
        # Without a truth the page has no accuracy tables, but their files exist.
        hidden = set() if page.has_truth else {"at_a_glance", "table_b", "comparison"}
        return {
            "linked": set(page.tables) - hidden,
            "source_rows": [(cells, cells[2].text, cells[3].text) for cells in sources.cells],
            "prompts": prompts(report),
            "threshold_origin": _origin(report),
            "source": list(flat(report["study"]["source"], "study.source")),
        }


class Downloads(Section):
    """The report's citation and method in words."""

    name = "downloads"
    title = "Cite and download"
    inside = "Files, printing, the method in words, and the citation"
