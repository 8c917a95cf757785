from django.db import models

from annotation.models import ProlificSubmission


class AuthenticityResult(models.Model):
    """What Prolific's authenticity checks say of a submission, as words of its export."""

    submission = models.OneToOneField(
        ProlificSubmission, on_delete=models.CASCADE, related_name="authenticity_result"
    )
    words = models.CharField(max_length=200)

    def __str__(self) -> str:
        return f"result {self.pk}"
