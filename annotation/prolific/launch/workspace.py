"""The workspace that pays for a study, and the project in it that holds the drafts.

Prolific puts a draft without a project into the account's first project, and charges that project's
workspace. So both are looked up once, before the first draft, and sent with every call that accepts
them.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

from annotation.models import Recruitment
from annotation.prolific.api.client import ProlificClient
from annotation.prolific.api.errors import ChooseWorkspace, NotAllowed, OutcomeUnknown
from annotation.prolific.launch.launch_plan import LaunchPlan

# The title of the project that is preferred, and created if a workspace has none.
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
        project = self.project_title or "not made yet"
        return f"workspace “{self.title or self.id}”, project “{project}”"


def workspace_of(recruitment: Recruitment, client: ProlificClient) -> Workspace:
    """The workspace of the study's drafts; before there are any, the workspace of the plan.

    Raises `ChooseWorkspace` when the plan has to name one, `NotAllowed` when it names one that the
    token cannot access, and any `ProlificError`.
    """
    stored = Workspace.of(recruitment.workspace)
    if stored.id and recruitment.study.prolific_studies.exists():
        return stored
    return find_workspace(client, LaunchPlan.of(recruitment.plan))


def find_workspace(client: ProlificClient, plan: LaunchPlan) -> Workspace:
    """Find the plan's workspace, otherwise the only one, and its project. Changes nothing."""
    known = client.workspaces()
    if plan.workspace and plan.workspace not in known:
        raise ChooseWorkspace(
            f"The token does not open the workspace {plan.workspace} of the plan.", known
        )
    if not plan.workspace and len(known) != 1:
        problem = "The account has several workspaces" if known else "The account shows none"
        raise ChooseWorkspace(f"{problem}, and the plan names none.", known)
    workspace = plan.workspace or next(iter(known))
    found = Workspace(workspace, known[workspace])
    projects = client.projects(workspace)
    if plan.project and plan.project not in projects:
        named = ", ".join(f"{title} ({one})" for one, title in projects.items()) or "none"
        raise NotAllowed(
            f"The workspace has no project {plan.project}. Its projects: {named}. "
            "Change the plan's project."
        )
    ours = (one for one, title in projects.items() if title == PROJECT)
    project = plan.project or next(ours, next(iter(projects), ""))
    return replace(found, project=project, project_title=projects.get(project, ""))


def with_project(client: ProlificClient, workspace: Workspace) -> Workspace:
    """The workspace with a project in it, created if there is none. Safe to repeat."""
    if workspace.project:
        return workspace
    try:
        project = client.create_project(workspace.id, PROJECT)
    except OutcomeUnknown:
        made = {title: one for one, title in client.projects(workspace.id).items()}
        if PROJECT not in made:
            raise
        project = made[PROJECT]
    return replace(workspace, project=project, project_title=PROJECT)
