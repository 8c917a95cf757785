"""The citation of a report, and a paragraph on its method with the study's figures."""

import re
from collections.abc import Callable, Iterator
from datetime import date as Date
from itertools import chain

from analysis.report.build import all_sentences
from analysis.report.report_json import ReportJson
from analysis.report.section import attempted
from analysis.report.sentences import order_words
from analysis.report.table_files import tex
from analysis.report.words import listed, named_entries, number_of, threshold_standing
from studies.money import decimals

ARTICLE = """@inproceedings{dong2024personalized,
  title = {Can {LLM} be a Personalized Judge?},
  author = {Dong, Yijiang River and Hu, Tiancheng and Collier, Nigel},
  booktitle = {Findings of the Association for Computational Linguistics: EMNLP 2024},
  year = {2024}
}
"""


def bibtex(report: ReportJson, date: Date) -> str:
    """BibTeX of the report, of the article whose design it follows, and of the items' source."""
    study, software = report["study"], report["software"]
    key = re.sub(r"\W", "", study["slug"]) or "report"
    own = (
        f"@misc{{{key}{date.year},\n"
        f"  title = {{{{{tex(study['title'])}: people and judges}}}},\n"
        f"  year = {{{date.year}}},\n"
        f"  note = {{Report of {date:%Y-%m-%d}, made with Thirdperson {software['thirdperson']}; "
        f"inputs {report['inputs']['hash'][:16]}, seed {report['seed']}}}\n"
        "}\n"
    )
    citation = str(study["source"].get("citation") or "").strip()
    source = f"\n{citation}\n" if citation.startswith("@") else ""
    return f"{own}\n{ARTICLE}{source}"


def methods_paragraph(report: ReportJson) -> str:
    """The method as in a paper, with all figures from the report."""

    def of_sections(report: ReportJson) -> Iterator[str]:
        return (str(sentence.text) for sentence in all_sentences(report, "methods"))

    def made_by(part: Callable[[ReportJson], Iterator[str]]) -> list[str]:
        return attempted(lambda: list(part(report)), part="methods") or []

    parts = (_items, _people, _judges, of_sections, _rules)
    return " ".join(chain.from_iterable(map(made_by, parts)))


def _items(report: ReportJson) -> Iterator[str]:
    inputs, study = report["inputs"], report["study"]
    simulated = " The data are simulated." if study["simulated"] else ""
    name = study["source"].get("name")
    source = f" from {name}" if name else ""
    yield (
        f"The study has {number_of(inputs['items'], 'item')}{source} about "
        f"{number_of(inputs['personas'], 'persona')}; "
        f"each asks “{study['question']}” of two responses"
        f"{' or a tie' if study['allow_tie'] else ''}.{simulated}"
    )


def _people(report: ReportJson) -> Iterator[str]:
    human = report["human"]
    if not human["answers"]:
        yield "No people answered."
        return
    stated = human["individual"]["certainty"]["summary"]["n"]
    certainty = ", with a certainty from 1 to 100" if stated else ""
    if 0 < stated < human["answers"]:
        certainty += f" on {stated:,} of them"
    people, answers = (
        number_of(human["annotators"], "person"),
        number_of(human["answers"], "answer"),
    )
    yield f"{people} gave {answers}{certainty}."
    pay = human["pay"]
    for each in pay.get("promised", ()):
        amount = f"{each['reward']:.{decimals(each['currency'])}f} {each['currency']} each"
        yield (
            f"{number_of(each['people'], 'person')} finished and received "
            f"{amount if each['reward'] else 'no pay'} for about {each['minutes']} minutes."
        )
    out = human["not_counted"]
    if surplus := out.get("surplus"):
        are = "is" if surplus == 1 else "are"
        yield (
            f"{number_of(surplus, 'more answer')} {are} not counted, because the items had enough."
        )
    if out.get("excluded_people"):
        yield (
            f"The researchers excluded {number_of(out['excluded'], 'answer')} by "
            f"{number_of(out['excluded_people'], 'person')}."
        )
    ties = human["majority"]["ties"]
    mean = ", its certainty the mean of those who chose it" if stated else ""
    have = "has" if ties == 1 else "have"
    none = f"; {number_of(ties, 'item')} whose votes tie {have} none" if ties else ""
    yield f"The majority of an item is the option with the most votes{mean}{none}."


# Why an item of a run has no answer that can be read.
UNREAD = ("unparseable", "refused", "error")


