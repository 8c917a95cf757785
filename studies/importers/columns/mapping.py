"""The mapping of a file's columns to the fields of an item: stated, read from JSON, or guessed."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Self

from studies.errors import StudyError
from studies.importers.columns.table_file import Head
from studies.importers.files.faults import ImportRow, place
from studies.importers.items.records import OWN_ANSWER_NAMES
from studies.texts.cells import ENCODINGS, name_of
from studies.texts.json_values import NotJson, json_value
from studies.texts.normalisation import digest, fold

NOT_IMPORTED = ""
FEATURE, EXTRA = "feature", "extra"
# An earlier choice of the persona: the first column of each field belongs to the first choice.
HISTORY = ("history_prompt", "history_chosen", "history_rejected")


@dataclass(frozen=True)
class Field:
    """One field; with `is_repeatable`, several columns can be mapped to it."""

    name: str
    label: str
    group: str
    is_repeatable: bool = False


_GROUPS = {
    "Question and responses": (
        ("question", "Question"),
        ("response_1", "Response 1"),
        ("response_2", "Response 2"),
        ("chosen", "Response that the persona chose"),
        ("rejected", "Response that the persona rejected"),
        ("own_answer", "Persona’s own answer: which response"),
        ("context", "Context, such as an article"),
        ("context_title", "Heading of the context"),
        ("advice", "Advice or debate, shown after the first answer"),
        ("advice_favors", "Response that the advice argues for"),
        ("prompt_1", "Question that response 1 answers"),
        ("prompt_2", "Question that response 2 answers"),
    ),
    "Persona": (
        (FEATURE, "Persona feature"),
        ("persona_text", "Text about the persona"),
        ("persona_id", "Id of the persona"),
        (HISTORY[0], "Earlier question to the persona"),
        (HISTORY[1], "Response that the persona chose then"),
        (HISTORY[2], "Response that the persona rejected then"),
    ),
    "About the item": (
        ("id", "Id of the item"),
        ("topic", "Topic"),
        ("group", "Group of related items"),
        ("language", "Language"),
        ("reference", "Reference answer, which only judges see"),
        ("generated_by_1", "Model that wrote response 1"),
        ("generated_by_2", "Model that wrote response 2"),
        ("generated_by_chosen", "Model that wrote the chosen response"),
        ("generated_by_rejected", "Model that wrote the rejected response"),
        ("score_1", "Score of response 1"),
        ("score_2", "Score of response 2"),
        (EXTRA, "Extra data: kept, never shown"),
    ),
}
FIELDS = {
    name: Field(name, label, group, name in (FEATURE, EXTRA, *HISTORY))
    for group, fields in _GROUPS.items()
    for name, label in fields
}


def field_choices() -> list[tuple[str, str | list[tuple[str, str]]]]:
    """The choices of a page: grouped, and first the one that leaves a column out."""
    return [(NOT_IMPORTED, "Do not import"), *((g, list(f)) for g, f in _GROUPS.items())]


FORMAT = "thirdperson-mapping"
OF_A_PAIR = ("generated_by_chosen", "generated_by_rejected")
OF_A_SIDE = tuple(f"{name}_{n}" for name in ("generated_by", "score", "prompt") for n in (1, 2))
ANSWERS = ("r1", "r2", "tie", "")
UNREAD = "?"
_TEXTS = ("question", "persona_text", "encoding")


class BadMapping(StudyError):
    """A mapping that cannot be read, or cannot make an item."""


@dataclass(frozen=True)
class ColumnMapping:
    """Which column has which field.

    `labels` are the names of persona features, by column. `answers` says what a value of the own
    answer means: r1, r2, tie, nothing, or ? for a value that is not read. Common rules read the
    other values. `question` and `persona_text` are for all items, in files without such a column.
    `encoding` is that of the file, if it was named.
    """

    fields: Mapping[str, str]
    labels: Mapping[str, str] = field(default_factory=dict)
    answers: Mapping[str, str] = field(default_factory=dict)
    question: str = ""
    persona_text: str = ""
    encoding: str = ""

    def __post_init__(self) -> None:
        """Name the columns as files are read."""
        for name in ("fields", "labels"):
            columns = {name_of(column): value for column, value in getattr(self, name).items()}
            object.__setattr__(self, name, columns)

    def column_of(self, name: str) -> str | None:
        """The column of a field that only one column can have."""
        return next((column for column, field in self.fields.items() if field == name), None)

    def columns_of(self, name: str) -> list[str]:
        return [column for column, field in self.fields.items() if field == name]

    @property
    def is_pair(self) -> bool:
        """Whether the responses are the chosen and the rejected one."""
        return self.column_of("chosen") is not None

    @property
    def has_own_answer(self) -> bool:
        return self.is_pair or self.column_of("own_answer") is not None

    def faults(self) -> list[str]:
        """Reasons why no item can be made, each with what to do."""
        used = Counter(name for name in self.fields.values() if name != NOT_IMPORTED)
        reasons = [
            f"“{FIELDS[name].label}” has {count} columns. Choose one of them."
            for name, count in used.items()
            if count > 1 and not FIELDS[name].is_repeatable
        ]
        pair, sides = used["chosen"] + used["rejected"], used["response_1"] + used["response_2"]
        if pair and sides:
            reasons.append(
                "Choose either response 1 and response 2, or the chosen and the rejected response."
            )
        elif pair == 1:
            reasons.append("Choose the columns of both the chosen and the rejected response.")
        elif not pair and (not used["response_1"] or not used["response_2"]):
            reasons.append("Choose the columns of response 1 and response 2.")
        needed = "response 1 and response 2" if pair else "a chosen and a rejected response"
        reasons += [
            f"“{FIELDS[name].label}” needs columns of {needed}. Choose another field."
            for name in (OF_A_SIDE if pair else OF_A_PAIR)
            if used[name]
        ]
        if pair and used["own_answer"]:
            reasons.append("The chosen response already is the own answer. Keep one of the two.")
        if not (used[FEATURE] or used["persona_text"] or self.persona_text):
            reasons.append("Choose at least one column about the persona, or describe it below.")
        asked, chosen, rejected = (used[name] for name in HISTORY)
        if asked != chosen or rejected not in (0, asked):
            reasons.append(
                f"The earlier choices have {asked} questions, {chosen} chosen and {rejected} "
                "rejected responses. Choose as many columns of each; rejected ones may be left out."
            )
        has_prompts = used["prompt_1"] and used["prompt_2"]
        if not (used["question"] or has_prompts or used["context"] or self.question):
            reasons.append(
                "Choose the column of the question, or write one question for all items."
            )
        return reasons

    def as_json(self) -> dict[str, Any]:
        """The columns are a list: a database keeps no order of keys, and features have one."""
        columns = [
            {"column": column, "field": name}
            | ({"label": self.labels[column]} if column in self.labels else {})
            for column, name in self.fields.items()
        ]
        document: dict[str, Any] = {"format": FORMAT, "columns": columns}
        for name in ("answers", *_TEXTS):
            if value := getattr(self, name):
                document[name] = dict(value) if isinstance(value, Mapping) else value
        return document

    @classmethod
    def stored(cls, raw: Mapping[str, Any]) -> Self:
        """The mapping in the JSON of `as_json`, which may be incomplete."""
        columns = raw.get("columns", [])
        return cls(
            {entry["column"]: entry["field"] for entry in columns},
            {entry["column"]: entry["label"] for entry in columns if "label" in entry},
            raw.get("answers", {}),
            raw.get("question", ""),
            raw.get("persona_text", ""),
            raw.get("encoding", ""),
        )

    @classmethod
    def of(cls, raw: Any) -> Self:
        """The mapping in a JSON value. Raises `BadMapping`."""
        if not isinstance(raw, dict) or raw.get("format") != FORMAT:
            raise BadMapping(f"A mapping must be a JSON object with format “{FORMAT}”.")
        if unknown := raw.keys() - {"format", "columns", "answers", *_TEXTS}:
            raise BadMapping(f"A mapping has no key “{min(unknown)}”.")
        columns, answers = raw.get("columns", []), raw.get("answers", {})
        if not isinstance(columns, list) or not all(map(_is_column, columns)):
            raise BadMapping(
                "“columns” of a mapping must be a list of objects with column and field."
            )
        for entry in columns:
            if entry["field"] != NOT_IMPORTED and entry["field"] not in FIELDS:
                known = ", ".join(FIELDS)
                raise BadMapping(
                    f"“{entry['column']}” is mapped to “{entry['field']}”. Use one of: {known}."
                )
        if not isinstance(answers, dict):
            raise BadMapping("“answers” of a mapping must be an object.")
        for value, answer in answers.items():
            if answer not in (*ANSWERS, UNREAD):
                raise BadMapping(f"The answer “{value}” means “{answer}”. Use r1, r2 or tie.")
        if not all(isinstance(raw.get(name, ""), str) for name in _TEXTS):
            raise BadMapping("“question” and “persona_text” of a mapping must be texts.")
        if raw.get("encoding", "") not in ("", *ENCODINGS):
            raise BadMapping(f"The “encoding” of a mapping is one of: {', '.join(ENCODINGS)}.")
        mapping = cls.stored(raw)
        if faults := mapping.faults():
            raise BadMapping(" ".join(faults))
        return mapping

    @classmethod
    def read(cls, text: bytes | str) -> Self:
        """The mapping in a JSON text. Raises `BadMapping`."""
        try:
            return cls.of(json_value(text))
        except NotJson as error:
            raise BadMapping(f"The mapping is not JSON: {error}.") from error


def _is_column(entry: Any) -> bool:
    """Whether a value is an object of texts with column and field, and perhaps a label."""
    return (
        isinstance(entry, dict)
        and {"column", "field"} <= entry.keys() <= {"column", "field", "label"}
        and all(isinstance(value, str) for value in entry.values())
    )


def hash_of(columns: Iterable[str]) -> str:
    """Equal for files with the same columns in any order."""
    return digest(sorted(columns))


_RESPONSE_WORDS = (
    "response option text answer assistant model output completion reply candidate choice message"
).split()
_SIDES = {
    **dict.fromkeys(("a", "1", "r1", "first", "1st", "one", "left"), "r1"),
    **dict.fromkeys(("b", "2", "r2", "second", "2nd", "two", "right"), "r2"),
    **dict.fromkeys(("c", "tie", "tied", "draw", "equal", "equally good", "same"), "tie"),
    **dict.fromkeys(("both", "neither", "no preference", "no clear difference"), "tie"),
    **dict.fromkeys(("tie bothbad", "tie both bad", "undecided"), "tie"),
}
_NOTHING = {"", "na", "n a", "nan", "null", "none", "unknown", "missing"}
_NAME = re.compile(rf"(?:{'|'.join(_RESPONSE_WORDS)}) ?(\w+)|(\w+) (?:{'|'.join(_RESPONSE_WORDS)})")


@dataclass(frozen=True)
class ValueCount:
    """A value of the own answer: how often it occurs, and what it means; None if unread."""

    value: str
    count: int
    answer: str | None


def read_answer(
    value: str, texts: tuple[str, str], names: tuple[str, str], answers: Mapping[str, str]
) -> str | None:
    """r1, r2, tie, "" for no answer, or None if the value cannot be read.

    `texts` are the responses, `names` the models that wrote them; `answers`, the meaning of other
    values, comes before the common rules.
    """
    for pair in (texts, names):
        # Of texts that differ only in capitals, the exact one counts.
        for form in (str.strip, fold):
            both = [form(text) for text in pair]
            if value and form(value) in both and both[0] != both[1]:
                return "r1" if form(value) == both[0] else "r2"
    if (meaning := answers.get(value)) is not None:
        return None if meaning == UNREAD else meaning
    return meaning_of(value)


def meaning_of(value: str) -> str | None:
    """The meaning of a value by common rules; "" for no answer, None if there is no rule."""
    words = " ".join(re.sub(r"[^\w]+|_", " ", value.casefold()).split()).removeprefix("the ")
    if words in _NOTHING:
        return ""
    if words in _SIDES:
        return _SIDES[words]
    if match := _NAME.fullmatch(words):
        return _SIDES.get(match[1] or match[2])
    return None


def counted(values: Iterable[tuple[str, str | None]]) -> list[ValueCount]:
    """How often each value occurs, the most frequent first; unread values before the others."""
    counts = Counter(values)
    ordered = sorted(counts.items(), key=lambda entry: (entry[0][1] is not None, -entry[1]))
    return [ValueCount(value, count, answer) for (value, answer), count in ordered]


_NAMES = {
    "id": "id item_id uid uuid example_id row_id pair_id question_id prompt_id sample_id",
    "persona_id": "persona_id person_id user_id participant_id respondent_id speaker_id author_id "
    "worker_id rater_id subject_id respondent participant",
    "persona_text": "persona persona_text persona_description profile user_profile user_info bio "
    "biography self_description about_the_person about_person person",
    "question": "question prompt query instruction user_prompt user_query question_text input "
    "user_input user_message dilemma scenario situation",
    "context": "context article passage background document story",
    "context_title": "context_title article_title headline",
    "advice": "advice debate debate_transcript consultancy",
    "advice_favors": "advice_favors favors",
    "chosen": "chosen chosen_response chosen_text chosen_1_content preferred_response accepted "
    "accepted_response preferred_text",
    "rejected": "rejected rejected_response rejected_text rejected_1_content dispreferred "
    "dispreferred_response dispreferred_text",
    "response_1": "conversation_a_1_content",
    "response_2": "conversation_b_1_content",
    "topic": "topic category domain subject theme topic_group",
    "language": "language lang locale",
    "reference": "reference reference_answer reference_response gold_response",
    "group": "group group_id conversation_id conv_id dialog_id dialogue_id chat_id session_id "
    "thread_id interaction_id conversation_uuid conversation_hash conv_uuid dialogue_uuid "
    "chat_uuid convo_id session_uuid",
    EXTRA: "model model_name model_id generator generated_by llm",  # of one response or of both
}
_MAYBE_OWN = "answer choice chosen winner preference preferred selected vote pick better decision"
_EXACT = {name: field for field, names in _NAMES.items() for name in names.split()}
_OWN = OWN_ANSWER_NAMES | {"first_person", *_MAYBE_OWN.split(), "preferred_side", "correct_answer"}
_ENDINGS = {
    **dict.fromkeys(("question", "prompt"), "question"),
    **dict.fromkeys(("topic", "category"), "topic"),
    **dict.fromkeys(("label", "choice", "preference", "winner"), "own_answer"),
}
_STEMS = set(
    "response responses resp option options text texts answer answers output outputs completion "
    "completions reply replies candidate candidates assistant message essay sentence generation "
    "summary statement side content version".split()
)
# “history.0.prompt”, as the paths of a list of earlier choices are named.
_HISTORY = re.compile(r"(?:.*_)?history_[0-9]+_(prompt|question|chosen|rejected)")
_MARKS = frozenset("?？؟")
_CODE = re.compile(r"(?=.*\d)[\w.-]{1,40}", re.ASCII)
_MODELS = {"model", "generated", "generator", "llm", "system", "engine", "author", "written"}
_OF_MODELS = _MODELS | {"name", "id", "by"}
_OF_A_PAIR = {
    **dict.fromkeys(("chosen", "preferred", "accepted", "winner"), "chosen"),
    **dict.fromkeys(("rejected", "dispreferred", "loser"), "rejected"),
}
# Of the persona or of somebody else: never features that are shown.
_CERTAINTY = {"certainty", "confidence", "certain", "confident", "sure"}
_SCORES = {"score", "rating", "reward"}
_FIRST, _SECOND = {"1", "a", "one", "first", "left"}, {"2", "b", "two", "second", "right"}
_PREFIXES: tuple[str, ...] = tuple(
    "feature: persona. persona_ persona: demographic_ demographics. demographics_ profile_ "
    "profile. person_ person. user.".split()
)
_FEATURES = set(
    "age birth born children citizen citizenship city country degree disability education ethnic "
    "ethnicity employment gender generation hobbies hobby household ideology income interests job "
    "marital nationality neuroticism occupation openness conscientiousness extraversion "
    "agreeableness party personality political politics profession race region relationship "
    "religion religious residence salary sex urban veteran wage".split()
)


def guess(head: Head) -> ColumnMapping:
    """The guessed fields of a file's columns; a column without a guess is not imported."""
    columns = head.columns
    fields = dict.fromkeys(columns, NOT_IMPORTED)
    taken: set[str] = set()
    names = {plain_name(column) for column in columns}
    counts_from_zero = any("0" in name.split("_") for name in names if not _HISTORY.fullmatch(name))
    has_pair = any(_EXACT.get(name) == "rejected" for name in names)
    for guess_of in (_by_name, _by_side, _by_feature, _by_word):
        for column in columns:
            if fields[column] != NOT_IMPORTED:
                continue
            field = guess_of(column, counts_from_zero=counts_from_zero, has_pair=has_pair)
            if field and (FIELDS[field].is_repeatable or field not in taken):
                fields[column] = field
                taken.add(field)
    codes = [c for c, f in fields.items() if f == "persona_text" and _has_codes(head, c)]
    if "persona_id" not in taken:
        fields |= dict.fromkeys(codes, "persona_id")
    if "question" not in taken and (asking := _column_of_questions(head, fields)):
        fields[asking] = "question"
    has_sides = {"response_1", "response_2"} <= taken
    if {"chosen", "rejected"} <= taken:
        # If both responses are there, a “chosen” column says which one was chosen.
        turned = (
            {"chosen": "own_answer", "rejected": NOT_IMPORTED}
            if has_sides and "own_answer" not in taken
            else dict.fromkeys(("response_1", "response_2", "own_answer", *OF_A_SIDE), NOT_IMPORTED)
        )
        if "chosen" in turned:
            turned |= dict.fromkeys(OF_A_PAIR, NOT_IMPORTED)
        fields = {column: turned.get(field, field) for column, field in fields.items()}
    ids = [
        cells.get(column, "") for column, f in fields.items() if f == "id" for _, cells in head.rows
    ]
    if len(set(ids)) < len(ids):
        fields = {c: NOT_IMPORTED if f == "id" else f for c, f in fields.items()}
    labels = {column: label_of(column) for column, f in fields.items() if f == FEATURE}
    return with_doubts(head, ColumnMapping(fields, labels))


