"""The reports that a user may read."""

from django.contrib.auth.models import AnonymousUser, User
from django.db.models import ExpressionWrapper, F, IntegerField, QuerySet
from django.shortcuts import get_object_or_404

from analysis.data.annotators.answers import exclusions_since, withdrawn_answers
from analysis.models import Report
from studies.models.studies import Membership
from studies.selectors import studies_for


def reports_for(
    user: User | AnonymousUser, slug: str, *, role: str = Membership.Role.VIEWER
) -> QuerySet[Report]:
    """Reports of the study `slug` in which `user` has `role`, newest first, without their results.

    `withdrawn_since` is the number of answers that were withdrawn after each was built, and
    `excluded_since` how often people were excluded or included again since it was asked for.
    """
    studies = studies_for(user, role=role).filter(slug=slug)
    return marked(Report.objects.filter(study__in=studies)).defer("result")


def marked(reports: QuerySet[Report]) -> QuerySet[Report]:
    """The reports with `withdrawn_since` and `excluded_since`; with either one is superseded."""
    since = ExpressionWrapper(
        withdrawn_answers() - F("withdrawn_answers"), output_field=IntegerField()
    )
    return reports.select_related("study", "requested_by").annotate(
        withdrawn_since=since, excluded_since=exclusions_since()
    )


def get_report(
    user: User | AnonymousUser, slug: str, public_id: str, *, role: str = Membership.Role.VIEWER
) -> Report:
    """One report; 404 if it does not exist or the user cannot see it."""
    return get_object_or_404(reports_for(user, slug, role=role), public_id=public_id)
