"""What every row has for which a judge is asked to write a text."""

from django.db import models


class AskedText(models.Model):
    """A text that a judge writes, with the requests for it and their cost.

    `state` goes from waiting to sent and to written, or to failed without a usable reply; a
    subclass may add states after these. `held_nano` is the highest cost of a request in progress;
    it stays if no answer ever arrives. `judging.worker.written_texts` changes all of them.
    """

    WAITING, SENT, WRITTEN, FAILED = "waiting", "sent", "written", "failed"

    state = models.CharField(max_length=10, default=WAITING)
    prompt_sha256 = models.CharField(max_length=64, blank=True)
    requests = models.PositiveSmallIntegerField(default=0)
    prompt_tokens = models.PositiveIntegerField(default=0)
    completion_tokens = models.PositiveIntegerField(default=0)
    spent_nano = models.PositiveBigIntegerField(default=0)
    held_nano = models.PositiveBigIntegerField(default=0)
    model = models.CharField(max_length=200, blank=True, help_text="As the server reports it.")
    reply = models.TextField(blank=True)
    text = models.TextField(blank=True, help_text="As it was accepted.")
    error = models.TextField(blank=True)

    class Meta:
        abstract = True
