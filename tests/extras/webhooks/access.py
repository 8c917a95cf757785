"""Who may open the pages of webhooks."""

from extras.webhooks.models import Webhook
from studies.models import Study

FOR_OWNERS = {
    "webhooks/add/",
    "webhooks/<public_id>/delete/",
    "webhooks/<public_id>/test/",
}
# It wants a delivery.
NOT_HERE = {"webhooks/<public_id>/again/"}
NEEDS_DATA = r"webhooks:"


def things(study: Study) -> dict[str, Webhook]:
    webhook = Webhook.objects.create(study=study, url="https://example.org", sealed_secret="s")
    return {"webhooks/": webhook}
