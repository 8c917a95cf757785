"""Page of the deviations from the frozen plan: reasons to add, text and JSON to pass on."""

from typing import cast

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.contrib.auth.models import User
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods

from analysis.errors import AnalysisError, BadParameters
from analysis.lifecycle import deviations as lists
from analysis.report.words import effect_words
from studies.models.studies import Membership
from studies.selectors import get_study, studies_for


@require_http_methods(["GET", "POST"])
@login_required
def deviations(request: HttpRequest, slug: str) -> HttpResponse:
    """List the deviations, store the reason of one, or send the list as a file."""
    sending = request.method == "POST"
    role = Membership.Role.EDITOR if sending else Membership.Role.VIEWER
    study = get_study(request.user, slug, role=role)
    fault, sent = "", request.POST.get("deviation", "")
    try:
        if sending:
            reason = request.POST.get("reason", "").replace("\r\n", "\n")
            lists.explain_deviation(
                study_id=study.pk, key=sent, reason=reason, user=cast(User, request.user)
            )
            messages.success(request, "Reason saved.")
            return redirect(f"{reverse('analysis:deviations', args=[slug])}#{sent}")
        if wanted := request.GET.get("file"):
            return _file(wanted, slug, lists.as_json(study), lists.as_text(study))
    except BadParameters as error:
        fault = str(error)
    except AnalysisError as error:
        raise Http404(str(error)) from error
    plan, found = lists.listed_deviations(study)
    editors = studies_for(request.user, role=Membership.Role.EDITOR)
    context = {
        "study": study,
        "plan": plan,
        "entries": [
            {
                "listed": each,
                "rows": [
                    (row["result"], *map(effect_words, (row["with"], row["without"])))
                    for row in each.effect
                ],
                "reason": request.POST.get("reason", "")
                if fault and each.deviation.key == sent
                else each.reason or "\n".join(each.deviation.noted),
            }
            for each in found
        ],
        "fault": fault,
        "sent": sent,
        "longest": lists.LONGEST_REASON,
        "may_edit": editors.filter(slug=slug).exists(),
    }
    status = 422 if fault else 200
    return render(request, "analysis/deviations.html", context, status=status)


def _file(wanted: str, slug: str, content: dict[str, object], text: str) -> HttpResponse:
    response: HttpResponse
    if wanted == "json":
        response = JsonResponse(content, json_dumps_params={"indent": 1, "ensure_ascii": False})
    elif wanted == "md":
        response = HttpResponse(text, content_type="text/markdown; charset=utf-8")
    else:
        raise Http404("The list of deviations is there as json and as md.")
    response.headers["Content-Disposition"] = f'attachment; filename="{slug}-deviations.{wanted}"'
    return response
