"""Requests to build or share a report.

A link opens one report, in a copy without rows about single annotators or items. Its key is shown
once and stored as a hash. Wrong, expired and revoked links all get the same response.
"""

import hashlib
import hmac
import io
from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from datetime import timedelta
from typing import Any

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import F, Max

from analysis.data.answers import names_in, topics_in
from analysis.data.identities import CODE, Blinding, identities_of
from analysis.data.item_comparisons import runs_to_compare
from analysis.data.views import AS_IT_IS, PEOPLE, View
from analysis.errors import BadParameters, NotShareable
from analysis.exports.requests import delete_export, request_export
from analysis.lifecycle.storage import check_parameters, registered, report_dir
from analysis.models import Report, ShareLink
from analysis.report.report_json import Json, without_people
from analysis.report.words import run_name
from analysis.tasks import build_report
from studies.file_storage.storage import Stored
from studies.jobs.retry import same_job
from studies.models.keys import random_id
from studies.models.studies import Study
from studies.services.accounts.team import GivenRight
from studies.services.studies import lock_study, record
from studies.statements import clock


@transaction.atomic
def request_report(
    *,
    study_id: int,
    user: User | None = None,
    threshold: int | None = None,
    seed: int | None = None,
    bootstrap: int | None = None,
    view: View = AS_IT_IS,
) -> Report:
    """Queue a report, or return the same one if it is already being built.

    Missing values come from the study's plan, or else the defaults; `view` makes it another view.
    Raises `BadParameters`.
    """
    # The lock makes two presses of the button create one report.
    study = lock_study(study_id)
    default = registered(study)
    parameters = {
        "threshold": view.threshold or (default.threshold if threshold is None else threshold),
        "seed": default.seed if seed is None else seed,
        "bootstrap": default.bootstrap if bootstrap is None else bootstrap,
    }
    check_parameters(**parameters)
    same = study.reports.filter(state__in=Report.OPEN, view=view.content, **parameters)
    if report := same_job(same, build_report):
        return report
    last = study.reports.aggregate(last=Max("number"))["last"] or 0
    report = Report.objects.create(
        study=study,
        number=last + 1,
        requested_by=user,
        view=view.content,
        **parameters,
    )
    more = {} if view.is_empty else {"view": view.changes(run_names_in(study))}
    record(study, "report requested", user=user, report=report.public_id, **parameters, **more)
    build_report.delay_on_commit(report.pk)  # type: ignore[attr-defined]
    return report


KEY_LENGTH = 43  # 256 bits
DAYS_RANGE = (1, 365)
DEFAULT_DAYS = 30
SHARED_PAGE, BLIND_PAGE = "shared.html", "shared_blind.html"
CARD, BLIND_CARD = "card.png", "card_blind.png"


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
        what = "blind" if is_blind else "all"
        request_export(study_id=report.study_id, user=user, what=what, licence=licence, link=link)
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
        if link.bundle_id:
            delete_export(export_id=link.bundle_id, user=user)
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


@transaction.atomic
def delete_report(*, report_id: int, user: User) -> None:
    """Delete the files and numbers of a report and end its links; the row says when and by whom."""
    report = Report.objects.select_related("study").get(pk=report_id)
    lock_study(report.study_id)
    for link in report.share_links.filter(revoked_at=None):
        revoke_link(link_id=link.pk, user=user)
    view = report.view | {PEOPLE: []} if PEOPLE in report.view else report.view
    changed = Report.objects.filter(pk=report_id, state=Report.State.DONE).update(
        state=Report.State.GONE,
        result=None,
        view=view,
        message=f"Deleted by {user.get_username()}. Build the report again for new numbers.",
    )
    if changed:
        record(report.study, "report deleted", user=user, report=report.public_id)
        transaction.on_commit(report_dir(report.public_id).delete)


def links_of_an_owner(study: Study, user_id: int) -> list[GivenRight]:
    """A user's links that still open reports of the study."""
    found = ShareLink.objects.filter(
        report__study=study, created_by=user_id, revoked_at=None, expires_at__gt=clock.now()
    )

    def grant(link: ShareLink) -> GivenRight:
        return GivenRight(
            key=f"link {link.public_id}",
            label=f"link to report {link.report.number}" + (f" for {link.note}" * bool(link.note)),
            end=lambda by: revoke_link(link_id=link.pk, user=by),
            hand_to=lambda heir: ShareLink.objects.filter(pk=link.pk).update(created_by=heir),
        )

    return [grant(link) for link in found.select_related("report")]


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


def shared_page(report: Report, *, hides_names: bool = False) -> Stored:
    return report_dir(report.public_id) / (BLIND_PAGE if hides_names else SHARED_PAGE)