def _judges(report: ReportJson) -> Iterator[str]:
    """Yield one sentence for all judges that were asked the same in the same way."""
    of_judge: dict[tuple[str, ...], list[ReportJson]] = {}
    for run in report["judges"]:
        of_judge.setdefault((run["judge"], _model(run), _way(run)), []).append(run)
    alike: dict[tuple[str, ...], list[tuple[str, list[ReportJson]]]] = {}
    for (name, model, way), runs in of_judge.items():
        shown = [_shown(run["features"]) for run in runs]
        alike.setdefault((way, *shown), []).append((f"{name} ({model})", runs))
    for (way, *shown), judges in alike.items():
        runs = [run for _, own in judges for run in own]
        yield (
            f"{listed([name for name, _ in judges])} judged {number_of(runs[0]['items'], 'item')}"
            f"{' each' if len(judges) > 1 else ''} from {'; from '.join(shown)} ({way})."
        )
    for name, run in named_entries(report, "judges"):
        unread = sum(run["excluded"][key] for key in UNREAD)
        if unread:
            refused = run["excluded"]["refused"]
            why = f" ({refused:,} refused)" if refused else ""
            yield (
                f"{name} gave no readable answer to {unread:,} of "
                f"{number_of(run['items'], 'item')}{why}."
            )
        yield from map(str, order_words(name, run))


def _model(run: ReportJson) -> str:
    """The model's name as the server stated it, and how it was sampled."""
    record = run["record"]
    own = record["parameters"]
    # The parameters that were sent or, if these are not stored, the intended ones.
    sent = [each["parameters"] for each in record["sent"]] or [own]
    sampling = []
    for key, word in (("temperature", "temperature"), ("top_p", "top-p")):
        values = list(dict.fromkeys(each.get(key) for each in sent))
        if values != [None]:
            words = ["the server's own" if value is None else str(value) for value in values]
            sampling.append(f"{word} {' or '.join(words)}")
    model = ", ".join(record["snapshots"]) or own.get("model") or "model not reported"
    return ", ".join([model, *sampling])


def _judgments(run: ReportJson) -> int:
    """Closed judgments: each order and each repetition is one."""
    return sum(n for state, n in run["judgments"].items() if state != "open")


def _way(run: ReportJson) -> str:
    """How a run asked: setting, order of the responses, and number of readings."""
    record = run["record"]
    readings = "one reading" if record["samples"] == 1 else f"{record['samples']} readings"
    order, each = record["orders"].replace("_", " "), "item"
    if run["position"]["both_orders"]["n"] and _judgments(run) > run["items"]:
        # Each order is a separate judgment, whatever an imported file says.
        order, each = "both", "item, as many in each order"
        readings = f"{2 * record['samples']} readings"
    return (
        f"setting “{run['setting']}”, order of the responses: {order}, {readings} of each {each}, "
        f"{number_of(_judgments(run), 'judgment')}"
    )


def _shown(features: str) -> str:
    words = {"all": "the whole persona", "none": "no persona"}
    return words.get(features) or f"{listed(features.split(','))} alone"


def _rules(report: ReportJson) -> Iterator[str]:
    parameters, software = report["parameters"], report["software"]
    standing = threshold_standing(report)
    how = "the registered threshold" if standing == "registered" else f"a threshold {standing}"
    how = "an explored threshold" if parameters["explored"] else how
    sides = (report["human"]["majority"], *report["judges"])
    if any(side["certainty"]["summary"]["n"] for side in sides):
        yield f"Certainty is high from {parameters['threshold']} on, {how}."
    differences = [entry["difference_general"] for entry in report["comparison"]]
    if any(one["p"] is not None for one in differences):
        adjusted = any(one["tests"] > 1 for one in differences)
        yield (
            "Judges were compared with the majority on the items that both decided, by t "
            "intervals and tests whose variance allows for shared people, personas and "
            "questions, and by two one-sided tests of equivalence within "
            f"{parameters['margin'] * 100:g} "
            f"points{', all Holm-adjusted over the runs that compete' if adjusted else ''}."
        )
    tested = report["claims_tested"]
    if tested["tested"]:
        yield (
            f"Other claims tested: {tested['tested']:,} of "
            f"{number_of(len(tested['kinds']), 'kind')}, adjusted within each kind and over "
            f"kinds by Holm; {tested['hold']:,} {'holds' if tested['hold'] == 1 else 'hold'}."
        )
    yield (
        f"Resamples: {parameters['bootstrap']:,}, seed {report['seed']}; Thirdperson "
        f"{software['thirdperson']}, NumPy {software['numpy']}, SciPy {software['scipy']}."
    )
