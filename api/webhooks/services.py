"""Adding and deleting webhooks; the study's log says who did."""

from collections.abc import Sequence

from django.contrib.auth.models import User
from django.db import transaction

from api.errors import WebhookError
from api.models import Delivery, Event, Webhook
from api.webhooks.addresses import check_url
from api.webhooks.events import complete_seats
from api.webhooks.sending import send_again
from api.webhooks.signing import new_secret
from studies.models import Study
from studies.services.accounts.team import GivenRight
from studies.services.studies import lock_study, record
from studies.statements import clock

MOST = 10


@transaction.atomic
def add_webhook(
    *, study_id: int, url: str, events: Sequence[str], user: User
) -> tuple[Webhook, str]:
    """Store a webhook; return it with its secret, which is not shown again.

    Raises `WebhookError`. The name of the address is looked up with every delivery.
    """
    check_url(url)
    study = lock_study(study_id)
    if study.webhooks.count() >= MOST:
        raise WebhookError(f"A study has at most {MOST} webhooks. Delete one first.")
    secret, sealed = new_secret()
    webhook = Webhook.objects.create(
        study=study,
        url=url,
        events=[event for event in Event.values if event in events],
        sealed_secret=sealed,
        seen_seats=complete_seats(study),
        created_by=user,
    )
    record(study, "webhook added", user=user, webhook=webhook.public_id)
    return webhook, secret


@transaction.atomic
def delete_webhook(*, webhook: Webhook, user: User) -> None:
    record(webhook.study, "webhook deleted", user=user, webhook=webhook.public_id)
    webhook.delete()


def send_test(*, webhook: Webhook) -> None:
    """Store an event that says nothing, and send it."""
    moment = f"{clock.now().timestamp():.3f}"
    delivery = Delivery.objects.create(webhook=webhook, event=Event.TEST, subject=moment)
    _queue(delivery)


def deliver_again(*, delivery: Delivery) -> None:
    """Send an event once more, whatever became of it."""
    send_again(delivery)
    _queue(delivery)


def webhooks_of_an_owner(study: Study, user_id: int) -> list[GivenRight]:
    """The webhooks of a study that a user has added."""

    def grant(webhook: Webhook) -> GivenRight:
        return GivenRight(
            key=f"webhook {webhook.public_id}",
            label=f"webhook to {webhook.url}",
            end=lambda by: delete_webhook(webhook=webhook, user=by),
            hand_to=lambda heir: Webhook.objects.filter(pk=webhook.pk).update(created_by=heir),
        )

    return [grant(webhook) for webhook in study.webhooks.filter(created_by=user_id)]


def webhooks_of(study: Study) -> list[Webhook]:
    return list(study.webhooks.all())


def _queue(delivery: Delivery) -> None:
    from api.tasks import send_delivery

    send_delivery.delay_on_commit(delivery.pk)  # type: ignore[attr-defined]
