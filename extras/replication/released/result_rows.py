"""Result files released with “Can LLM be a Personalized Judge?”: items and answers in each row.

A row shows side A first, so `r1` is the file's A and `r2` its B. Another file can show the same
item with swapped sides: ids depend only on content, and `aligned` swaps a row to match the known
item.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from extras.replication.released.result_files import ResultName
from judging.runs.imports import (
    ImportedJudgment,
    JudgmentFile,
    JudgmentFormat,
    without_items,
)
from studies.importers.files.bundle import Bundle, File
from studies.importers.files.faults import Fault, Faults, Refused
from studies.importers.files.json_rows import read_json_lines
from studies.importers.files.lines import BadLine
from studies.importers.items.item_bundle import FileFormat
from studies.importers.items.records import PARTIAL
from studies.models import Choice, Item, Side, Study, Task
from studies.texts.normalisation import digest, fold, plain, storable

# A sentence ends where the next one starts; a value can contain a full stop ("St. Gallen").
_NEXT = re.compile(
    r"(?<=[.!?])\s+(?=(?:The person|This person|Racially|Religiously|Politically|According to)\b)"
)
_RULES: tuple[tuple[str, str, re.Pattern[str]], ...] = tuple(
    (key, label, re.compile(pattern, re.IGNORECASE))
    for key, label, pattern in (
        ("age", "Age", r"The person is (\d.*?)(?: years old)?\.?"),
        ("birth_country", "Born in", r"The person (?:is|was) born in (.+?)\.?"),
        (
            "residence_country",
            "Lives in",
            r"The person (?:currently lives in|is living (?:in|at)|lives in) (.+?)\.?",
        ),
        ("sex", "Sex", r"The person is (?:a )?((?:fe)?male|non-binary.*?)\.?"),
        (
            "employment",
            "Employment",
            r"The person is (?:a )?(working .+?|student|unemployed.*?|retired|homemaker.*?)\.?",
        ),
        ("education", "Education", r"The person's highest education level is (.+?)\.?"),
        (
            "education",
            "Education",
            r"The person has (?:a |an )?(.*\b(?:degree|diploma|school|college)\b.*?)\.?",
        ),
        ("marital_status", "Marital status", r"The person's marital status is (.+?)\.?"),
        (
            "marital_status",
            "Marital status",
            r"The person is (single|married|divorced|widowed|separated|engaged|never .+?"
            r"|(?:in a |in )relationship.*?|living with a partner)\.?",
        ),
        ("ethnicity", "Ethnicity", r"Racially, the person is (.+?)\.?"),
        ("religion", "Religion", r"Religiously, the person is (.+?)\.?"),
        ("religion", "Religion", r"The person has (no religious affiliation)\.?"),
        ("occupation", "Occupation", r"The person's occupation is (.+?)\.?"),
        ("income", "Income", r"The person(?:'s income is| earns) (.+?)\.?"),
        (
            "politics",
            "Politics",
            r"(?:Politically, )?the person (?:aligns with|is) (?:the )?"
            r"(republican|democrat|independent|other)(?: party)?\.?",
        ),
        (
            "personality",
            "Big Five scores",
            r"According to the Big Five personality test, (?:.*?the person has scored )?(.+?)\.?",
        ),
    )
)
_BORN_AND_LIVES = re.compile(
    r"The person is born in (.+?) and currently lives in (.+?)\.?", re.IGNORECASE
)


def split_features(user_info: str) -> list[dict[str, str]]:
    """Features {key, label, value, text} of a persona, one per sentence, in the file's order.

    A sentence with two facts becomes two sentences. A sentence that no rule matches keeps the key
    `fact`; repeated keys are numbered.
    """
    features: list[dict[str, str]] = []
    used: Counter[str] = Counter()
    for sentence in _sentences(user_info):
        key, label, value = _recognise(sentence)
        used[key] += 1
        if used[key] > 1:
            key = f"{key}_{used[key]}"
        features.append({"key": key, "label": label, "value": value, "text": sentence})
    return features


def _sentences(user_info: str) -> list[str]:
    sentences: list[str] = []
    for part in _NEXT.split(user_info.strip()):
        sentence = part.strip()
        if both := _BORN_AND_LIVES.fullmatch(sentence):
            sentences.append(f"The person is born in {both[1]}.")
            sentences.append(f"The person currently lives in {both[2]}.")
        elif sentence:
            sentences.append(sentence if sentence.endswith((".", "!", "?")) else f"{sentence}.")
    return sentences


def _recognise(sentence: str) -> tuple[str, str, str]:
    for key, label, pattern in _RULES:
        if match := pattern.fullmatch(sentence):
            return key, label, match[1][:1].upper() + match[1][1:]
    return "fact", "Fact", sentence


_PROFILE = re.compile(r"\[User Profile\]\n([^\n]*)")
_PAIRS = re.compile(
    r"\[Question-Answer Pair A\]\nQuestion:(?P<prompt_a>.*?)\nAnswer:(?P<text_a>.*?)"
    r"\n\s*\[Question-Answer Pair B\]\nQuestion:(?P<prompt_b>.*?)\nAnswer:(?P<text_b>.*)"
    r"\n\s*\[Answer\]",
    re.DOTALL,
)
_CERTAINTY = re.compile(r"[0-9]{1,9}")
_CHOICES = {"A": Choice.R1.value, "B": Choice.R2.value}
_SWAP = {"r1": "r2", "r2": "r1", "tie": "tie", "": ""}


@dataclass(frozen=True)
class ReleasedResponse:
    text: str
    prompt: str = ""


@dataclass(frozen=True)
class ReleasedRow:
    """One row of a released file: an item, and a model's answer to it.

    `truth` and `choice` refer to content (`r1`, `r2`, `tie`; "" if missing). `raw_answer` keeps the
    first character of a reply that is not a verdict; `raw_certainty` is the file's value, "" if
    missing. `has_persona` is False if the model saw no profile.
    """

    line: int
    item_id: str
    persona_id: str
    user_info: str
    features: tuple[dict[str, str], ...]
    task: str
    question: str
    context: str
    r1: ReleasedResponse
    r2: ReleasedResponse
    topic: str
    truth: str
    choice: str
    raw_answer: str
    raw_certainty: str
    certainty_max: int | None
    raw_text: str
    setting: str
    has_persona: bool
    shown_first: str = Side.R1.value
    warnings: tuple[str, ...] = ()

    @property
    def certainty(self) -> int | None:
        """Certainty on the scale from 1 to 100; other scales and values count as missing."""
        if self.certainty_max != 100 or not _CERTAINTY.fullmatch(self.raw_certainty):
            return None
        number = int(self.raw_certainty)
        return number if 1 <= number <= 100 else None

    @property
    def feature_keys(self) -> list[str]:
        """Keys of the features that the model was shown."""
        return [feature["key"] for feature in self.features] if self.has_persona else []


def aligned(row: ReleasedRow, r1: Mapping[str, Any]) -> ReleasedRow:
    """`row` for an item whose response 1 is `r1`, with its sides swapped if necessary."""
    known = ReleasedResponse(r1["text"], r1.get("prompt") or "")
    if row.r1 == known or row.r2 != known:
        return row
    return replace(
        row,
        r1=row.r2,
        r2=row.r1,
        truth=_SWAP[row.truth],
        choice=_SWAP[row.choice],
        shown_first=_SWAP[row.shown_first],
    )


def looks_released(raw: dict[str, Any]) -> bool:
    """Whether the first object of a file is a row of a released result file."""
    return {"prompt", "user_info", "ground_truth", "answer"} <= raw.keys()


def parse_released(file: File, faults: Faults | None = None) -> list[ReleasedRow]:
    """The rows of a released file. Raises `Refused` with all its faults.

    If `faults` is given, they are added there instead.
    """
    name = file.name
    rows: list[ReleasedRow] = []
    found_here = Faults() if faults is None else faults
    survey = "opinion" in name.lower()
    for row in read_json_lines(file):
        if isinstance(row, BadLine):
            found_here.append(row.fault)
            continue
        line, raw = row
        try:
            rows.append(_row(line, raw, survey=survey))
        except _Unreadable as error:
            field, message = error.args
            remedy = "Use the original file as released."
            rule = "not a released result"
            found_here.append(Fault(line, field, rule, message, remedy, file=name))
    if not rows and not found_here:
        found_here.append(
            Fault(None, "", "empty file", "There are no rows in the file.", file=name)
        )
    if faults is None and found_here:
        raise Refused(found_here)
    return rows


def released_items(file: File, faults: Faults) -> Iterator[tuple[int, Any]]:
    """Rows as raw items; several can show the same item."""
    name = ResultName.parse(file.name)
    is_partial = name is not None and name.with_persona and name.features != "All features"
    for row in parse_released(file, faults):
        yield row.line, _released_item(row, is_partial=is_partial)


def _released_item(row: ReleasedRow, *, is_partial: bool) -> dict[str, Any]:
    return {
        "id": row.item_id,
        "task": row.task,
        "persona": {"id": row.persona_id, "features": list(row.features)},
        "question": row.question,
        "context": row.context,
        "responses": [
            {"key": key, "text": response.text, "prompt": response.prompt or None}
            for key, response in (("r1", row.r1), ("r2", row.r2))
        ],
        "first_person": {"label": row.truth, "source": "self_report"},
        "topic": row.topic,
        "warnings": list(row.warnings),
        "metadata": {PARTIAL: True} if is_partial else {},
    }


class _Unreadable(Exception):
    """A row is incomplete; the arguments are the field and the message."""


def _row(line: int, raw: Any, *, survey: bool) -> ReleasedRow:
    if not isinstance(raw, dict):
        raise _Unreadable("row", "a row must be a JSON object.")
    prompt = _text(raw, "prompt")
    profile = _PROFILE.search(prompt)
    # One released file repeats the last person's `user_info` in every row, but the prompt has the
    # profile that the model saw.
    user_info = storable(profile[1]) if profile else storable(_text(raw, "user_info"))
    if not user_info:
        raise _Unreadable("user_info", "the row says nothing about the person.")
    task, question, context, r1, r2 = _content(raw, prompt, survey=survey)
    offers_tie = "[[C]]" in prompt
    scale = re.search(r"certainty level from 1 to (\d{1,9})(?!\d)", prompt)
    answer = "" if raw.get("answer") is False else str(raw.get("answer", ""))
    certainty = raw.get("certainty")
    choices = _CHOICES | ({"C": Choice.TIE.value} if offers_tie else {})
    truth = {**_CHOICES, "C": Choice.TIE.value}.get(str(raw.get("ground_truth")))
    if truth is None:
        raise _Unreadable(
            "ground_truth", f"ground_truth “{raw.get('ground_truth')}” is not A, B or C."
        )
    warnings = []
    if fold(r1.text) == fold(r2.text):
        warnings.append("identical_responses")
    return ReleasedRow(
        line=line,
        item_id=_item_id(question or context, r1, r2),
        persona_id=f"pj-{digest(user_info)[:16]}",
        user_info=user_info,
        features=tuple(split_features(user_info)),
        task=str(task),
        question=question,
        context=context,
        r1=r1,
        r2=r2,
        topic=storable(str(raw.get("conversation_type") or "")),
        truth=truth,
        choice=choices.get(answer, ""),
        raw_answer=answer,
        raw_certainty="" if certainty in (None, False, "NA") else str(certainty).strip(),
        certainty_max=int(scale[1]) if scale else None,
        raw_text=plain(raw["res"] if isinstance(raw.get("res"), str) else answer),
        setting="tie" if offers_tie else "certainty" if scale else "standard",
        has_persona=profile is not None,
        warnings=tuple(warnings),
    )


def _content(
    raw: dict[str, Any], prompt: str, *, survey: bool
) -> tuple[str, str, str, ReleasedResponse, ReleasedResponse]:
    """Task, question, context and both responses of a row."""
    if "asst_A" not in raw:
        pairs = _PAIRS.search(prompt)
        if pairs is None:
            raise _Unreadable("prompt", "the prompt does not show two question-answer pairs.")
        sides = [
            ReleasedResponse(storable(pairs[f"text_{side}"]), storable(pairs[f"prompt_{side}"]))
            for side in "ab"
        ]
        task, question, context = Task.QUESTION_ANSWER_AUTHORSHIP, "", ""
    else:
        sides = [ReleasedResponse(storable(_text(raw, f"asst_{side}"))) for side in "AB"]
        if "article" in raw:
            task, question, context = Task.AUTHORSHIP, "", storable(_text(raw, "article"))
        else:
            task = Task.SURVEY_ANSWER if survey else Task.PREFERENCE
            question, context = storable(_text(raw, "question")), ""
        if not question and not context:
            raise _Unreadable("question", "the row has no question and no article.")
    if not all(side.text for side in sides):
        raise _Unreadable("responses", "a response is empty.")
    return task, question, context, sides[0], sides[1]


def _text(raw: dict[str, Any], key: str) -> str:
    if not isinstance(raw.get(key), str):
        raise _Unreadable(key, f"{key} is missing or not text.")
    return str(raw[key])


def _item_id(subject: str, r1: ReleasedResponse, r2: ReleasedResponse) -> str:
    """An id from the question and the two responses, independent of their order."""
    sides = sorted([r1, r2], key=lambda response: (response.text, response.prompt))
    prompts = [response.prompt for response in sides]
    return f"pj-{digest([subject, prompts, [response.text for response in sides]])[:16]}"


def is_released(file: File) -> bool:
    """Whether the first object of a file is a row of a released result file."""
    first = next(read_json_lines(file), None) if file.head()[:1] == b"{" else None
    return isinstance(first, tuple) and isinstance(first[1], dict) and looks_released(first[1])


def read_judgments(file: File, study: Study, skip_faulty: bool) -> JudgmentFile:
    """The judgments of a released file about items of the study. Raises `Refused`."""
    faults = Faults(skip=skip_faulty)
    released = parse_released(file, faults)
    items = {i.key: i for i in Item.objects.filter(study=study).select_related("persona")}
    about = [aligned(row, items[row.item_id].r1) for row in released if row.item_id in items]
    judgments = JudgmentFile()
    unknown = [row.line for row in released if row.item_id not in items]
    if unknown and not (skip_faulty and about):
        fault = without_items(len(unknown), len(released), file.name, first=unknown[0])
        faults.append(fault)
    if faults:
        raise Refused(faults)
    judgments.without_item = len(unknown)
    seen = Counter[tuple[str, str]]()
    for row in about:
        item = items[row.item_id]
        seen[row.item_id, row.shown_first] += 1
        if row.truth != item.first_person:
            judgments.truths[row.item_id] = row.truth
        judgments.keep(
            ImportedJudgment(
                line=row.line,
                item_key=row.item_id,
                shown_first=row.shown_first,
                sample=seen[row.item_id, row.shown_first],
                state="done" if row.choice else "unparseable",
                choice=row.choice,
                certainty=row.certainty if row.choice in (Choice.R1, Choice.R2) else None,
                raw_text=row.raw_text,
                replies=1,
            )
        )
    keys = list(dict.fromkeys(key for row in about for key in row.feature_keys))
    judgments.setting = about[0].setting if about else ""
    shown_all = keys and all(_saw_everything(row, items[row.item_id]) for row in about)
    judgments.feature_keys = None if shown_all else keys
    judgments.skipped = faults.skipped
    return judgments


def _saw_everything(row: ReleasedRow, item: Item) -> bool:
    """Whether a judge saw the whole profile of the person, also if the study has only a part."""
    known = {feature["key"] for feature in item.persona.features}
    seen = set(row.feature_keys)
    return seen > known or (seen == known and item.metadata.get(PARTIAL) is not True)


def _read_items(bundle: Bundle, faults: Faults, own: str) -> Iterator[tuple[int, Any] | BadLine]:
    return released_items(bundle.items, faults)


ITEMS = FileFormat("personalized-judge", is_released, _read_items, is_released=True)
JUDGMENTS = JudgmentFormat("personalized-judge", is_released, read_judgments)
