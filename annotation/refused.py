"""What people read when the protection of forms refuses what they sent."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import translation

from studies.models import Study


def csrf_failure(request: HttpRequest, reason: str = "") -> HttpResponse:
    """Say how to go on, to participants in the language of their study."""
    language = "en"
    match = request.resolver_match
    if match is not None and match.app_name == "annotation":
        languages = Study.objects.filter(slug=match.kwargs["slug"]).values_list("language")
        language = next((value for (value,) in languages), language)
    with translation.override(language):
        return render(request, "403_csrf.html", {"language": language}, status=403)
