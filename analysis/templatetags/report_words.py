"""Numbers and marks of a report as people read them, for templates."""

from django import template

from analysis.report import registration, words

register = template.Library()
for form in (words.percent, words.decimal, words.money, words.p_value, words.reason):
    register.filter(form.__name__, form)
register.filter("mark_word", registration.mark_word)
register.simple_tag(registration.table_mark, name="table_mark")
