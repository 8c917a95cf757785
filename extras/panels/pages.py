"""Researchers' pages of panels: all of them, one with its link and rehearsal, money and files."""

from typing import cast

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.contrib.auth.models import User
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from annotation.prolific.api.transport import NotAllowed
from extras.panels.checks import pay_difference
from extras.panels.forms import PanelForm, new_panel
from extras.panels.links import link_to_paste, parameters
from extras.panels.models import Panel, PaymentFile
from extras.panels.paying import (
    PanelMoney,
    doubtful_people,
    money_by_panel,
    money_of,
    reviewed_results,
    table_of,
    totals,
    unpaid_people,
    write_payment_file,
)
from extras.panels.presets import presets
from extras.panels.rehearsal import rehearse
from extras.panels.setup import remove_panel, save_panel, seen_panel
from studies.errors import StudyError
from studies.models import Membership, Study
from studies.money import format_money
from studies.pages.listing import role_of
from studies.pages.responses import REFUSED, csv_response, whole_number
from studies.pages.workbench import SectionPage
from studies.selectors import get_study

_MOST_BYTES = 20_000_000


def section_pages(study: Study) -> list[SectionPage]:
    address = reverse("panels:list", args=[study.slug])
    return [SectionPage("annotators", "Panels", address, for_editors=True)]


def _study(request: HttpRequest, slug: str, *, for_owners: bool = False) -> Study:
    role = Membership.Role.OWNER if for_owners else Membership.Role.EDITOR
    return get_study(request.user, slug, role=role)


def _panel(study: Study, name: str) -> Panel:
    panel = get_object_or_404(Panel, study=study, name=name)
    panel.study = study
    return panel


def _in_words(line: PanelMoney) -> dict[str, object]:
    fees = "not known" if line.fees is None else format_money(line.fees, line.currency)
    return {
        "line": line,
        "rewards": format_money(line.rewards, line.currency),
        "fees": fees,
        "total": format_money(line.total, line.currency),
    }


@require_GET
@login_required
def panels(request: HttpRequest, slug: str) -> HttpResponse:
    """All panels of a study, and what each has cost."""
    study = _study(request, slug)
    money = [*money_by_panel(study)]
    context = {
        "study": study,
        "links": [
            (panel, link_to_paste(panel))
            for panel in Panel.objects.filter(study=study).select_related("study")
        ],
        "kinds": presets().values(),
        "money": [_in_words(line) for line in money],
        "totals": [format_money(amount, currency) for currency, amount in totals(money).items()],
        "is_owner": role_of(request.user, study) == Membership.Role.OWNER,
    }
    return render(request, "panels/list.html", context)


@sensitive_post_parameters("secret")
@require_http_methods(["GET", "POST"])
@login_required
def new(request: HttpRequest, slug: str) -> HttpResponse:
    """Add a panel of the kind in the address, by default any."""
    study = _study(request, slug, for_owners=True)
    kind = presets().get(request.GET.get("kind", "generic"))
    if kind is None:
        raise Http404("There is no such kind of panel.")
    return _edit(request, new_panel(study, kind))


@sensitive_post_parameters("secret")
@require_http_methods(["GET", "POST"])
@login_required
def edit(request: HttpRequest, slug: str, panel_name: str) -> HttpResponse:
    """Change a panel."""
    return _edit(request, _panel(_study(request, slug, for_owners=True), panel_name))


def _edit(request: HttpRequest, panel: Panel) -> HttpResponse:
    study, stored = panel.study, panel.name
    form = PanelForm(request.POST if request.method == "POST" else None, instance=panel)
    if form.is_valid():
        try:
            seen = request.POST.get("seen")
            save_panel(form.filled(), seen=seen, user=cast(User, request.user))
        except StudyError as error:
            form.add_error(None, str(error))
        else:
            messages.success(request, f"Panel “{panel.title}” saved.")
            return redirect("panels:panel", study.slug, panel.name)
    context = {
        "study": study,
        "panel": panel,
        "form": form,
        "stored": stored if panel.pk else "",
        "seen": seen_panel(Panel.objects.filter(pk=panel.pk).first()),
    }
    status = REFUSED if form.is_bound else 200
    return render(request, "panels/form.html", context, status=status)


