"""Names of columns: which role, or whose labels, they suggest."""

import re
from collections.abc import Sequence

from studies.importers.columns.mapping import plain_name
from thirdperson.check.labels import BadTable

ITEM = (
    "item item_id id idx uid uuid example example_id row_id sample_id case_id task_id pair_id "
    "question_id prompt_id query_id instance instance_id document_id text_id comment_id post_id "
    "tweet_id doc_id image_id unit_id segment_id hit_id hitid filename"
).split()
ANNOTATOR = (
    "annotator annotator_id annotator_name rater rater_id rater_name worker worker_id user user_id "
    "labeler labeler_id labeller coder coder_id reviewer reviewer_id participant participant_id "
    "respondent person_id"
).split()
LABEL = (
    "label human_label answer choice vote rating annotation preference verdict winner value"
).split()
SCORE = "score grade points".split()
ONE_PERSON = (
    "human human_label label annotation human_answer human_choice human_winner expert winner"
).split()
JUDGE = (
    "judge judge_label judge_answer judge_choice judge_verdict llm llm_label llm_judge model "
    "model_label model_choice ai_label prediction predicted predicted_label auto_label autolabel"
).split()
GOLD = (
    "gold gold_label truth ground_truth correct_answer correct_label first_person own_answer target"
).split()
PERSONA = "persona persona_id profile profile_id".split()
QUESTION = "question prompt question_text input query".split()
KIND = "kind source rater_type annotator_type rater_kind label_source".split()
PEOPLE_KINDS = set("human person people annotator crowd expert worker".split())
JUDGE_KINDS = set("judge model llm ai machine llm_judge".split())
PERSON = re.compile(
    r"(?:(?:winner|label|choice|vote|answer|rating|preference|pref|verdict|annotation|score)_)?"
    r"(human|annotator|rater|coder|labell?er|worker|expert|reviewer|crowd|person|participant|label"
    r"|annotation|assessor|evaluator|grader|clinician|doctor|dr|nurse|pathologist|physician"
    r"|radiologist)_(\w+)|(?:winner|vote|verdict)_\d+"
    r"|(?:ann?|anno|annot|hum)_(?:\d+|[a-z])(?:_(?:label|rating|answer|vote|choice))?"
)
JUDGE_NAME = re.compile(r"(judge|llm|model)_(?P<after>\w+)|(?P<before>\w+)_(judge|llm)")
COMPARED = re.compile(r"model_[ab12]")  # which two models are compared, rather than two judges
MACHINE = re.compile(r"(?:ai|machine)(?:_\w+)?|\w+_(?:ai|machine)")  # names of files
NOT_A_LABEL = set(
    "id name names text reason reasons reasoning explanation rationale comment comments response "
    "output outputs completion time seconds date cost tokens type kind version model prompt "
    "raw note notes feedback annotator age gender sex race ethnicity country nationality language "
    "education occupation religion politics trust quality number count n".split()
)
CERTAINTY = re.compile(r"(?:(\w+)_)?(?:certainty|confidence)(?:_(\w+))?")
# Of the judge's label, or of the one that the name ends in.
PROBABILITY = re.compile(r"(?:(?P<of>\w+)_)?(?:probability|prob)")
PROBABILITY_OF = re.compile(r"(?:(?P<of>\w+?)_)?(?:probability|prob|p)_(?P<label>\w+)")
# Families of models, whose names mark a column as a judge's.
MODEL = re.compile(
    r"(?:\w+_)?(?:gpt|chatgpt|claude|gemini|gemma|llama|mistral|mixtral|qwen|deepseek|command|phi|"
    r"grok|palm|prometheus|pandalm|judgelm|auto_?j|o_[134]|yi|falcon|vicuna)\d*(?:_\w+)?"
)

_NO_PERSON = re.compile(r"gpt|llama|mistral|mixtral|qwen|deepseek|gemini|gemma|claude_\d|vicuna")
_ROLES = {
    "item": ITEM,
    "annotator": ANNOTATOR,
    "label": [*LABEL, *SCORE, *ONE_PERSON, *JUDGE],
    "gold": GOLD,
}


def guessed_column(role: str, names: Sequence[str]) -> str:
    """The column whose name has a role, by its name alone; empty without one."""
    plain = {plain_name(name): name for name in reversed(names)}
    return next((plain[name] for name in _ROLES[role] if name in plain), "")


def certainty_column(names: Sequence[str]) -> str:
    """The only column of certainties; empty without one."""
    certainties = [name for name in names if CERTAINTY.fullmatch(plain_name(name))]
    return certainties[0] if len(certainties) == 1 else ""


def people_columns(names: Sequence[str]) -> list[str]:
    """Columns whose names are those of labels by single people."""
    return [name for name in names if person_match(plain_name(name))]


def person_match(plain: str) -> re.Match[str] | None:
    """The name of a column of labels by one person."""
    match = PERSON.fullmatch(plain)
    words = set((match[2] or "").split("_")) if match else set()
    return None if words & NOT_A_LABEL or CERTAINTY.fullmatch(plain) else match


def names_judge(name: str) -> bool:
    """Whether a rater's name is that of a judge or of a model."""
    plain = plain_name(name)
    return plain in JUDGE or any(
        one.fullmatch(plain) is not None for one in (JUDGE_NAME, MODEL, MACHINE)
    )


def names_model(name: str) -> bool:
    """Whether somebody who gave a label is a model: no person has such a name, unlike Claude."""
    plain = plain_name(name)
    return bool(MODEL.fullmatch(plain) and _NO_PERSON.search(plain))


def kind_is_judge(value: str, where: str, column: str) -> bool:
    """Whether a row's kind is a judge's. Raises `BadTable` for an unknown word."""
    plain = plain_name(value)
    if plain not in PEOPLE_KINDS | JUDGE_KINDS:
        raise BadTable(
            f"{where}: {column} is “{value}”. Use human or judge, or name the annotators that "
            "are judges: --judge-raters NAME,NAME."
        )
    return plain in JUDGE_KINDS
