"""Report chapter on the certificates that were requested for its judges."""

from collections.abc import Iterator

from analysis.report.report_json import Json, put
from analysis.report.section import ReportJson, Section, Sentence
from analysis.report.sentences import Text, fill, shown
from analysis.report.study import ReportedStudy, identity
from analysis.report.tables import Table, table_of_entries
from analysis.report.words import run_name
from extras.certificates.computed import CertificateFacts, Certificates
from extras.certificates.signals import FIRST_PERSON, MAJORITY, certifiable
from extras.certificates.statistics import POWER

CERTIFIED, REFUSED = "certified", "refused"
TARGETS = {FIRST_PERSON: "personas’ own answers", MAJORITY: "majority of annotators"}


def _entry(facts: CertificateFacts) -> Json:
    out: Json = {
        "state": REFUSED if facts.threshold is None else CERTIFIED,
        "signal": facts.signal,
        "target": facts.target,
        "error": facts.error,
        "confidence": facts.confidence,
        "among": facts.among,
        "counted_by": facts.by,
        "date": facts.made_on,
        "n": facts.n,
        "same_items": facts.is_current,
        "passport": facts.passport,
    }
    put(out, "threshold", facts.threshold, "not_certified")
    put(out, "coverage", facts.coverage, "not_certified")
    is_refused = facts.threshold is None
    put(out, "needed", facts.needed, "no_number_is_enough" if is_refused else "is_certified")
    unlabelled = "not_certified" if is_refused else "not_labelled"
    put(out, "labelled", facts.labelled, unlabelled)
    put(out, "items", facts.items, unlabelled)
    share = facts.labelled / facts.items if facts.labelled is not None and facts.items else None
    put(out, "labelled_share", share, unlabelled)
    return out


def _percent(share: float) -> str:
    """A chosen share, formatted as it was entered."""
    return f"{100 * share:.4g} %"


def certificates_table(report: ReportJson) -> Table:
    rows = [
        (
            run_name(entry, report["judges"]),
            entry
            | {
                "signal": certifiable(entry["signal"]).label,
                "target": TARGETS[entry["target"]],
                "among": entry["among"] if entry["among"] > 1 else None,
            },
        )
        for entry in report["certificates"]["entries"]
    ]
    return table_of_entries(
        "certificates",
        "Certificates",
        rows,
        [
            ("Date", "text", "date"),
            ("State", "text", "state"),
            ("Signal", "text", "signal"),
            ("Right answer", "text", "target"),
            ("Error at most", "percent", "error"),
            ("Confidence", "percent", "confidence"),
            ("Chosen from", "count", "among"),
            ("Counted by", "text", "counted_by"),
            ("Items", "count", "n", "Certified on"),
            ("from", "number", "threshold", "Certified on"),
            ("accepted", "percent", "coverage", "Certified on"),
            ("Items", "count", "labelled", "Labelled"),
            ("share", "percent", "labelled_share", "Labelled"),
            ("Labels needed", "count", "needed"),
        ],
        "Each certificate has its own confidence and holds for new items drawn like those it was "
        "certified on, each with a persona and a question of its own. Counted by: whether items "
        "or personas count equally in the share of wrong answers. Labels needed: labelled items "
        "that would be enough with a probability of 80 % if errors and signal stay as observed; "
        "“–” after a refusal if no number is enough. Labelled: items of this study with a label "
        "by the certificate, “–” if it was not used.",
        first="Judge",
        is_record=True,
    )


