"""What each column of an export is called, holds and means; every format is written from this."""

from dataclasses import dataclass
from typing import Literal

from studies.importers.readers import COLUMNS as ITEM_CELLS

Kind = Literal["text", "integer", "number", "boolean", "time", "json"]


@dataclass(frozen=True)
class Column:
    """`json` holds a list or an object: as it is in JSON Lines, as JSON text elsewhere.

    `label` marks what raters said, for whoever looks for the labels of a data set.
    """

    name: str
    kind: Kind
    meaning: str
    label: bool = False


def names(columns: tuple[Column, ...]) -> tuple[str, ...]:
    return tuple(column.name for column in columns)


_ANSWER = (
    Column("answer_id", "text", "Stays the same from export to export of a study."),
    Column("study", "text", "Short name of the study."),
    Column("item_id", "text", "The item's id."),
    Column("rater_kind", "text", "human or model."),
    Column("rater_id", "text", "The person's exported name, or the judge's name."),
    Column("slot", "integer", "Counts the answers to an item, or a run's questions about it."),
    Column("shown_first", "text", "The response that stood on side A: r1 or r2."),
    Column("choice", "text", "r1, r2 or tie: the answer in content terms.", label=True),
    Column("choice_side", "text", "The same as a side: A, B, or C for a tie."),
    Column("certainty", "integer", "1 to 100; empty on a tie or where not asked.", label=True),
    Column("certainty_band", "text", "The band of the certainty."),
    Column("certainty_input", "text", "slider, number, band or model; empty where not known."),
    Column("setting", "text", "Words that were used: standard, certainty or tie."),
    Column("persona_features_shown", "json", "Keys of the persona's features that were shown."),
    Column("attempts", "integer", "Replies until one could be read."),
    Column(
        "parse_status",
        "text",
        "ok, regenerated, unparseable, refused, skipped or error.",
    ),
    Column("raw_text", "text", "The model's reply that decided."),
    Column("started_at", "time", "When the page was shown, UTC, to the minute."),
    Column("answered_at", "time", "When the answer came, UTC, to the minute."),
    Column("active_ms", "integer", "Milliseconds with the page in view and in use."),
    Column("changed_choice", "boolean", "Whether another response was chosen before."),
    Column("viewport_w", "integer", "Reserved; empty."),
    Column("input_kind", "text", "Reserved; empty."),
    Column("checks_passed", "boolean", "Whether the person passed the attention checks."),
    Column("excluded", "boolean", "Whether the person is excluded from analysis."),
    Column("exclude_reason", "text", "Why; free text, only where it was asked for."),
)
ANNOTATIONS = (
    *_ANSWER,
    Column("standing", "text", "counted, surplus, released or imported."),
    Column("elapsed_ms", "integer", "Milliseconds from showing the page to the answer."),
    Column("revision", "integer", "1 = never changed."),
    Column("wording_sha256", "text", "Hash of the words that were shown."),
)
JUDGMENTS = (
    *_ANSWER,
    Column("judge", "text", "Name of the judge."),
    Column("run", "text", "Hash of the run's parameters."),
    Column("features", "text", "The persona's features, as asked for."),
    Column("sample", "integer", "Which repetition of the question this is."),
    Column("model_snapshot", "text", "The model as the server named it."),
    Column("prompt_sha256", "text", "Hash of the prompt that was sent."),
    Column("probability_r1", "number", "Probability of response 1, where the model gave it."),
    Column("probability_r2", "number", "Probability of response 2, where the model gave it."),
    Column("probability_tie", "number", "Probability of a tie, where the model gave it."),
)
ANNOTATORS = (
    Column("rater_id", "text", "The person's exported name."),
    Column("study", "text", "Short name of the study."),
    Column("imported", "boolean", "Whether the answers came from a file."),
    Column("state", "text", "How far the person came."),
    Column("answers", "integer", "Answers to items that count."),
    Column("median_active_ms", "integer", "Median milliseconds an answer."),
    Column("demographics", "json", "Only combinations that at least five people share."),
    Column("works_surplus", "boolean", "Admitted beyond a full group."),
    Column("failed_attention", "boolean", "Whether the attention checks were failed."),
    Column("checks_passed", "integer", "Attention checks that were passed."),
    Column("checks_seen", "integer", "Attention checks that were shown."),
    Column("flags", "json", "Rules that were crossed, with value and threshold; advice only."),
    Column("started_at", "time", "UTC, to the minute."),
    Column("ended_at", "time", "UTC, to the minute."),
    Column("excluded", "boolean", "Whether the person is excluded from analysis."),
)
FREE_TEXT = (
    Column("exclude_reason", "text", "Why the person is excluded."),
    Column("feedback", "text", "What the person wrote at the end."),
)
IDENTIFIED = (
    Column("pseudonym", "text", "The name used inside."),
    Column("prolific_pid", "text", "The person's id on the platform."),
    Column("prolific_study_id", "text", "The study's id on the platform."),
    Column("session_ids", "json", "Every session of the person."),
    Column("all_demographics", "json", "Every answer about themselves."),
    Column("quota_cell", "text", "The group the person counts in."),
    Column("exclude_reason", "text", "Why the person is excluded."),
)
AGGREGATES = (
    Column("item_id", "text", "The item's id."),
    Column("rater_kind", "text", "human for people together, model for a run of a judge."),
    Column("rater_id", "text", "people, or the judge's name."),
    Column("run", "text", "Hash of the run's parameters."),
    Column("setting", "text", "Words that were used: standard, certainty or tie."),
    Column("features", "text", "The persona's features that a run showed, as asked for."),
    Column("answers", "integer", "Answers that count."),
    Column("r1", "integer", "Of them for response 1."),
    Column("r2", "integer", "Of them for response 2."),
    Column("tie", "integer", "Of them for a tie."),
    Column("verdict", "text", "The majority's answer.", label=True),
    Column("verdict_reason", "text", "Why there is none: tied, or no_answers."),
    Column("share", "number", "Share of the answers that gave the verdict."),
    Column("certainty", "number", "Mean certainty of those that gave the verdict.", label=True),
    Column("first_person", "text", "The person's own answer.", label=True),
    Column("correct", "boolean", "Whether the verdict is the person's own answer."),
)
WITHHELD_ITEMS = (
    Column("id", "text", "The item's id."),
    Column("split", "text", "main is judged and counted."),
    Column("topic", "text", "What the item is about."),
    Column("content_hash", "text", "SHA-256 of the item's content, which is not given."),
)

