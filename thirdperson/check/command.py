"""`thirdperson check FILE`: a verdict on a judge in the terminal, and the report as one page."""

import json
import sys
import textwrap
from argparse import Action, ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from thirdperson.check.labels import BadTable, LabelTable, listed

if TYPE_CHECKING:
    from thirdperson.check.against import ChangeSince
    from thirdperson.check.levels import LabelScale
    from thirdperson.check.scales import ScaleFinding

_SKIPPED_SHOWN = 100
TRUSTED, NOT_TRUSTED, USAGE, INCONCLUSIVE = 0, 1, 2, 3
DESCRIPTION = """\
Audit judges with labels by people and judges, in a table, in several files, or in an export of a
program that evaluates or labels. Columns are guessed, and the guesses are printed. Needs no
database and sends nothing anywhere."""
EPILOG = """\
exit codes: 0 TRUSTED, 1 NOT TRUSTED, 3 INCONCLUSIVE (with the approximate number of labels
by people still needed), 2 bad usage or an unreadable file. With --against: 0 better, 4 got worse,
5 not shown, 6 not comparable. docs/check.md describes the formats."""


class AddNames(Action):
    """Names separated by commas; an option that is repeated adds to those before."""

    def __call__(
        self,
        parser: ArgumentParser,
        namespace: Namespace,
        values: Any,
        option_string: str | None = None,
    ) -> None:
        names = [name for part in values.split(",") if (name := part.strip())]
        setattr(namespace, self.dest, (*(getattr(namespace, self.dest) or ()), *names))


def from_to(low: float, high: float, kind: type[int] | type[float]) -> Callable[[str], float]:
    def number(value: str) -> float:
        try:
            number = kind(value)
        except ValueError:
            number = None
        if number is None or not low <= number <= high:
            raise ArgumentTypeError(f"must be a number from {low:g} to {high:g}, not “{value}”")
        return number

    return number


