"""The rows of every exported table, with keyed names and without private data."""

import hashlib
import hmac
import secrets
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby, islice
from operator import itemgetter
from typing import Any

from analysis.data.answer_rows import (
    annotator_rows,
    answer_page,
    answer_rows,
    demographics,
    feature_keys,
    is_counted,
)
from analysis.data.item_comparisons import run_aggregates
from analysis.data.item_texts import ItemTexts, item_texts
from analysis.data.judgment_rows import anchor_rows, judgment_rows, version_rows
from analysis.exports.columns import ANCHORS, ANNOTATIONS, JUDGMENTS, VERSIONS, in_columns, names
from studies.exporters.items import may_redistribute
from studies.models.studies import Study

K = 5


def exported_id(export_key: str, pseudonym: str) -> str:
    """An annotator's name in exports, which cannot be traced back without the key."""
    digest = hmac.new(export_key.encode(), pseudonym.encode(), hashlib.sha256).hexdigest()
    return f"R-{digest[:16]}"


def renew_export_key(*, study_id: int) -> None:
    """Replace the key, so that names differ from those in earlier exports."""
    Study.objects.filter(pk=study_id).update(export_key=secrets.token_hex(32))


def to_the_minute(moment: datetime | None) -> str | None:
    """A time without seconds, too coarse to identify an annotator."""
    return None if moment is None else moment.strftime("%Y-%m-%dT%H:%MZ")


def in_cells_of_k(
    people: Mapping[str, Mapping[str, str]], keys: Sequence[str], *, k: int = K
) -> dict[str, dict[str, str]]:
    """Demographics of each annotator, reduced to combinations that at least `k` annotators share.

    An annotator keeps as many of the first `keys` as still form a common combination. Reducing one
    can make another rare, so this repeats until at least `k` share each combination.

    >>> people = {str(n): {"sex": "f", "age": "20" if n else "90"} for n in range(6)}
    >>> published = in_cells_of_k(people, ["sex", "age"], k=5)
    >>> published["1"], published["0"]
    ({'sex': 'f', 'age': '20'}, {})
    """
    published = {
        name: tuple((key, answers[key]) for key in keys if key in answers)
        for name, answers in people.items()
    }
    while True:
        counts = Counter(published.values())
        rare = [name for name, cell in published.items() if cell and counts[cell] < k]
        if not rare:
            return {name: dict(cell) for name, cell in published.items()}
        longest = max(len(published[name]) for name in rare)
        for name in rare:
            if len(published[name]) == longest:
                published[name] = published[name][:-1]


# These values would allow matching rows of two exports despite different names.
_TIMES = {
    "started_at",
    "answered_at",
    "ended_at",
    "active_ms",
    "elapsed_ms",
    "median_active_ms",
    "flags",
    "machine_points",
    "machine_signs",
}


def annotation_table(
    study: Study, *, free_text: bool = False, times: bool = True
) -> Iterator[dict[str, Any]]:
    """Answers to the items that count, under the exported names of their annotators.

    Withdrawn answers are never exported. Reasons for exclusions are exported only with `free_text`,
    times and durations only with `times`.
    """
    rows, features = answer_rows(study), feature_keys(study)
    return _exported(study, rows, features, free_text=free_text, times=times)


def annotation_page(
    study: Study, *, after: tuple[str, str, int] | None, most: int
) -> tuple[list[dict[str, Any]], list[tuple[str, str, int]]]:
    """Some rows of `annotation_table`, each with the `after` value for the rows that follow."""
    rows = answer_page(study, after=None if after is None else after[:2], most=most)
    people = [row["rater_id"] for row in rows]
    features = feature_keys(study, {row["persona"] for row in rows})
    begun = None if after is None else (after[0], after[2])
    page = list(_exported(study, rows, features, begun=begun))
    rows_of_people = zip(page, people, strict=True)
    return page, [(row["item_id"], person, row["slot"]) for row, person in rows_of_people]


def _exported(
    study: Study,
    rows: Iterable[dict[str, Any]],
    features: Mapping[int, list[str]],
    *,
    free_text: bool = False,
    times: bool = True,
    begun: tuple[str, int] | None = None,
) -> Iterator[dict[str, Any]]:
    """Exported rows of answers; `begun` is the item and slot before the first."""
    empty = dict.fromkeys(names(ANNOTATIONS))
    hidden = dict.fromkeys(() if times else empty.keys() & _TIMES)
    raters: dict[str, str] = {}
    item, slot = begun or (None, 0)
    for row in rows:
        key, person = row["item_id"], row["rater_id"]
        slot = slot + 1 if key == item else 1
        item = key
        rater = raters.get(person)
        if rater is None:
            rater = raters[person] = exported_id(study.export_key, person)
        row["answer_id"] = f"{rater}:{key}"
        row["rater_id"] = rater
        row["slot"] = slot
        row["persona_features_shown"] = features[row.pop("persona")]
        row["parse_status"] = "ok"
        row["checks_passed"] = not row.pop("failed_attention")
        if not free_text:
            row["exclude_reason"] = None
        del row["split"]
        yield empty | row | hidden


