"""How the participants' pages are rendered: by Jinja2, whose templates are compiled to Python.

Nearly every request of an open study shows an item, and Django's own templates took most of its
time. The templates are in `jinja2/annotation` of this app and of extras.
"""

from functools import cache
from typing import Any

from django.template import defaultfilters
from django.templatetags.static import static
from django.urls import reverse
from django.utils import translation
from jinja2 import ChainableUndefined, Environment

from studies.templatetags.visible_controls import visible


def environment(**options: Any) -> Environment:
    """What templates may use besides Jinja2's own: texts in the study's language, addresses.

    What a page does not have is empty, as in Django's templates.
    """
    options |= {"extensions": ["jinja2.ext.i18n"], "undefined": ChainableUndefined}
    made = Environment(**options)  # noqa: S701  Django's backend sets autoescape
    made.policies["ext.i18n.trimmed"] = True
    made.globals |= {
        "_": translation.gettext,
        "gettext": translation.gettext,
        "ngettext": translation.ngettext,
        "is_right_to_left": translation.get_language_bidi,
        "static": cache(static),  # looks the name's hash up each time
        "url": _url,
    }
    made.filters |= {"date": defaultfilters.date, "visible": visible}
    return made


def _url(name: str, *args: Any) -> str:
    return reverse(name, args=args)
