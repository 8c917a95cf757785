"""Reports, plans, share links and exports."""

from analysis.models.exports import Export
from analysis.models.reports import AnalysisPlan, Recheck, Report, ShareLink

__all__ = ["AnalysisPlan", "Export", "Recheck", "Report", "ShareLink"]
