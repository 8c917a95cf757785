"""The citation of a report, and a paragraph on its method with the study's figures."""

import re
from collections.abc import Callable, Iterator
from datetime import date as Date

from analysis.report.build import all_sentences
from analysis.report.quantities import Name, Population, Quantity, Text, Words, clause, joined, say
from analysis.report.report_json import ReportJson
from analysis.report.results import NOTHING, about, is_about_themselves, no_people, sampled
from analysis.report.section import attempted
from analysis.report.sentences import THRESHOLD, order_words
from analysis.report.table_files import tex
from analysis.report.words import (
    MAJORITY_WORDS,
    listed,
    named_entries,
    people_words,
    threshold_standing,
)
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

    def of_sections(report: ReportJson) -> Iterator[Text]:
        return (sentence.text for sentence in all_sentences(report, "methods"))

    def made_by(part: Callable[[ReportJson], Iterator[Text]]) -> list[Text]:
        return attempted(lambda: list(part(report)), part="methods") or []

    parts = (_items, _people, _judges, of_sections, _rules)
    return " ".join(str(text) for part in parts for text in made_by(part))


def _items(report: ReportJson) -> Iterator[Text]:
    inputs, study = report["inputs"], report["study"]
    name = study["source"].get("name")
    have: Text | Words = Words("The study has")
    if pooled := study["source"].get("pooled_from"):
        names = joined([clause("{name}", name=Name(one)) for one in pooled])
        have = clause("The studies {names}, pooled, have", names=names)
    yield say(
        "{have} {items}{source}{personas}; {each} asks {question} of two responses{tie}.",
        have=have,
        items=Population("item", n=inputs["items"], path="inputs.items"),
        source=clause(" from {name}", name=Name(name)) if name else NOTHING,
        personas=about(inputs, "personas"),
        each=Words("it" if inputs["items"] == 1 else "each"),
        question=clause("“{words}”", words=Name(study["question"]))
        if study["question"]
        else Words("the question of its task"),
        tie=Words(" or a tie" if study["allow_tie"] else ""),
    )
    if study["simulated"]:
        yield say("The data are simulated.")


def _people(report: ReportJson) -> Iterator[Text]:
    human = report["human"]
    if not human["answers"]:
        yield say("{none}.", none=no_people(report))
        yield from _left_out(human)
        return
    answers = Population("answer", n=human["answers"], path="human.answers")
    n = human["individual"]["certainty"]["summary"]["n"]
    stated = Quantity("count", answers, n, "human.individual.certainty.summary.n")
    certainty: Text | Words = NOTHING
    if n:
        certainty = clause(", with a certainty from 1 to 100")
        if n < answers.n:
            certainty = clause("{all} on {n} of them", all=certainty, n=stated)
    people = Population("person", n=human["annotators"], path="human.annotators")
    form = "{people} gave {answers}{certainty}."
    yield say(form, people=people, answers=answers, certainty=certainty)
    for place, pay in enumerate(human["pay"].get("promised", ())):
        path = f"human.pay.promised.{place}"
        each = " each" if pay["people"] > 1 else ""
        amount = f"{pay['reward']:.{decimals(pay['currency'])}f} {pay['currency']}{each}"
        # Of pooled studies, somebody may have finished several.
        kind = "participation" if report["study"]["source"].get("pooled_from") else "person"
        finished = Population(kind, n=pay["people"], path=f"{path}.people")
        form = "{people} finished; the study promised {pay} for about {minutes}."
        if kind == "participation":
            form = "{people} {people.was} finished, for {pay} and about {minutes}."
        yield say(
            form,
            people=finished,
            pay=Name(amount if pay["reward"] else "no pay"),
            minutes=Population("minute", n=pay["minutes"], path=f"{path}.minutes"),
        )
    yield from _left_out(human)
    mean = ", its certainty the mean of those who chose it" if stated.value else ""
    ties: Text | Words = NOTHING
    if n := human["majority"]["ties"]:
        tied = Population("item", n=n, path="human.majority.ties")
        ties = clause("; {ties} whose votes tie {ties.has} none", ties=tied)
    if people_words(report) != MAJORITY_WORDS:
        return
    yield say(
        "The majority of an item is the option with the most votes{mean}{ties}.",
        mean=Words(mean),
        ties=ties,
    )