def repeated_id(head: Head, mapping: ColumnMapping) -> str:
    """Why a column of ids is not imported: where the first repeated id is; else empty."""
    if mapping.column_of("id") is not None:
        return ""
    for column in head.columns:
        if _EXACT.get(plain_name(column)) != "id":
            continue
        seen: dict[str, int] = {}
        for line, cells in head.rows:
            value = cells.get(column, "")
            if value and (first := seen.setdefault(value, line)) != line:
                where = ImportRow(line).on(first)
                return (
                    f"{place(line)}: the id “{value[:120]}” in the column “{column}” was already "
                    f"used {where}. So we do not import this column, and each item gets an id "
                    "made from its content. To use your ids, correct the file and choose it again."
                )
    return ""


def _has_codes(head: Head, column: str) -> bool:
    """Whether every cell of a column is empty or a code such as P07, which is no text to show."""
    cells = {row.get(column, "").strip() for _, row in head.rows} - {""}
    return bool(cells) and all(_CODE.fullmatch(cell) for cell in cells)


def _column_of_questions(head: Head, fields: Mapping[str, str]) -> str:
    """The only column without a guess in which every text ends with a question mark."""
    asking = []
    for column, meant in fields.items():
        texts = [cells.get(column, "").strip() for _, cells in head.rows]
        if meant == NOT_IMPORTED and texts and all(text[-1:] in _MARKS for text in texts):
            asking.append(column)
    return asking[0] if len(asking) == 1 else ""