class CertificatesSection(Section):
    """The certificates of the report's judges, requested on pages."""

    name = "certificates"
    title = "Certificates"
    inside = "Every certificate and refusal"
    keys = """
certificates | object | Certificates that were requested for the judges.
computed | count | Certificates that were computed.
entries | list | One entry for each certificate.
entries.target | text | What is certified.
entries.signal | text | What tells certain answers from others, such as the stated certainty.
entries.error | share | Largest share of wrong answers that it allows.
counted_by | text | What counts equally in the share of wrong answers: item or persona.
date | date | Day of the certificate.
same_items | flag | Whether it is about the items of this report.
passport | text | Short id of the certificate.
needed | count | Labels that a certificate would need.
labelled | count | Items that the judge labelled with it.
labelled_share | share | Share of items that it labelled.
"""

    def is_needed(self, report: ReportJson) -> bool:
        return "certificates" in report

    def compute(self, study: ReportedStudy, earlier: ReportJson) -> Json:
        """The entry of report.json; empty for a study without certificates."""
        certificates = study.data.of(Certificates)
        if certificates is None:
            return {}
        runs = {run.run: run for run in study.data.runs}
        entries = [identity(runs[entry.run]) | _entry(entry) for entry in certificates.about_runs]
        return {"certificates": {"computed": certificates.computed, "entries": entries}}

    def tables(self, report: ReportJson) -> Iterator[Table]:
        if "certificates" in report:
            yield certificates_table(report)

    def sentences(self, report: ReportJson) -> Iterator[Sentence]:
        chapter = report.get("certificates")
        if chapter is None:
            return
        for place, entry in enumerate(chapter["entries"]):
            yield Sentence("finding", _sentence(report, place, entry))
        careless = [entry for entry in chapter["entries"] if entry["among"] < chapter["computed"]]
        if careless and chapter["computed"] > 1:
            yield Sentence.of(
                "finding",
                f"{chapter['computed']} certificates were computed in this study. If you choose "
                "one by its result, its confidence is lower than stated, unless you entered "
                "that number under “Chosen from” when you requested it.",
            )
        if any(not entry["same_items"] for entry in chapter["entries"]):
            yield Sentence.of(
                "finding",
                "Items of this study changed after some certificates, which are about the "
                "earlier items.",
            )


def _sentence(report: ReportJson, place: int, entry: ReportJson) -> Text:
    path = f"certificates.entries.{place}"
    values = {
        "judge": run_name(entry, report["judges"]),
        "date": shown(entry["date"], f"{path}.date"),
        "n": shown(f"{entry['n']:,}", f"{path}.n"),
        "error": shown(_percent(entry["error"]), f"{path}.error"),
        "confidence": shown(_percent(entry["confidence"]), f"{path}.confidence"),
        "signal": certifiable(entry["signal"]).label,
        "target": TARGETS[entry["target"]],
        "counted": f"counting every {entry['counted_by']} equally",
        "item": "item" if entry["n"] == 1 else "items",
        "do": "item does" if entry["n"] == 1 else "items do",
        "power": _percent(POWER),
        "best": "",
        "answered": ", and answered by these annotators" if entry["target"] == MAJORITY else "",
    }
    if entry["among"] > 1:
        among = shown(entry["among"], f"{path}.among")
        values["best"] = fill(" for the best of {n} together", n=among)
    if entry["state"] == REFUSED:
        form = (
            "{judge} was not certified on {date}: {n} {do} not show, with {confidence} "
            "confidence, that above some {signal} at most {error} of its answers differ from the "
            "{target}, {counted}. "
        )
        if entry["needed"] is None:
            return fill(form + "At the observed error, no number of items would show it.", **values)
        values["needed"] = shown(f"{entry['needed']:,}", f"{path}.needed")
        form += (
            "About {needed} labelled items would be enough with a probability of {power}, if "
            "errors and {signal} stay as observed."
        )
        return fill(form, **values)
    values["from"] = shown(f"{entry['threshold']:.0f}", f"{path}.threshold")
    form = (
        "{judge} was certified on {date} with {n} {item}: with {confidence} confidence{best}, at "
        "most {error} of the answers whose {signal} is {from} or more differ from the {target}, "
        "{counted}, on new items drawn like these, each with a persona and a question of its own"
        "{answered}. "
    )
    if entry["labelled"] is None:
        return fill(form + "It was not used to label items.", **values)
    values["labelled"] = shown(f"{entry['labelled']:,}", f"{path}.labelled")
    values["items"] = shown(f"{entry['items']:,}", f"{path}.items")
    return fill(form + "It labelled {labelled} of {items} items.", **values)


CERTIFICATES = CertificatesSection()