def _left_out(human: ReportJson) -> Iterator[Text]:
    """Answers that do not count, and why."""
    out, path = human["not_counted"], "human.not_counted"
    if n := out.get("surplus"):
        more = Population("more answer", n=n, path=f"{path}.surplus")
        form = "{more} {more.is} not counted, because the items had enough."
        yield say(form, more=more)
    if n := out.get("excluded_people"):
        yield say(
            "The researchers excluded {answers} by {people}.",
            answers=Population("answer", n=out["excluded"], path=f"{path}.excluded"),
            people=Population("person", n=n, path=f"{path}.excluded_people"),
        )


# Why an item of a run has no answer that can be read.
UNREAD = ("unparseable", "refused", "error")


def _judges(report: ReportJson) -> Iterator[Text]:
    """Yield one sentence for all judges that were asked the same in the same way."""
    of_judge: dict[tuple[str, str, str], list[int]] = {}
    for place, run in enumerate(report["judges"]):
        if run["record"]["backend"] == "jury":
            continue
        key = run["judge"], _model(run), str(_way(report, place))
        of_judge.setdefault(key, []).append(place)
    alike: dict[tuple[str, ...], list[tuple[Text, int]]] = {}
    for (name, model, way), places in of_judge.items():
        features = [_shown(report["judges"][place]["features"]) for place in places]
        named = clause("{name} ({model})", name=Name(name), model=Name(model))
        alike.setdefault((way, *features), []).append((named, places[0]))
    for (_, *features), judges in alike.items():
        place = judges[0][1]
        run = report["judges"][place]
        judged, path = answered_items(run), f"judges.{place}.items"
        yield say(
            "{judges} judged {items}{alike}{runs}{seen} ({way}{way_alike}).",
            judges=joined([name for name, _ in judges]),
            items=Population("item", n=judged, path=path)
            if judged == run["items"]
            else Population("item", n=judged, among=run["items"], among_path=path),
            alike=Words(" each" if len(judges) > 1 else ""),
            runs=NOTHING
            if len(set(features)) == len(features)
            else clause(" in {n}", n=Population("run", n=len(features))),
            # Judges too answer for people who speak of themselves, of whom they see nothing.
            seen=NOTHING
            if is_about_themselves(report)
            else clause(" from {features}", features=Name("; from ".join(dict.fromkeys(features)))),
            way=_way(report, place),
            way_alike=Words(" each" if len(judges) * len(features) > 1 else ""),
        )
    for place, (name, run) in enumerate(named_entries(report, "judges")):
        if run["record"]["backend"] == "jury":
            members = [clause("{name}", name=Name(one)) for one in _members(run)]
            yield say(
                "{name} is the majority of {members}, each with one vote.",
                name=Name(name),
                members=joined(members),
            )
        if n := sum(run["excluded"][key] for key in UNREAD):
            asked = Population("item", n=run["items"], path=f"judges.{place}.items")
            refused: Text | Words = NOTHING
            if run["excluded"]["refused"]:
                path = f"judges.{place}.excluded.refused"
                count = Quantity("count", asked, run["excluded"]["refused"], path)
                refused = clause(", of which it refused {n}", n=count)
            yield say(
                "{name} gave no readable answer to {n} of {n.of}{refused}.",
                name=Name(name),
                n=Quantity("count", asked, n),
                refused=refused,
            )
        yield from order_words(name, run)


def _members(run: ReportJson) -> list[str]:
    """The judges of a jury."""
    return [str(name) for name in run["record"]["parameters"]["judges"]]


def _model(run: ReportJson) -> str:
    """The model's name as the server stated it, and how it was sampled."""
    record = run["record"]
    own = record["parameters"]
    # The parameters that were sent or, if these are not stored, the intended ones.
    sent = [request["parameters"] for request in record["sent"]] or [own]
    sampling = []
    for key, word in (("temperature", "temperature"), ("top_p", "top-p")):
        values = list(dict.fromkeys(request.get(key) for request in sent))
        if values != [None]:
            words = ["the server's own" if value is None else str(value) for value in values]
            sampling.append(f"{word} {' or '.join(words)}")
    model = ", ".join(record["snapshots"]) or own.get("model") or "model not reported"
    return ", ".join([model, *sampling])


