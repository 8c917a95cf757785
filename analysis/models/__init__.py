"""Audits, reports, plans, share links, exports, comparisons, notes on items."""

from analysis.models.annotator_errors import ErrorComparison
from analysis.models.audits import AcceptedFinding, Audit
from analysis.models.comparisons import ComparedItem, Comparison
from analysis.models.exports import Export
from analysis.models.item_notes import ItemNote, ItemTag
from analysis.models.reports import AnalysisPlan, Recheck, Report, ShareLink

__all__ = [
    "AcceptedFinding",
    "AnalysisPlan",
    "Audit",
    "ComparedItem",
    "Comparison",
    "ErrorComparison",
    "Export",
    "ItemNote",
    "ItemTag",
    "Recheck",
    "Report",
    "ShareLink",
]