def shared_card_of(report: Report, *, hides_names: bool) -> Stored:
    return report_dir(report.public_id) / (BLIND_CARD if hides_names else CARD)


def write_shared_page(report: Report) -> Stored:
    """Write the report's page without rows about single annotators or items, once."""
    page = shared_page(report)
    if report.state != Report.State.DONE or report.result is None or report.finished_at is None:
        raise NotShareable("You can share a report once it is finished.")
    if not (report_dir(report.public_id) / "report.html").is_file():
        raise NotShareable(
            "The files of this report are gone. Build the report again and share the new one."
        )
    if not page.is_file():
        page.save(_rendered(report, without_people(report.result)).encode())
    return page


def write_blind_page(report: Report) -> Stored:
    """Write the shared page without names of researchers; again for each link, as teams change.

    Raises `NotShareable` if a name is left.
    """
    blinding = Blinding(identities_of(report.study))
    blind = blinding.value(without_people(report.result or {}))
    text = _rendered(report, blind)
    shown = CODE.sub("", text).encode()
    if left := [one.word for one in blinding.found_in(shown) if one.is_sure]:
        raise NotShareable(
            f"The report still has “{left[0]}”. Correct the items or the title of the study, and "
            "build the report again."
        )
    page = shared_page(report, hides_names=True)
    page.save(text.encode())
    if shared_card_of(report, hides_names=False).is_file() and report.finished_at is not None:
        from analysis.report.card import write_card  # imported late because it imports matplotlib

        card = io.BytesIO()
        write_card(blind, card, date=report.finished_at.date(), kind="png")
        shared_card_of(report, hides_names=True).save(card.getvalue())
    return page


def _rendered(report: Report, result: Json) -> str:
    from analysis.report.render import render_html  # imported late because it imports plotly

    failed = list[str]()
    text = ""
    if report.finished_at is not None:
        date = report.finished_at.date()
        try:
            text = render_html(result, date=date, number=report.number, failed=failed)
        except KeyError:
            failed.append("page")
    if failed and "failed_parts" not in result:
        # Another version computed the result, so this page lacks values.
        raise NotShareable(
            "An older version of Thirdperson built this report, so it cannot be copied. "
            "Build the report again and share the new one."
        )
    return text


def run_names_in(study: Study) -> dict[str, str]:
    """The names that reports give to the runs of a study, by their hash."""
    entries = []
    for run in runs_to_compare(study):
        entry = {name: getattr(run, name) for name in ("setting", "features", "framing")}
        entry |= {"judge": run.judge.name, "run": run.key}
        entries.append(entry | ({"wording": run.wording.reference} if run.wording else {}))
    return {entry["run"]: run_name(entry, entries) for entry in entries}


def read_view(study: Study, content: Any) -> View:
    """A view from JSON in which runs have their names, their hash, or only that of their judge.

    Raises `BadParameters` if the study lacks what it names.
    """
    view = View.of(content)
    if view.without_runs:
        view = replace(view, without_runs=_keys(study, view.without_runs))
    if view.without_items or view.topics:
        items = topics_in(study)
        _refuse_unknown("item", view.without_items, items.keys())
        _refuse_unknown("topic", view.topics, items.values())
    if view.without_people:
        _refuse_unknown("annotator", view.without_people, names_in(study))
    return view


def written_view(study: Study, view: View) -> dict[str, Any]:
    """The view as JSON with the names of runs, as `read_view` reads it."""
    content = view.content
    if "without_runs" in content:
        names = run_names_in(study)
        content["without_runs"] = [names.get(key, key) for key in content["without_runs"]]
    return content


def _keys(study: Study, named: Iterable[str]) -> list[str]:
    """The hashes of named runs; a judge's name stands for all of its runs."""
    runs, names = runs_to_compare(study), run_names_in(study)
    found: dict[str, None] = {}
    for name in named:
        keys = [run.key for run in runs if name in (names[run.key], run.key, run.public_id)]
        keys = keys or [run.key for run in runs if run.judge.name == name]
        if not keys:
            raise BadParameters(
                f"The study has no run “{name}”. Use one of: "
                f"{', '.join(sorted(names.values())) or 'none yet'}."
            )
        found |= dict.fromkeys(keys)
    return [*found]


_WHERE: Mapping[str, str] = {
    "item": "Copy the id from the list of items.",
    "topic": "Copy it from an item.",
    "annotator": "Copy the pseudonym from the list of annotators; a name is gone once the "
    "person’s data was deleted.",
}


def _refuse_unknown(what: str, named: Iterable[str], known: Collection[str]) -> None:
    there = set(known)
    if unknown := next((name for name in named if name not in there), None):
        raise BadParameters(f"The study has no {what} “{unknown}”. {_WHERE[what]}")