def with_doubts(head: Head, mapping: ColumnMapping) -> ColumnMapping:
    """The mapping with 1 as unread where 0 occurs too: 1 may then mean the second response."""
    column = mapping.column_of("own_answer")
    values = {cells.get(column or "") for _, cells in head.rows}
    if "0" not in values or "1" in mapping.answers:
        return mapping
    return replace(mapping, answers={**mapping.answers, "1": UNREAD})


def label_of(column: str) -> str:
    """A column's name as a label of the profile."""
    for prefix in _PREFIXES:
        column = column.removeprefix(prefix)
    words = " ".join(re.sub(r"[_.\s]+", " ", column).split())
    return words[:1].upper() + words[1:]


def plain_name(column: str) -> str:
    """“responseA” and “Response A” as response_a."""
    spaced = re.sub(r"(?<=[a-z])(?=[A-Z0-9])|(?<=[0-9])(?=[A-Za-z])", "_", column.strip())
    return re.sub(r"[\W_]+", "_", spaced.casefold()).strip("_")


def _by_name(column: str, *, counts_from_zero: bool, has_pair: bool) -> str:
    name = plain_name(column)
    if earlier := _HISTORY.fullmatch(name):
        return f"history_{earlier[1].replace('question', 'prompt')}"
    if _CERTAINTY & {*name.split("_")}:
        return EXTRA
    field = _EXACT.get(name, "")
    if field == "chosen" and not has_pair:
        field = "own_answer" if name == "chosen" else ""
    return field or ("own_answer" if name in _OWN else "")


