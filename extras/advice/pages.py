"""The button of a campaign's page that starts a discussion."""

from typing import cast

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.views.decorators.http import require_POST

from extras.advice.discussions import has_first_round, start_discussion
from judging.errors import JudgingError
from judging.models import Campaign, Jury
from judging.pages.jury_actions import JuryAction
from judging.selectors import get_campaign
from studies.errors import StudyError
from studies.models import Membership
from studies.selectors import get_study


@login_required
@require_POST
def discuss(request: HttpRequest, slug: str, campaign_id: str, jury_id: int) -> HttpResponse:
    """Start the second round of a jury, within the budget of the campaign."""
    study = get_study(request.user, slug, role=Membership.Role.EDITOR)
    campaign = get_campaign(study, campaign_id)
    jury = get_object_or_404(Jury, study=study, pk=jury_id)
    try:
        runs = start_discussion(
            study_id=study.pk, jury=jury, campaign=campaign, user=cast(User, request.user)
        )
    except (JudgingError, StudyError) as error:
        messages.error(request, str(error))
    else:
        messages.success(request, f"Discussion started: {len(runs)} runs.")
    return redirect("judging:campaign", slug, campaign_id)


def _is_open(campaign: Campaign, jury: Jury) -> bool:
    return has_first_round(campaign.study, jury)


DISCUSS = JuryAction("discuss", "judging/_discuss.html", _is_open)
