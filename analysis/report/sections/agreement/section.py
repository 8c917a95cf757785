"""The chapter on agreement."""

from collections.abc import Mapping
from typing import Any

from analysis.report.section import ReportPage, Section
from analysis.report.sections.agreement.aggregation import Aggregation
from analysis.report.sections.agreement.alpha_check import AlphaCheck, check_words
from analysis.report.sections.agreement.coefficients import AgreementFromAccuracy, Coefficients
from analysis.report.sections.agreement.leave_one_out import LeaveOneOutSection
from analysis.report.sections.agreement.matrix import AgreementWithJudges
from analysis.report.sections.agreement.replacement import ReplacementSection
from analysis.report.sections.agreement.shared_errors import SharedErrorsSection


class AgreementSection(Section):
    """Agreement among annotators, and of judges with them."""

    name = "agreement"
    title = "Agreement"
    inside = "Coefficients, every two sides, replacing a person, and shared mistakes"
    parts = (
        Coefficients(),
        AgreementFromAccuracy(),
        AlphaCheck(),
        Aggregation(),
        AgreementWithJudges(),
        ReplacementSection(),
        LeaveOneOutSection(),
        SharedErrorsSection(),
    )

    def context(self, page: ReportPage) -> Mapping[str, Any]:
        return {"alpha_check": check_words(page.report)}
