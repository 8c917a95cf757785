"""The chapter on citing and downloading."""

from analysis.report.section import Section


class Downloads(Section):
    """The citation of the report, and its method in words."""

    name = "downloads"
    title = "Cite and download"
    inside = "Files, printing, the method in words, and the citation"
