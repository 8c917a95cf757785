"""A released result file: its name, its rows, and their counts under two rules."""

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

DATASETS = {"ap": "PR", "ec": "EC", "prism": "PRISM", "opinionqa": "OpinionQA"}
ORDER = ("PR", "PRISM", "OpinionQA", "EC")  # of data sets in the article; models as below
MODELS = {
    "meta-llama_Meta-Llama-3-70B-Instruct": "Llama-3 70B",
    "gpt-3.5-turbo": "GPT-3.5",
    "gpt-4o": "GPT-4",
    "command-r-plus": "Command R+",
}
FEATURES = {
    "all_features": "All features",
    "key_features": "Three features",
    "least_imp_feature": "Least important feature",
}

_NAME = re.compile(
    r"(?P<dataset>ap|ec|prism|opinionqa)"
    r"_(?P<prompt>all_features_with_tie|all_features|no_persona)"
    r"(?:_(?P<features>all_features|key_features|least_imp_feature))?"
    r"_(?P<model>[A-Za-z][\w.+-]*?)"
    r"(?:_(?P<edition>new|jun_?\d+))?"
    r"\.jsonl"
)
SIDES = ("A", "B", "C")

_SCALE = re.compile(r"certainty level from 1 to (\d{1,9})(?!\d)")
_NEEDED = ("prompt", "answer", "certainty", "ground_truth")


class ReplicationError(Exception):
    """Base of this package's errors."""


class NothingToReplicate(ReplicationError):
    """The folder cannot be read or has no released result files."""


class UnreadableFile(ReplicationError):
    """A file is named like a released result but is not one."""


@dataclass(frozen=True)
class ResultName:
    """The parts of a released file's name.

    `features` are those in the prompt; `edition` is the suffix of a repeated run.
    """

    file: str
    dataset: str
    with_tie: bool
    with_persona: bool
    features: str
    model: str
    edition: str

    @classmethod
    def parse(cls, file: str) -> "ResultName | None":
        """Parse a file name; None if it is not that of a result file.

        >>> name = ResultName.parse("prism_all_features_with_tie_all_features_gpt-4o.jsonl")
        >>> name.dataset, name.with_tie, name.features, name.model
        ('PRISM', True, 'All features', 'GPT-4')
        >>> ResultName.parse("notes.jsonl") is None
        True
        """
        match = _NAME.fullmatch(file)
        if match is None:
            return None
        with_persona = match["prompt"] != "no_persona"
        return cls(
            file=file,
            dataset=DATASETS[match["dataset"]],
            with_tie=match["prompt"] == "all_features_with_tie",
            with_persona=with_persona,
            features=FEATURES[match["features"] or "all_features"] if with_persona else "None",
            model=MODELS.get(match["model"], match["model"]),
            edition=match["edition"] or "",
        )

    @property
    def title(self) -> str:
        """A title of the file, for headings."""
        parts = [self.dataset, self.model]
        if not self.with_persona:
            parts.append("no persona")
        elif self.features != "All features":
            parts.append(self.features.lower())
        if self.with_tie:
            parts.append("with tie")
        return " · ".join(parts)


@dataclass(frozen=True)
class ReleasedAnswer:
    """One judgment.

    Attributes
    ----------
    answer : str or None
        A, B or C (tie) as the first character of the reply; None for any other reply.
    raw_answer : str
        The value in the file, cut to 20 characters; ``False`` without a reply.
    truth : str
        A, B or C.
    certainty : int or None
        The stated value; None if missing or not a whole number of 0 or more.
    raw_certainty : str
        The value in the file, for example ``NA``.
    scale : int or None
        Highest certainty that the prompt offered; None if it asked for none.
    tie_offered : bool
        Whether the prompt offered C.
    flag : bool or None
        The file's own mark of right or wrong.
    prompt : str
    profile : str
        The sentences about the person; empty if the file has none.
    """

    answer: str | None
    raw_answer: str
    truth: str
    certainty: int | None
    raw_certainty: str
    scale: int | None
    tie_offered: bool
    flag: bool | None
    prompt: str
    profile: str = ""

    @property
    def parsed(self) -> bool:
        """Whether the prompt offered this answer."""
        return self.answer in ("A", "B") or (self.answer == "C" and self.tie_offered)

    @property
    def correct(self) -> bool:
        return self.answer is not None and self.answer == self.truth


