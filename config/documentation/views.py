"""Pages of the documentation; everybody may read them."""

from django.http import FileResponse, Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.cache import cache_control
from django.views.decorators.http import require_GET

from config.documentation.files import INDEX, TYPES, files, pages, text_of
from config.documentation.programs import index_for_programs


@require_GET
def index(request: HttpRequest) -> HttpResponse:
    """Show the index of this documentation."""
    return page(request, INDEX)


@require_GET
def page(request: HttpRequest, name: str) -> HttpResponse:
    """Show a page of this documentation."""
    from config.documentation.rendering import render_page

    if name not in pages():
        raise Http404
    context = {"page": render_page(name), "name": name, "is_index": name == INDEX}
    return render(request, "documentation/page.html", context)


@require_GET
def source(request: HttpRequest, name: str) -> HttpResponse:
    """Show the text of a page as it was written, for programs."""
    if name not in pages():
        raise Http404
    return HttpResponse(text_of(name), content_type="text/markdown; charset=utf-8")


@require_GET
@cache_control(public=True, max_age=3600)
def file(request: HttpRequest, path: str) -> FileResponse:
    """Send a picture or an example of the documentation."""
    if path not in files():
        raise Http404
    found = files()[path]
    return FileResponse(found.open("rb"), content_type=TYPES[found.suffix])


@require_GET
def llms(request: HttpRequest) -> HttpResponse:
    """Show an index of the documentation for language models (llmstxt.org)."""
    return HttpResponse(
        index_for_programs(request.build_absolute_uri), content_type="text/plain; charset=utf-8"
    )