def parser() -> ArgumentParser:
    parser = ArgumentParser(prog="thirdperson check", description=DESCRIPTION, epilog=EPILOG)
    parser.add_argument(
        "files",
        type=Path,
        nargs="+",
        metavar="FILE",
        help="CSV, JSON Lines, JSON, Parquet, XLSX, or an export; several files are joined",
    )
    parser.add_argument(
        "--gold-file", type=Path, metavar="FILE", help="a file with the right labels"
    )
    parser.add_argument(
        "--against",
        type=Path,
        action="append",
        default=[],
        metavar="FILE",
        help="an earlier table of the same items, or its stored --json: did a judge get worse?",
    )
    parser.add_argument(
        "--mark",
        type=Path,
        metavar="FILE",
        help="only write a page, .html, on which one person marks the items without seeing a judge",
    )
    parser.add_argument(
        "--on",
        action=AddNames,
        default=(),
        metavar="COLUMN,COLUMN",
        help="columns that name the item, by which several files are joined",
    )
    parser.add_argument(
        "--records",
        default="",
        metavar="PATH",
        help="where the records of a JSON file are, such as results.*.answers",
    )
    parser.add_argument(
        "--encoding",
        default="",
        metavar="NAME",
        help="encoding of text files, such as cp1251 (default: UTF-8, or Windows-1252 if not)",
    )
    parser.add_argument(
        "--out", type=Path, default=Path("report.html"), help="the report (default: report.html)"
    )
    parser.add_argument(
        "--card", type=Path, metavar="FILE", help="also draw the verdict as a card, .png or .svg"
    )
    parser.add_argument(
        "--format",
        default="auto",
        metavar="NAME",
        help="format of the file: table, promptfoo, inspect, … (default: detected)",
    )
    parser.add_argument(
        "--metric", default="", help="in an export with several labelled things: which one to check"
    )
    parser.add_argument(
        "--doctor",
        action="store_true",
        help="only say what the file supports, and what is missing for more",
    )
    printed = parser.add_mutually_exclusive_group()
    printed.add_argument("--json", action="store_true", help="print the result as JSON")
    printed.add_argument(
        "--markdown", action="store_true", help="print the result as Markdown, for a comment"
    )
    columns = parser.add_argument_group("columns, if a guess is wrong")
    columns.add_argument("--item", default="", help="column that names the item")
    columns.add_argument(
        "--people", action=AddNames, default=(), help="columns of labels, one per annotator"
    )
    columns.add_argument(
        "--annotator", default="", help="column of annotators, with one row per label"
    )
    columns.add_argument("--label", default="", help="column of labels, with one row per label")
    columns.add_argument("--judge", action=AddNames, default=(), help="columns of labels by judges")
    columns.add_argument(
        "--judge-raters",
        action=AddNames,
        default=(),
        help="annotators that are judges, with one row per label",
    )
    columns.add_argument("--kind", default="", help="column that says human or judge in each row")
    columns.add_argument(
        "--certainty",
        action=AddNames,
        default=(),
        help="LABEL_COLUMN=CERTAINTY_COLUMN, separated by commas",
    )
    columns.add_argument(
        "--probability",
        action=AddNames,
        default=(),
        help="native probabilities of a judge: JUDGE_COLUMN=COLUMN of its label, or "
        "JUDGE_COLUMN=COLUMN:LABEL of one label, separated by commas",
    )
    columns.add_argument("--gold", default="", help="column of the right labels, if they are known")
    columns.add_argument("--persona", default="", help="column that names the persona of an item")
    columns.add_argument("--question", default="", help="column with the question of an item")
    labels = parser.add_argument_group("labels")
    labels.add_argument(
        "--labels",
        action=AddNames,
        default=(),
        help="the labels: FIRST,SECOND, or with --level all of them in order",
    )
    labels.add_argument(
        "--tie", action=AddNames, default=(), help="labels that mean a tie, separated by commas"
    )
    labels.add_argument(
        "--positive",
        action=AddNames,
        default=(),
        help="labels that count as one, compared with all others",
    )
    labels.add_argument(
        "--missing",
        action=AddNames,
        metavar="WORD,WORD",
        help="words that mean no label, in addition to empty cells; '' for none (default: guessed)",
    )
    labels.add_argument(
        "--scale",
        action=AddNames,
        default=(),
        metavar="NAME=LOW-HIGH",
        help="scale of the certainties of people or of a judge: people=1-5,JUDGE=0-1",
    )
    labels.add_argument(
        "--skip-faulty", action="store_true", help="leave faulty rows out, and list them"
    )
    labels.add_argument(
        "--level",
        choices=["nominal", "ordinal", "score"],
        help="compare all labels: as classes (nominal), as steps in an order (ordinal; words in "
        "the order of --labels), or as numbers (score)",
    )
    options = parser.add_argument_group("report")
    options.add_argument("--title", default="", help="title of the report (default: the file name)")
    options.add_argument(
        "--margin",
        type=from_to(0.001, 0.5, float),
        default=0.05,
        help="largest difference in accuracy that counts as equal (default: 0.05)",
    )
    options.add_argument(
        "--epsilon",
        type=from_to(0, 0.5, float),
        default=0.1,
        help="without right labels: how much less than a person the judge may agree with people, "
        "as a share of answers (default: 0.1)",
    )
    options.add_argument(
        "--threshold",
        type=from_to(1, 100, int),
        default=80,
        help="certainty from which a label counts as certain (default: 80)",
    )
    options.add_argument("--seed", type=from_to(0, 2**53, int), help="seed of all resamples")
    options.add_argument(
        "--bootstrap", type=from_to(100, 100_000, int), help="number of resamples (default: 1000)"
    )
    options.add_argument(
        "--these-people",
        action="store_true",
        help="limit the verdict to these people, for example a panel of experts",
    )
    options.add_argument(
        "--tiers",
        action="store_true",
        help="with --level: the tier of each judge by its kappa with people, as in Judge’s Verdict",
    )
    options.add_argument("--simulated", action="store_true", help="mark the report as simulated")
    return parser


def options_of(arguments: Sequence[str]) -> Namespace:
    """The options, with a `name` for all files together."""
    options = parser().parse_args(list(arguments))
    options.name = listed([file.name for file in options.files], 3)
    return options


def check(arguments: Sequence[str]) -> int:
    """Check one file and return the exit code."""
    options = options_of(arguments)
    try:
        if len(options.labels) not in (0, 2) and not options.level:
            raise BadTable("--labels needs two labels, FIRST,SECOND.")
        return _check(options)
    except BadTable as error:
        sys.stderr.write(f"{error}\n")
        return USAGE


