"""Launch plans: which participants a study needs, who pays, and the request to Prolific.

Prolific puts a draft without a project into the account's first project, and charges that project's
workspace. Both are therefore looked up before the first draft, and sent with every call that
accepts them.
"""

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any

from django.conf import settings
from django.urls import reverse
from django.utils.html import escape

from annotation.models import Ending, Recruitment
from annotation.prolific.api.client import ProlificClient
from annotation.prolific.api.transport import ChooseWorkspace, NotAllowed, OutcomeUnknown
from annotation.prolific.api.types import (
    AGE,
    APPROVAL_RATE,
    COUNTRY,
    EARLIER_SUBMISSIONS,
    LANGUAGE,
    POLITICS,
    SEX,
    FilterSet,
    WantedFilter,
)
from annotation.seats.assignment import items_shown
from annotation.seats.flow import codes_of, time_limit
from studies.models import Item, Study

# Flags about the form of an item, not its content.
_NO_CONTENT = {"identical_responses"}
# Prolific has two kinds of warning, and a study names one; these words require the stronger.
_EXPLICIT = ("explicit", "sexual", "nudity", "porn", "gore", "graphic")
_LONGEST_DETAILS = 500


def content_warnings(study: Study) -> dict[str, Any]:
    """A draft's fields with warnings about the content of its items; none without flags."""
    flagged = Item.everything.filter(study=study).exclude(warnings=[])
    flags = {flag for names in flagged.values_list("warnings", flat=True) for flag in names}
    touched = sorted(flags - _NO_CONTENT)
    if not touched:
        return {}
    is_explicit = any(word in flag.casefold() for flag in touched for word in _EXPLICIT)
    details = f"Some of the items touch on: {', '.join(touched)}."
    return {
        "content_warnings": ["explicit" if is_explicit else "sensitive"],
        "content_warning_details": details[:_LONGEST_DETAILS],
    }


DEVICES = ("desktop", "tablet", "mobile")
_LONGEST_MINUTES = 24 * 60 - 1


@dataclass(frozen=True)
class LaunchPlan:
    """The settings of a recruitment; an empty or None setting requests nothing.

    `places` None means as many as the items need. `balance` gives the labels of each filter that
    divides the places: like the quota groups that match it, otherwise equally; several filters are
    crossed. `matches` gives, by the key of our question, the id of its filter and the filter's
    label for each value. `apart` creates one study for each quota group instead. `signed_links` is
    for workspaces that have them, and so is `screen_out_pay`, in minor units, for at most
    `screen_out_slots` people who are turned away. `workspace` and `project` are ids; empty means
    the only workspace and its first project.

    `country` and `language` have one label a line. `filters` are all other filters, in the form
    that `WantedFilter.of` reads. `filter_set` is the id of a set that the workspace keeps, which
    Prolific accepts only without any other filter. `naivety` None lets Prolific decide, 0 shows the
    study to everybody at once. At most `at_once` people take part at the same time.
    """

    places: int | None = None
    country: str = ""
    language: str = ""
    approval_rate: int | None = None
    earlier_submissions: int | None = None
    age_low: int | None = None
    age_high: int | None = None
    balance: Mapping[str, list[str]] = field(default_factory=dict)
    matches: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    devices: tuple[str, ...] = DEVICES
    apart: bool = False
    signed_links: bool = False
    screen_out_pay: int | None = None
    screen_out_slots: int | None = None
    workspace: str = ""
    project: str = ""
    filters: tuple[Mapping[str, Any], ...] = ()
    filter_set: str = ""
    naivety: float | None = None
    at_once: int | None = None
    approve_at_once: bool = False

    @classmethod
    def of(cls, stored: Mapping[str, Any]) -> "LaunchPlan":
        known = {f.name for f in fields(cls)}
        values = {name: value for name, value in stored.items() if name in known}
        for name in {"devices", "filters"} & values.keys():
            values[name] = tuple(values[name])
        return cls(**values)

    def stored(self) -> dict[str, Any]:
        return {**asdict(self), "devices": list(self.devices), "filters": list(self.filters)}

    def wanted(self, weights: Mapping[str, Mapping[str, int]] | None = None) -> list[WantedFilter]:
        """The filters for all participants; separately recruited groups add their own.

        `weights` are those of `weights_of`; without them, no filter is balanced.
        """
        filters = []
        if self.country:
            filters.append(WantedFilter(COUNTRY, self.country.splitlines()))
        if self.language:
            filters.append(WantedFilter(LANGUAGE, self.language.splitlines()))
        if self.age_low is not None or self.age_high is not None:
            filters.append(WantedFilter(AGE, low=self.age_low, high=self.age_high))
        if self.approval_rate is not None:
            filters.append(WantedFilter(APPROVAL_RATE, low=self.approval_rate, high=100))
        if self.earlier_submissions is not None:
            filters.append(WantedFilter(EARLIER_SUBMISSIONS, low=self.earlier_submissions))
        filters += [WantedFilter.of(one) for one in self.filters]
        return filters + [
            WantedFilter(filter_id, self.balance[filter_id], weights=of_labels)
            for filter_id, of_labels in (weights or {}).items()
        ]

    def sorts_by(self, key: str) -> bool:
        """Whether a balanced filter matches our question with this key."""
        if key in self.matches:
            return self.matches[key]["filter"] in self.balance
        return any(question_of(filter_id, {key}) for filter_id in self.balance)

    @property
    def groups(self) -> int:
        """The number of groups of equal size into which the balance divides participants."""
        return math.prod(len(labels) for labels in self.balance.values())


