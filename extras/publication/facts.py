"""Licences, facts and sentences for the card and metadata of a bundle."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

from analysis.exports.catalogue import LICENCES, BundleContents
from analysis.exports.rows import K
from analysis.exports.table_files import to_json
from analysis.report.quantities import Quantity
from analysis.report.results import certainty_limit
from analysis.report.table_files import tex
from analysis.report.words import (
    CHOSEN_ELSEWHERE,
    CHOSEN_PARTLY,
    STEREOTYPES,
    language_limit,
    listed,
    number_of,
    opt_in,
)
from extras.publication.collection import Collection, collection_of
from judging.prompts.asking import tasks_of_items
from studies.models.studies import Study
from studies.money import format_money
from studies.prompts import wording_in
from studies.selectors import owner_names


@dataclass
class DescribedScore:
    """How often one rater's verdicts equal the personas' own answers."""

    items: int = 0
    tied: int = 0
    scored: int = 0
    correct: int = 0

    def add(self, row: dict[str, Any]) -> None:
        self.items += 1
        self.tied += row["verdict_reason"] == "tied"
        self.scored += row["correct"] is not None
        self.correct += row["correct"] is True


@dataclass(frozen=True)
class DataDescription(BundleContents):
    """Everything that the card and metadata state, without names of annotators."""

    collection: Collection
    scores: dict[str, DescribedScore]

    @property
    def languages(self) -> list[str]:
        """The languages of the items, or the study's if it has none."""
        return list(self.collection.item_languages) or [self.study.language]


def described(contents: BundleContents, folder: Path) -> DataDescription:
    """The facts about the bundle in `folder`."""
    scores: dict[str, DescribedScore] = {}
    with (folder / "jsonl" / "aggregates.jsonl").open(encoding="utf-8") as rows:
        for row in map(json.loads, rows):
            name = row["rater_id"]
            if row["run"]:
                name = f"{name}, {row['setting']}, {row['features']} ({row['run'][:8]})"
            scores.setdefault(name, DescribedScore()).add(row)
    collection = collection_of(contents.study, k=K)
    return DataDescription(**vars(contents), collection=collection, scores=scores)


_TODAY = "Promises are not stored for everybody; the study currently states "
SIMULATED = "Answers in this data set are simulated."


def summary(described: DataDescription) -> str:
    """Who judged what; files do not say what those whose answers they have saw."""
    study, collected = described.study, described.collection
    who = [
        *(["people"] if collected.standings else []),
        *(["models"] if collected.runs else []),
    ]
    judged = "Nobody has judged these items yet"
    if who:
        behalf = " for themselves" if study.asks_own_answers else " on somebody else's behalf"
        judged = f"{' and '.join(who).capitalize()} judged these items{behalf}"
    texts = "two texts" if study.asks_own_answers else "the profile of a person and two texts"
    return f"{judged}. An item has {texts}, and asks {_question(study)}"


def _question(study: Study) -> str:
    """The words of the question, which items of several tasks do not have in common."""
    tasks = tasks_of_items(study)
    if len(tasks) > 1:
        return "the question of its task."
    return f"“{wording_in(study, tasks[0], 'tie' if study.allow_tie else 'certainty').question}”"


def platform(described: DataDescription) -> str:
    study = described.study
    if study.is_simulated:
        return "no platform (the answers are simulated)"
    if not described.collection.has_participants:
        return "no platform (answers of people, if any, were read from files)"
    own = {
        Study.Entry.PROLIFIC.value: "Prolific",
        Study.Entry.LINK.value: "an open link",
        Study.Entry.LIST.value: "a list of invited people",
    }[study.entry]
    others = described.collection.platforms
    if imported := described.collection.imported:
        others = {**others, "files": imported}
    return ", ".join([own, *(f"{name} ({number_of(n, 'person')})" for name, n in others.items())])


def collection(described: DataDescription) -> str:
    study = described.study
    days = described.collection.days or "not known"
    if from_files(described):
        return f"Recruiting: {platform(described)}. Days of the answers (UTC): {days}."
    promises = dict.fromkeys(promise(version.terms) for version in described.collection.agreed)
    if "" in promises:  # only the hash of a text was stored
        promises[_TODAY + _pay(study.reward, study.currency, study.minutes) + "."] = None
    return " ".join(
        [
            f"Recruiting: {platform(described)}. Planned: about {study.items_per_annotator} "
            "items per person.",
            *filter(None, promises),
            f"Days of the answers (UTC): {days}. The page asked in the language "
            f"“{study.language}”. Language of the items: {_languages(described)}.",
        ]
    )