def _check(options: Namespace) -> int:
    for file in (*options.files, *filter(None, [options.gold_file]), *options.against):
        _check_file(file)
    if options.mark:
        return _write_marking_page(options)
    if not options.doctor:
        _check_paths(options.out, options.card)
    from thirdperson.check.rendering import set_up

    set_up()
    # These need the settings.
    from analysis.report.build import build_report
    from analysis.report.render import render_html
    from analysis.report.rules import DEFAULT_BOOTSTRAP, DEFAULT_SEED
    from thirdperson.check.dataset import choices_of, dataset_of
    from thirdperson.check.levels import scale_of
    from thirdperson.check.reading import read_labels
    from thirdperson.check.terminal import of_output
    from thirdperson.check.verdict import finding_of

    labels = read_labels(options)
    if options.doctor:
        from thirdperson.check.doctor import doctor_lines

        sys.stdout.write("\n".join([*doctor_lines(labels, options), ""]))
        return TRUSTED
    scale = scale_of(labels, options)
    if scale:
        # The earlier file is read alike, without a second question at the terminal.
        options.level = scale.level
    comparison = None
    if options.against:
        from thirdperson.check.against import compared

        comparison = compared(labels, options)
        if not labels.raters(is_judge=False):
            return _compare_alone(labels, comparison, options)
    if scale:
        return _check_scale(labels, scale, options, comparison)
    if options.tiers:
        raise BadTable("--tiers needs --level: for two labels, add --level nominal.")
    choices = choices_of(labels, pair=options.labels, tie=options.tie, positive=options.positive)
    data = dataset_of(
        labels,
        choices,
        name=options.name,
        title=options.title or options.files[0].stem,
        margin=options.margin,
        threshold=options.threshold,
        is_simulated=options.simulated,
        people_are_fixed=options.these_people,
        epsilon=options.epsilon,
    )
    report = build_report(
        data,
        seed=DEFAULT_SEED if options.seed is None else options.seed,
        bootstrap=DEFAULT_BOOTSTRAP if options.bootstrap is None else options.bootstrap,
    )
    date = datetime.now(UTC).date()
    page = render_html(report, date=date)
    with _written(options.out, "--out"):
        options.out.write_text(page, encoding="utf-8")
    if options.card:
        # Only who draws waits for matplotlib.
        from analysis.report.card import write_card

        with _written(options.card, "--card"):
            write_card(report, options.card, date=date)
    finding = finding_of(report)
    reading = [*labels.reading, *_skipped(labels), f"labels: {choices.words}"]
    if len(finding.judges) > 1:
        best = f"the best of {len(finding.judges)} judges"
        reading.append(f"verdict: about {best} (for more about each: --level nominal)")
    if options.json:
        _print_json(finding.as_json(), labels, reading, comparison, options)
    elif options.markdown:
        sys.stdout.write(finding.markdown(options.name, reading) + _markdown(comparison))
    else:
        lines = finding.lines(options.name, reading, options.out, of_output())
        sys.stdout.write("\n".join([*lines, *_lines(comparison)]) + "\n")
    return comparison.exit_code if comparison else finding.exit_code


def _write_marking_page(options: Namespace) -> int:
    path: Path = options.mark
    if path.suffix != ".html" or path.is_dir() or not path.parent.is_dir():
        raise BadTable(f"--mark {path}: name a file that ends in .html, in a folder that exists.")
    if path.exists() and b": marking page of Thirdperson</title>" not in path.read_bytes()[:4096]:
        raise BadTable(
            f"{path} exists and is no marking page, so it was not replaced. Name another file with "
            "--mark."
        )
    from thirdperson.check.rendering import set_up

    set_up()
    from thirdperson.check.marking.building import write_page

    with _written(path, "--mark"):
        sys.stdout.write(write_page(options))
    return TRUSTED


def _compare_alone(labels: LabelTable, comparison: "ChangeSince", options: Namespace) -> int:
    """Without labels of people there is no verdict and no report."""
    reading = [*labels.reading, *_skipped(labels)]
    if options.json:
        _print_json({"verdict": None, "exit_code": None}, labels, reading, comparison, options)
    elif options.markdown:
        sys.stdout.write(_markdown(comparison))
    else:
        from analysis.report.words import number_of
        from thirdperson.check.terminal import of_output

        judges = labels.raters(is_judge=True)
        many = "judge" if len(judges) == 1 else "judges"
        size = f"{options.name}: {number_of(len(labels.items), 'item')} with right labels, "
        size += f"{many} {listed(judges)}"
        verdict = ["", "No verdict and no report: nobody else labelled these items."]
        lines = [*of_output().head(size, reading), *verdict, *_lines(comparison)]
        sys.stdout.write("\n".join([*lines, ""]))
    return comparison.exit_code


def _print_json(
    result: dict[str, Any],
    labels: LabelTable,
    reading: Sequence[str],
    comparison: "ChangeSince | None",
    options: Namespace,
) -> None:
    """The result, with what a later `--against` needs."""
    from thirdperson.check.against import stored

    if result["verdict"]:
        result["report"] = str(options.out)
    result["read"] = list(reading)
    if comparison:
        result["against"] = comparison.as_json()
    result["stored"] = stored(labels)
    sys.stdout.write(json.dumps(result, ensure_ascii=False, indent=1) + "\n")


