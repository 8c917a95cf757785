"""Amended consent: a new version of the text while people take part, and who is asked about it."""

import difflib
import html
import re
from collections.abc import Iterator, Mapping
from copy import copy
from dataclasses import dataclass, replace

from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models import Exists, OuterRef, Q
from django.utils import translation
from django.utils.html import strip_tags

from annotation.content.consent_versions import (
    AGREED_AGAIN,
    AMENDED,
    agreed_terms,
    agreed_versions,
    keep_consent,
    promises_less,
)
from annotation.content.texts import ConsentText, consent_text, placeholders
from annotation.errors import AnnotationError
from annotation.models import Annotator, AnnotatorEvent, Assignment, ConsentVersion
from annotation.seats import flow
from annotation.services.other_platforms import with_own_pay
from studies.errors import StaleVersion
from studies.models import Study
from studies.money import format_money
from studies.services.items import study_content_hash
from studies.services.studies import lock_study, record

# What an amendment can change; pay, minutes and contact are settings, which do not ask anybody.
AMENDED_FIELDS = ("consent", "researchers", "storage", "ethics")
LONGEST_NOTE = 2_000
_ENDS_LINE = re.compile(r"</(?:p|li|h[1-6]|dt|dd|tr)>|<br ?/?>")


class AmendmentError(AnnotationError):
    """The consent cannot be amended as requested; the message says why and what to do."""


@dataclass(frozen=True)
class TextChange:
    """A line of a text that was added (+), removed (-) or stands beside one (empty)."""

    sign: str
    line: str


@dataclass(frozen=True)
class ConsentHistory:
    """A version of the consent, who agreed to it, and what it changed; newest first.

    `again` are those who agreed to another version before. `note` is that of its amendment.
    """

    version: str
    people: int
    again: int
    first: object
    last: object
    changes: tuple[TextChange, ...]
    note: str


def current_text(study: Study) -> ConsentText:
    with translation.override(study.page_language):
        return consent_text(study)


def history(study: Study) -> list[ConsentHistory]:
    """Every version that was stored, with what it changed against the one before it."""
    agreed = {version.version: version for version in agreed_versions(study)}
    notes = {
        row["version"]: row["reason"]
        for row in study.log.filter(event=AMENDED).order_by("pk").values_list("detail", flat=True)
    }
    events = AnnotatorEvent.objects.filter(annotator__study=study, event=AGREED_AGAIN)
    again = list(events.values_list("detail__version", flat=True))
    versions, before = [], None
    for stored in ConsentVersion.objects.filter(study=study):
        by = agreed.get(stored.version)
        versions.append(
            ConsentHistory(
                version=stored.version,
                people=by.people if by else 0,
                again=again.count(stored.version),
                first=by.first if by else None,
                last=by.last if by else None,
                changes=() if before is None else tuple(changes(before, stored)),
                note=notes.get(stored.version, ""),
            )
        )
        before = stored
    return versions[::-1]


def changes(
    before: ConsentVersion | ConsentText, after: ConsentVersion | ConsentText
) -> Iterator[TextChange]:
    """The changed lines of a text with its boxes, each with one line around it."""
    old, new = ([*_lines(version.html), *_boxes(version)] for version in (before, after))
    for line in list(difflib.unified_diff(old, new, n=1, lineterm=""))[2:]:
        if line.startswith("@@"):
            continue
        yield TextChange(line[0].strip(), line[1:])


def _lines(text: str) -> list[str]:
    plain = html.unescape(strip_tags(_ENDS_LINE.sub("\n", " ".join(text.split()))))
    return [" ".join(line.split()) for line in plain.splitlines() if line.strip()]


def _boxes(text: ConsentVersion | ConsentText) -> list[str]:
    return [f"☐ {statement}" for statement in text.statements]


def under_way(study: Study, *, besides: str) -> list[Annotator]:
    """Annotators who agreed to another version than `besides` and have something left to do."""
    waiting = Assignment.objects.filter(annotator=OuterRef("pk"), annotation=None)
    left = Exists(waiting.exclude(state=Assignment.State.SKIPPED))
    people = Annotator.objects.filter(study=study, state__in=flow.ACTIVE, is_imported=False)
    people = people.filter(~Q(state=Annotator.State.ANNOTATING) | left)
    return list(people.exclude(consent_version__in=("", besides)).order_by("pk"))


@transaction.atomic
def amend_consent(
    *,
    study_id: int,
    fields: Mapping[str, str],
    note: str,
    asks_again: bool,
    user: User | None = None,
    version: int | None = None,
) -> int:
    """Store a new version of the consent; return how many people are asked again.

    With `asks_again`, everybody who is under way reads and agrees to it before the next item, and
    who comes back later too. Their answers and what they were promised stay. `note` says why, and
    what the ethics board decided. Raises `AmendmentError` and `StaleVersion`.
    """
    study = lock_study(study_id)
    if version is not None and version != study.version:
        raise StaleVersion(
            f"Someone else changed “{study.slug}” while you edited it. Nothing was saved. "
            "Compare your text with theirs, then save again."
        )
    if not note.strip() or len(note) > LONGEST_NOTE:
        raise AmendmentError(
            f"State why, and what the ethics board decided, in at most {LONGEST_NOTE:,} characters."
        )
    if unfilled := [part for text in fields.values() for part in placeholders(text)]:
        raise AmendmentError(f"Fill in what stands in brackets: {unfilled[0]}.")
    old = current_text(study)
    for name in AMENDED_FIELDS:
        setattr(study, name, fields.get(name, getattr(study, name)))
    try:
        study.clean_fields(exclude={f.name for f in Study._meta.fields} - {*AMENDED_FIELDS})
    except ValidationError as error:
        faults = (f"{name}: {' '.join(texts)}" for name, texts in error.message_dict.items())
        raise AmendmentError(" ".join(faults)) from None
    new = current_text(study)
    if new.version == old.version:
        raise AmendmentError("The text is the same as before. Nothing was saved.")
    later = (Annotator.State.TIMED_OUT, Annotator.State.RETURNED, Annotator.State.CLOSED)
    asked, come_back = list[Annotator](), list[Annotator]()
    if asks_again:
        asked = under_way(study, besides=new.version)
        left = Annotator.objects.filter(study=study, state__in=later, is_imported=False)
        come_back = list(left.exclude(consent_version__in=("", new.version)))
    for person in (*asked, *come_back):
        own = with_own_pay(copy(study), person)
        if promises_less(person, replace(new, terms={**new.terms, "reward": own.reward})):
            raise AmendmentError(
                f"People under way were promised more than the text now says: {_pay(person)}, "
                f"instead of {format_money(own.reward, study.currency)}. Restore the pay under "
                "Settings, or do not ask them again: they keep what they agreed to."
            )
    # The old one too, if nobody agreed to it: the list shows what changed.
    keep_consent(study, old)
    keep_consent(study, new)
    study.version += 1
    study.content_hash = study_content_hash(study)
    study.save(update_fields=[*AMENDED_FIELDS, "version", "content_hash"])
    if asks_again:
        ids = [person.pk for person in (*asked, *come_back)]
        Annotator.objects.filter(pk__in=ids).update(consent_due=True)
    record(
        study,
        AMENDED,
        user=user,
        before=old.version,
        version=new.version,
        reason=note.strip(),
        asked_again=len(asked),
    )
    return len(asked)


def _pay(annotator: Annotator) -> str:
    terms = agreed_terms(annotator)
    return format_money(terms["reward"], terms["currency"])
