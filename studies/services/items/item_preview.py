"""The page of an item that is not stored yet, as annotators will see it. Another app renders it."""

from django.http import HttpRequest, HttpResponse
from django.utils.module_loading import import_string

from studies.models import Item, Study

_renderers: list[str] = []


def register(renderer: str) -> None:
    """Name the function that renders such a page, when its app is ready."""
    _renderers[:] = [renderer]


def show_item(
    request: HttpRequest, *, study: Study, item: Item, number: int, total: int
) -> HttpResponse:
    """Show item `number` of `total`."""
    render = import_string(_renderers[0])
    page: HttpResponse = render(request, study=study, item=item, number=number, total=total)
    return page
