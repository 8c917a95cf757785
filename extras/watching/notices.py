"""Who is told that something has moved: “Needs you” on the study's page, and e-mail."""

from collections.abc import Iterator

from django.conf import settings
from django.core.mail import send_mail
from django.urls import reverse

from extras.watching.models import Look, WatchedSet
from studies.models.studies import Membership, Study
from studies.pages.workbench import Need

_TOLD = (Membership.Role.OWNER, Membership.Role.EDITOR)


def needs_of(study: Study) -> Iterator[Need]:
    """Moves that nobody has marked as read, and looks that failed last."""
    sets = (
        WatchedSet.objects.filter(study=study, ended_at=None)
        .select_related("run__judge")
        .defer("frozen")
    )
    for watched in sets:
        name = watched.run.judge.name
        address = reverse("watching:show", args=[study.slug, watched.public_id])
        result = watched.result or {"moved": [], "verdict": ""}
        if set(result["moved"]) - {*watched.read}:
            words = f"Watched set of {name}: {result['verdict']}."
            yield Need(words, address, "Open watched set", is_urgent=True)
        last = watched.looks.exclude(state=Look.State.ASKING).last()
        if last is not None and last.state == Look.State.FAILED:
            yield Need(f"The last look at {name} failed.", address, "Open watched set")


def send_mail_about(watched_id: int) -> None:
    """Write to the owners and editors that have an address, if there is a mail server."""
    watched = WatchedSet.objects.select_related("study", "run__judge").get(pk=watched_id)
    members = Membership.objects.filter(study=watched.study, role__in=_TOLD)
    addresses = set(members.values_list("user__email", flat=True)) - {""}
    if not (addresses and can_send_mail() and watched.result):
        return
    path = reverse("watching:show", args=[watched.study.slug, watched.public_id])
    text = "\n\n".join(
        [
            f"Study “{watched.study.title}”, judge {watched.run.judge.name}:",
            *watched.result["sentences"],
            f"{settings.PUBLIC_BASE_URL.rstrip('/')}{path}",
        ]
    )
    subject = f"{watched.run.judge.name}: {watched.result['verdict']}"
    for address in sorted(addresses):
        send_mail(subject, text, None, [address])


def can_send_mail() -> bool:
    """Whether the server has a mail server; others keep the notice on the page."""
    return bool(settings.EMAIL_HOST) or "smtp" not in settings.EMAIL_BACKEND
