"""Rows of the administrators' pages, across all studies."""

from dataclasses import dataclass

from django.contrib.auth.models import User
from django.db.models import Count, Max, OuterRef, Q, QuerySet, Subquery
from django.db.models.fields.json import KT

from analysis.models import Report
from studies.models import Membership, Study

_ALPHA = "result__human__agreement__krippendorff_alpha__value"
_MAJORITY = "result__human__majority__accuracy"


@dataclass(frozen=True)
class StudyAgreement:
    """A study's latest finished report in four figures; None if it lacks a figure."""

    report: Report
    alpha: float | None
    majority: float | None
    verdict: str
    judge: str

    @property
    def majority_percent(self) -> str:
        return "" if self.majority is None else f"{100 * self.majority:.1f} %"


# The conclusion of the report's headline, in a word or two.
_VERDICTS = {
    "better": "judge better",
    "worse": "judge worse",
    "equivalent": "equivalent",
    "cannot_tell": "not yet known",
}


def agreement_of(studies: list[Study]) -> dict[int, StudyAgreement]:
    """The agreement by study. The database extracts the figures, because results are large."""
    latest = (
        Report.objects.filter(study=OuterRef("study"), state=Report.State.DONE)
        .order_by("-number")
        .values("pk")[:1]
    )
    reports = (
        Report.objects.filter(study__in=studies, pk=Subquery(latest))
        .annotate(
            alpha=KT(_ALPHA),
            majority=KT(_MAJORITY),
            verdict=KT("result__headline__state"),
            judge=KT("result__headline__judge"),
        )
        .defer("result")
    )
    return {
        report.study_id: StudyAgreement(
            report,
            _number(report.alpha),
            _number(report.majority),
            _VERDICTS.get(report.verdict or "", "no comparison"),
            report.judge or "",
        )
        for report in reports
    }


def _number(text: str | float | None) -> float | None:
    """A number that PostgreSQL returns from JSON as text."""
    return None if text is None else float(text)


def all_studies() -> QuerySet[Study]:
    return Study.objects.order_by("-created_at", "-pk")


def owners_of(studies: list[Study]) -> dict[int, str]:
    found: dict[int, list[str]] = {}
    owners = Membership.objects.filter(study__in=studies, role=Membership.Role.OWNER)
    for study, name in owners.order_by("pk").values_list("study", "user__username"):
        found.setdefault(study, []).append(name)
    return {study: ", ".join(names) for study, names in found.items()}


def all_reports() -> QuerySet[Report]:
    return Report.objects.select_related("study", "requested_by").defer("result").order_by("-pk")


def all_users() -> QuerySet[User]:
    return User.objects.annotate(
        studies=Count("memberships"),
        owned=Count("memberships", filter=Q(memberships__role=Membership.Role.OWNER)),
        token_used=Max("access_tokens__used_at"),
    ).order_by("username")
