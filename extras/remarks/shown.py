"""Remarks on researchers' pages about items."""

from collections.abc import Collection, Iterator, Mapping, Sequence

from analysis.data.extras import AnswerWords
from extras.remarks.models import Remarks


def _lines_of(answers: Collection[int]) -> Mapping[int, Sequence[str]]:
    """What was remarked next to each choice, in a line."""
    return {
        remarks.answer_id: [" · ".join(_parts(remarks))]
        for remarks in Remarks.objects.filter(answer__in=answers).order_by("revision")
        if [*_parts(remarks)]
    }


def _parts(remarks: Remarks) -> Iterator[str]:
    if remarks.flag:
        yield f"Flagged: {remarks.get_flag_display()}"
    if remarks.either:
        yield "The other would do as well"
    if remarks.others is not None:
        yield f"{remarks.others} of 100 choose the same"


WORDS = AnswerWords("remarks", _lines_of, lambda items: {})