# The settings for annotators in the study of the paper.
PAPER = LaunchPlan(
    places=30,
    country="United States",
    approval_rate=99,
    earlier_submissions=50,
    age_low=18,
    age_high=75,
    balance={SEX: ["Male", "Female"], POLITICS: ["Democrat", "Republican", "Independent"]},
)
PAPER_PAY_PER_HOUR, PAPER_CURRENCY = 1350, "USD"

# The keys of our questions that match a filter, and our values for its labels.
_QUESTIONS = {SEX: ("gender", "sex"), POLITICS: ("politics", "political_affiliation", "party")}
_SAME = {"male": {"man", "male", "m"}, "female": {"woman", "female", "f"}}


def label_for(value: str, labels: list[str]) -> str | None:
    """The label of a filter that means our `value`."""
    for label in labels:
        folded = label.casefold()
        if value.casefold() in {folded, folded.replace(" ", "_")} | _SAME.get(folded, set()):
            return label
    return None


def question_of(filter_id: str, keys: set[str]) -> str | None:
    """The key of our question that matches the filter."""
    return next((key for key in _QUESTIONS.get(filter_id, ()) if key in keys), None)


def is_known(key: str) -> bool:
    """Whether our question is known to match the filter for sex or political affiliation."""
    return any(key in keys for keys in _QUESTIONS.values())


# Prolific's action for each code. No ending is rejected automatically. Only those who do not agree
# to take part, or do not understand the instructions, are asked to return without pay.
_REVIEW = [{"action": "MANUALLY_REVIEW"}]
_CODES: dict[Ending, tuple[str, str]] = {
    Ending.COMPLETED: ("COMPLETED", ""),
    Ending.FAILED_ATTENTION: ("FAILED_ATTENTION_CHECK", ""),
    Ending.TIMED_OUT: ("OTHER", ""),
    Ending.DECLINED: ("NO_CONSENT", "You did not agree to take part."),
    Ending.WITHDREW: ("OTHER", ""),
    Ending.DISQUALIFIED: ("SCREENED_OUT", "The instructions were not clear to you."),
    Ending.QUOTA_FULL: ("SCREENED_OUT", ""),
    Ending.INELIGIBLE: ("SCREENED_OUT", ""),
    Ending.CLOSED: ("OTHER", ""),
}


def completion_codes(
    study: Study, plan: LaunchPlan | None = None, *, group_id: str = ""
) -> list[dict[str, Any]]:
    """Every ending's code with its actions: review, a request to return, or the screen-out's pay.

    Somebody who meets a full group works on items and is paid like everybody else, so only those
    who know the material from a related study are screened out.
    """
    codes, plan = codes_of(study.pk), plan or LaunchPlan()
    paid = plan.screen_out_pay and plan.screen_out_slots
    screen_out = {
        "action": "FIXED_SCREEN_OUT_PAYMENT",
        "fixed_screen_out_reward": plan.screen_out_pay,
        "slots": plan.screen_out_slots,
    }

    def actions(ending: Ending, reason: str) -> list[dict[str, Any]]:
        if ending == Ending.INELIGIBLE and paid:
            return [screen_out]
        if ending == Ending.COMPLETED and plan.approve_at_once:
            return [{"action": "AUTOMATICALLY_APPROVE"}]
        return [{"action": "REQUEST_RETURN", "return_reason": reason}] if reason else _REVIEW

    group = [{"action": "ADD_TO_PARTICIPANT_GROUP", "participant_group": group_id}]
    return [
        {
            "code": codes[ending],
            "code_type": "FIXED_SCREENOUT" if screen_out in actions(ending, reason) else kind,
            "actions": [*actions(ending, reason), *(group if group_id else [])],
        }
        for ending, (kind, reason) in _CODES.items()
    ]


def entry_url(study: Study) -> str:
    """The study's link with the placeholders that Prolific fills in."""
    path = reverse("annotation:entry", args=[study.slug])
    return with_ids(f"{settings.PUBLIC_BASE_URL}{path}")


def with_ids(address: str) -> str:
    """An address with the placeholders that Prolific fills in for each participant."""
    names = ("PROLIFIC_PID", "STUDY_ID", "SESSION_ID")
    query = "&".join(f"{name}={{{{%{name}%}}}}" for name in names)
    return f"{address}?{query}"