def _by_side(column: str, *, counts_from_zero: bool, has_pair: bool) -> str:
    """A field that each response has: its text, its question, its score, its model."""
    words = plain_name(column).split("_")
    if counts_from_zero:
        words = [{"0": "1", "1": "2"}.get(word, word) for word in words]
    sides = [word for word in words if word in _FIRST | _SECOND]
    others = [word for word in words if word not in _FIRST | _SECOND]
    rest = set(others)
    if has_pair and not sides and len(parts := rest & _OF_A_PAIR.keys()) == 1:
        of_model = [word for word in others if word not in parts]
        return f"generated_by_{_OF_A_PAIR[parts.pop()]}" if _is_of_a_model(of_model) else ""
    if len(sides) != 1:
        return ""
    side = 1 if sides[0] in _FIRST else 2
    if rest & _SCORES and rest <= _SCORES | _STEMS:
        return f"score_{side}"
    if _is_of_a_model(others):
        return f"generated_by_{side}"
    if rest and rest <= {"prompt", "question"}:
        return f"prompt_{side}"
    if rest <= _STEMS | {"model"}:
        return f"response_{side}"
    return ""


def _is_of_a_model(words: Sequence[str]) -> bool:
    """Whether these words name the model that wrote a response, not the response of a model."""
    if not _MODELS & {*words} or words[-1] not in _OF_MODELS:
        return False
    return words[-1] == "model" or {*words} <= _OF_MODELS | _STEMS


def _by_feature(column: str, *, counts_from_zero: bool, has_pair: bool) -> str:
    name = column.strip().casefold()
    is_feature = name.startswith(_PREFIXES) or set(plain_name(column).split("_")) & _FEATURES
    return FEATURE if is_feature else ""


def _by_word(column: str, *, counts_from_zero: bool, has_pair: bool) -> str:
    """A longer name that ends in a common one, such as “Survey question”."""
    return _ENDINGS.get(plain_name(column).rpartition("_")[2], "")
