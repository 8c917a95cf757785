"""The address to which Prolific posts its webhooks."""

import logging

from django.http import HttpRequest, HttpResponse
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_http_methods

from annotation.prolific.sync.webhooks import BadWebhook, keep
from annotation.tasks import handle_prolific_event

logger = logging.getLogger(__name__)


# Prolific's server has no form of ours: the signature protects this view.
@csrf_exempt
@require_http_methods(["POST"])
def webhook(request: HttpRequest) -> HttpResponse:
    """Store the event, queue it, and answer immediately; a repeat gets the same answer."""
    try:
        event = keep(
            timestamp=request.headers.get("X-Prolific-Request-Timestamp", ""),
            signature=request.headers.get("X-Prolific-Request-Signature", ""),
            body=request.body,
        )
    except BadWebhook as problem:
        logger.warning("a webhook was refused: %s", problem)
        return HttpResponse(status=403)
    if event is not None:
        # Without a broker, the reading every minute covers the study anyway.
        handle_prolific_event.delay_on_commit(event.pk)  # type: ignore[attr-defined]
    return HttpResponse(status=204)
