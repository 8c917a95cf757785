"""The simulated Prolific's records of participants, and the switches of its behaviour."""

import base64
import hashlib
import hmac
import secrets
from dataclasses import dataclass, field
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

FEE, VAT = Decimal(1) / 3, Decimal("0.2")
WORKSPACE = "1" * 24
RESEARCHER = "0" * 24
FUNDS = 10_000_000
FILTERS: list[dict[str, Any]] = [
    {
        "filter_id": "current-country-of-residence",
        "title": "Current country of residence",
        "description": "",
        "question": "In what country do you currently live?",
        "type": "select",
        "data_type": "ChoiceID",
        "choices": {"0": "United Kingdom", "1": "United States", "45": "Canada"},
    },
    {
        "filter_id": "sex",
        "tags": ["allow-distribution"],
        "title": "Sex",
        "description": "",
        "question": "What sex were you assigned at birth?",
        "type": "select",
        "data_type": "ChoiceID",
        "choices": {"0": "Male", "1": "Female"},
    },
    {
        "filter_id": "us-political-affiliation",
        "tags": ["allow-distribution"],
        "title": "U.S. Political Affiliation",
        "description": "",
        "question": "Which U.S. political party do you feel closest to?",
        "type": "select",
        "data_type": "ChoiceID",
        "choices": {"0": "Democrat", "1": "Republican", "2": "Independent", "3": "Other"},
    },
    {
        "filter_id": "fluent-languages",
        "title": "Fluent languages",
        "description": "",
        "question": "Which languages do you speak fluently?",
        "type": "select",
        "data_type": "ChoiceID",
        "choices": {"19": "English", "27": "German"},
    },
    {
        "filter_id": "age",
        "title": "Age",
        "description": "",
        "question": "What is your date of birth?",
        "type": "range",
        "data_type": "integer",
        "min": 18,
        "max": 100,
    },
    {
        "filter_id": "diet",
        "title": "Diet",
        "description": "",
        "question": "Which diet do you follow?",
        "type": "select",
        "data_type": "ChoiceID",
        "choices": {"0": "Vegetarian", "1": "Vegan", "2": "None of these"},
    },
    {
        "filter_id": "highest-education-level-completed",
        "title": "Highest education level completed",
        "description": "",
        "question": "Which is the highest level of education that you have completed?",
        "type": "select",
        "data_type": "ChoiceID",
        "choices": {
            "0": "No formal qualifications",
            "1": "High school diploma",
            "2": "Undergraduate degree",
            "3": "Graduate degree",
        },
    },
    {
        "filter_id": "approval_rate",
        "title": "Approval rate",
        "description": "",
        "question": "The share of a participant's submissions that were approved.",
        "type": "range",
        "data_type": "integer",
        "min": 0,
        "max": 100,
    },
    {
        "filter_id": "approval_numbers",
        "title": "Number of previous submissions",
        "description": "",
        "question": "How many submissions a participant has made.",
        "type": "range",
        "data_type": "integer",
        "min": 0,
        "max": 10000,
    },
    {
        "filter_id": "custom-group-fact-checkers",
        "title": "Fact checkers",
        "description": "",
        "question": "Participants who passed a test of checking facts.",
        "type": "select",
        "data_type": "ChoiceID",
        "choices": {"0": "Yes"},
        "tags": ["custom-group"],
    },
    *(
        {
            "filter_id": name,
            "title": title,
            "description": "",
            "question": question,
            "type": "select",
            "data_type": data_type,
            "choices": {},
        }
        for name, title, question, data_type in (
            (
                "participant_group_allowlist",
                "Include groups",
                "Only participants of these groups can take part.",
                "ParticipantGroupID",
            ),
            (
                "participant_group_blocklist",
                "Exclude groups",
                "Participants of these groups cannot take part.",
                "ParticipantGroupID",
            ),
            (
                "previous_studies_allowlist",
                "Include studies",
                "Only participants of these studies can take part.",
                "StudyID",
            ),
            (
                "previous_studies_blocklist",
                "Exclude studies",
                "Participants of these studies cannot take part.",
                "StudyID",
            ),
            (
                "custom_allowlist",
                "Custom allow list",
                "Only these participants can take part.",
                "ParticipantID",
            ),
            (
                "custom_blocklist",
                "Custom block list",
                "These participants cannot take part.",
                "ParticipantID",
            ),
        )
    ),
]
REJECTION_CATEGORIES = (
    "TOO_QUICKLY",
    "TOO_SLOWLY",
    "FAILED_INSTRUCTIONS",
    "INCOMP_LONGITUDINAL",
    "FAILED_CHECK",
    "LOW_EFFORT",
    "MALINGERING",
    "NO_CODE",
    "BAD_CODE",
    "NO_DATA",
    "UNSUPP_DEVICE",
    "OTHER",
)
# The statuses that hold a place; with the others the place was given back.
HOLDING = {"RESERVED", "ACTIVE", "AWAITING REVIEW", "APPROVED", "PARTIALLY APPROVED", "REJECTED"}


