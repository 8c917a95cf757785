"""What messages add to a study's pages, its synchronisation and a person's request."""

from collections.abc import Iterator
from urllib.parse import urlencode

from django.urls import reverse

from annotation.models import ProlificStudy
from annotation.prolific.api.client import ProlificClient
from annotation.prolific.api.transport import ProlificError
from annotation.prolific.sync.sync import ReadWithAccount
from annotation.researchers.reaching import ONE_PERSON, WritingPage
from extras.messages.models import ProlificMessage, UnreadMessages
from extras.messages.remote import unread_messages
from studies.held_copies import HeldBy, PersonIn
from studies.models import Study
from studies.pages.workbench import Need, SectionPage, needs, register_pages, section_pages


def _count_unread(study: Study, client: ProlificClient) -> None:
    """Store how many messages about a study nobody has read; 0 if they cannot be listed."""
    rows = ProlificStudy.everything.filter(study=study)
    ids = set(rows.values_list("prolific_id", flat=True))
    try:
        count = sum(message.study_id in ids for message in unread_messages(client))
    except ProlificError:
        count = 0
    UnreadMessages.objects.update_or_create(study=study, defaults={"count": count})


UNREAD = ReadWithAccount("unread messages", _count_unread)


def unread_of(study: Study) -> int:
    """The unread messages about a study, as last read."""
    return UnreadMessages.objects.filter(study=study).values_list("count", flat=True).first() or 0


def _address(study: Study, audience: str) -> str:
    if study.entry != Study.Entry.PROLIFIC:
        return ""
    return f"{reverse('messages:write', args=[study.slug])}?{urlencode({'to': audience})}"


WRITING = WritingPage("messages on Prolific", _address)


def _forget(person: PersonIn) -> None:
    """Delete the messages to one person, whose name says to whom they went."""
    ProlificMessage.objects.filter(
        study=person.study, audience=f"{ONE_PERSON}{person.name}"
    ).delete()


HELD = HeldBy("messages on Prolific", forget=_forget)


def _pages(study: Study) -> Iterator[SectionPage]:
    if study.entry == Study.Entry.PROLIFIC:
        address = reverse("messages:list", args=[study.slug])
        yield SectionPage("annotators", "Messages", address, for_editors=True)


def _needs(study: Study) -> Iterator[Need]:
    if study.entry == Study.Entry.PROLIFIC and (unread := unread_of(study)):
        words = "1 message" if unread == 1 else f"{unread:,} messages"
        address = reverse("messages:list", args=[study.slug])
        yield Need(f"{words} about this study unread on Prolific.", address, "Messages")


def register() -> None:
    register_pages("annotators", "messages:")
    section_pages.register(_pages)
    needs.register(_needs)
