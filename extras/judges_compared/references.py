"""Reference answers of items: what they give away, and judges that saw them."""

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from django.db.models.fields.json import KT

from analysis.data.arrays import CODE, Dataset, DesignData
from analysis.data.extras import ExtraReader
from analysis.report.report_json import Json, tested
from analysis.report.study import ReportedStudy
from analysis.stats.comparison.general_difference import general_difference
from extras.judges_compared.protocols import REFERENCE
from extras.judges_compared.usual_question import compared_with_usual, credits_of_pair
from extras.judges_compared.ways import asked_of
from studies.models import Item, Study
from studies.texts.normalisation import fold

# Of the words of the longer text; nine in ten leave room for a changed greeting or full stop.
_NEARLY = 0.9
_WORDS = re.compile(r"\w+")
# A reference that is only the name of a response, and tie.
_NAMES = {
    **dict.fromkeys(("r1", "1", "a", "response 1", "response a"), "r1"),
    **dict.fromkeys(("r2", "2", "b", "response 2", "response b"), "r2"),
    **dict.fromkeys(("tie", "c"), "tie"),
}


def given_away(reference: str, r1: str, r2: str) -> str:
    """The response (r1, r2 or tie) that a reference equals, nearly equals or names; else empty."""
    words = _WORDS.findall(fold(reference))
    if named := _NAMES.get(" ".join(words)):
        return named
    shares = {"r1": _shared(words, r1), "r2": _shared(words, r2)}
    nearest = max(shares, key=lambda side: shares[side])
    return nearest if shares[nearest] >= _NEARLY else ""


def _shared(words: list[str], text: str) -> float:
    """The share of the longer text's words that both texts have, in any order."""
    others = _WORDS.findall(fold(text))
    both = sum((Counter(words) & Counter(others)).values())
    return both / max(len(words), len(others), 1)


@dataclass(frozen=True, eq=False)
class References(DesignData):
    """For each item with a reference answer, the response that it gives away, or nothing."""

    given_away: Mapping[str, str]

    @property
    def digest(self) -> list[tuple[str, str]]:
        return sorted(self.given_away.items())


def _references(study: Study, data: Dataset, position: Mapping[int, int]) -> References | None:
    items = Item.objects.filter(study=study).exclude(reference="")
    rows = items.values_list("key", "reference", KT("r1__text"), KT("r2__text"))
    sides = {
        key: given_away(reference, r1 or "", r2 or "") for key, reference, r1, r2 in rows.iterator()
    }
    return References(sides) if sides else None


REFERENCES = ExtraReader("references", _references)


def with_reference(study: ReportedStudy) -> list[Json]:
    """One entry for each run that saw reference answers.

    It has what the references give away, and the comparison with the usual question where that was
    asked too: on all items, and on those whose reference gives nothing away.
    """
    data = study.data
    runs = {run.run: run for run in data.runs}
    pairs = {entry[REFERENCE.name]: entry for entry in compared_with_usual(study, REFERENCE.name)}
    references = data.of(References)
    sides = {} if references is None else references.given_away
    codes = np.array([CODE.get(sides.get(item.key, ""), -1) for item in data.items])
    entries = []
    for run in data.runs:
        if run.setting != REFERENCE.name:
            continue
        truth = data.scored_truth(offers_tie=run.offers_tie)
        asked = asked_of(data, run)
        gave_away = asked & (codes >= 0)
        entry: Json = {
            "judge": run.judge,
            "features": run.features,
            "reference": run.run,
            "items": int(asked.sum()),
            "given_away": int(gave_away.sum()),
            "right_given_away": int((gave_away & (codes == truth)).sum()),
        }
        entry |= pairs.get(run.run, {})
        if entry["given_away"] and run.run in pairs:
            one, other = credits_of_pair(study, run, runs[entry["usual"]])
            gaps = np.where(gave_away, np.nan, one - other)
            entry["others_n"] = int((~np.isnan(gaps)).sum())
            entry["others_difference"] = tested(general_difference(gaps, study.shared.judged))
        entries.append(entry)
    return entries
