"""The chapter on agreement."""

from analysis.report.section import Section
from analysis.report.sections.agreement.aggregation import Aggregation
from analysis.report.sections.agreement.coefficients import Coefficients
from analysis.report.sections.agreement.leave_one_out import LeaveOneOut
from analysis.report.sections.agreement.matrix import AgreementWithJudges
from analysis.report.sections.agreement.replacement import Replacement
from analysis.report.sections.agreement.shared_errors import SharedErrors


class Agreement(Section):
    """Agreement among annotators, and of judges with them."""

    name = "agreement"
    title = "Agreement"
    parts = (
        Coefficients(),
        Aggregation(),
        AgreementWithJudges(),
        Replacement(),
        LeaveOneOut(),
        SharedErrors(),
    )