_ITEM_MEANINGS = {
    "id": "The item's id.",
    "group": "Items of one group belong together.",
    "task": "What was asked for.",
    "persona_id": "The person the item is about.",
    "persona_text": "Free text about the person.",
    "question": "What the person asked or was asked.",
    "context": "What stands before the question.",
    "context_title": "Its heading.",
    "response_1": "Response r1.",
    "response_2": "Response r2.",
    "first_person": "The person's own answer: 1, 2, tie or empty.",
    "tie": "Whether the own answer is a tie.",
    "split": "main is judged and counted.",
    "topic": "What the item is about.",
    "language": "BCP 47.",
    "shuffle": "Whether the sides are shuffled.",
    "metadata": "Further facts (JSON).",
    "persona_features": "The person's features (JSON).",
    "persona_history": "The person's earlier choices (JSON).",
    "first_person_source": "How the own answer is known.",
    "label_confidence": "How sure the own answer is.",
    "margin": "Difference of the two scores.",
    "fixed_first": "The response that always stands on side A.",
    "check_correct": "The right answer to an attention check.",
    "check_instruction": "What an attention check asks for.",
    "warnings": "Flags of the content (JSON).",
    "extra": "Fields of the source that the format does not know (JSON).",
}
_NUMBERED_MEANINGS = {
    "prompt": "What response {} answers.",
    "generated_by": "The model that wrote response {}.",
    "provider": "Provider of that model, response {}.",
    "family": "Family of that model, response {}.",
    "kind": "Who wrote response {}: model, human, survey_option or unknown.",
    "score": "The person's own score of response {}.",
}
_ITEM_KINDS: dict[str, Kind] = {
    "tie": "boolean",
    "shuffle": "boolean",
    "label_confidence": "number",
    "margin": "number",
    "score_1": "number",
    "score_2": "number",
}


def _item_column(name: str) -> Column:
    base, _, number = name.rpartition("_")
    meaning = _ITEM_MEANINGS.get(name) or _NUMBERED_MEANINGS[base].format(number)
    return Column(name, _ITEM_KINDS.get(name, "text"), meaning, label=name == "first_person")


ITEMS = tuple(_item_column(name) for name in ITEM_CELLS)