def _markdown(comparison: "ChangeSince | None") -> str:
    from thirdperson.check.verdict import escaped

    return f"\n{comparison.markdown(escaped)}" if comparison else ""


def _lines(comparison: "ChangeSince | None") -> list[str]:
    if comparison is None:
        return []
    from thirdperson.check.terminal import of_output

    first, *notes = comparison.lines()
    width = of_output().width
    wrapped = [
        textwrap.fill(note, width, initial_indent="- ", subsequent_indent="  ") for note in notes
    ]
    return ["", textwrap.fill(first, width), *wrapped]


def _check_scale(
    labels: LabelTable,
    scale: "LabelScale",
    options: Namespace,
    comparison: "ChangeSince | None" = None,
) -> int:
    """Check labels of more than two classes, or on a scale: a verdict for each judge."""
    from thirdperson.check.scale_page import as_json, markdown, page, terminal_lines
    from thirdperson.check.scales import scale_finding
    from thirdperson.check.terminal import of_output

    finding = scale_finding(labels, scale, options)
    reading = [*labels.reading, *_skipped(labels), *scale.words(labels), *finding.used]
    title = options.title or options.files[0].stem
    text = markdown(finding, options.name, reading, is_simulated=options.simulated)
    with _written(options.out, "--out"):
        options.out.write_text(page(title, text), encoding="utf-8")
    if options.card:
        _draw_scale(finding, title, options)
    if options.json:
        _print_json(as_json(finding), labels, reading, comparison, options)
    elif options.markdown:
        sys.stdout.write(text + _markdown(comparison))
    else:
        lines = terminal_lines(finding, options.name, reading, of_output())
        report = ["", f"Report: {options.out}"]
        sys.stdout.write("\n".join([*lines, *report, *_lines(comparison), ""]))
    return comparison.exit_code if comparison else int(as_json(finding)["exit_code"])


def _draw_scale(finding: "ScaleFinding", title: str, options: Namespace) -> None:
    """The card of the best judge, with the differences of all."""
    from analysis.report.card import VerdictCard, basis_of, draw_card
    from analysis.stats.core.results import Trust
    from thirdperson.check.scale_page import chart_of

    best = finding.best
    card = VerdictCard(
        title=title,
        kind={Trust.TRUSTED: "yes", Trust.NOT_TRUSTED: "no"}.get(best.trust, "unknown"),
        text=f"{best.trust.value}: {best.sentence}",
        chart=chart_of(finding),
        basis=basis_of(finding.items, finding.people, finding.labels),
        data=finding.data,
        is_simulated=options.simulated,
    )
    with _written(options.card, "--card"):
        draw_card(card, options.card, date=datetime.now(UTC).date())


@contextmanager
def _written(path: Path, option: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise BadTable(
            f"{path} cannot be written: {error.strerror}. Name another file with {option}."
        ) from None


def _skipped(labels: LabelTable) -> list[str]:
    """Faulty rows that were left out on request."""
    if not labels.skipped:
        return []
    lines = [f"  {fault}" for fault in labels.skipped[:_SKIPPED_SHOWN]]
    if (left := len(labels.skipped) - len(lines)) > 0:
        lines.append(f"  … and {left:,} more")
    return [f"left out: {len(labels.skipped):,} faulty rows", *lines]


def _check_file(file: Path) -> None:
    try:
        if not file.exists():
            raise BadTable(f"{file}: there is no such file. Check the path.")
        if not file.is_file():
            raise BadTable(f"{file} is a folder or a pipe. Name the files.")
        file.open("rb").close()
    except OSError as error:
        raise BadTable(f"{file} cannot be read: {error.strerror}. Check its permissions.") from None


def _check_paths(out: Path, card: Path | None) -> None:
    if card and card.suffix not in {".png", ".svg"}:
        raise BadTable(f"--card {card}: name a file that ends in .png or .svg.")
    if card and find_spec("matplotlib") is None:
        raise BadTable(
            "--card needs the package matplotlib, which is not installed. Install it: pip install "
            '"thirdperson[report]". Or leave --card out.'
        )
    if card and (card.is_dir() or not card.parent.is_dir()):
        raise BadTable(f"--card {card}: write to a file in a folder that exists.")
    if out.is_dir() or not out.parent.is_dir():
        raise BadTable(f"--out {out}: write to a file in a folder that exists.")
    if out.exists() and not _is_report(out):
        raise BadTable(
            f"{out} exists and is not a report of this program, so it was not replaced. Name "
            "another file with --out."
        )


def _is_report(path: Path) -> bool:
    with path.open("rb") as file:
        return b": people and judges</title>" in file.read(8192)
