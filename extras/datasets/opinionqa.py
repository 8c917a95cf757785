"""OpinionQA (Santurkar et al. 2023): the answers of people in the American Trends Panel."""

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from studies.importers.files.faults import Fault, Refused, refused
from studies.importers.sets.data_set import (
    ALL,
    FIRST,
    DataSet,
    Files,
    Option,
    Raw,
    Role,
    SetFile,
    Sides,
    Tally,
    csv_rows,
    draw_or_first,
    fact,
    for_id,
    item,
    lower_first,
    rank,
)
from studies.texts.cells import literal
from studies.texts.normalisation import storable

# column, key, label, sentence
_FACTS = (
    ("CREGION", "region", "Region", "The person lives in the {value} of the United States."),
    ("AGE", "age", "Age", "The person is {value} years old."),
    ("SEX", "sex", "Sex", "The person is {lower}."),
    ("EDUCATION", "education", "Education", "The person's highest level of education is: {lower}."),
    ("CITIZEN", "citizenship", "US citizen", ""),
    ("MARITAL", "marital_status", "Marital status", "The person's marital status is: {lower}."),
    ("RELIG", "religion", "Religion", "The person's religious affiliation is: {lower}."),
    (
        "RELIGATTEND",
        "religious_attendance",
        "Religious services",
        "The person attends religious services: {lower}.",
    ),
    ("POLPARTY", "politics", "Party", "The person's party affiliation is: {value}."),
    ("INCOME", "income", "Income", "The person's yearly income is: {lower}."),
    ("POLIDEOLOGY", "ideology", "Political views", "The person's political views are {lower}."),
    ("RACE", "ethnicity", "Ethnicity", "The person's ethnicity is {value}."),
)
_PROPER = {"RELIG"}
_CITIZEN = {
    "Yes": "The person is a citizen of the United States.",
    "No": "The person is not a citizen of the United States.",
}
_UNSAID = {"", "nan", "none"}


def persona(key: str, row: Mapping[str, str], *, keep: str) -> dict[str, Any]:
    """A respondent's statements about themselves, including refusals if `keep` is “keep”."""
    features = []
    for column, name, label, sentence in _FACTS:
        value = storable(row.get(column, ""))
        if value.casefold() in _UNSAID:
            continue
        if is_refusal(value):
            if keep == "keep":
                text = f"Asked about this, the person refused to answer: {label.lower()}."
                features.append(fact(name, label, "Refused", text))
            continue
        lower = value if column in _PROPER else lower_first(value)
        text = _CITIZEN.get(value, "") if column == "CITIZEN" else ""
        text = text or (sentence or "Citizenship: {value}.").format(value=value, lower=lower)
        features.append(fact(name, label, value, text))
    return {"id": key, "features": features}


def is_refusal(value: str) -> bool:
    """Whether the value is “Refused”, “DK/Refused” or “Don't know”."""
    text = value.casefold().replace("’", "'")
    return "refused" in text or text.startswith("don't know")


ONE_A_TOPIC, ONE_A_WAVE, ALL_BINARY = "one_binary_per_topic", "one_binary_per_wave", "all_binary"
_REFUSED = ("refused", "dk/refused", "don't know/refused")
_REFUSED_CODE = 99


@dataclass(frozen=True)
class Wave:
    """A wave of the panel: its questions and respondents."""

    name: str
    info: SetFile
    responses: SetFile


@dataclass(frozen=True)
class SurveyQuestion:
    """A question with two options, not counting a refusal."""

    key: str
    text: str
    first: str
    second: str
    ordinal: list[Any]
    topic: str

    @property
    def options(self) -> tuple[str, str]:
        return self.first, self.second


@dataclass(frozen=True)
class PanelAnswer:
    line: int
    respondent: str
    choice: str
    weight: float
    person: dict[str, Any]


def _read(files: Files, options: Mapping[str, Any], seed: int, tally: Tally) -> Iterator[Raw]:
    topics = _topics(files.find("topics"), tally)
    waves = _wanted(_waves(files), options["waves"])
    if not topics and options["questions"] == ONE_A_TOPIC:
        tally.notes["questions that are their own topic, because there is no topic file"] = 1
    binary = {wave.name: _questions(wave, topics, tally) for wave in waves}
    if tally.faults:
        return
    picked = _picked(binary, options["questions"], seed)
    sides = Sides(seed, "opinionqa")
    for wave in waves:
        questions = [q for q in binary[wave.name] if q.key in picked]
        tally.drop(
            "questions with two options that were not drawn",
            len(binary[wave.name]) - len(questions),
        )
        if questions:
            answers = _answers(wave, questions, options, seed, tally)
            for question in questions:
                for answer in answers[question.key]:
                    yield _item(wave, question, answer, options, sides)


