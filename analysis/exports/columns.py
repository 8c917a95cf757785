"""The columns of every table (name, type, meaning), used by all formats."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args

from studies.importers.files.readers import COLUMNS as ITEM_CELLS

ColumnKind = Literal["text", "integer", "number", "boolean", "time", "json"]
_KINDS: dict[str, ColumnKind] = {kind: kind for kind in get_args(ColumnKind)}


@dataclass(frozen=True)
class Column:
    """A column of a table, with its kind and its meaning.

    The kind `json` is a list or an object, written as JSON text outside JSON Lines. `label` marks
    raters' answers, which are the labels of the data set.
    """

    name: str
    kind: ColumnKind
    meaning: str
    label: bool = False


def names(columns: tuple[Column, ...]) -> tuple[str, ...]:
    return tuple(column.name for column in columns)


def in_columns(
    rows: Iterable[Mapping[str, Any]], columns: tuple[Column, ...]
) -> Iterator[dict[str, Any]]:
    """Reduce the rows to exactly the given columns; a missing value is None."""
    keys = names(columns)
    for row in rows:
        yield {key: row.get(key) for key in keys}


def _columns(table: str) -> tuple[Column, ...]:
    """Parse one column per line: name (with a star if it is a label), kind and meaning."""
    rows = (line.split(maxsplit=2) for line in table.strip().splitlines())
    return tuple(
        Column(name.removeprefix("*"), _KINDS[kind], meaning, label=name.startswith("*"))
        for name, kind, meaning in rows
    )


_ANSWER = _columns("""
    answer_id              text    Stays the same from export to export of a study.
    study                  text    Short name of the study.
    item_id                text    The item's id.
    rater_kind             text    human or model.
    rater_id               text    The person's exported name, or the judge's name.
    slot                   integer Counts the answers to an item, or a run's questions about it.
    shown_first            text    The response on side A: r1 or r2.
    *choice                text    r1, r2 or tie: the answer in content terms.
    choice_side            text    The same as a side: A, B, or C for a tie.
    *certainty             integer 1 to 100; empty on a tie or where not asked.
    certainty_band         text    The band of the certainty.
    certainty_input        text    slider, number, band or model; empty if unknown.
    setting                text    Words that were used: standard, certainty or tie.
    persona_features_shown json    Keys of the persona's features that were shown.
    attempts               integer Replies until one could be read.
    parse_status           text    ok, regenerated, unparseable, refused, skipped or error.
    raw_text               text    The model's reply that decided.
    started_at             time    When the page was shown, UTC, to the minute.
    answered_at            time    When the answer came, UTC, to the minute.
    active_ms              integer Milliseconds with the page in view and in use.
    changed_choice         boolean Whether another response was chosen before.
    viewport_w             integer Reserved; empty.
    input_kind             text    Reserved; empty.
    checks_passed          boolean Whether the person passed the attention checks.
    excluded               boolean Whether the person is excluded, or the item taken out.
    exclude_reason         text    Why; free text, only if it was exported.
""")
ANNOTATIONS = (
    *_ANSWER,
    *_columns("""
    standing           text    counted, surplus, released or imported.
    elapsed_ms         integer Milliseconds from showing the page to the answer.
    revision           integer 1 = never changed.
    media_missing      boolean Whether the person chose to answer without media that did not load.
    translated         text    What the browser translated: page or texts; empty if nothing.
    wording_sha256     text    Hash of the words that were shown.
    *initial_choice    text    The answer before the item's advice; empty without advice.
    *initial_certainty integer The certainty before the item's advice.
    initial_media_missing boolean The same as media_missing, of the answer before the advice.
    *ranking           text    A whole set, the best first, by its keys: r3>r1>r2; empty at pairs.
    options_shown      text    The same set in the order of the screen: r1 r2 r3; empty at pairs.
"""),
)
JUDGMENTS = (
    *_ANSWER,
    *_columns("""
    judge           text    Name of the judge.
    run             text    Hash of the run's parameters.
    features        text    The persona's features, as asked for.
    bias_probe      text    How the prompt was changed to measure a bias; empty for most runs.
    sample          integer Which repetition of the question this is.
    read_as         text    How a reply was read that strict reading leaves out; else empty.
    model_snapshot  text    The model as the server named it.
    fingerprint     text    The version of the model as the server named it.
    prompt_sha256   text    Hash of the prompt that was sent.
    probability_r1  number  Probability of response 1, where the model gave it.
    probability_r2  number  Probability of response 2, where the model gave it.
    probability_tie number  Probability of a tie, where the model gave it.
    native_certainty number 100 times the probability of the choice, of a decision endpoint.
    details         json    What else the reply says, such as scores or the choice by criterion.
    earlier_replies json    Replies to the steps before the last one.
"""),
)
VERSIONS = _columns("""
    judge          text    Name of the judge.
    run            text    Hash of the run's parameters.
    hour           time    The hour in which the judgments arrived, UTC.
    model_snapshot text    The model as the server named it.
    fingerprint    text    The version of the model as the server named it.
    judgments      integer Judgments with this model and version in this hour.
""")
ANCHORS = _columns("""
    judge          text    Name of the judge.
    run            text    Hash of the run's parameters.
    item_id        text    The item's id.
    shown_first    text    The response on side A: r1 or r2.
    anchor         text    again, or start or end of a run of an older version.
    round          integer How often its samples were asked with it.
    parse_status   text    ok, unparseable, refused or error.
    *choice        text    r1, r2 or tie: the answer in content terms.
    *certainty     integer 1 to 100; empty on a tie or where not asked.
    model_snapshot text    The model as the server named it.
    fingerprint    text    The version of the model as the server named it.
    prompt_sha256  text    Hash of the prompt that was sent.
    raw_text       text    The model's reply that decided.
    answered_at    time    When the answer came, UTC, to the minute.
