"""Messages on Prolific: how they are listed and sent."""

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from annotation.prolific.api.client import ProlificClient
from annotation.prolific.api.transport import shaped
from annotation.prolific.api.types import moment


@dataclass(frozen=True)
class RemoteMessage:
    """A message; Prolific states who sent it, and not who received it."""

    sender: str
    text: str
    sent_at: dt.datetime | None
    study_id: str

    @classmethod
    def of(cls, body: dict[str, Any]) -> "RemoteMessage":
        about = body.get("data") or {}
        return cls(
            sender=str(body["sender_id"]),
            text=str(body["body"]),
            sent_at=moment(body["sent_at"]),
            study_id=str(about.get("study_id") or ""),
        )


def write(client: ProlificClient, participants: Sequence[str], text: str, *, study_id: str) -> None:
    """Send a message to participants of a study. Sent once: look at `messages_with` first."""
    if len(participants) == 1:
        body = {"recipient_id": participants[0], "body": text, "study_id": study_id}
        client.send("POST", "messages/", json=body)
    else:
        several = {"ids": list(participants), "body": text, "study_id": study_id}
        client.send("POST", "messages/bulk/", json=several)


def messages_with(client: ProlificClient, participant: str) -> list[RemoteMessage]:
    """The messages between the account and a participant."""
    return _listed(client.ask("GET", "messages/", params={"user_id": participant}))


def unread_messages(client: ProlificClient) -> list[RemoteMessage]:
    """The messages that the account has received and nobody has read on Prolific."""
    return _listed(client.ask("GET", "messages/unread/"))


def _listed(body: dict[str, Any]) -> list[RemoteMessage]:
    return shaped(lambda: [RemoteMessage.of(row) for row in body["results"]])