def _waves(files: Files) -> list[Wave]:
    """The folders with questions and answers, by wave number."""
    infos, responses = files.all("info"), files.all("responses")
    for role, of_role in (("info", infos), ("responses", responses)):
        if not of_role:
            raise files.missing(role)
    waves: dict[str, Wave] = {}
    for info in infos:
        parts = [part for part in responses if part.folder == info.folder]
        if len(infos) == len(responses) == 1:
            parts = responses
        if len(parts) != 1:
            message = f"{info.name} needs one file of answers in its folder, found {len(parts)}."
            raise _refused(info.name, message)
        name = _wave_name(parts[0])
        if name in waves:
            raise _refused(info.name, f"wave {name} appears twice.")
        waves[name] = Wave(name, info, parts[0])
    return sorted(waves.values(), key=lambda wave: (len(wave.name), wave.name))


def _wave_name(responses: SetFile) -> str:
    """The wave in the name of its weight column: “W26” in WEIGHT_W26."""
    names = sorted(c.removeprefix("WEIGHT_") for c in responses.columns if c.startswith("WEIGHT_"))
    match = re.search(r"W\d+", responses.folder)
    return names[0] if names else match[0] if match else "W"


def _wanted(waves: list[Wave], named: Any) -> list[Wave]:
    """The waves with the given names, such as 26 or W26; by default all."""
    if named == ALL:
        return waves
    names = {f"W{name.removeprefix('W')}" for name in named}
    if missing := sorted(names - {wave.name for wave in waves}):
        there = ", ".join(wave.name for wave in waves)
        raise _refused("", f"the files have no wave {', '.join(missing)}. They have {there}.")
    return [wave for wave in waves if wave.name in names]


def _topics(part: SetFile | None, tally: Tally) -> dict[str, str]:
    if part is None:
        return {}
    return {row["key"]: storable(row["topic"]) for _, row in csv_rows(part, tally) if row["topic"]}


def _questions(wave: Wave, topics: Mapping[str, str], tally: Tally) -> list[SurveyQuestion]:
    """The questions of a wave with two options; an unreadable literal is a fault."""
    questions = []
    for line, row in csv_rows(wave.info, tally):
        file = wave.info.name
        mapping = _literal(row, "option_mapping", dict, line, file, tally)
        ordinal = _literal(row, "option_ordinal", list, line, file, tally)
        if mapping is None or ordinal is None:
            continue
        options = [str(text) for code, text in mapping.items() if not _refuses(code, str(text))]
        if len(options) != 2 or len(set(options)) != 2:
            tally.drop("questions that do not have two options")
        elif row["key"] not in wave.responses.columns:
            tally.drop("questions without an answer column")
        elif not row["key"] or not row["question"]:
            tally.drop("questions without a key or a text")
        else:
            topic = topics.get(row["key"], "")
            text = storable(row["question"])
            questions.append(
                SurveyQuestion(row["key"], text, options[0], options[1], ordinal, topic)
            )
    return questions


def _literal(
    row: Mapping[str, str], column: str, kind: type, line: int, file: str, tally: Tally
) -> Any:
    """Parse the Python literal in a cell, a dict or list, without evaluating code."""
    text = row.get(column, "")
    if kind is list and not text:
        return []
    value = literal(text)
    if isinstance(value, kind):
        return value
    wanted = "{1.0: 'Yes', 2.0: 'No', 99.0: 'Refused'}" if kind is dict else "[1.0, 2.0]"
    message = f"{column} of {row.get('key') or 'a question'} cannot be read."
    remedy = f"It must look like {wanted}."
    fault = Fault(line, column, "option list cannot be read", message, remedy, text[:80], file)
    tally.faults.append(fault)
    return None


def _refuses(code: object, text: str) -> bool:
    return code == _REFUSED_CODE or text.strip().casefold() in _REFUSED


def _picked(binary: Mapping[str, list[SurveyQuestion]], rule: Any, seed: int) -> set[str]:
    """The keys of the selected questions."""
    questions = [question for wave in binary.values() for question in wave]
    if isinstance(rule, list):
        if missing := sorted(set(rule) - {question.key for question in questions}):
            raise _refused("", f"there is no question {', '.join(missing)} with two options.")
        return set(rule)
    if rule == ONE_A_WAVE:
        return {wave[0].key for wave in binary.values() if wave}
    if rule == ONE_A_TOPIC and any(question.topic for question in questions):
        by_topic: dict[str, list[str]] = {}
        for question in questions:
            if question.topic:
                by_topic.setdefault(question.topic, []).append(question.key)
        return {
            min(keys, key=lambda key: rank(seed, "opinionqa question", key))
            for keys in by_topic.values()
        }
    return {question.key for question in questions}


