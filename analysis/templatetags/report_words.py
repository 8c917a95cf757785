"""Numbers of a report as people read them, for templates."""

from django import template

from analysis.report import words

register = template.Library()
for form in (
    words.percent,
    words.percent_range,
    words.points,
    words.points_range,
    words.decimal,
    words.decimal_range,
    words.p_value,
    words.money,
    words.reason,
):
    register.filter(form.__name__, form)
