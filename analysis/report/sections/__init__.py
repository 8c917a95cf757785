"""The chapters of a report in reading order, one module or package each."""

from analysis.report.section import Section
from analysis.report.sections.ablations import Ablations
from analysis.report.sections.accuracy.section import Accuracy
from analysis.report.sections.agreement.section import AgreementSection
from analysis.report.sections.bias.section import Bias
from analysis.report.sections.certainty.section import CertaintySection
from analysis.report.sections.glance.section import Glance, ViewSection
from analysis.report.sections.groups.section import GroupsSection
from analysis.report.sections.limits import LimitsSection
from analysis.report.sections.methods import Downloads, Methods
from analysis.report.sections.position import Position
from analysis.report.sections.record.section import Record

SECTIONS: list[Section] = [
    ViewSection(),
    Glance(),
    Accuracy(),
    CertaintySection(),
    AgreementSection(),
    GroupsSection(),
    Ablations(),
    Position(),
    Bias(),
    Record(),
    Methods(),
    LimitsSection(),
    Downloads(),
]
