"""Audits, reports, plans, share links, exports, comparisons and notes on items."""

from analysis.models.items import (
    AcceptedFinding,
    Audit,
    ComparedItem,
    Comparison,
    ItemNote,
    ItemTag,
)
from analysis.models.reports import AnalysisPlan, Export, Recheck, Report, ShareLink

__all__ = [
    "AcceptedFinding",
    "AnalysisPlan",
    "Audit",
    "ComparedItem",
    "Comparison",
    "Export",
    "ItemNote",
    "ItemTag",
    "Recheck",
    "Report",
    "ShareLink",
]
