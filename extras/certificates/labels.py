"""Labels by a passport: a line per item, files, and a study for the remaining items."""

import io
import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from django.contrib.auth.models import User
from django.db import transaction

from analysis.data.item_texts import item_facts
from analysis.exports.table_files import check_replaceable
from analysis.passports import Passport, PassportError
from studies.exporters.tables import CsvWriter
from studies.models.studies import Study
from studies.services.related_studies import KindOfCopy
from studies.services.studies import record
from studies.services.whole_studies import copy_study

COLUMNS = (
    "study",
    "item_id",
    "rater_kind",
    "rater_id",
    "choice",
    "signal",
    "signal_value",
    "decision",
    "reason",
    "judge_choice",
    "passport",
)
# The note that says why an item is in the new study.
NOTE = "routed"
COPIES = KindOfCopy(NOTE, "items left to people", "whose items a judge labelled")
LABELLED, LEFT = "labelled", "left"
REASONS = {
    "below_threshold": "the signal is below the threshold",
    "no_signal": "the judge's answer has no such signal",
    "undecided": "the judge's readings are split",
    "refused": "the judge refused",
    "unparseable": "the judge's reply could not be read",
    "skipped": "the judge must not judge it",
    "error": "asking the judge failed",
    "open": "the judge has not answered yet",
    "not_asked": "the judge was not asked",
}


@dataclass(frozen=True)
class LabelRow:
    """An item with its label, or the reason why it has none."""

    item: str
    choice: str
    judged: str
    signal: float | None
    reason: str

    @property
    def decision(self) -> str:
        return LEFT if self.reason else LABELLED


@dataclass(frozen=True)
class Division:
    """Every item of a study, divided by a passport."""

    study: str
    passport: Passport
    lines: Sequence[LabelRow]

    @property
    def labelled(self) -> int:
        return sum(not line.reason for line in self.lines)

    @property
    def left(self) -> dict[str, int]:
        """Remaining items by reason, most frequent first."""
        return dict(Counter(line.reason for line in self.lines if line.reason).most_common())

    @property
    def sentence(self) -> str:
        left = ", ".join(f"{n:,} ({REASONS[reason]})" for reason, n in self.left.items())
        return (
            f"{self.labelled:,} of {len(self.lines):,} items labelled by {self.passport.judge}. "
            + (f"Left to people: {left}. " if left else "Nothing is left to people. ")
            + self.passport["guarantee"]
        )

    def rows(self) -> Iterator[dict[str, Any]]:
        for line in self.lines:
            yield {
                "study": self.study,
                "item_id": line.item,
                "rater_kind": "model",
                "rater_id": self.passport.judge,
                "choice": line.choice or None,
                "signal": self.passport["signal"],
                "signal_value": line.signal,
                "decision": line.decision,
                "reason": line.reason or None,
                "judge_choice": line.judged or None,
                "passport": self.passport.checksum,
            }


def csv_text(labels: Division) -> str:
    """All items as CSV."""
    text = io.StringIO()
    writer = CsvWriter(text)
    writer.row(COLUMNS)
    writer.rows(row.values() for row in labels.rows())
    return text.getvalue()


def write_labels(labels: Division, path: Path) -> None:
    """Write all items or none, as CSV or, for a name in .jsonl, as JSON Lines."""
    if path.suffix == ".jsonl":
        text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in labels.rows())
    else:
        text = csv_text(labels)
    check_replaceable(path)
    draft = path.with_name(f".{path.name}.part")
    draft.write_text(text, "utf-8", newline="")
    draft.replace(path)


@transaction.atomic
def route_rest(
    study: Study,
    labels: Division,
    *,
    slug: str,
    title: str = "",
    answered_too: bool = False,
    by: User | None = None,
) -> Study:
    """Create and return a draft study with the items that a certificate leaves.

    Items that already have all their answers are left out unless `answered_too`.
    The draft names the study, the passport and the reason for each item. Raises `PassportError`
    if nothing is left, or `StudyError` if the short name is taken.
    """
    facts = item_facts(study)
    left = {line.item: line for line in labels.lines if line.reason}
    keep = [key for key in left if answered_too or facts[key].answers < study.annotations_per_item]
    if not keep:
        why = (
            f"People have already answered the {len(left):,} items that the certificate leaves. "
            "Include those items if you want more answers."
            if left
            else "The certificate leaves no items to people."
        )
        raise PassportError(f"There is nothing to route. {why}")
    passport = labels.passport
    notes = {
        key: {
            NOTE: {
                "from": study.slug,
                "passport": passport.checksum,
                "judge": passport.judge,
                "reason": left[key].reason,
                "signal": left[key].signal,
            }
        }
        for key in keep
    }
    draft = copy_study(
        study_id=study.pk,
        slug=slug,
        title=title or f"{study.title}: items left to people"[:200],
        with_items=True,
        only=notes,
        by=by,
        human_sample=None,
    )
    reasons = Counter(left[key].reason for key in keep)
    draft.source = draft.source | {
        NOTE: {
            "from": study.slug,
            "passport": passport.checksum,
            "judge": passport.judge,
            "reasons": {REASONS[reason]: n for reason, n in reasons.most_common()},
        }
    }
    draft.save(update_fields=["source"])
    record(draft, "routed", user=by, of=study.slug, passport=passport.checksum, items=len(keep))
    return draft
