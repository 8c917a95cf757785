"""What people of a panel meet before the study's own pages: the link, and the panel's frame."""

import logging
from urllib.parse import urlencode

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_safe

from annotation.errors import OtherDevice, StudyNotOpen, TookPartBefore, TooManyStarts
from annotation.models import Annotator, Ending
from annotation.participants.access import (
    bind,
    closed,
    find_annotator,
    is_opened,
    may_preview,
    no_identity,
    step_url,
    study_page,
    took_part,
)
from annotation.seats.flow import code_ending
from extras.panels.entry import enter_from_panel, known_by
from extras.panels.links import LinkRefused, PanelLink, is_preview, path_of, read_link
from extras.panels.models import Panel, PanelPerson
from extras.panels.returns import PanelWayBack, link_of, way_back
from studies.models import Study
from studies.pages.signed_in import client_address
from studies.services.accounts.sign_ins import minutes

logger = logging.getLogger(__name__)
# Tells a tab that was opened from the panel's frame, where the result is submitted.
_TAB = "opened"


@require_safe
@study_page
def entry(request: HttpRequest, study: Study, panel_name: str) -> HttpResponse:
    """Handle the link of a panel: find or create the annotator, and go to their current step."""
    if not study.has_extra("panels"):
        raise Http404("This study takes nobody from panels.")
    panel = get_object_or_404(Panel.objects.select_related("study"), study=study, name=panel_name)
    in_frame = request.headers.get("Sec-Fetch-Dest") == "iframe" and bool(panel.kind.frames)
    if not in_frame and not is_opened(request):
        return HttpResponse("Open this link in its own tab.\n", "text/plain", status=403)
    if is_preview(panel, request.GET):
        return _framed(panel, render(request, "annotation/panel_preview.html", _about(panel)))
    known = find_annotator(request, study.slug)
    if not request.GET.get(panel.person_parameter):
        if known and PanelPerson.objects.filter(annotator=known, panel=panel).exists():
            return redirect(step_url(known))
        if may_preview(request, study):
            return redirect("annotation:preview", study.slug, "task")
    try:
        link = read_link(panel, request.GET, _address(request))
    except LinkRefused as fault:
        if fault.fault == "signature":
            logger.warning(
                "study %s, panel %s: a link was refused, because its signature does not match.",
                study.pk,
                panel.name,
            )
        return _framed(panel, _help(request, panel, fault))
    if in_frame:
        return _frame(request, panel, link)
    return _enter(request, panel, link, known)


def _enter(
    request: HttpRequest, panel: Panel, link: PanelLink, known: Annotator | None
) -> HttpResponse:
    study = panel.study
    try:
        annotator = enter_from_panel(
            panel=panel,
            link=link,
            address=client_address(request),
            bound_to=known.pk if known else None,
            is_framed=request.GET.get(_TAB) == "tab",
        )
    except OtherDevice:
        return no_identity(request, study, is_other_device=True)
    except TooManyStarts as error:
        return no_identity(request, study, wait=minutes(error.wait))
    except TookPartBefore:
        return took_part(request, study, way_back=way_back(panel, link, Ending.INELIGIBLE))
    except StudyNotOpen:
        ended = study.state == Study.State.CLOSED
        back = way_back(panel, link, Ending.CLOSED) if ended else None
        return closed(request, study, way_back=back)
    return bind(request, redirect(step_url(annotator)), annotator)


def _address(request: HttpRequest) -> str:
    """The link as the panel signed it, whatever a proxy made of the host."""
    return f"{settings.PUBLIC_BASE_URL}{request.get_full_path()}"


def _about(panel: Panel) -> dict[str, object]:
    return {"study": panel.study, "panel": panel}


def _help(request: HttpRequest, panel: Panel, fault: LinkRefused) -> HttpResponse:
    """Say how to come in from this panel; nothing was stored."""
    context = _about(panel) | {
        "fault": fault,
        "preview_offered": may_preview(request, panel.study),
    }
    return render(request, "annotation/panel_help.html", context, status=400)


def _frame(request: HttpRequest, panel: Panel, link: PanelLink) -> HttpResponse:
    """Show, inside the panel's page, the way into the study, and after the end the form back.

    A frame of another site gets no cookies, so the study opens in a tab of its own. Who sees the
    form has the ids that it sends.
    """
    annotator = known_by(panel, link.person)
    person = PanelPerson.objects.filter(annotator=annotator).first() if annotator else None
    back: PanelWayBack | None = None
    if annotator and person and link.session in person.sessions:
        if ending := code_ending(annotator):
            back = way_back(panel, link_of(person), ending)
    query = urlencode([*request.GET.items(), (_TAB, "tab")])
    context = _about(panel) | {
        "way_back": back,
        "has_begun": bool(back) or person is not None,
        "address": f"{path_of(panel)}?{query}",
    }
    response = render(request, "annotation/panel_frame.html", context)
    return _framed(panel, response, back.form_hosts if back else ())


def _framed(panel: Panel, response: HttpResponse, hosts: tuple[str, ...] = ()) -> HttpResponse:
    """Let only the panel's own pages show this one in a frame, and send its form there."""
    frames = " ".join(f"https://{host}" for host in panel.kind.frames) or "'none'"
    forms = " ".join(["'self'", *(f"https://{host}" for host in hosts)])
    # Browsers that read only the older header would refuse every frame.
    response.xframe_options_exempt = bool(panel.kind.frames)
    response.policy_changes = {  # type: ignore[attr-defined]
        "frame-ancestors": frames,
        "form-action": forms,
    }
    return response