def answered_items(run: ReportJson) -> int:
    """The items of a run with at least one judgment; the others are still to ask."""
    return int(run["items"] - run["excluded"]["open"])


def _way(report: ReportJson, place: int) -> Text:
    """How a run asked: setting, order of the responses, and number of readings."""
    run, path = report["judges"][place], f"judges.{place}"
    record, samples = run["record"], run["record"]["samples"]
    # Closed judgments: each order and each repetition is one.
    closed = sum(n for state, n in run["judgments"].items() if state != "open")
    order, unit = record["orders"].replace("_", " "), "item"
    is_imported = record["parameters"].get("imported", False)
    # Each order is a separate judgment, whatever an imported file says.
    is_both = order.startswith("both") or run["position"]["both_orders"]["n"]
    if is_both and closed > samples * answered_items(run):
        if closed == 2 * samples * answered_items(run):
            order, unit, samples = "both", "item, as many in each order", 2 * samples
        else:
            order, unit = "both for some items, one for the others", "item in each of its orders"
    readings = clause("one reading")
    if samples > 1:
        is_stored = samples == record["samples"]
        count = Quantity("count", None, samples, f"{path}.record.samples" if is_stored else "")
        readings = clause("{n} readings", n=count)
    return clause(
        "{imported}setting “{setting}”, order of the responses: {order}, {readings} of each "
        "{unit}, {judgments}",
        imported=Words("imported, as " if is_imported else ""),
        setting=Name(run["setting"]),
        order=Name(order),
        readings=readings,
        unit=Words(unit),
        judgments=Population("judgment", n=closed),
    )


def _shown(features: str) -> str:
    words = {"all": "the whole persona", "none": "no persona"}
    return words.get(features) or f"{listed(features.split(','))} alone"


def _rules(report: ReportJson) -> Iterator[Text]:
    parameters, software = report["parameters"], report["software"]
    standing = threshold_standing(report)
    how = "the registered threshold" if standing == "registered" else f"a threshold {standing}"
    how = "an explored threshold" if parameters["explored"] else how
    sides = (report["human"]["majority"], *report["judges"])
    if any(side["certainty"]["summary"]["n"] for side in sides):
        level = Quantity("level", None, parameters["threshold"], THRESHOLD)
        yield say("Certainty is high from {level} on, {how}.", level=level, how=Words(how))
    differences = [entry["difference_general"] for entry in report["comparison"]]
    if any(one["p"] is not None for one in differences):
        is_adjusted = any(one["tests"] > 1 for one in differences)
        yield say(
            "{judges} compared with {people} on the items that {both} decided, by t intervals and "
            "tests about {kinds} like these, and by two one-sided tests of equivalence within "
            "{margin} points{adjusted}.",
            judges=Words("The judge was" if len(differences) == 1 else "Judges were"),
            both=Words(
                "all competing judges were asked and both"
                if any("asked_of_all" in one for one in differences)
                else "both"
            ),
            kinds=sampled(report),
            people=Words(people_words(report)),
            margin=Quantity("margin", None, parameters["margin"], "parameters.margin"),
            adjusted=Words(", all Holm-adjusted over the runs that compete" if is_adjusted else ""),
        )
    tested = report["claims_tested"]
    if tested["tested"]:
        claims = Population("claim", n=tested["tested"], path="claims_tested.tested")
        yield say(
            "Other claims tested: {claims.size} of {kinds}, adjusted within {each}; {hold} {verb}.",
            claims=claims,
            kinds=Population("kind", n=len(tested["kinds"])),
            each=Words("each kind and over kinds by Holm" if len(tested["kinds"]) > 1 else "it"),
            hold=Quantity("count", claims, tested["hold"], "claims_tested.hold"),
            verb=Words("holds" if tested["hold"] == 1 else "hold"),
        )
    yield say(
        "Resamples: {draws}, seed {seed}; Thirdperson {own}, NumPy {numpy}, SciPy {scipy}.",
        draws=Quantity("count", None, parameters["bootstrap"], "parameters.bootstrap"),
        seed=Name(str(report["seed"])),
        own=Name(software["thirdperson"]),
        numpy=Name(software["numpy"]),
        scipy=Name(software["scipy"]),
    )
