"""Beyond the Surface (Chen et al. 2025): pairs of models' responses with gold judgments.

The release measures how much a judge prefers its own responses beyond the gold judgments (DBG).
Nobody of the release is a person: three models judged each pair in both orders.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Any

from extras.datasets.pairs import is_usable, pair, text_of
from studies.importers.files.faults import ImportRow
from studies.importers.sets.data_set import (
    ALL,
    DataSet,
    Files,
    Option,
    Raw,
    Role,
    SetFile,
    Tally,
    chosen,
    for_id,
    json_rows,
)
from studies.importers.sets.prism import family
from studies.texts.normalisation import digest

_ANSWER = "_response"
_GOLD = "_golden"
# The files of instructions have other names than the folders of preferences.
_DATA = {"alpaca": "alpaca_eval", "translation": "translation", "truthfulness": "truthful_qa"}


@dataclass
class _SidesOfRelease:
    """Two responses to an instruction, their place, and the votes of the gold judges."""

    file: str
    line: int
    texts: Mapping[str, str]
    votes: Counter[str] = field(default_factory=Counter)


def _read(files: Files, options: Mapping[str, Any], seed: int, tally: Tally) -> Iterator[Raw]:
    asked = dict(_instructions(files, tally))
    gold = [part for part in files.all("preferences") if _folder(part, -2).endswith(_GOLD)]
    if not gold:
        raise files.missing("preferences")
    pairs: dict[tuple[str, str, tuple[str, ...]], _SidesOfRelease] = {}
    for part in gold:
        name = _data_of(part)
        for line, raw in json_rows(part, tally):
            row = ImportRow(line, part.name)
            key = (name, str(raw.get("id")))
            models = [one.removesuffix(_ANSWER) for one in raw if one.endswith(_ANSWER)]
            texts = {model: text_of(row, raw, f"{model}{_ANSWER}") for model in models}
            votes = raw.get("preferences")
            if (
                len(models) != 2
                or not isinstance(votes, list)
                or not all(vote in (*models, None) for vote in votes)
            ):
                problem = "preferences is no list of the names of two models with a response."
                row.fault("preferences", "not a judgment", problem)
            if key not in asked:
                problem = f"id “{key[1][:40]}” is not in the file of instructions of {name}."
                row.fault("id", "unknown instruction", problem, f"Add {name}.jsonl.")
            tally.faults += row.faults
            if not row.faults:
                judged = pairs.setdefault(
                    (*key, tuple(models)), _SidesOfRelease(part.name, line, texts)
                )
                judged.votes.update(vote for vote in votes or [] if vote)
    for (name, number, both), judged in pairs.items():
        responses = [*judged.texts.values()]
        if not chosen(options["data"], name):
            tally.drop("pairs of other data")
        elif is_usable(asked[name, number], "", responses, tally):
            first, second = (judged.votes[model] for model in both)
            yield (
                judged.file,
                judged.line,
                pair(
                    key=f"selfpref-{for_id(name)}-{digest([number, *both])[:16]}",
                    first={"text": responses[0], "generated_by": _model(both[0])},
                    second={"text": responses[1], "generated_by": _model(both[1])},
                    label=None if first == second else "r1" if first > second else "r2",
                    source="derived",
                    question=asked[name, number],
                    group=f"selfpref-{for_id(name)}-{for_id(number)}"[:120],
                    topic=name,
                    language="en",
                    metadata={"gold_votes": [first, second]},
                ),
            )


def _instructions(files: Files, tally: Tally) -> Iterator[tuple[tuple[str, str], str]]:
    """Each instruction by the name of its file and its id."""
    parts = files.all("instructions")
    if not parts:
        raise files.missing("instructions")
    for part in parts:
        for line, raw in json_rows(part, tally):
            row = ImportRow(line, part.name)
            text = text_of(row, raw, "instruction")
            tally.faults += row.faults
            yield (PurePosixPath(part.name).stem, str(raw.get("id"))), text


def _folder(part: SetFile, place: int) -> str:
    parts = PurePosixPath(part.name).parts
    return parts[place] if len(parts) >= -place else ""


def _data_of(part: SetFile) -> str:
    """The data set of a file of preferences, from its folder such as alpaca_eval_500_id_wr."""
    folder = _folder(part, -3)
    return next((name for start, name in _DATA.items() if folder.startswith(start)), folder)


def _model(name: str) -> dict[str, Any]:
    return {"kind": "model", "name": name, "family": family(name)}


SELF_PREFERENCE = DataSet(
    name="self_preference",
    title="Beyond the Surface",
    about="Pairs of models' responses, each judged by three models: for preference of own ones.",
    task="preference",
    files="instruction_fullset/, and model_preferences_fullset/ with its folders …_golden",
    source={
        "name": "Beyond the Surface: Measuring Self-Preference in LLM Judgments",
        "url": "https://github.com/zhiyuanc2001/self-preference",
        "licence": "none stated",
        "citation": "Chen et al. 2025, Beyond the Surface",
        "redistribution": "forbidden",
    },
    roles=(
        Role("instructions", ("id", "instruction"), "instructions (instruction_fullset/*.jsonl)"),
        Role(
            "preferences",
            ("id", "preferences"),
            "gold judgments (evaluator_…_golden/merge_….jsonl, in their folders)",
        ),
    ),
    options=(
        Option(
            "data", ALL, "Some of alpaca_eval, translation and truthful_qa.", (*_DATA.values(),)
        ),
    ),
    read=_read,
)