def _answers(
    wave: Wave, questions: list[SurveyQuestion], options: Mapping[str, Any], seed: int, tally: Tally
) -> dict[str, list[PanelAnswer]]:
    """The drawn respondents of each question, in the order of the file."""
    answers_to: dict[str, list[PanelAnswer]] = {question.key: [] for question in questions}
    for line, row in csv_rows(wave.responses, tally):
        respondent = storable(row.get("QKEY", "")) or f"row{line}"
        person = persona(f"opinionqa-{wave.name}-{respondent}", row, keep=options["refused"])
        weight = _number(row.get(f"WEIGHT_{wave.name}", ""))
        for question in questions:
            choice = row[question.key]
            if choice not in question.options:
                tally.drop("answers that are refused, blank or not an option")
            elif not person["features"]:
                tally.drop("answers of people without a persona")
            elif options["sampling"] == "weighted" and not weight > 0:
                tally.drop("answers of people without a weight")
            else:
                answers_to[question.key].append(
                    PanelAnswer(line, respondent, choice, weight, person)
                )
    size = options["respondents"]
    for key, answers in answers_to.items():
        tally.drop(f"answers beyond {size:,} per question", max(0, len(answers) - size))
        rule = options["sampling"]
        answers_to[key] = draw_or_first(answers, size, rule=rule, by=_order(key, rule, seed))
    return answers_to


def _order(key: str, sampling: str, seed: int) -> Any:
    """The sort key of a draw: a seeded number, or Efraimidis and Spirakis' key if weighted."""

    def by(answer: PanelAnswer) -> float:
        number = rank(seed, "opinionqa", key, answer.respondent)
        if sampling == "random":
            return number
        return -math.log((number + 1) / (2**64 + 1)) / answer.weight

    return by


def _item(
    wave: Wave,
    question: SurveyQuestion,
    answer: PanelAnswer,
    options: Mapping[str, Any],
    sides: Sides,
) -> Raw:
    key = f"opinionqa-{for_id(question.key)}-{for_id(answer.respondent)}"
    own_is_first = answer.choice == question.first
    if options["shuffle"]:
        own_is_first = sides.own_is_first(key)
    other = question.second if answer.choice == question.first else question.first
    raw = item(
        key=key,
        task="survey_answer",
        persona=answer.person,
        own=_response(answer.choice),
        other=_response(other),
        own_is_first=own_is_first,
        group=question.key,
        question=question.text,
        topic=question.topic or wave.name,
        order={
            "shuffle": options["shuffle"],
            "fixed_first": None if options["shuffle"] else "r1",
        },
        metadata={
            "wave": wave.name,
            "question": question.key,
            "options": list(question.options),
            "option_ordinal": question.ordinal,
            "weight": None if math.isnan(answer.weight) else answer.weight,
        },
    )
    return wave.responses.name, answer.line, raw


def _response(text: str) -> dict[str, Any]:
    return {"text": storable(text), "generated_by": {"kind": "survey_option"}}


def _number(text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        return math.nan
    return number if math.isfinite(number) else math.nan


def _refused(file: str, message: str) -> Refused:
    remedy = "Add folders American_Trends_Panel_W…, each with info.csv and responses.csv."
    return refused(file, message, remedy)


OPINIONQA = DataSet(
    name="opinionqa",
    title="OpinionQA",
    about="Answers of the American Trends Panel to questions with two options.",
    task="survey_answer",
    files="Folders American_Trends_Panel_W… with info.csv and responses.csv (zip them), and a "
    "CSV of topics (key,topic) if you have one",
    source={
        "name": "OpinionQA",
        "licence": "Pew Research Center's terms for its panel's microdata",
        "citation": "Santurkar et al. 2023, OpinionQA",
        "redistribution": "forbidden",
    },
    roles=(
        Role(
            "info",
            ("key", "question", "option_mapping"),
            "a row for each question (info.csv)",
            is_mark=True,
        ),
        Role(
            "responses",
            ("CREGION", "AGE", "SEX", "EDUCATION", "POLPARTY"),
            "a row for each respondent (responses.csv)",
            is_mark=True,
        ),
        Role("metadata", ("key", "options"), "the options of the demographics (metadata.csv)"),
        Role("topics", ("key", "topic"), "a topic for each question"),
    ),
    options=(
        Option("waves", ALL, "Waves, for example 26,27."),
        Option(
            "questions",
            ONE_A_TOPIC,
            "Questions to use; separate single keys by commas. Without a topic file, each "
            "question is its own topic.",
            (ONE_A_TOPIC, ONE_A_WAVE, ALL_BINARY),
            is_open=True,
        ),
        Option("respondents", 200, "People per question, drawn by seed.", low=1),
        Option(
            "sampling",
            "random",
            "Draw people evenly or by the panel's weights, or take the first ones.",
            ("random", "weighted", FIRST),
        ),
        Option("shuffle", True, "Vary which option comes first; false keeps the survey's order."),
        Option(
            "refused",
            "drop",
            "Leave out refused answers, or state the refusal.",
            ("drop", "keep"),
        ),
    ),
    read=_read,
)
