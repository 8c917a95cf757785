"""Numbers and marks of a report as people read them, for templates."""

from collections.abc import Mapping
from typing import Any

from django import template
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from analysis.report import registration
from analysis.report.text import numbers as words
from analysis.report.text.sentences import at, pieces, places
from studies.money import format_cost

register = template.Library()
for form in (words.percent, words.decimal, words.p_value, words.reason):
    register.filter(form.__name__, form)
register.filter("money", format_cost)
register.filter("mark_word", registration.mark_word)
register.simple_tag(registration.table_mark, name="table_mark")


@register.simple_tag(takes_context=True)
def number(
    context: Mapping[str, Any], path: str, text: str = "", *, as_percent: bool = False
) -> SafeString:
    """The number at `path` of the report, as a link to the row that says where it comes from."""
    if not text:
        from analysis.report.sections.methods.sources import CONSTANTS

        first, _, name = path.partition(".")
        value = CONSTANTS[name] if first == "constant" else at(context["report"], path)
        text = f"{value * 100:g} %" if as_percent else f"{value:,}"
    return _place(text, path)


@register.filter
def with_places(headline: Mapping[str, Any]) -> list[SafeString]:
    """The sentences of a headline, in which every number is such a link."""
    return [
        format_html_join(
            "",
            "{}",
            ((_place(text, path) if path else text,) for text, path in pieces(sentence, numbers)),
        )
        for sentence, numbers in zip(headline["sentences"], places(headline), strict=True)
    ]


def _place(text: str, path: str) -> SafeString:
    return format_html('<a class="number-link" href="#from-{}">{}</a>', path, text)
