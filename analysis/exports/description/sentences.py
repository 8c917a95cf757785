"""Sentences about a data set, for its card and its metadata."""

from collections.abc import Mapping
from typing import Any

from analysis.exports.description.facts import DataDescription
from analysis.exports.tables.pseudonyms import K
from analysis.limits import INDIVIDUALS, OPT_IN, STEREOTYPES, certainty_limit, language_limit
from studies.models.studies import Study
from studies.money import format_money
from studies.prompts.own_answers import wording_in

_TODAY = "What was promised is not stored for everybody; today the study states "
SIMULATED = "Answers in this data set are simulated."


def summary(study: Study) -> str:
    return (
        "People and models judged the same items on behalf of somebody else: each saw the profile "
        f"of a person and two texts, and was asked: “{_question(study)}”"
    )


def _question(study: Study) -> str:
    return wording_in(study, study.task, "tie" if study.allow_tie else "certainty").question


def platform(described: DataDescription) -> str:
    study = described.study
    if study.is_simulated:
        return "no platform (the answers are simulated)"
    if not described.collection.has_participants:
        return "no platform (answers of people, if any, were read from files)"
    return {
        Study.Entry.PROLIFIC.value: "Prolific",
        Study.Entry.LINK.value: "an open link",
        Study.Entry.LIST.value: "a list of invited people",
    }[study.entry]


def collection(described: DataDescription) -> str:
    study = described.study
    days = described.collection.days or "not known"
    if from_files(described):
        return f"Recruiting: {platform(described)}. Days of the answers (UTC): {days}."
    promises = dict.fromkeys(promise(each.terms) for each in described.collection.agreed)
    if "" in promises:  # only the hash of a text was stored
        promises[_TODAY + _pay(study.reward, study.currency, study.minutes) + "."] = None
    return " ".join(
        [
            f"Recruiting: {platform(described)}. Planned: about {study.items_per_annotator} items "
            "a person.",
            *filter(None, promises),
            f"Days of the answers (UTC): {days}. The page asked in the language "
            f"“{study.language}”. Language of the items: {_named(described)}.",
        ]
    )


def _named(described: DataDescription) -> str:
    return ", ".join(f"“{each}”" for each in described.collection.item_languages) or "not known"


def promise(terms: Mapping[str, Any]) -> str:
    """What participants were promised, as far as it was stored."""
    if not {"reward", "currency", "minutes"} <= terms.keys():
        return ""
    return f"Promised: {_pay(terms['reward'], terms['currency'], terms['minutes'])}."


def _pay(reward: int, currency: str, minutes: int) -> str:
    paid, hourly = (format_money(each, currency) for each in (reward, reward * 60 / minutes))
    return f"{minutes} minutes and {paid} ({hourly} an hour)"


def protocol(described: DataDescription) -> str:
    study = described.study
    asked = "a choice and a certainty from 1 to 100" if has_certainty(described) else "a choice"
    ties = "A tie could be chosen." if study.allow_tie else "A tie could not be chosen."
    sets = (
        "Sets of three to five responses were shown on one screen and put in order; the order on "
        "the screen was drawn for each person. "
        if study.shows_whole_sets
        else ""
    )
    return (
        f"“{_question(study)}” The answer was {asked}. {ties} {sets}"
        f"{_shown_first(described)}{_asked_models(described)}"
    ).rstrip()


def _shown_first(described: DataDescription) -> str:
    if from_files(described):
        return ""
    return "Which response was shown first was decided for each person and item, and is stored. "


def _asked_models(described: DataDescription) -> str:
    """Judgments that were read from a file came from words that nobody here knows."""
    if all(run.is_imported for run in described.collection.runs):
        return ""
    return f"Models were asked with the texts in prompts/.{_words_gone(described)}"


def from_files(described: DataDescription) -> bool:
    """Whether all answers of people were read from files."""
    found = described.collection
    return bool(found.standings) and not found.has_participants


def has_certainty(described: DataDescription) -> bool:
    """Whether anybody stated one; before the first answer, whether it is asked for."""
    if described.collection.standings:
        return described.collection.certainties > 0
    return described.study.ask_certainty


def _words_gone(described: DataDescription) -> str:
    gone = sum(not run.words_kept for run in described.collection.runs)
    if not gone:
        return ""
    runs = "1 run" if gone == 1 else f"{gone:,} runs"
    return f" The words of {runs} are no longer stored, and nothing is given in their place."


def answers_per_item(described: DataDescription) -> str:
    return f"Planned: {described.study.annotations_per_item} answers of people to each item."


def annotator_demographics(described: DataDescription) -> str:
    if not described.collection.quota:
        return "No groups were recruited on purpose."
    groups = "; ".join(
        f"{name}: {came} ({target})" for name, target, came in described.collection.quota
    )
    return f"People who completed, by group (places in brackets): {groups}."


def machine_tools(described: DataDescription) -> list[str]:
    models = {f"{run.judge} ({run.model})" for run in described.collection.runs}
    return sorted(models) or ["none"]


def privacy(described: DataDescription) -> str:
    kept = (
        "No person is named: rater_id is computed with a key that is never exported. Times are "
        f"cut to the minute. Demographics are given only in combinations that at least {K} "
        "people share."
    )
    if described.disclosure.free_text:
        kept += " Free text that people wrote, or that was written about them, is included."
    else:
        kept += " Free text about people is left out."
    if described.disclosure.identified:
        return (
            "THIS COPY NAMES PEOPLE: the table annotators holds platform ids and everything "
            "people stated about themselves. Do not pass it on."
        )
    return kept


def limits(described: DataDescription) -> list[str]:
    """The limits of the data; the study's report states the precision of its numbers."""
    study = described.study
    found = [
        STEREOTYPES,
        OPT_IN,
        language_limit(
            study.language,
            {run.prompt_language for run in described.collection.runs if run.prompt_language},
            described.collection.item_languages,
        ),
        INDIVIDUALS,
    ]
    if has_certainty(described):
        found.append(certainty_limit(study.certainty_threshold))
    if study.is_simulated:
        found.insert(0, "The answers are simulated and show nothing about people.")
    unknown = [name for name, score in described.scores.items() if not score.scored]
    if unknown:
        found.append("Own answers are missing, so no answer here can be scored.")
    small = [name for name, score in described.scores.items() if 0 < score.scored < 30]
    if small:
        found.append("Fewer than 30 items can be scored: shares of right answers are rough.")
    return found
