"""What agents propose, and what people decided."""

from datetime import timedelta

from django.conf import settings
from django.db import models
from django.db.models import Q

from studies.models.keys import public_id
from studies.models.studies import Study
from studies.statements import clock

KEPT_OPEN = timedelta(days=7)


class ProposalKind(models.TextChoices):
    RUN = "run", "Start a run"
    STATE = "state", "Open, pause or close the study"


class ProposalState(models.TextChoices):
    WAITING = "waiting", "waiting"
    DONE = "done", "carried out"
    DECLINED = "declined", "declined"


class Proposal(models.Model):
    """A request of the API that nobody has sent yet: `body` is what it would send."""

    public_id = models.CharField(max_length=22, unique=True, default=public_id, editable=False)
    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="+")
    kind = models.CharField(max_length=10, choices=ProposalKind)
    body = models.JSONField()
    reason = models.CharField(max_length=500, blank=True, help_text="In the agent's words.")
    token = models.CharField(max_length=100, help_text="The name of the agent's token.")
    proposed_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+"
    )
    created_at = clock.MomentField(auto_now_add=True)
    state = models.CharField(max_length=10, choices=ProposalState, default=ProposalState.WAITING)
    decided_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+"
    )
    decided_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["-created_at", "-pk"]
        constraints = [
            models.CheckConstraint(
                condition=Q(kind__in=ProposalKind.values), name="proposal_kind_known"
            ),
            models.CheckConstraint(
                condition=Q(state="waiting", decided_at=None)
                | Q(state__in=["done", "declined"], decided_at__isnull=False),
                name="proposal_decided_or_not",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.study_id}: {self.kind} {self.public_id}"

    @property
    def is_open(self) -> bool:
        """Whether somebody can still decide; a proposal expires after a week."""
        return self.state == ProposalState.WAITING and self.created_at > clock.now() - KEPT_OPEN

    @property
    def wording(self) -> str:
        """What it would do: its heading, and the button that carries it out."""
        verbs = {"open": "Open study", "paused": "Pause study", "closed": "Close study"}
        return "Start run" if self.kind == ProposalKind.RUN else verbs[self.body["state"]]

    @property
    def outcome(self) -> str:
        """Its state in a word, for people and agents."""
        if self.state == ProposalState.WAITING and not self.is_open:
            return "expired"
        return str(self.get_state_display())
