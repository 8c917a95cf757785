"""Share links: owners create and revoke them, and anyone with a link reads the report."""

from typing import cast
from urllib.parse import urlencode, urlsplit

from django import forms
from django.conf import settings
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.contrib.auth.models import User
from django.http import FileResponse, Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.gzip import gzip_page
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from analysis.errors import AnalysisError, ExportError
from analysis.exports.catalogue import LICENCES
from analysis.lifecycle.storage import get_report, marked
from analysis.models import Report
from analysis.pages.files import card_picture, scripted_page
from extras.report_readers.links.copies import shared_card_of, shared_page
from extras.report_readers.links.identities import Blinding, identities_of
from extras.report_readers.links.links import (
    DAYS_RANGE,
    DEFAULT_DAYS,
    count_opening,
    link_files,
    open_link,
    reveal_names,
    revoke_link,
    share_report,
    write_again,
)
from extras.report_readers.models import ShareLink
from studies.models.studies import Membership
from studies.selectors import owner_names


class ShareForm(forms.Form):
    note = forms.CharField(
        label="Recipient",
        max_length=120,
        required=False,
        help_text="For your own list. The recipient does not see it.",
    )
    days = forms.IntegerField(
        label="Days until it expires",
        initial=DEFAULT_DAYS,
        min_value=DAYS_RANGE[0],
        max_value=DAYS_RANGE[1],
        help_text=f"{DAYS_RANGE[0]} to {DAYS_RANGE[1]}. You can revoke the link earlier.",
    )
    is_blind = forms.BooleanField(
        label="For blind review",
        required=False,
        help_text="Shows no names of people, accounts, addresses or hosts until you reveal them.",
    )
    with_files = forms.BooleanField(
        label="With all files",
        required=False,
        help_text="Also offers a zip file: all tables, the report with its figures, data card, "
        "citation and metadata. For blind review without names, and with them after you reveal "
        "them. It is deleted with the link.",
    )
    licence = forms.ChoiceField(
        label="Licence of the answers in the files",
        required=False,
        choices=[("", "Not stated"), *((name, name) for name in LICENCES)],
    )


@login_required
@require_http_methods(["GET", "POST"])
def links(request: HttpRequest, slug: str, public_id: str) -> HttpResponse:
    """The share links of a report. Only owners see them."""
    report = get_report(request.user, slug, public_id, role=Membership.Role.OWNER)
    form = ShareForm(request.POST or None)
    new, status = "", 200
    if request.method == "POST":
        status = 422
        if form.is_valid():
            try:
                link, key = share_report(
                    report_id=report.pk, user=cast(User, request.user), **form.cleaned_data
                )
            except AnalysisError as error:
                form.add_error(None, str(error))
            else:
                # Only this response shows the key: the database has only its hash.
                address = reverse("shared:report", args=[link.public_id])
                new = f"{settings.PUBLIC_BASE_URL}{address}?key={key}"
                status, form = 200, ShareForm()
    context = {
        "study": report.study,
        "report": report,
        "links": [
            (link, link_files(link))
            for link in report.share_links.select_related("created_by", "report")
        ],
        "form": form,
        "new": new,
        "host": urlsplit(settings.PUBLIC_BASE_URL).netloc,
    }
    response = render(request, "share_links/links.html", context, status=status)
    response["Cache-Control"] = "no-store"
    return response


def _link_of(request: HttpRequest, slug: str, public_id: str) -> ShareLink:
    """A link of a report of an own study."""
    report = get_report(request.user, slug, public_id, role=Membership.Role.OWNER)
    return get_object_or_404(report.share_links, public_id=request.POST.get("link"))


@login_required
@require_POST
def revoke(request: HttpRequest, slug: str, public_id: str) -> HttpResponse:
    """End a share link before its time."""
    link = _link_of(request, slug, public_id)
    if revoke_link(link_id=link.pk, user=cast(User, request.user)):
        messages.success(request, "Share link revoked.")
    return redirect("share_links:links", slug=slug, public_id=public_id)


