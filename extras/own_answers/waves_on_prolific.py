"""Waves on Prolific: who is invited to one, and a longitudinal project for all of them."""

from django.contrib.auth.models import User
from django.db import transaction

from annotation.models import Recruitment
from annotation.prolific.api.claims import claimed
from annotation.prolific.api.client import ProlificClient, connect
from annotation.prolific.api.transport import NotAllowed, OutcomeUnknown
from annotation.prolific.launch.launch import group_name
from annotation.prolific.launch.launch_plan import LaunchPlan, workspace_of
from extras.own_answers.follow_up import GROUP_ALLOWLIST, add_to_group, group_members
from extras.own_answers.models import LaterWave
from extras.own_answers.waves import (
    WaveInvitations,
    add_people,
    keys_of,
    people_of,
    series_of,
)
from studies.models import Study
from studies.services.studies import record


def check_invitation(study: Study) -> None:
    """Ask Prolific whether a new wave could be invited there. Changes nothing.

    Raises `ProlificError`: no token or a wrong one, no workspace, or nobody who can be reached.
    """
    first, _ = series_of(study)
    _keys(LaterWave(first=first))
    client = connect(first.pk)
    client.me()  # a workspace that is stored is not read again, so it would not show a wrong token
    recruitment = Recruitment.objects.select_related("study").filter(study=first).first()
    workspace_of(recruitment or Recruitment(study=first), client)


def _keys(wave: LaterWave) -> dict[int, str]:
    if keys := keys_of(wave):
        return keys
    raise NotAllowed("Nobody who completed the first wave can be reached on Prolific.")


def invite_on_prolific(*, wave_id: int, user: User | None = None) -> WaveInvitations:
    """Put everybody who completed the first wave into a participant group on Prolific.

    The launch plan of the wave then admits only this group, with a place for each. It costs nothing
    until the wave is published. A repeat adds those who completed since. Raises `ProlificError`.
    """
    wave = LaterWave.objects.select_related("study", "first").get(pk=wave_id)
    first, study = wave.first, wave.study
    if study.prolific_studies.exists():
        raise NotAllowed("This wave is on Prolific already. Add places on its page there.")
    keys = _keys(wave)
    account = Recruitment.objects.filter(study=first).values_list("prolific_account", flat=True)
    recruitment, _ = Recruitment.objects.get_or_create(study=study)
    Recruitment.objects.filter(pk=recruitment.pk).update(prolific_account=account.first())
    client = connect(study.pk)
    with claimed(study.pk, client) as recruitment:
        source = Recruitment.objects.select_related("study").filter(study=first).first()
        workspace = workspace_of(source or recruitment, client)
        name = f"{group_name(study.pk)}-wave-{wave.number}"
        groups = client.groups(workspace=workspace.id)
        group = groups.get(name) or client.create_group(name, workspace=workspace.id)
        before = group_members(client, group)
        new = sorted({*keys.values()} - before)
        if new:
            add_to_group(client, group, new)
        plan = LaunchPlan.of(recruitment.plan).stored()
        others = [one for one in plan["filters"] if one.get("filter") != GROUP_ALLOWLIST]
        recruitment.plan = plan | {
            "filters": [*others, {"filter": GROUP_ALLOWLIST, "labels": [group]}],
            "places": len({*keys.values()} | before),
            "workspace": workspace.id,
            "project": workspace.project,
        }
        recruitment.save(update_fields=["plan"])
    with transaction.atomic():
        known = add_people(wave, keys)
        record(study, "people invited", user=user, people=len(new), wave=wave.number)
    return WaveInvitations(len(new), known, people_of(first).count() - len(keys))


def longitudinal_project(
    *, study_id: int, completions: int, retention: int, user: User | None = None
) -> str:
    """Create a longitudinal project on Prolific for a first wave; its launch plan then names it.

    `completions` people are wanted in the last wave, and `retention` percent are expected to come
    back for each. A repeat finds the project. Returns its title. Raises `ProlificError`.
    """
    study = Study.objects.get(pk=study_id)
    if LaterWave.objects.filter(study=study).exists():
        raise NotAllowed("This is a later wave. It is in the project of the first one.")
    if study.prolific_studies.exists():
        raise NotAllowed(
            "The study is on Prolific already, and stays in its project. Later waves join it there."
        )
    Recruitment.objects.get_or_create(study=study)
    client = connect(study.pk)
    with claimed(study.pk, client) as recruitment:
        workspace = workspace_of(recruitment, client)
        title = f"{study.slug}: waves"
        config = {"target_completions": completions, "retention_rate": retention / 100}
        project = _project(client, workspace.id, title)
        if not project:
            try:
                fields = {"is_longitudinal": True, "longitudinal": {"config": config}}
                client.create_project(workspace.id, title, **fields)
            except OutcomeUnknown:
                pass  # it may be there
            project = _project(client, workspace.id, title)
        if not project:
            raise NotAllowed(
                f"Prolific has no longitudinal project “{title}” after it was asked to create it. "
                "Look at the projects of your workspace, or try again."
            )
        plan = LaunchPlan.of(recruitment.plan).stored()
        recruitment.plan = plan | {"workspace": workspace.id, "project": project}
        recruitment.save(update_fields=["plan"])
    record(study, "longitudinal project", user=user, project=project, **config)
    return title


def _project(client: ProlificClient, workspace: str, title: str) -> str:
    """The id of our longitudinal project; empty if there is none."""
    known = client.projects(workspace, is_longitudinal=True)
    return next((one for one, name in known.items() if name == title), "")
