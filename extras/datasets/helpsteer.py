"""HelpSteer2 and HelpSteer3 preferences (Wang et al.): how much better one response is."""

from collections.abc import Iterator, Mapping
from typing import Any

from extras.datasets.pairs import (
    is_usable,
    language_code,
    messages_of,
    pair,
    text_of,
    transcript,
)
from studies.importers.files.faults import ImportRow
from studies.importers.sets.data_set import (
    ALL,
    DataSet,
    Files,
    Option,
    Raw,
    RawAnswer,
    Role,
    SetFile,
    Tally,
    chosen,
    json_rows,
)
from studies.texts.normalisation import digest

_SECOND, _THIRD = "helpsteer2", "helpsteer3"
_STRENGTHS = {_SECOND: "preference_strength", _THIRD: "overall_preference"}
_RESPONSES = {_SECOND: ("response_1", "response_2"), _THIRD: ("response1", "response2")}
_SINGLE = {
    _SECOND: ("all_preferences_unprocessed", "strength"),
    _THIRD: ("individual_preference", "score"),
}
# In HelpSteer2: the annotator found both responses invalid.
_NEITHER = -100


def _read(files: Files, options: Mapping[str, Any], seed: int, tally: Tally) -> Iterator[Raw]:
    for part, edition in _parts(files):
        for line, raw in json_rows(part, tally):
            row = ImportRow(line, part.name)
            item = _item(row, raw, edition, options, tally)
            tally.faults += row.faults
            if item is not None and not row.faults:
                yield part.name, line, item


def _parts(files: Files) -> Iterator[tuple[SetFile, str]]:
    parts = [(part, edition) for edition in (_SECOND, _THIRD) for part in files.all(edition)]
    if not parts:
        raise files.missing(_SECOND)
    yield from parts


def _item(
    row: ImportRow, raw: Mapping[str, Any], edition: str, options: Mapping[str, Any], tally: Tally
) -> dict[str, Any] | None:
    strength = row.whole_number(raw, _STRENGTHS[edition], low=-3, high=3)
    responses = [text_of(row, raw, name) for name in _RESPONSES[edition]]
    context, question = _prompt(row, raw, edition)
    if row.faults:
        return None
    domain = str(raw.get("domain") or raw.get("split") or "")
    if not chosen(options["domains"], domain):
        tally.drop("pairs of another domain")
        return None
    if strength is None:
        tally.drop("pairs without a preference")
        return None
    if not is_usable(question, context, responses, tally):
        return None
    label = "tie" if strength == 0 else "r1" if strength < 0 else "r2"
    tally.ties += label == "tie"
    return pair(
        key=_key(raw, edition),
        first={"text": responses[0], "generated_by": {"kind": "unknown", "name": None}},
        second={"text": responses[1], "generated_by": {"kind": "unknown", "name": None}},
        label=label if options["label"] == "overall" else None,
        source="derived" if options["label"] == "overall" else "unknown",
        question=question,
        context=context,
        context_title="Earlier in the conversation" if context else None,
        topic=domain[:120],
        language=language_code(raw.get("language") or "english"),
        metadata={"edition": edition, "strength": strength},
    )


def _prompt(row: ImportRow, raw: Mapping[str, Any], edition: str) -> tuple[str, str]:
    """The earlier conversation and the person's last message."""
    if edition == _SECOND:
        return "", text_of(row, raw, "prompt")
    messages = messages_of(row, raw, "context")
    return (transcript(messages[:-1]), messages[-1][1]) if messages else ("", "")


def _key(raw: Mapping[str, Any], edition: str) -> str:
    """An id from the texts, because the file has none."""
    names = ("prompt", *_RESPONSES[edition]) if edition == _SECOND else ("context", "response1")
    also = () if edition == _SECOND else ("response2",)
    return f"{edition}-{digest([raw.get(name) for name in (*names, *also)])[:16]}"


def _answers(files: Files, tally: Tally) -> Iterator[RawAnswer]:
    for part, edition in _parts(files):
        column, strength = _SINGLE[edition]
        for line, raw in json_rows(part, tally):
            key = _key(raw, edition)
            for number, cell in enumerate(raw.get(column) or [], start=1):
                row = ImportRow(line, part.name)
                fields = cell if isinstance(cell, dict) else {}
                if fields.get(strength) == _NEITHER:
                    tally.drop("annotations that find both responses invalid")
                    continue
                value = row.whole_number(fields, strength, low=-3, high=3)
                if value is None and not row.faults:
                    tally.drop("annotations without a preference")
                tally.faults += row.faults
                if value is not None:
                    yield (
                        line,
                        {
                            # The files do not name annotators, so each answer counts as another
                            # person's.
                            "rater_id": f"{key}-{number}",
                            "item_id": key,
                            "choice": "tie" if value == 0 else "r1" if value < 0 else "r2",
                        },
                    )


HELPSTEER = DataSet(
    name="helpsteer",
    title="HelpSteer preferences",
    about="Pairs of responses, with how much better people found one of them (HelpSteer2 and 3).",
    task="preference",
    files="preference.jsonl of HelpSteer2, or train.jsonl of HelpSteer3's preferences, unpacked",
    source={
        "name": "HelpSteer2 and HelpSteer3 preferences",
        "url": "https://huggingface.co/datasets/nvidia/HelpSteer3",
        "licence": "CC-BY-4.0",
        "licence_url": "https://creativecommons.org/licenses/by/4.0/",
        "citation": "Wang et al. 2024, HelpSteer2-Preference; Wang et al. 2025, HelpSteer3",
        "redistribution": "allowed",
    },
    roles=(
        Role(
            _SECOND,
            ("prompt", "response_1", "response_2", "preference_strength"),
            "a row for each pair of HelpSteer2 (preference.jsonl)",
            is_mark=True,
        ),
        Role(
            _THIRD,
            ("context", "response1", "response2", "overall_preference"),
            "a row for each pair of HelpSteer3 (preference/train.jsonl)",
            is_mark=True,
        ),
    ),
    options=(
        Option(
            "label",
            "overall",
            "Whether the overall preference counts as the right answer.",
            ("overall", "none"),
        ),
        Option("domains", ALL, "HelpSteer3 domains, such as stem or code."),
    ),
    read=_read,
    answers=_answers,
)