@require_GET
@login_required
def panel(request: HttpRequest, slug: str, panel_name: str) -> HttpResponse:
    """The link to paste, a rehearsal of every ending, money, and the files for paying."""
    study = _study(request, slug)
    return _panel_page(request, _panel(study, panel_name))


def _panel_page(request: HttpRequest, panel: Panel, fault: str = "") -> HttpResponse:
    files = [
        (written, format_money(written.rewards, panel.study.currency))
        for written in panel.payment_files.select_related("user").order_by("-pk")
    ]
    context = {
        "study": panel.study,
        "panel": panel,
        "kind": panel.kind,
        "link": link_to_paste(panel),
        "parameters": [(name, value) for name, value in parameters(panel).items() if value],
        "rehearsal": rehearse(panel),
        "pay_difference": pay_difference(panel),
        "money": _in_words(money_of(panel)),
        "unpaid": unpaid_people(panel).count(),
        "doubtful": doubtful_people(panel).count(),
        "files": files,
        "by_file": panel.pay == Panel.Pay.FILE,
        "fault": fault,
        "is_owner": role_of(request.user, panel.study) == Membership.Role.OWNER,
    }
    status = REFUSED if fault else 200
    return render(request, "panels/panel.html", context, status=status)


@require_POST
@login_required
def remove(request: HttpRequest, slug: str, panel_name: str) -> HttpResponse:
    """Delete a panel from which nobody has come."""
    panel = _panel(_study(request, slug, for_owners=True), panel_name)
    try:
        remove_panel(panel, user=cast(User, request.user))
    except StudyError as error:
        return _panel_page(request, panel, str(error))
    messages.success(request, f"Panel “{panel.title}” removed.")
    return redirect("panels:list", slug)


@require_POST
@login_required
def write_file(request: HttpRequest, slug: str, panel_name: str) -> HttpResponse:
    """Put everybody who is owed pay into a new file."""
    panel = _panel(_study(request, slug, for_owners=True), panel_name)
    try:
        written = write_payment_file(
            panel=panel,
            with_failed="with_failed" in request.POST,
            user=cast(User, request.user),
        )
    except (StudyError, NotAllowed) as error:
        return _panel_page(request, panel, str(error))
    people = "1 person" if written.people == 1 else f"{written.people:,} people"
    messages.success(request, f"Payment file written with {people}. Download it below.")
    return redirect("panels:panel", slug, panel_name)


def _file(request: HttpRequest, slug: str, panel_name: str, file_id: int | None) -> PaymentFile:
    panel = _panel(_study(request, slug, for_owners=True), panel_name)
    written = get_object_or_404(PaymentFile, panel=panel, pk=file_id)
    written.panel = panel
    return written


@require_GET
@login_required
def payment_file(request: HttpRequest, slug: str, panel_name: str, file_id: int) -> HttpResponse:
    """Download a file for the panel. It has the panel's ids, so only owners may."""
    header, rows = table_of(_file(request, slug, panel_name, file_id))
    return csv_response(f"{slug}-{panel_name}-pay-{file_id}", header, rows)


@require_POST
@login_required
def results(request: HttpRequest, slug: str, panel_name: str) -> HttpResponse:
    """Send MTurk's file of results back with the people of a payment file approved."""
    number = whole_number(request.POST.get("file", ""))
    written = _file(request, slug, panel_name, number)
    file = request.FILES.get("results")
    try:
        if file is None:
            raise StudyError("Choose the file of results that you downloaded on MTurk.")
        if (file.size or 0) > _MOST_BYTES:
            raise StudyError("The file has more than 20 MB. Download one batch at a time.")
        header, rows, _ = reviewed_results(written, file.read())
    except StudyError as error:
        return _panel_page(request, written.panel, str(error))
    return csv_response(f"{slug}-{panel_name}-reviewed-{number}", header, rows)