def read_rows(path: Path) -> list[ReleasedAnswer]:
    """Read a whole file, or raise `UnreadableFile` with the number of the faulty line.

    Only a line feed ends a line: texts contain carriage returns and other separators.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        raise UnreadableFile(f"{path.name} cannot be read: {error.strerror}. Check it.") from error
    rows = []
    for number, line in enumerate(data.split(b"\n"), start=1):
        if not line.strip():
            continue
        try:
            rows.append(_row(json.loads(line)))
        except (ValueError, TypeError, RecursionError) as error:
            raise UnreadableFile(
                f"{path.name}, line {number}: not a released result ({error}). "
                "Download the file again: it may be only a pointer to large-file storage."
            ) from error
    if not rows:
        raise UnreadableFile(f"{path.name} is empty. Download the file again.")
    return rows


def _row(raw: Any) -> ReleasedAnswer:
    if not isinstance(raw, dict):
        raise TypeError("a line must contain an object")
    if missing := [key for key in _NEEDED if key not in raw]:
        raise ValueError(f"it lacks {', '.join(missing)}")
    prompt, truth = str(raw["prompt"]), str(raw["ground_truth"])
    if truth not in SIDES:
        raise ValueError(f"ground_truth is {truth[:20]!r}, not A, B or C")
    scale = _SCALE.search(prompt)
    flag = raw.get("acc")
    return ReleasedAnswer(
        answer=raw["answer"] if raw["answer"] in SIDES else None,
        raw_answer=str(raw["answer"])[:20],
        truth=truth,
        certainty=_certainty(raw["certainty"]),
        raw_certainty=str(raw["certainty"]),
        scale=int(scale[1]) if scale else None,
        tie_offered="[[C]]" in prompt,
        flag=bool(flag) if flag is not None else None,
        prompt=prompt,
        profile=str(raw.get("user_info") or ""),
    )


def _certainty(value: Any) -> int | None:
    """A whole number of 0 or more; None for false, "NA" and anything else."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return value if value >= 0 else None
    if isinstance(value, float):
        return int(value) if value >= 0 and value.is_integer() else None
    text = str(value).strip()
    return int(text) if re.fullmatch(r"[0-9]{1,9}", text) else None


THRESHOLD = 80

# The rows that a rule counts. The paper drops replies other than A and B if there is no tie option,
# and counts them as wrong if there is one.
RULES: dict[str, Callable[[ReleasedAnswer], bool]] = {
    "drop_nonAB": lambda row: row.answer in ("A", "B"),
    "all_rows": lambda row: True,
    "keep_ABC": lambda row: row.answer is not None,
}


def share(rows: Iterable[ReleasedAnswer]) -> dict[str, Any]:
    """Count right answers among `rows`; without rows the accuracy is null.

    >>> share([])
    {'n': 0, 'correct': 0, 'accuracy': None}
    """
    right = [row.correct for row in rows]
    n, correct = len(right), sum(right)
    return {"n": n, "correct": correct, "accuracy": correct / n if n else None}


def by_rule(rows: Sequence[ReleasedAnswer], rule: str) -> dict[str, Any]:
    """Count overall, high and low under a rule of the paper; a missing certainty is low."""
    kept = [row for row in rows if RULES[rule](row)]
    high = [row for row in kept if is_high(row)]
    low = [row for row in kept if not is_high(row)]
    return {"overall": share(kept), "high": share(high), "low": share(low)}


def describe(rows: Sequence[ReleasedAnswer]) -> dict[str, Any]:
    """The entry of a file in replication.json."""
    parsed = [row for row in rows if row.parsed]
    banded = [row for row in parsed if has_hundred_scale(row)]
    with_certainty = [row for row in banded if has_certainty(row)]
    stated = [row.certainty for row in rows if row.certainty is not None]
    answers = Counter(row.answer or "unparseable" for row in rows)
    # Certainty from 1 to 5 has no band at 80, so give a reason instead of counts.
    reason = "other_scale" if parsed and not banded else None
    return {
        "rows": len(rows),
        "answers": {key: answers[key] for key in ("A", "B", "C", "unparseable")},
        "raw_answers": dict(sorted(Counter(row.raw_answer for row in rows).items())),
        "ground_truth": dict(sorted(Counter(row.truth for row in rows).items())),
        "parsed": share(parsed),
        "all_rows": share(rows),
        "without_tie_truth": share(row for row in parsed if row.truth != "C"),
        "high": share(row for row in with_certainty if is_high(row)),
        "high_reason": reason,
        "low": share(row for row in with_certainty if not is_high(row)),
        "low_reason": reason,
        "no_certainty": sum(not has_certainty(row) for row in parsed),
        "certainty": {
            "scale": sorted({row.scale for row in rows if row.scale is not None}),
            "missing": len(rows) - len(stated),
            "not_asked": sum(row.raw_certainty == "NA" for row in rows),
            "min": min(stated, default=None),
            "max": max(stated, default=None),
            "above_100": sum(certainty > 100 for certainty in stated),
            "at_threshold": sum(row.certainty == THRESHOLD for row in with_certainty),
            "values": dict(sorted(Counter(stated).items())),
        },
        "flag_mismatches": sum(row.flag is not None and row.flag != row.correct for row in rows),
        "duplicate_prompts": len(rows) - len({row.prompt for row in rows}),
        "rules": {rule: by_rule(rows, rule) for rule in RULES},
    }


def has_hundred_scale(row: ReleasedAnswer) -> bool:
    """Whether a threshold of 80 applies to the scale of the row's certainty."""
    return row.scale in (None, 100)


def has_certainty(row: ReleasedAnswer) -> bool:
    """Whether the row has a certainty within its scale."""
    return row.certainty is not None and row.certainty <= (row.scale or 100)


def is_high(row: ReleasedAnswer) -> bool:
    return row.certainty is not None and row.certainty >= THRESHOLD
