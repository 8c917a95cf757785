"""Numbers of a report as people read them, for templates."""

from django import template

from analysis.report import words

register = template.Library()
for form in (words.percent, words.decimal, words.money, words.p_value, words.reason):
    register.filter(form.__name__, form)
