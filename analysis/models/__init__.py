"""Audits, reports, plans, share links, certificates, exports, comparisons, notes on items."""

from analysis.models.annotator_errors import ErrorComparison
from analysis.models.audits import AcceptedFinding, Audit
from analysis.models.certificates import Certificate, Labelling
from analysis.models.comparisons import ComparedItem, Comparison
from analysis.models.exports import Export
from analysis.models.item_notes import ItemNote, ItemTag
from analysis.models.reports import AnalysisPlan, Recheck, Report, ShareLink

__all__ = [
    "AcceptedFinding",
    "AnalysisPlan",
    "Audit",
    "Certificate",
    "ComparedItem",
    "Comparison",
    "ErrorComparison",
    "Export",
    "ItemNote",
    "ItemTag",
    "Labelling",
    "Recheck",
    "Report",
    "ShareLink",
]