def annotator_table(
    study: Study,
    columns: tuple[str, ...],
    *,
    identified: bool = False,
    times: bool = True,
    after: str = "",
    most: int | None = None,
) -> Iterator[dict[str, Any]]:
    """The annotators of a study, sorted by exported name because arrival order could identify them.

    Demographics are exported only in cells of at least five. Annotators who did not consent or
    withdrew are exported only if `identified`, so that they can be paid. The rows start after the
    name `after`, and `most` limits their number.
    """
    hidden = dict.fromkeys(() if times else _TIMES)
    people, keys = demographics(study, with_withdrawn=identified)
    published = in_cells_of_k({pseudonym: answers for _, pseudonym, answers in people}, keys)
    by_name = sorted((exported_id(study.export_key, pseudonym), pk) for pk, pseudonym, _ in people)
    order = [pk for name, pk in by_name if name > after][:most]
    for row in annotator_rows(study, identified=identified, order=order):
        person = row["rater_id"]
        exported = {
            "rater_id": exported_id(study.export_key, person),
            "pseudonym": person,
            "demographics": published[person],
            "all_demographics": row["demographics"],
            "started_at": to_the_minute(row["started_at"]),
            "ended_at": to_the_minute(row["ended_at"]),
        }
        yield {column: (row | exported | hidden).get(column) for column in columns}


def judgment_table(study: Study) -> Iterator[dict[str, Any]]:
    """One row per closed judgment of an item that counts.

    Replies can quote items, so they are exported only if the items may be.
    """
    return exported_judgments(study, judgment_rows(study))


def exported_judgments(study: Study, rows: Iterable[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Exported rows of judgments."""
    return in_columns(_coarse_rows(study, rows), JUDGMENTS)


def _coarse_rows(study: Study, rows: Iterable[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    has_replies = may_redistribute(study)
    for row in rows:
        row["answered_at"] = to_the_minute(row["answered_at"])
        if not has_replies:
            row["raw_text"] = row["earlier_replies"] = None
        yield row


_ITEMS_PER_READ = 500


@dataclass(frozen=True)
class JudgedItem:
    """An item, annotators' counted answers, and the verdict of every run.

    Runs with a bias probe are left out: their prompts were changed.
    """

    item: ItemTexts
    answers: list[dict[str, Any]]
    verdicts: list[dict[str, Any]]


def judged_items(study: Study) -> Iterator[JudgedItem]:
    """The items that count, by key, including those without answers."""
    items = item_texts(study)
    by_item = groupby(counted_answers(study), key=itemgetter("item_id"))
    key, answers = _next(by_item)
    while chunk := list(islice(items, _ITEMS_PER_READ)):
        verdicts = defaultdict(list)
        for verdict in run_aggregates(study, [item.key for item in chunk]):
            if verdict["bias_probe"] is None:
                verdicts[verdict["item_id"]].append(verdict)
        for item in chunk:
            own: list[dict[str, Any]] = []
            if item.key == key:
                own = answers
                key, answers = _next(by_item)
            yield JudgedItem(item, own, verdicts[item.key])


def counted_answers(study: Study) -> Iterator[dict[str, Any]]:
    """The answers that reports count, as export rows."""
    return filter(is_counted, annotation_table(study))


def _next(groups: Iterator[tuple[str, Iterator[Any]]]) -> tuple[str | None, list[Any]]:
    """The next key with a list of its rows, because `groupby` drops a group when it advances."""
    key, rows = next(groups, (None, iter(())))
    return key, list(rows)


def version_table(study: Study) -> Iterator[dict[str, Any]]:
    rows = (row | {"hour": to_the_minute(row["hour"])} for row in version_rows(study))
    return in_columns(rows, VERSIONS)


def anchor_table(study: Study) -> Iterator[dict[str, Any]]:
    """Replies can quote items, so they are exported only if the items may be."""
    return in_columns(_coarse_rows(study, anchor_rows(study)), ANCHORS)