def _languages(described: DataDescription) -> str:
    return (
        ", ".join(f"“{language}”" for language in described.collection.item_languages)
        or "not known"
    )


def promise(terms: Mapping[str, Any]) -> str:
    """The promises to participants, as far as stored."""
    if not {"reward", "currency", "minutes"} <= terms.keys():
        return ""
    return f"Promised: {_pay(terms['reward'], terms['currency'], terms['minutes'])}."


def _pay(reward: int, currency: str, minutes: int) -> str:
    paid, hourly = (format_money(amount, currency) for amount in (reward, reward * 60 / minutes))
    return f"{number_of(minutes, 'minute')} and {paid} ({hourly} an hour)"


def protocol(described: DataDescription) -> str:
    study = described.study
    asked = "a choice and a certainty from 1 to 100" if has_certainty(described) else "a choice"
    ties = "A tie could be chosen." if study.allow_tie else "A tie could not be chosen."
    if from_files(described):
        # What people could choose is not known.
        ties = "Some answers may be ties." if study.allow_tie else ""
    sets = (
        "Sets of three to five responses were shown on one screen and ranked; the order on the "
        "screen was drawn for each person. "
        if study.shows_whole_sets
        else ""
    )
    return (
        f"An item asks {_question(study)} The answer was {asked}. {f'{ties} ' if ties else ''}"
        f"{sets}{_shown_first(described)}{_asked_models(described)}"
    ).rstrip()


def _shown_first(described: DataDescription) -> str:
    if from_files(described) or not described.collection.standings:
        return ""
    return "The response shown first was chosen for each person and item, and is stored. "


def _asked_models(described: DataDescription) -> str:
    """The prompts of judgments imported from a file are not known here."""
    if all(run.is_imported for run in described.collection.runs):
        return ""
    return f"Models received the texts in prompts/.{_words_gone(described)}"


def from_files(described: DataDescription) -> bool:
    """Whether all of people's answers came from files."""
    collected = described.collection
    return bool(collected.standings) and not collected.has_participants


def has_certainty(described: DataDescription) -> bool:
    """Whether anybody stated a certainty or, before the first answer, whether it is asked for."""
    if described.collection.standings:
        return described.collection.certainties > 0
    return described.study.ask_certainty


def _words_gone(described: DataDescription) -> str:
    gone = sum(not run.words_kept for run in described.collection.runs)
    if not gone:
        return ""
    runs = "1 run" if gone == 1 else f"{gone:,} runs"
    return f" The words of {runs} are no longer stored."


def answers_per_item(described: DataDescription) -> str:
    if from_files(described):
        return "The answers by people were not planned here."
    wanted = number_of(described.study.annotations_per_item, "answer")
    return f"Planned: {wanted} by people per item."


def annotator_demographics(described: DataDescription) -> str:
    if from_files(described):
        return "It is not known how people were chosen."
    if not described.collection.quota:
        return "No specific groups were recruited."
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
        "rounded down to the minute. Demographics are included only in combinations that at "
        f"least {K} people share."
    )
    if described.disclosure.free_text:
        kept += " Free text by or about people is included."
    else:
        kept += " Free text about people is left out."
    if described.disclosure.identified:
        return (
            "THIS COPY NAMES PEOPLE: the table annotators contains platform ids and everything "
            "people stated about themselves. Do not pass it on."
        )
    return kept


