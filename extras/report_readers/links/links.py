"""Create, open, reveal and end links that open a report.

A link opens one report, in a copy without rows about single annotators or items. Its key is shown
once and stored as a hash. Wrong, expired and revoked links all get the same response.
"""

import hashlib
import hmac
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from functools import partial

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import F

from analysis.data.answer_rows import changes_of_people
from analysis.errors import BadParameters
from analysis.exports.requests import Since, delete_export, request_export, size_text
from analysis.exports.study_export import WITH_NAMES
from analysis.lifecycle.requests import GivenOut
from analysis.lifecycle.storage import export_dir
from analysis.models import Export, Report
from extras.report_readers.links.copies import write_blind_page, write_shared_page
from extras.report_readers.models import ShareLink
from studies.file_storage.storage import Stored
from studies.held_copies import HeldBy, HeldCopy, PersonIn
from studies.models.keys import random_id
from studies.models.studies import Study
from studies.services.accounts.team import GivenRight
from studies.services.studies import record
from studies.statements import clock

KEY_LENGTH = 43  # 256 bits
DAYS_RANGE = (1, 365)
DEFAULT_DAYS = 30


@transaction.atomic
def share_report(
    *,
    report_id: int,
    user: User,
    note: str = "",
    days: int = DEFAULT_DAYS,
    is_blind: bool = False,
    with_files: bool = False,
    licence: str = "",
) -> tuple[ShareLink, str]:
    """Create a link that opens the report for `days`; return the link and its key.

    With `is_blind`, it shows no names of researchers until `reveal_names`. With `with_files`, it
    also offers the bundle of an export, with `licence`.

    The key cannot be read again. Raises `NotShareable` if the report has no files, and
    `BadParameters`.
    """
    low, high = DAYS_RANGE
    if not low <= days <= high:
        raise BadParameters(f"The duration is {days} days. Use {low} to {high}.")
    report = Report.objects.select_related("study").get(pk=report_id)
    write_shared_page(report)
    if is_blind:
        write_blind_page(report)
    key = random_id(KEY_LENGTH)
    link = ShareLink.objects.create(
        report=report,
        key_hash=hash_key(key),
        note=note.strip(),
        is_blind=is_blind,
        created_by=user,
        expires_at=clock.now() + timedelta(days=days),
    )
    if with_files:
        _write_files(link, user, licence=licence)
    record(
        report.study,
        "report shared",
        user=user,
        report=report.public_id,
        link=link.public_id,
        is_blind=is_blind,
        with_files=with_files,
        until=link.expires_at.isoformat(),
    )
    return link, key


@transaction.atomic
def revoke_link(*, link_id: int, user: User) -> bool:
    """Revoke a link immediately and delete its files; return False if it was revoked before."""
    revoked = ShareLink.objects.filter(pk=link_id, revoked_at=None).update(revoked_at=clock.now())
    if revoked:
        link = ShareLink.objects.select_related("report__study").get(pk=link_id)
        record(link.report.study, "share link revoked", user=user, link=link.public_id)
        if link.bundle:
            delete_export(export_id=link.bundle.pk, user=user)
    return bool(revoked)


@transaction.atomic
def reveal_names(*, link_id: int, user: User) -> bool:
    """Let a link for blind review show names from now on, for example after acceptance."""
    hidden = ShareLink.objects.filter(pk=link_id, is_blind=True, revealed_at=None)
    revealed = hidden.update(revealed_at=clock.now())
    if revealed:
        link = ShareLink.objects.select_related("report__study").get(pk=link_id)
        record(link.report.study, "names revealed by a link", user=user, link=link.public_id)
    return bool(revealed)


def end_links(report: Report, user: User) -> None:
    """Revoke the links of a report that is deleted."""
    for link in ShareLink.objects.filter(report=report, revoked_at=None):
        revoke_link(link_id=link.pk, user=user)


LINKS = GivenOut("share_links", "Share report", "share_links:links", end_links)


def links_of_an_owner(study: Study, user_id: int) -> list[GivenRight]:
    """A user's links that still open reports of the study."""
    share_links = ShareLink.objects.filter(
        report__study=study, created_by=user_id, revoked_at=None, expires_at__gt=clock.now()
    )

    def grant(link: ShareLink) -> GivenRight:
        return GivenRight(
            key=f"link {link.public_id}",
            label=f"link to report {link.report.number}" + (f" for {link.note}" * bool(link.note)),
            end=lambda by: revoke_link(link_id=link.pk, user=by),
            hand_to=lambda heir: ShareLink.objects.filter(pk=link.pk).update(created_by=heir),
        )

    return [grant(link) for link in share_links.select_related("report")]


def open_link(*, public_id: str, key: str) -> ShareLink | None:
    """The link that `key` opens; None if it is unknown, expired, revoked or wrong."""
    link = ShareLink.objects.filter(public_id=public_id).first()
    # Compare even without a link, so that the response time reveals nothing.
    stored = link.key_hash if link else hash_key("")
    fits = hmac.compare_digest(hash_key(key), stored)
    return link if link and fits and link.is_valid else None


def count_opening(link: ShareLink) -> None:
    """Count one opening of the link, without data about the reader."""
    ShareLink.objects.filter(pk=link.pk).update(opened=F("opened") + 1, last_opened_at=clock.now())


def hash_key(key: str) -> str:
    return hashlib.sha256(key.encode()).hexdigest()


@dataclass(frozen=True)
class LinkFiles:
    """The zip file that a link offers, and the hash of its tables."""

    file: Stored
    filename: str
    size: str
    data_sha256: str


def link_files(link: ShareLink) -> LinkFiles | None:
    """The files of a link, without names until they are revealed.

    None if it has none, if they are not written yet or deleted, or if somebody in them withdrew.
    """
    export = link.bundle
    if export is None or export.state != Export.State.DONE:
        return None
    has_names = link.is_blind and not link.hides_names
    file = export_dir(export.public_id) / (WITH_NAMES if has_names else export.filename)
    if Since.of(export, changes_of_people(export.study)).withdrew or not file.is_file():
        return None
    name = export.filename
    if has_names:
        name = name.replace(export.what, f"{export.study.slug}-all", 1)
    return LinkFiles(file, name, size_text(file.size()), export.data_sha256)


@transaction.atomic
def write_again(*, link: ShareLink, user: User) -> None:
    """Write the files of a link again. Raises `ExportError`."""
    bundle = link.bundle
    if bundle and bundle.state == Export.State.DONE:
        delete_export(export_id=bundle.pk, user=user)
    _write_files(link, user, licence=bundle.licence if bundle else "")


def _write_files(link: ShareLink, user: User, *, licence: str) -> None:
    request_export(
        study_id=link.report.study_id,
        user=user,
        what="blind" if link.is_blind else "all",
        licence=licence,
        made_for=link.public_id,
        report=link.report,
        expires_at=link.expires_at,
    )


def _copies(person: PersonIn) -> Iterator[HeldCopy]:
    links = ShareLink.objects.filter(report__study=person.study, revoked_at=None)
    for link in links.filter(report__state=Report.State.DONE).select_related("report"):
        if link.is_valid and person.may_be_in(link.report.created_at):
            note = f" for {link.note}" if link.note else ""
            yield HeldCopy(
                f"link {link.public_id}",
                f"Link to report v{link.report.number}{note}",
                link.created_at,
                "It shows the report without rows about single annotators.",
                "End the link",
                partial(revoke_link, link_id=link.pk),
            )


HELD = HeldBy("share links", copies=_copies)
