"""Jobs that ask a judge something other than the questions of a run, and their requests."""

from django.db import models

from judging.models.judges import Judge
from studies.jobs.models import Job
from studies.models import Study, public_id

# The states of a request, to which a job may add what follows.
WAITING, SENT, WRITTEN, FAILED = "waiting", "sent", "written", "failed"


class AskingJob(Job):
    """A job that asks a judge, within a budget."""

    public_id = models.CharField(max_length=22, unique=True, default=public_id, editable=False)
    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="+")
    judge = models.ForeignKey(Judge, null=True, on_delete=models.SET_NULL, related_name="+")
    judge_name = models.CharField(max_length=100)
    prompt_sha256 = models.CharField(max_length=64, help_text="Of the words that do not change.")
    budget = models.DecimalField(max_digits=12, decimal_places=4, null=True, blank=True)

    class Meta(Job.Meta):
        abstract = True


class JobRequest(models.Model):
    """What one question of a job cost, and its reply. A subclass has its `job` and its `state`.

    waiting → sent → written, or failed if there is no usable reply. `held_nano` is the highest cost
    of a request in progress; it stays if no answer ever arrives.
    """

    prompt_sha256 = models.CharField(max_length=64, blank=True)
    requests = models.PositiveSmallIntegerField(default=0)
    prompt_tokens = models.PositiveIntegerField(default=0)
    completion_tokens = models.PositiveIntegerField(default=0)
    spent_nano = models.PositiveBigIntegerField(default=0)
    held_nano = models.PositiveBigIntegerField(default=0)
    model = models.CharField(max_length=200, blank=True, help_text="As the server reports it.")
    reply = models.TextField(blank=True)
    error = models.TextField(blank=True)

    class Meta:
        abstract = True