def limits(described: DataDescription) -> list[str]:
    """The limits of the data; the study's report states the precision of its numbers."""
    study, collected = described.study, described.collection
    chosen = opt_in(is_paid=study.reward > 0)
    if collected.imported:
        chosen = CHOSEN_ELSEWHERE if from_files(described) else CHOSEN_PARTLY
    asked_in = [run.prompt_language for run in collected.runs if not run.is_imported]
    of_a_file = {
        "people": (bool(collected.imported), from_files(described)),
        "judges": (any(run.is_imported for run in collected.runs), not asked_in),
    }
    languages = language_limit(
        study.language,
        set(asked_in),
        collected.item_languages,
        [who if is_all else f"some {who}" for who, (is_any, is_all) in of_a_file.items() if is_any],
        people=bool(collected.standings),
    )
    sentences = [
        *([] if study.asks_own_answers else [STEREOTYPES]),
        *([chosen] if collected.standings else []),
        *([languages] if languages else []),
        "The data show how well answers can be guessed on average. Do not use them for decisions "
        "about individuals.",
    ]
    if has_certainty(described):
        threshold = Quantity("level", None, study.certainty_threshold)
        sentences.append(str(certainty_limit(threshold)))
    if study.is_simulated:
        sentences.insert(0, "The answers are simulated and show nothing about people.")
    scored = {name: score.scored for name, score in described.scores.items()}
    if scored and not any(scored.values()):
        sentences.append("No answer here can be scored: no item with one has a known own answer.")
    if small := [name for name, n in scored.items() if 0 < n < 30]:
        whose = "" if len(small) == len(scored) else f" of {listed(small)}"
        sentences.append(
            f"Fewer than 30 items{whose} can be scored, so shares of right answers are rough."
        )
    return sentences


_NOT_STATED = "not stated; ask the owners of the study before you pass it on"


def licence_urls(study: Study, licence: str) -> list[str]:
    """The addresses of the licences of answers and items, if known."""
    urls = [LICENCES.get(licence, ""), study.source.get("licence_url") or ""]
    return [url for url in dict.fromkeys(urls) if url]


def licence_text(study: Study, licence: str) -> str:
    """The text of the file LICENSE."""
    source = study.source
    items = _with_address(source.get("licence") or "", source.get("licence_url") or "")
    withheld = (
        "\nThe source forbids redistribution, so this data set contains no item texts.\n"
        if source.get("redistribution") == "forbidden"
        else ""
    )
    return f"""Licence of the data set “{study.title}”

Answers of people, judgments of models, aggregates and descriptions
  {_with_address(licence, LICENCES.get(licence, ""))}

Items (questions, responses, profiles){f", from {source['name']}" if source.get("name") else ""}
  {items}
{withheld}
Replies of models may be subject to the terms of the model's provider.
"""


def _with_address(name: str, url: str) -> str:
    return " ".join(filter(None, [name, f"<{url}>" if url else ""])) or _NOT_STATED


def authors(study: Study) -> list[str]:
    """The owners' full names; owners without one are named together."""
    return owner_names(study) or [f"Owners of the study “{study.slug}”"]


def citation_cff(study: Study, *, licence: str, on: date) -> str:
    """The file CITATION.cff, version 1.2.0. Its values are JSON, which is YAML."""
    fields: dict[str, Any] = {
        "cff-version": "1.2.0",
        "message": "If you use these data, please cite them and the source of their items.",
        "type": "dataset",
        "title": study.title,
        "authors": [{"name": name} for name in authors(study)],
        "date-released": on.isoformat(),
    }
    if licence:
        fields["license"] = licence
    if study.content_hash:
        fields["identifiers"] = [
            {
                "type": "other",
                "value": f"sha256:{study.content_hash}",
                "description": "Hash of everything that was shown.",
            }
        ]
    if reference := _source_reference(study):
        fields["references"] = [reference]
    return "".join(f"{key}: {to_json(value)}\n" for key, value in fields.items())


def _source_reference(study: Study) -> dict[str, Any] | None:
    source = study.source
    if not source.get("name"):
        return None
    reference: dict[str, Any] = {
        "type": "dataset",
        "title": source["name"],
        "authors": [{"name": source.get("citation") or source["name"]}],
    }
    return reference | ({"url": source["url"]} if source.get("url") else {})


def bibtex(study: Study, *, on: date) -> str:
    names = " and ".join(f"{{{tex(name)}}}" for name in authors(study))
    return (
        f"@misc{{{study.slug.replace('-', '_')}_data_{on.year},\n"
        f"  title  = {{{{{tex(study.title)}}}}},\n"
        f"  author = {{{names}}},\n"
        f"  year   = {{{on.year}}},\n"
        f"  note   = {{Data set of {on.isoformat()}, made with Thirdperson}}\n}}\n"
    )