def payload(
    study: Study,
    plan: LaunchPlan,
    *,
    name: str,
    places: int,
    filters: list[dict[str, Any]],
    project: str,
    group_id: str = "",
    filter_set: FilterSet | None = None,
) -> dict[str, Any]:
    """The body of a draft; `name` is the internal name by which it is found.

    `project` decides which workspace's wallet pays. With a `filter_set`, `filters` are not sent,
    because they are those of the set.
    """
    body: dict[str, Any] = {
        "name": study.title,
        "internal_name": name,
        "project": project,
        "description": description(study),
        "external_study_url": entry_url(study),
        "prolific_id_option": "url_parameters",
        "completion_codes": completion_codes(study, plan, group_id=group_id),
        "total_available_places": places,
        "estimated_completion_time": study.minutes,
        "maximum_allowed_time": allowed_minutes(study),
        "reward": study.reward,
        "device_compatibility": [] if set(plan.devices) == set(DEVICES) else list(plan.devices),
        "peripheral_requirements": [],
        "filters": filters,
        "study_labels": ["annotation"],
        "submissions_config": {
            "max_submissions_per_participant": 1,
            "max_concurrent_submissions": plan.at_once or -1,
        },
        **content_warnings(study),
    }
    if plan.naivety is not None:
        body["naivety_distribution_rate"] = plan.naivety
    if filter_set:
        del body["filters"]
        body |= {"filter_set_id": filter_set.id, "filter_set_version": filter_set.version}
    if any("weightings" in chosen for chosen in filters):
        body["study_type"] = "QUOTA"
    if plan.signed_links:
        body["is_external_study_url_secure"] = True
    return body


def allowed_minutes(study: Study) -> int:
    """The time limit on Prolific in minutes: our limit, or the platform's maximum if lower."""
    return min(_LONGEST_MINUTES, round(time_limit(study).total_seconds() / 60))


def description(study: Study) -> str:
    """The description that Prolific shows before anyone takes a place."""
    task = (
        f"You read {items_shown(study)} short questions with two responses each and choose "
        "the one that a described person would choose."
    )
    if study.ask_certainty:
        task += " Each time you say how certain you are."
    note = " <p>This is a simulated study.</p>" if study.is_simulated else ""
    return f"<p>{escape(task)}</p><p>It takes about {study.minutes} minutes.</p>{note}"


# The title of the preferred project, which is created if a workspace has no project.
PROJECT = "Thirdperson"


@dataclass(frozen=True)
class Workspace:
    """A workspace and its project, by id and title. `project` is empty if none exists yet."""

    id: str = ""
    title: str = ""
    project: str = ""
    project_title: str = ""

    @classmethod
    def of(cls, stored: Mapping[str, Any]) -> "Workspace":
        return cls(**stored) if stored else cls()

    def stored(self) -> dict[str, str]:
        return asdict(self)

    def __str__(self) -> str:
        project = self.project_title or "not created yet"
        return f"workspace “{self.title or self.id}”, project “{project}”"


def workspace_of(recruitment: Recruitment, client: ProlificClient) -> Workspace:
    """The workspace of the study's drafts; before there are any, the workspace of the plan.

    Raises `ChooseWorkspace` if the plan must name one, `NotAllowed` if the token cannot access the
    named one, and any `ProlificError`.
    """
    stored = Workspace.of(recruitment.workspace)
    if stored.id and recruitment.study.prolific_studies.exists():
        return stored
    return find_workspace(client, LaunchPlan.of(recruitment.plan))


def find_workspace(client: ProlificClient, plan: LaunchPlan) -> Workspace:
    """Find the plan's workspace, or the only one, and its project. Changes nothing."""
    known = client.workspaces()
    if plan.workspace and plan.workspace not in known:
        raise ChooseWorkspace(
            f"The token has no access to the plan's workspace {plan.workspace}.", known
        )
    if not plan.workspace and len(known) != 1:
        problem = "The account has several workspaces" if known else "The account has none"
        raise ChooseWorkspace(f"{problem}, and the plan names none.", known)
    workspace = plan.workspace or next(iter(known))
    chosen = Workspace(workspace, known[workspace])
    projects = client.projects(workspace)
    if plan.project and plan.project not in projects:
        named = ", ".join(f"{title} ({one})" for one, title in projects.items()) or "none"
        raise NotAllowed(
            f"The workspace has no project {plan.project}. Its projects: {named}. "
            "Change the plan's project."
        )
    ours = (one for one, title in projects.items() if title == PROJECT)
    project = plan.project or next(ours, next(iter(projects), ""))
    return replace(chosen, project=project, project_title=projects.get(project, ""))


def with_project(client: ProlificClient, workspace: Workspace) -> Workspace:
    """The workspace with a project in it, created if there is none. Safe to repeat."""
    if workspace.project:
        return workspace
    try:
        project = client.create_project(workspace.id, PROJECT)
    except OutcomeUnknown:
        projects = {title: one for one, title in client.projects(workspace.id).items()}
        if PROJECT not in projects:
            raise
        project = projects[PROJECT]
    return replace(workspace, project=project, project_title=PROJECT)
