"""The rendering of participants' pages by Jinja2, which compiles templates to Python.

Nearly every request of an open study shows an item, and Django's templates took most of the time.
The templates are in `jinja2/annotation` of this app and of extras. What repeats is remembered: each
text in each language, each address, and whole parts of pages. That saves a third of the calls and a
fifth of the time of an item's page.
"""

from collections.abc import Callable
from functools import cache, lru_cache
from typing import Any

from django.http import HttpRequest
from django.template import defaultfilters, engines
from django.templatetags.static import static
from django.urls import get_script_prefix, reverse
from django.utils import translation
from jinja2 import ChainableUndefined, Environment
from markupsafe import Markup

from studies.templatetags.visible_controls import visible
from studies.texts.languages import isolated
from studies.texts.markdown import render_markdown

# Studies have texts and addresses of their own; those that were used least are forgotten.
_TEXTS, _ADDRESSES, _PARTS = 4_000, 20_000, 2_000


def environment(**options: Any) -> Environment:
    """What templates may use besides Jinja2's functions: translations, addresses and parts.

    Missing values are empty, as in Django's templates.
    """
    options |= {"extensions": ["jinja2.ext.i18n"], "undefined": ChainableUndefined}
    jinja = Environment(**options)  # noqa: S701  Django's backend sets autoescape
    jinja.policies["ext.i18n.trimmed"] = True

    @lru_cache(_PARTS)
    def rendered(language: str, name: str, values: frozenset[tuple[str, Any]]) -> Markup:
        return Markup(jinja.get_template(name).render(_texts(language), **dict(values)))  # noqa: S704

    def part(name: str, **values: Any) -> Markup:
        """The template `name`, which sees nothing but these values and so is rendered once."""
        return rendered(translation.get_language(), name, frozenset(values.items()))

    jinja.globals |= {
        "_": translation.gettext,
        "gettext": translation.gettext,
        "ngettext": translation.ngettext,
        "is_right_to_left": translation.get_language_bidi,
        "part": part,
        "static": cache(static),  # looks the name's hash up each time
        "url": address,
    }
    jinja.filters |= {"date": defaultfilters.date, "isolated": isolated, "visible": visible}
    return jinja


def load() -> None:
    """Compile the templates, and import what renders Django's and Markdown: a server does so once.

    Otherwise each of its workers would at its first pages, while people wait.
    """
    engines.all()  # makes Django's too
    compiled = engines["jinja2"].env  # type: ignore[attr-defined]
    for name in compiled.list_templates():
        compiled.get_template(name)
    render_markdown("Loaded.")


def texts(request: HttpRequest) -> dict[str, Callable[..., str]]:
    """The texts of a page, which is in one language: each is looked up once."""
    return _texts(translation.get_language())


@cache
def _texts(language: str) -> dict[str, Callable[..., str]]:
    remembered = lru_cache(_TEXTS)(translation.gettext)
    plural = lru_cache(_TEXTS)(translation.ngettext)
    return {"_": remembered, "gettext": remembered, "ngettext": plural}


def address(name: str, *args: Any) -> str:
    """The address of a page; a page of an item has nine, and Django searches for each anew."""
    return _address(get_script_prefix(), name, args)


@lru_cache(_ADDRESSES)
def _address(prefix: str, name: str, args: tuple[Any, ...]) -> str:
    return reverse(name, args=args)