""")
ANNOTATORS = _columns("""
    rater_id         text    The person's exported name.
    study            text    Short name of the study.
    imported         boolean Whether the answers came from a file.
    state            text    How far the person came.
    consent_version  text    Hash of the text that the person agreed to; README.md has it.
    answers          integer Answers to items that count.
    median_active_ms integer Median milliseconds an answer.
    demographics     json    Only combinations that at least five people share.
    works_surplus    boolean Admitted beyond a full group.
    failed_attention boolean Whether the attention checks were failed.
    checks_passed    integer Attention checks that were passed.
    checks_seen      integer Attention checks that were shown.
    flags            json    Rules that were crossed, with value and threshold; advice only.
    machine_points   integer Points of signs of a program; flagged from 3; empty: not measured.
    machine_signs    json    Names of the signs that were found; advice only.
    started_at       time    UTC, to the minute.
    ended_at         time    UTC, to the minute.
    excluded         boolean Whether the person is excluded from analysis.
""")
FREE_TEXT = _columns("""
    exclude_reason text Why the person is excluded.
    feedback       text What the person wrote at the end.
""")
IDENTIFIED = _columns("""
    pseudonym         text The name used inside.
    prolific_pid      text The person's id on the platform.
    prolific_study_id text The study's id on the platform.
    session_ids       json Every session of the person.
    all_demographics  json Every answer about themselves.
    quota_cell        text The group the person counts in.
    exclude_reason    text Why the person is excluded.
""")
AGGREGATES = _columns("""
    item_id        text    The item's id.
    rater_kind     text    human for people together, model for a run of a judge.
    rater_id       text    people, or the judge's name.
    run            text    Hash of the run's parameters.
    setting        text    Words that were used: standard, certainty or tie.
    features       text    The persona's features that a run showed, as asked for.
    bias_probe     text    How a run's prompts were changed to measure a bias; empty for most runs.
    answers        integer Answers that count.
    r1             integer Of them for response 1.
    r2             integer Of them for response 2.
    tie            integer Of them for a tie.
    *verdict       text    The majority's answer.
    verdict_reason text    Why there is none: tied, or no_answers.
    share          number  Share of the answers that gave the verdict.
    *certainty     number  Mean certainty of those that gave the verdict.
    *first_person  text    The person's own answer.
    correct        boolean Whether the verdict is the person's own answer.
""")
EXPLAINED_COLUMNS = _columns("""
    column  text Name of the column in the file.
    kind    text text, integer or number.
    meaning text What it holds; of a run, how it asked.
""")
WITHHELD_ITEMS = _columns("""
    id           text The item's id.
    split        text main is judged and counted, left_out no longer.
    topic        text What the item is about.
    content_hash text SHA-256 of the item's content, which is not given.
""")
_ITEM_COLUMNS = _columns("""
    id                  text    The item's id.
    group               text    Items of one group belong together.
    task                text    What was asked for.
    persona_id          text    The person the item is about.
    persona_text        text    Free text about the person.
    question            text    What the person asked or was asked.
    context             text    The text before the question.
    context_title       text    Its heading.
    response_1          text    Response r1.
    response_2          text    Response r2.
    prompt_1            text    What response 1 answers.
    prompt_2            text    What response 2 answers.
    generated_by_1      text    The model that wrote response 1.
    generated_by_2      text    The model that wrote response 2.
    provider_1          text    Provider of that model, response 1.
    provider_2          text    Provider of that model, response 2.
    score_1             number  The person's own score of response 1.
    score_2             number  The person's own score of response 2.
    *first_person       text    The person's own answer: 1, 2, tie or empty.
    tie                 boolean Whether the own answer is a tie.
    split               text    main is judged and counted, left_out no longer.
    topic               text    What the item is about.
    language            text    BCP 47.
    shuffle             boolean Whether the sides are shuffled.
    metadata            text    Further facts (JSON).
    persona_features    text    The person's features (JSON).
    persona_history     text    The person's earlier choices (JSON).
    kind_1              text    Who wrote response 1: model, human, survey_option or unknown.
    kind_2              text    Who wrote response 2: model, human, survey_option or unknown.
    family_1            text    Family of that model, response 1.
    family_2            text    Family of that model, response 2.
    first_person_source text    Where the own answer comes from.
    label_confidence    number  How sure the own answer is.
    margin              number  Difference of the two scores.
    fixed_first         text    The response that is always on side A.
    check_correct       text    The right answer to an attention check.
    check_instruction   text    What an attention check asks for.
    warnings            text    Flags of the content (JSON).
    advice              text    What is shown after the first answer.
    advice_title        text    Its heading.
    advice_kind         text    What it is: advice, debate or consultancy.
    advice_favors       text    The response it argues for: 1, 2 or empty.
    media               text    Pictures and sounds of the question (JSON).
    media_1             text    Pictures and sounds of response 1 (JSON).
    media_2             text    Pictures and sounds of response 2 (JSON).
    reference           text    A reference answer, which only judges can see.
    extra               text    Fields of the source that the format does not know (JSON).
""")
_BY_NAME = {column.name: column for column in _ITEM_COLUMNS}
# In the order of the columns in a CSV file of items.
ITEMS = tuple(_BY_NAME[name] for name in ITEM_CELLS)
