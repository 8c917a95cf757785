"""What a report of an error leaves out."""

from django.http import HttpRequest
from django.views.debug import SafeExceptionReporterFilter


class HideAlways(SafeExceptionReporterFilter):
    """Hides what a view marks as sensitive, also on debug pages.

    Django shows everything there, and a screenshot of such a page would hold a key.
    """

    def is_active(self, request: HttpRequest | None) -> bool:
        return True
