"""Whether all answers of a run had the same conditions: parameters sent, and model."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

_MOST = 4  # named in a sentence


@dataclass(frozen=True)
class Sent:
    """Answers requested with the same parameters, and how these differ from the judge's."""

    judgments: int
    parameters: Mapping[str, Any]
    differs: tuple[str, ...]


@dataclass(frozen=True)
class Reported:
    """Answers of one model, by the name that the server reported, and when they arrived."""

    judgments: int
    model: str
    fingerprint: str
    first: datetime | None = None
    last: datetime | None = None


def sentences(sent: Sequence[Sent], reported: Sequence[Reported]) -> list[str]:
    """Sentences for readers; none if everything was sent as set and one model answered."""
    return [*_about_requests(sent), *_about_models(reported)]


def _about_requests(sent: Sequence[Sent]) -> Iterable[str]:
    if not any(each.differs for each in sent):
        return
    if len(sent) == 1:
        (only,) = sent
        yield (
            f"The server refused some settings of the judge: all {_answers(only.judgments)} were "
            f"asked for {', '.join(only.differs)}."
        )
        return
    parts = [f"{_answers(s.judgments)} {', '.join(s.differs) or 'as set'}" for s in sent]
    yield (
        "The requests differ, because the server refused some settings of the judge: "
        f"{_listed(parts)}."
    )


def _about_models(reported: Sequence[Reported]) -> Iterable[str]:
    models: dict[str, int] = {}
    for each in reported:
        models[each.model] = models.get(each.model, 0) + each.judgments
    if len(models) > 1:
        parts = [f"{name or 'no name'} ({_answers(n)})" for name, n in models.items()]
        yield f"The server named {len(models)} models: {_listed(parts)}."
    elif len(reported) > 1:
        parts = [f"{each.fingerprint or 'none'} ({_answers(each.judgments)})" for each in reported]
        yield (
            f"The server named {len(reported)} versions of the model by its fingerprint: "
            f"{_listed(parts)}."
        )


def _answers(count: int) -> str:
    return f"{count:,} answer{'' if count == 1 else 's'}"


def _listed(parts: Sequence[str]) -> str:
    more = f"; and {len(parts) - _MOST} more" if len(parts) > _MOST else ""
    return "; ".join(parts[:_MOST]) + more
