from django import template

from studies.prompts import language_note

register = template.Library()
register.filter("language_note", language_note)