@login_required
@require_POST
def reveal(request: HttpRequest, slug: str, public_id: str) -> HttpResponse:
    """Let a link for blind review show names from now on."""
    link = _link_of(request, slug, public_id)
    if reveal_names(link_id=link.pk, user=cast(User, request.user)):
        messages.success(request, "The link shows the report with names now.")
    return redirect("share_links:links", slug=slug, public_id=public_id)


@login_required
@require_POST
def write(request: HttpRequest, slug: str, public_id: str) -> HttpResponse:
    """Write the files of a link again, after an error or a withdrawal."""
    link = _link_of(request, slug, public_id)
    if link.bundle is None:
        raise Http404("This link offers no files.")
    try:
        write_again(link=link, user=cast(User, request.user))
    except ExportError as error:
        messages.error(request, str(error))
    return redirect("share_links:links", slug=slug, public_id=public_id)


@require_GET
def shared_report(request: HttpRequest, link_id: str) -> HttpResponseBase:
    """Show the page of a link: a summary, and a link to the whole report."""
    link, report = _opened(request, link_id)
    count_opening(link)
    card = ""
    if shared_card_of(report, hides_names=link.hides_names).is_file():
        card = f"{reverse('shared:card', args=[link_id])}?{urlencode({'key': request.GET['key']})}"
    visible = {
        "title": report.study.title,
        "headline": report.result.get("headline") if report.result else None,
    }
    if link.hides_names:
        visible = Blinding(identities_of(report.study)).value(visible)
    context = {
        **visible,
        "is_simulated": report.study.is_simulated,
        "report": report,
        "link": link,
        "files": link_files(link),
        "authors": owner_names(report.study) if link.revealed_at else [],
        "card": card,
        # A preview has a full address, and an address names a host.
        "site": "" if link.hides_names else settings.PUBLIC_BASE_URL,
        "query": request.GET.urlencode(),
    }
    return _guarded(render(request, "share_links/shared.html", context))


@require_GET
def shared_card(request: HttpRequest, link_id: str) -> HttpResponseBase:
    """Send the verdict as a card; its name does not say which study it is."""
    link, report = _opened(request, link_id)
    card = shared_card_of(report, hides_names=link.hides_names)
    return _guarded(card_picture(card, "png", "report"))


@require_GET
def shared_files(request: HttpRequest, link_id: str) -> HttpResponseBase:
    """Send the files of a link: without names until they are revealed."""
    link, _ = _opened(request, link_id)
    files = link_files(link)
    if files is None:
        raise Http404("This link has no files, or they are deleted.")
    return _guarded(FileResponse(files.file.open(), as_attachment=True, filename=files.filename))


# The page has neither secrets nor words of a request, so it may be compressed.
@gzip_page
@require_GET
def shared_file(request: HttpRequest, link_id: str) -> HttpResponseBase:
    """Send the report without rows about single annotators or items, under its own policy."""
    link, report = _opened(request, link_id)
    try:
        response = scripted_page(
            request,
            shared_page(report, hides_names=link.hides_names),
            report.content_security_policy,
        )
    except FileNotFoundError:
        raise Http404("The files of this report do not exist.") from None
    return _guarded(response)


def _opened(request: HttpRequest, link_id: str) -> tuple[ShareLink, Report]:
    """The link and its report; the same 404 for unknown and ended links and wrong keys."""
    link = open_link(public_id=link_id, key=request.GET.get("key", ""))
    if link is None:
        raise Http404
    return link, marked(Report.objects.filter(pk=link.report_id)).get()


def _guarded(response: HttpResponseBase) -> HttpResponseBase:
    """Forbid caching, indexing and referrers, because the address contains the key."""
    response["X-Robots-Tag"] = "noindex, nofollow, noarchive"
    response["Cache-Control"] = "no-store"
    response["Referrer-Policy"] = "no-referrer"
    return response
