"""The headline: the main finding in one sentence, chosen by rule."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from analysis.report.report_json import Json
from analysis.report.rules import FULL_SHARE, TOO_SMALL
from analysis.report.section import ReportJson, Section, Sentence
from analysis.report.sentences import (
    THRESHOLD,
    Text,
    detectable_words,
    fill,
    holm_words,
    no_truth_words,
    shown,
    state_with,
    texts,
    uneven,
    where_words,
    who_of,
)
from analysis.report.study import (
    ReportedStudy,
    best_run,
    certain_items_differ,
    standing,
    tied_with,
)
from analysis.report.words import (
    listed,
    p_value,
    percent,
    percent_range,
    points,
    points_range,
    reason,
    run_name,
)

MAJORITY = "human.majority"


def headline(report: Mapping[str, Any]) -> Json:
    """The study's finding: a state and a few sentences.

    The state compares the best run (`best_run`) with the majority on common items, for items,
    annotators, personas and questions in general (``difference_general``): ``better`` or ``worse``
    if Holm's p over the competing runs is at most .05; ``equivalent`` if that of the two one-sided
    tests is; ``too_few`` below 30 common items; otherwise ``cannot_tell``. If there is nothing to
    compare, the sentences state what is missing.
    """
    people, judges = report["human"], report["judges"]
    majority = people["majority"]
    if not people["answers"] and not judges:
        return state_with("no_answers", "There are no answers from annotators or judges yet.")
    if majority["accuracy"] is None and all(judge["accuracy"] is None for judge in judges):
        return state_with("no_truth", *_without_truth(report))
    index = best_run(judges)
    if index is None:
        return state_with("people_only", _people(people), "No judge has an answer that counts.")
    judge, comparison = judges[index], report["comparison"][index]
    name, path = run_name(judge, judges), f"judges.{index}"
    difference, path_of = comparison["difference_general"], f"comparison.{index}.difference_general"
    of = shown(difference["family"], f"{path_of}.family")
    some = difference["family"] < len(judges)
    of_judge = _judge(name, judge, path, of=of, whose="runs that compete" if some else "runs")
    if len(tied := tied_with(judges, index)) > 1:
        names = [run_name(judges[place], judges) for place in tied]
        of_judge = _tied(names, judge, path, of=of)
    if majority["accuracy"] is None:
        return state_with("judges_only", of_judge, _no_people(majority)) | who_of(judge)

    state = standing(difference)
    sentences = [
        _people(people),
        of_judge,
        _verdict(state, name, _many(people), difference, path_of),
        *_when_certain(
            report["parameters"]["threshold"],
            name,
            people,
            judge,
            path,
            differ=certain_items_differ(people, judge, comparison),
        ),
        *_estimand(name, people, difference, path_of),
    ]
    return state_with(state, *sentences) | who_of(judge)


def _many(people: Mapping[str, Any]) -> str:
    """The subject of sentences about annotators: a single annotator has no majority."""
    return "the only person" if people["annotators"] == 1 else "the majority"


def _people(people: Mapping[str, Any]) -> Text:
    majority, path = people["majority"], "human.majority"
    return fill(
        "{who}: correct on {accuracy} of {n} {items} ({ci}).",
        who="Only annotator" if people["annotators"] == 1 else "Majority of annotators",
        accuracy=_accuracy(majority, path),
        n=shown(majority["n"], f"{path}.n"),
        items=_items(majority["n"]),
        ci=_general_interval(majority, path, "ci"),
    )


def _accuracy(cell: Mapping[str, Any], path: str) -> Text:
    """A percentage or, below ten answers, a count, as in every table."""
    if cell["n"] < TOO_SMALL:
        return shown(cell["correct"], f"{path}.correct")
    return shown(percent(cell["accuracy"]), f"{path}.accuracy")


def _items(n: int) -> str:
    return "item" if n == 1 else "items"


def _judge(name: str, judge: Mapping[str, Any], path: str, *, of: Text, whose: str) -> Text:
    who = fill("{name}:", name=name)
    if str(of) != "1":
        who = fill(f"Best judge of {{runs}} {whose}: {{name}},", runs=of, name=name)
    return fill(
        "{who} correct on {accuracy} of the {n} {items} it decided ({ci}).",
        who=who,
        items=_items(judge["n"]),
        accuracy=_accuracy(judge, path),
        n=shown(judge["n"], f"{path}.n"),
        ci=_general_interval(judge, path, "ci_as_best"),
    )


def _tied(names: Sequence[str], judge: Mapping[str, Any], path: str, *, of: Text) -> Text:
    return fill(
        "Tied for the first place of {runs} runs: {names}, each correct on {accuracy} of the {n} "
        "{items} it decided ({ci}).",
        runs=of,
        names=listed(names),
        items=_items(judge["n"]),
        accuracy=_accuracy(judge, path),
        n=shown(judge["n"], f"{path}.n"),
        ci=_general_interval(judge, path, "ci_as_best"),
    )


def _general_interval(cell: Mapping[str, Any], path: str, key: str) -> Text | str:
    """The interval of an accuracy that allows for shared annotators, personas and questions."""
    return _interval(cell["clusters"], f"{path}.clusters", key)


def _interval(found: Mapping[str, Any], path: str, key: str) -> Text | str:
    if found[key] is None:
        return f"no interval: {reason(found[f'{key}_reason'])}"
    return fill("95 % CI {ends}", ends=shown(percent_range(found[key]), f"{path}.{key}"))


def _verdict(state: str, name: str, people: str, difference: Mapping[str, Any], path: str) -> Text:
    n = shown(difference["n"], f"{path}.n")
    if state == "too_few":
        return fill(
            f"They have {{n}} {_items(difference['n'])} in common: too few for a comparison.", n=n
        )
    words: dict[str, object] = {"name": name, "people": people}
    gap = fill(
        f"{where_words(difference)}, the difference is {{value}} points",
        n=n,
        value=shown(points(difference["value"]), f"{path}.value"),
    )
    if difference["ci"] is None:
        return fill(
            "We cannot tell whether {name} is as good as {people}: {gap}, without an interval "
            "({why}).",
            **words,
            gap=gap,
            why=reason(difference["ci_reason"]),
        )
    ci = shown(points_range(difference["ci_as_best"]), f"{path}.ci_as_best")
    words |= {
        "margin": shown(f"{difference['margin'] * 100:g}", f"{path}.margin"),
        "narrow": shown(points_range(difference["equivalence_ci"]), f"{path}.equivalence_ci"),
        "holm": holm_words(difference, "equivalence_p_holm", path),
        "gap": fill("{gap} (95 % CI {ci})", gap=gap, ci=ci),
    }
    if state in {"better", "worse"}:
        words["gap"] = fill(
            "{gap} (95 % CI {ci}{holm})",
            gap=gap,
            ci=ci,
            holm=holm_words(difference, "p_holm", path),
        )
        return fill(f"{{name}} did {state} than {{people}}: {{gap}}.", **words)
    if state == "equivalent":
        return fill(
            "{name} and {people} are equivalent within {margin} points: {gap}, and its 90 % CI "
            "is inside the margin ({narrow}{holm}).",
            **words,
        )
    ends, inside = difference["ci_as_best"], difference["equivalence_ci"]
    if ends[0] > 0 or ends[1] < 0:
        return fill(
            "We cannot tell whether {name} is as good as {people}: {gap}. The best of several "
            "runs can reach this by chance (Holm-adjusted p {p}).{finds}",
            **words,
            finds=detectable_words(difference, path),
            p=shown(p_value(difference["p_holm"]), f"{path}.p_holm"),
        )
    if -difference["margin"] < inside[0] and inside[1] < difference["margin"]:
        return fill(
            "We cannot tell whether {name} is as good as {people}: {gap}. The 90 % CI ({narrow}) "
            "is inside the margin of ±{margin} points for equivalence, but the best of several "
            "runs can reach this by chance{holm}.{finds}",
            **words,
            finds=detectable_words(difference, path),
        )
    return fill(
        "We cannot tell whether {name} is as good as {people}: {gap}. The interval "
        "includes 0, and the 90 % CI ({narrow}) goes beyond the margin of ±{margin} points for "
        "equivalence.{finds}",
        **words,
        finds=detectable_words(difference, path),
    )


def _estimand(
    name: str, people: Mapping[str, Any], difference: Mapping[str, Any], path: str
) -> list[Text]:
    """The population of the verdict, and clusters too few to generalise."""
    if difference["value"] is None:
        return []
    many = "a person" if people["annotators"] == 1 else "a majority of annotators"
    fixed = difference["one"]
    kinds = [kind for kind in ("people", "personas", "questions") if kind not in fixed]
    sentences = [
        fill(
            f"The comparison is about one number: how often {{name}} is correct minus how often "
            f"{many} is correct. It and all intervals are for {listed(['items', *kinds])} "
            f"like those of this study"
            f"{' and its only ' if fixed else ''}"
            f"{listed([kind.removesuffix('s') for kind in fixed]) if fixed else ''}.",
            name=name,
        )
    ]
    for key, words in (
        ("too_few", "The study has {n} {kind}: too few to generalise to others."),
        ("few", "The study has only {n} {kind}, so intervals are wide and rough."),
    ):
        for kind in difference[key]:
            if kind == "people" and (cause := uneven(difference)):
                form = f"{cause[:1].upper()}{cause[1:]}: too uneven to generalise to others."
                sentences.append(fill(form))
                continue
            count = difference["clusters"][kind]
            n = shown(count, f"{path}.clusters.{kind}")
            one = "person" if kind == "people" else kind.removesuffix("s")
            sentences.append(fill(words, n=n, kind=one if count == 1 else kind))
    effective = difference.get("people_effective")
    if effective is not None and effective < FULL_SHARE * difference["clusters"]["people"]:
        sentences.append(
            fill(
                "Some of the {n} people gave many more answers than others, so they count as "
                "{effective}.",
                n=shown(difference["clusters"]["people"], f"{path}.clusters.people"),
                effective=shown(f"{effective:.1f}", f"{path}.people_effective"),
            )
        )
    return sentences


def _when_certain(
    threshold: float,
    name: str,
    people: Mapping[str, Any],
    judge: Mapping[str, Any],
    path: str,
    *,
    differ: bool,
) -> list[Text]:
    """The accuracy of both, each on its own high-certainty items, so not a comparison."""
    is_one = people["annotators"] == 1
    who = "the only annotator" if is_one else "the majority of annotators"
    sides = (
        (name, judge, f"{path}.high"),
        (who, people["majority"], f"{MAJORITY}.high"),
    )
    # A side without certainty is left out.
    asked = [side for side in sides if side[1]["high"]["n"] + side[1]["low"]["n"]]
    if not asked:
        return []
    limit = shown(f"{threshold:g}", THRESHOLD)
    few = [shown(side["high"]["n"], f"{where}.n") for _, side, where in sides]
    if len(asked) == 2 and max(side["high"]["n"] for _, side, _ in asked) < TOO_SMALL:
        return [
            fill(
                "Neither {name} nor {who} is certain (≥ {limit}) often enough to state an "
                "accuracy (n = {judge} and n = {people}).",
                name=name,
                who=who,
                limit=limit,
                judge=few[0],
                people=few[1],
            )
        ]
    parts = [_certain_side(*side) for side in asked]
    form = "At high certainty (≥ {limit}), {first}, and {second}."
    if len(parts) == 1:
        form = "At high certainty (≥ {limit}), {first}."
    elif min(side["high"]["n"] for _, side, _ in asked) >= TOO_SMALL and differ:
        form += " These are different items."
    return [fill(form, limit=limit, first=parts[0], second=parts[-1])]


def _certain_side(who: str, side: Mapping[str, Any], path: str) -> Text:
    high = side["high"]
    n = shown(high["n"], f"{path}.n")
    if high["n"] < TOO_SMALL:
        return fill("{who} is too rarely that certain to state an accuracy (n = {n})", who=who, n=n)
    key = "ci" if path.startswith(MAJORITY) else "ci_as_best"
    return fill(
        "{who} is correct on {accuracy} of {n} items ({ci})",
        who=who,
        accuracy=shown(percent(high["accuracy"]), f"{path}.accuracy"),
        n=n,
        ci=_general_interval(high, path, key),
    )


def _without_truth(report: Mapping[str, Any]) -> list[str | Text]:
    agreement, path = report["human"]["agreement"], "human.agreement"
    sentences: list[str | Text] = [no_truth_words(report)]
    if not report["human"]["answers"]:
        sentences.append("No person has answered, so judges cannot be compared with people.")
    if agreement["percent"] is not None:
        sentences.append(
            fill(
                "Two annotators of the same item agree in {percent} of pairs ({ci}).",
                percent=shown(percent(agreement["percent"]), f"{path}.percent"),
                ci=_interval(agreement, path, "percent_general_ci"),
            )
        )
    agreeing = [
        (entry["agreement_with_majority"], index)
        for index, entry in enumerate(report["comparison"])
        if entry["agreement_with_majority"] is not None
    ]
    if agreeing:
        best, index = max(agreeing)
        entry, path = report["comparison"][index], f"comparison.{index}"
        sentences.append(
            fill(
                f"{{name}} agrees with the majority of annotators on {{share}} of {{n}} "
                f"{_items(entry['common_items'])} ({{ci}}).",
                name=run_name(entry, report["comparison"]),
                share=shown(percent(best), f"{path}.agreement_with_majority")
                if entry["common_items"] >= TOO_SMALL
                else round(best * entry["common_items"]),
                n=shown(entry["common_items"], f"{path}.common_items"),
                ci=_interval(entry, path, "agreement_as_best_ci"),
            )
        )
    return sentences


def _no_people(majority: Mapping[str, Any]) -> str | Text:
    if majority["ties"]:
        return fill(
            "Annotators decided no item: their answers tie on {ties}.",
            ties=shown(majority["ties"], f"{MAJORITY}.ties"),
        )
    if majority["no_truth"]:
        return fill(
            "Annotators decided {items} items, but none has a right answer that annotators could "
            "choose, so there is no accuracy to compare with.",
            items=shown(majority["no_truth"], f"{MAJORITY}.no_truth"),
        )
    return "No annotator's answer counts, so judges cannot be compared with annotators."


class Headline(Section):
    """The headline over all items, for the best run."""

    name = "headline"
    needs = (
        "accuracies",
        "agreement_coefficients",
        "paired_difference",
        "agreement_with_judges",
        "high_sets",
    )

    def compute(self, study: ReportedStudy, earlier: ReportJson) -> Json:
        return {"headline": headline(earlier)}

    def sentences(self, report: ReportJson) -> Iterator[Sentence]:
        for text in texts(report["headline"]):
            yield Sentence("headline", text)
