"""The validation page: on one sheet, what was measured about a judge, and what was not."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date as Date
from typing import Any

from django.template.loader import render_to_string

from analysis.errors import BadParameters
from analysis.report.render import style_of
from analysis.report.report_json import ReportJson
from analysis.report.results import no_people, sampled
from analysis.report.words import (
    MAJORITY_WORDS,
    decimal,
    decimal_range,
    number_of,
    people_words,
    percent,
    percent_range,
    points,
    points_range,
    reason,
    run_names,
)
from extras.validation.linked_signal import signal_of

NOT_MEASURED = "not measured"
NO_JUDGE = "there is no judge"
HASH = 12  # characters of a hash that are shown


@dataclass(frozen=True)
class Line:
    """A line of the page: what it is about, and its figures; `why` is set if there are none."""

    what: str
    figures: str
    why: str = ""


@dataclass(frozen=True)
class Block:
    """Lines on one subject."""

    title: str
    lines: Sequence[Line]


class ValidationPage:
    """One sheet about a judge, by default that of the headline."""

    name = "validation"
    title = "Validation page"

    def html(
        self,
        report: ReportJson,
        *,
        date: Date,
        asked_on: Mapping[str, str],
        judge: str = "",
        is_served: bool = False,
    ) -> str:
        """The page, without scripts and files."""
        place, names = judge_of(report, judge), run_names(report)
        blocks = list(blocks_of(report, place, asked_on))
        missing = [line.what for block in blocks for line in block.lines if line.why]
        context = {
            "report": report,
            "judge": None if place is None else names[place],
            "others": [
                (name, entry["run"] if is_served else "")
                for n, (name, entry) in enumerate(zip(names, report["judges"], strict=True))
                if n != place
            ],
            "blocks": blocks,
            "missing": missing,
            "sampled": sampled(report),
            "date": date,
            "style": style_of("paper"),
        }
        return render_to_string("analysis/report/validation.html", context)


VALIDATION = ValidationPage()


def judge_of(report: ReportJson, name: str = "") -> int | None:
    """The place of a run by its name or hash, or by its judge: the whole persona first.

    Without a name that of the headline, or else the first; None without runs. Raises
    `BadParameters` if there is no such run.
    """
    runs = [entry["run"] for entry in report["judges"]]
    if name:
        places = [
            n
            for n, (label, entry) in enumerate(
                zip(run_names(report), report["judges"], strict=True)
            )
            if name in (label, entry["run"], entry["judge"])
        ]
        if not places:
            known = ", ".join(run_names(report)) or "none"
            raise BadParameters(f"The report has no run of “{name}”. Use one of: {known}.")
        return min(places, key=lambda n: report["judges"][n]["features"] != "all")
    named = report["headline"].get("run")
    if named in runs:
        return runs.index(named)
    return 0 if runs else None


def blocks_of(
    report: ReportJson, place: int | None, asked_on: Mapping[str, str]
) -> Iterator[Block]:
    """All blocks of the page, in order."""
    judge = None if place is None else report["judges"][place]
    compared = None if place is None else report["comparison"][place]
    yield Block("Who answered", list(_people(report)))
    yield Block("Agreement", list(_agreement(report, compared)))
    yield Block("Accuracy and its ceiling", list(_accuracy(report, judge)))
    yield Block("Judges that anybody can build", list(_references(report)))
    yield Block("Position and probes", list(_probes(report, judge)))
    yield Block("What the persona is worth", list(_persona(report, judge)))
    yield Block("Datasheet", list(_datasheet(report, judge)))
    yield Block("Record", list(_record(report, judge, asked_on)))


def _line(what: str, figures: str | None, why: str = "") -> Line:
    if figures:
        return Line(what, figures)
    return Line(what, NOT_MEASURED, why or "there are no such data")


def _get(value: Any, *path: str) -> Any:
    """A value at a path of report.json; None if a step is missing."""
    for key in path:
        if not isinstance(value, Mapping):
            return None
        value = value.get(key)
    return value


def _with_ci(
    entry: Any, key: str = "value", ci: str = "ci", *, as_share: bool = True
) -> str | None:
    value = _get(entry, key)
    if value is None:
        return None
    ends = _get(entry, ci)
    text = percent(value) if as_share else decimal(value, 2)
    if ends is None:
        return text
    return f"{text} ({percent_range(ends) if as_share else decimal_range(ends, 2)})"


def _people(report: ReportJson) -> Iterator[Line]:
    human, inputs = report["human"], report["inputs"]
    n = human["annotators"]
    count = "1 person" if n == 1 else f"{n:,} people"
    if n > 1:
        loads = [rater["answers"] for rater in human["raters"]]
        effective = sum(loads) ** 2 / sum(load**2 for load in loads)
        count += f", by their shares of the answers worth {effective:.1f}"
    yield _line("People", count if n else None, str(no_people(report)))
    yield _line(
        "Items",
        f"{inputs['items']:,} of {number_of(inputs['personas'], 'persona')} and "
        f"{number_of(inputs['questions'], 'question')}, "
        f"{number_of(inputs['annotations'], 'answer')}",
    )
    truth = inputs["truth"]
    known = inputs["items"] - truth["unknown"]
    shares = [
        f"{words} {percent(truth[key] / known)}"
        for key, words in (("r1", "response 1"), ("r2", "response 2"), ("tie", "tie"))
        if known and truth[key]
    ]
    yield _line("Prevalence of right answers", ", ".join(shares), "no right answers are known")


def _agreement(report: ReportJson, compared: Any) -> Iterator[Line]:
    people = _get(report, "human", "agreement")
    percents = _with_ci(people, "percent", "percent_general_ci") or _with_ci(people, "percent")
    alpha = _with_ci(_get(people, "krippendorff_alpha"), as_share=False)
    yield _line(
        "People with each other",
        f"{percents}; Krippendorff’s alpha {alpha}" if percents and alpha else percents,
        "no item has two answers",
    )
    raw = _with_ci(compared, "agreement_with_majority", "agreement_ci")
    kappa = _with_ci(compared, "cohen_kappa", "cohen_kappa_ci", as_share=False)
    yield _line(
        f"Judge with {people_words(report).removesuffix(' of people')}",
        f"{raw}; Cohen’s kappa {kappa}" if raw and kappa else raw,
        "there is no judge, or no majority",
    )
    pooled = _get(compared, "pooled_replacement")
    for name, words in (("raw", "raw"), ("balanced", "balanced over the answers")):
        judge, other = (_get(pooled, name, key) for key in ("judge_agrees", "people_agree"))
        yield _line(
            f"With one person, {words}",
            None
            if judge is None or other is None
            else f"judge {percent(judge)}, another person {percent(other)}",
            "no item has two answers",
        )


def _accuracy(report: ReportJson, judge: Any) -> Iterator[Line]:
    human = report["human"]
    sides = (
        ("Judge", judge),
        ("One person", _get(human, "individual")),
        # Of items with one answer each, it is these answers again.
        *(
            [("Majority of people", _get(human, "majority"))]
            if people_words(report) == MAJORITY_WORDS
            else []
        ),
    )
    for words, side in sides:
        # In general: the interval allows for other people, personas and questions.
        general = None if side is None else {**side, "ci": _get(side, "clusters", "ci")}
        share, unit = _with_ci(general, "accuracy"), "item"
        among = report["inputs"]["items"]
        if words == "One person":
            unit, among = "answer", human["answers"]
        # Refusals, ties and orders that disagree leave out items, often the hard ones.
        if share and side["n"] < among:
            share += f" of {number_of(side['n'], unit)} (of {among:,})"
        yield _line(words, share, "no answers, or no right answers")
    ceiling = _with_ci(_get(report, "retest", "all", "ceiling"))
    again = _with_ci(_get(report, "retest", "all", "agreement"), "value")
    yield _line(
        "Own answers given again",
        f"{again} the same; best possible accuracy {ceiling}" if again and ceiling else again,
        "nobody was asked twice",
    )
    twice = _get(judge, "noise", "same_choice")
    yield _line(
        "Judge asked again",
        f"{percent(twice)} the same" if twice is not None else None,
        "each question was asked once" if judge else NO_JUDGE,
    )


def _references(report: ReportJson) -> Iterator[Line]:
    accuracy = {
        reference["reference"]: reference["accuracy"]
        for reference in report["human"].get("reference_accuracy", ())
    }
    for reference in report["human"].get("reference_judges", ()):
        name = reference["reference"]
        parts = []
        if accuracy.get(name) is not None:
            parts.append(f"right {percent(accuracy[name])}")
        if reference.get("raw") is not None:
            parts.append(f"agrees with one person {percent(reference['raw'])}")
        if reference.get("balanced") is not None:
            parts.append(f"balanced {percent(reference['balanced'])}")
        yield _line(name[0].upper() + name[1:], ", ".join(parts), "no item has two answers")
    if not report["human"].get("reference_judges"):
        yield _line("Commonest label, coin, another person", None, "no item has two answers")


def _probes(report: ReportJson, judge: Any) -> Iterator[Line]:
    position = _get(judge, "position")
    # Where no right answer is known, of all answers.
    side_a = _with_ci(position, "share_a_scored", "share_a_scored_ci")
    orders = _get(position, "both_orders")
    consistent = _get(orders, "consistency")
    yield _line(
        "Side A chosen",
        side_a or _with_ci(position, "share_a"),
        "no side was stored" if judge else NO_JUDGE,
    )
    yield _line(
        "Same response in both orders",
        f"{percent(consistent)} of {orders['n']:,} items" if consistent is not None else None,
        "each item was asked in one order" if judge else NO_JUDGE,
    )
    probes = [
        entry
        for entry in _get(report, "bias", "probes") or ()
        if judge is not None and entry["judge"] == judge["judge"]
    ]
    words = [
        f"{probe['probe']} {points(probe['shift'])} points"
        if probe.get("shift") is not None
        else f"{probe['probe']} {percent(probe['flipped'])} changed"
        for probe in probes
        if probe.get("flipped") is not None
    ]
    yield _line("Bias probes", "; ".join(words), "no bias probe was run")


def _persona(report: ReportJson, judge: Any) -> Iterator[Line]:
    signal = report.get("persona_signal")
    own = next(
        (row for row in _get(signal, "judges") or () if judge and row["run"] == judge["run"]),
        None,
    )
    for words, entry, linked in (
        ("Persona’s worth to the judge", own, judge and signal_of(report, judge)),
        ("Persona’s worth to people", _get(signal, "people"), signal_of(report, None)),
    ):
        gain = _get(entry, "gain")
        value, ends = _get(gain, "value"), _get(gain, "ci")
        where = ""
        if value is None and _get(linked, "worth") is not None:
            value, ends = _get(linked, "worth"), _get(linked, "worth_ci")
            where = f", in the linked study “{report['linked_worth']['study']}”"
        in_points = None if value is None else f"{points(value)} points"
        if in_points and ends is not None:
            in_points += f" ({points_range(ends)})"
        why = "nobody was asked about another persona, here or in a linked study with a report"
        yield _line(words, in_points and in_points + where, why)


def _datasheet(report: ReportJson, judge: Any) -> Iterator[Line]:
    sheet = next(
        (
            entry
            for entry in report.get("datasheets", ())
            if judge and entry["judge"] == judge["judge"]
        ),
        None,
    )
    for words, form, probe, key in (
        ("Two equal responses", "side A in {}", "identical", "side_a"),
        ("One response empty", "chosen in {}", "empty", "chosen"),
        ("Profile of another persona", "changes {} of the answers", "other_persona", "changed"),
        ("A response tells it what to choose", "obeyed in {}", "addressed", "obeyed"),
    ):
        share = _with_ci(_get(sheet, probe), key, f"{key}_ci")
        yield _line(words, share and form.format(share), "the judge was not asked")
    judgments = _get(judge, "judgments") or {}
    tried = {key: judgments.get(key, 0) for key in ("done", "refused", "unparseable", "error")}
    n = sum(tried.values())
    yield _line(
        "Refused, lost",
        f"{percent(tried['refused'] / n)}, "
        f"{percent((tried['unparseable'] + tried['error']) / n)} of {n:,}"
        if n
        else None,
        "no judgment has ended",
    )
    summary = _get(judge, "certainty", "summary")
    stated = ""
    if distinct := _get(summary, "distinct"):
        stated = f"{number_of(distinct, 'value')}, mean {summary['mean']:.0f}"
        if summary["sd"] is not None:
            stated += f", deviation {summary['sd']:.0f}"
    yield _line("Use of the certainty scale", stated, "no certainty was stated")
    usd = _get(judge, "cost", "usd")
    seconds = _get(sheet, "seconds")
    parts = [f"${1000 * usd / n:.2f} for 1,000 judgments"] if usd is not None and n else []
    parts += [f"{seconds:.1f} seconds a reply"] if seconds is not None else []
    yield _line("Cost and speed", ", ".join(parts), "they were not reported")


def _record(report: ReportJson, judge: Any, asked_on: Mapping[str, str]) -> Iterator[Line]:
    record = _get(judge, "record") or {}
    reported = [
        f"{version['model']} {version.get('fingerprint') or ''}".strip()
        for version in record.get("reported", ())
    ]
    yield _line("Model and version", "; ".join(reported or record.get("snapshots", ())))
    prompt = record.get("prompt_hash")
    is_imported = bool(_get(record, "parameters", "imported"))
    yield _line("Prompt", f"hash {prompt[:HASH]}, setting {judge['setting']}" if prompt else None)
    yield _line(
        "Asked",
        f"{record['orders']} order{'s' if record['orders'] == 'both' else ''}, "
        f"{number_of(record['samples'], 'sample')}, seed {record['seed']}"
        if record and not is_imported
        else None,
        "the answers were imported" if is_imported else "",
    )
    yield _line("Days of the requests", asked_on.get(_get(judge, "run") or "", ""))
    state = report["registration"].get("plan")
    yield _line(
        "Analysis plan",
        "frozen before the data" if _get(state, "before_data") else None,
        reason("no_plan") if state is None else "it was frozen after the first data",
    )
