"""Numbers and marks of a report for readers, as template tags."""

from collections.abc import Mapping
from typing import Any

from django import template
from django.utils.html import escape, format_html, format_html_join
from django.utils.safestring import SafeString, mark_safe

from analysis.report import registration, words
from analysis.report.figures import FigurePanel
from analysis.report.sentences import Text, at
from analysis.report.stills import CannotDraw, still
from analysis.report.tables import Cell, ShownTable
from studies.money import format_cost

register = template.Library()
for form in (words.count, words.decimal, words.p_cell, words.p_value, words.reason):
    register.filter(form.__name__, form)
register.filter("listed", words.listed)
register.filter("money", format_cost)
register.filter("mark_word", registration.mark_word)
register.simple_tag(registration.table_mark, name="table_mark")


@register.simple_tag(takes_context=True)
def pack_last(context: Mapping[str, Any], table: ShownTable) -> str:
    """Keep the packed rows of a table for the end of the page, whose script they would delay."""
    if table.packed:
        context["packed"].append(table)
    return ""


@register.filter
def still_picture(panel: FigurePanel) -> SafeString:
    """The plot as an SVG element; empty if it has marks that only plotly draws."""
    try:
        return mark_safe(still(panel.plot))  # noqa: S308  written by a library of XML
    except CannotDraw:
        return SafeString("")


# What the heading of a table means, in a sentence that its tooltip shows.
MEANINGS = {
    "Holm p": "The p value, made larger because several tests are made together (Holm 1979).",
    "Holm p of equivalence": "The p value of the test that the difference is too small to matter, "
    "made larger because several tests are made together (Holm 1979).",
    "Adjusted p": "The p value, made larger because several tests are made together.",
    "ECE": "Expected calibration error: the mean gap between stated certainty and how often "
    "answers with it are right. 0 is best.",
    "Brier": "Brier score: the mean squared gap between certainty and being right (1) or wrong "
    "(0). 0 is best.",
    "AUROC": "The probability that a right answer has a higher certainty than a wrong one. "
    ".5 means that certainty says nothing, 1 is best.",
    "AURC": "Area under the risk-coverage curve: the mean share of wrong answers if only the most "
    "certain ones are accepted, over all thresholds. 0 is best.",
    "E-AURC": "AURC minus the lowest value that is possible with as many wrong answers. 0 is best.",
    "AUPRC": "Area under the precision-recall curve of certainty. Compare it with the share of "
    "such answers.",
}


@register.filter
def meaning(heading: str) -> str:
    """The attribute with the meaning of a heading; empty if the heading explains itself."""
    known = MEANINGS.get(heading.partition(",")[0])
    return format_html(' title="{}"', known) if known else ""


@register.filter
def unbroken(text: object) -> str:
    """The text without line breaks between a number and “%”; report.json has plain spaces."""
    return str(text).replace(" %", "\u00a0%")


@register.filter
def percent(value: float | None) -> str:
    return unbroken(words.percent(value))


@register.simple_tag(takes_context=True)
def number(context: Mapping[str, Any], path: str, text: str = "") -> SafeString:
    """The number at `path` of the report, as a link to the row with its source."""
    return _place(text or f"{at(context['report'], path):,}", path)


@register.filter
def table_cell(cell: Cell) -> SafeString:
    """A table cell, made without a template because a page has thousands of them."""
    below = "".join(f'<span class="below">{escape(line)}</span>' for line in cell.below)
    return SafeString(f"<td{_attributes(cell)}>{escape(cell.text)}{below}</td>")


def _attributes(cell: Cell) -> str:
    if not cell.is_text:
        small = " small" if cell.small else ""
        steps = f' data-steps="{escape(cell.steps_json)}"' if cell.steps else ""
        return f' class="number{small}" data-raw="{escape(cell.raw_json)}"{steps}'
    if cell.is_long:
        return ' class="long"'
    return f' data-raw="{escape(cell.raw_json)}"' if cell.raw == ("",) else ""


@register.filter
def with_links(text: Text) -> SafeString:
    """A sentence in which every number with a path in report.json is a link."""
    pieces = (
        (_place(piece.text, piece.path) if piece.path else unbroken(piece.text),)
        for piece in text.parts
    )
    return format_html_join("", "{}", pieces)


def _place(text: str, path: str) -> SafeString:
    return format_html('<a class="number-link" href="#from-{}">{}</a>', path, unbroken(text))