class Refusal(Exception):
    """An error answer."""

    def __init__(self, status: int, detail: Any) -> None:
        super().__init__(str(detail))
        self.status = status
        self.detail = detail


@dataclass
class Behaviour:
    """Switches between the reported behaviours of Prolific, for cases where sources conflict."""

    errors: str = "wrapped"  # wrapped, flat or simple
    hooks: str = "object"  # or "results"
    stop: str = "COMPLETED"  # or "AWAITING REVIEW"
    timed_out: str = "TIMED-OUT"  # or "TIMED_OUT"
    awaiting: str = "AWAITING REVIEW"  # or "AWAITING_REVIEW"
    publishes: str = "PUBLISHING"  # first, or "ACTIVE" at once
    approves: str = "later"  # with the next read, or "at once"
    export: str = "csv"  # or "json"
    export_filters: str = "ids"  # or "refused"
    past_the_end: str = "404"  # or "empty": a page without rows
    child_studies: bool = False
    study_type: str = "any"  # "required" with weightings, or "refused"
    reopens_itself: bool = False  # after a rejection in AWAITING REVIEW
    pauses: bool = True  # a full study, when somebody awaiting review returns or is rejected
    lists_bonuses: bool = True  # also in the list of submissions
    shows_balance: bool = True
    people: int = 40_000  # who match no filter or more; each filter leaves a third
    screen_outs: bool = True  # the workspace has paid screen-outs
    test_studies: bool = True  # the workspace has test studies
    strict: bool = True


@dataclass
class Submission:
    id: str
    study: str
    participant: str
    stratum: tuple[int, ...]
    status: str = "ACTIVE"
    started_at: datetime = field(default_factory=lambda: datetime.now(UTC))
    completed_at: datetime | None = None
    code: str = ""
    bonuses: list[int] = field(default_factory=list)
    return_requested: datetime | None = None
    messages: int = 0
    about: dict[str, str] = field(default_factory=dict)
    # A researcher who looks at the study: known here, and without one of its places.
    visits: bool = False


@dataclass
class Hook:
    id: str
    event: str
    url: str
    secret: str
    confirmed: bool = False
    enabled: bool = True


@dataclass(frozen=True)
class Delivery:
    """One webhook, signed and ready to be posted; `due` is by the monotonic clock."""

    url: str
    body: bytes
    headers: dict[str, str]
    tries: int = 0
    due: float = 0.0


def new_id() -> str:
    return secrets.token_hex(12)


def named_id(*names: str) -> str:
    """An id that is always the same for the same names."""
    return hashlib.sha256("\n".join(names).encode()).hexdigest()[:24]


def stamp(moment: datetime | None) -> str | None:
    return moment.isoformat().replace("+00:00", "Z") if moment else None


def signature(secret: str, timestamp: str, body: bytes) -> str:
    digest = hmac.new(secret.encode(), timestamp.encode() + body, hashlib.sha256).digest()
    return base64.b64encode(digest).decode()
