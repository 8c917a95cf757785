"""The two labels that are compared, and the tie: which written label is which choice."""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from analysis.data.arrays import TIE
from thirdperson.check.errors import BadTable
from thirdperson.check.labels import NO_LABEL, LabelTable, listed, same_label

TIES = frozenset(
    {
        *("tie", "tied", "draw", "neither", "no preference", "equally good", "undecided"),
        *("tie bothbad", "tie both bad", "tie bothgood", "tie both good", "both bad", "both good"),
    }
)
# Words that mean a tie only next to two other labels: “same” and “different” are two labels.
MAYBE_TIES = frozenset({"equal", "same", "both"})


@dataclass(frozen=True)
class ChoiceColumns:
    """Codes of the labels: 0 for the first, 1 for the second, 2 for a tie."""

    first: str
    second: str
    tie: str
    codes: dict[str, int]

    def code(self, value: str) -> int:
        return self.codes[same_label(value)]

    @property
    def words(self) -> str:
        tie = f", and “{self.tie}” for a tie" if self.tie else ""
        return f"“{self.first}” as response 1, “{self.second}” as response 2{tie}"


def choices_of(
    labels: LabelTable,
    *,
    pair: Sequence[str] = (),
    tie: Sequence[str] = (),
    positive: Sequence[str] = (),
) -> ChoiceColumns:
    """The choices that the labels of a file are. Raises `BadTable` if they are not two and a tie.

    `pair` names the two labels, `tie` the labels of a tie; `positive` names the labels that count
    as the second one, against all others.
    """
    spellings = _spellings([*(each.value for each in labels.labels), *labels.gold.values()])
    if unknown := [name for name in tie if same_label(name) not in spellings]:
        raise BadTable(
            f"--tie {unknown[0]}: no label is that. The labels are: {_shown(spellings)}."
        )
    tied = _tied(spellings, tie, {same_label(name) for name in (*pair, *positive)})
    plain = [name for name in spellings if name not in tied]
    if positive:
        return _against_others(spellings, plain, tied, positive)
    if pair:
        wanted = [same_label(name) for name in pair]
        if unknown := [spellings[name] for name in plain if name not in wanted]:
            raise BadTable(
                f"--labels {','.join(pair)}: there are other labels too: {listed(unknown)}. Use "
                "--positive to compare some labels with all others, or --tie for a label that "
                "means a tie."
            )
        plain, spellings = wanted, spellings | dict(zip(wanted, pair, strict=True))
    if len(plain) == 1:
        raise BadTable(
            f"Every label is “{spellings[plain[0]]}”. Name the other one too: --labels "
            f"{spellings[plain[0]]},OTHER"
        )
    if len(plain) != 2:
        raise BadTable(
            f"There are {len(plain)} different labels: {_shown(spellings)}. A check compares two, "
            f"and a tie.{_remedy(plain, spellings)} Name those that count as one with --positive "
            "LABEL,LABEL (all others are the other one), or --people and --judge if these columns "
            "are not the labels."
        )
    names = plain if pair else sorted(plain)
    codes = {names[0]: 0, names[1]: 1, **dict.fromkeys(tied, TIE)}
    return ChoiceColumns(
        spellings[names[0]], spellings[names[1]], _tie_word(spellings, tied), codes
    )


def _tied(spellings: Mapping[str, str], tie: Sequence[str], wanted: Collection[str]) -> list[str]:
    """The labels of a tie: those that an option names, or else known words."""
    if tie:
        return [name for name in spellings if name in map(same_label, tie)]
    free = {
        name: " ".join(re.findall(r"[^\W_]+", name)) for name in spellings if name not in wanted
    }
    tied = [name for name, words in free.items() if words in TIES]
    maybe = [name for name, words in free.items() if words in MAYBE_TIES]
    return tied + maybe if len(spellings) - len(tied) - len(maybe) >= 2 else tied


def _remedy(plain: Sequence[str], spellings: Mapping[str, str]) -> str:
    """What may help with too many labels, where their words show it."""
    if words := [spellings[name] for name in plain if name in NO_LABEL]:
        return f" If “{words[0]}” means that there is no label, add --missing {','.join(words)}."
    if sorted(plain) == ["0", "1", "2"]:
        return " If 0 means a tie, add --tie 0."
    return ""


def _against_others(
    spellings: dict[str, str], plain: list[str], tied: list[str], positive: Sequence[str]
) -> ChoiceColumns:
    wanted = {same_label(name) for name in positive}
    if missing := [name for name in positive if same_label(name) not in plain]:
        raise BadTable(
            f"--positive {missing[0]}: no label is that. The labels are: {_shown(spellings)}."
        )
    others = [name for name in plain if name not in wanted]
    if not others:
        raise BadTable(
            "--positive names every label, so there is nothing to compare with. Leave one out."
        )
    codes = {name: int(name in wanted) for name in plain} | dict.fromkeys(tied, TIE)
    chosen = [spellings[name] for name in plain if name in wanted]
    return ChoiceColumns(
        " or ".join(spellings[name] for name in others),
        " or ".join(chosen),
        _tie_word(spellings, tied),
        codes,
    )


def _tie_word(spellings: dict[str, str], tied: list[str]) -> str:
    return " or ".join(spellings[name] for name in tied)


def _spellings(values: Iterable[str]) -> dict[str, str]:
    """Each label in the form that is compared, with its first spelling."""
    found: dict[str, str] = {}
    for value in values:
        found.setdefault(same_label(value), value)
    return found


def _shown(spellings: dict[str, str]) -> str:
    return listed([value[:40] for _, value in sorted(spellings.items())])
