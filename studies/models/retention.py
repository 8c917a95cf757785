"""When the data of a study is deleted without anybody asking again."""

from django.conf import settings
from django.db import models
from django.db.models import Q

from studies.models.studies import Study
from studies.statements import clock


class Retention(models.Model):
    """What an owner decided; a study without a row keeps everything."""

    study = models.OneToOneField(Study, on_delete=models.CASCADE, related_name="retention")
    identities_days = models.PositiveSmallIntegerField(
        null=True, blank=True, help_text="Days after closing when the platform's ids are deleted."
    )
    delete_on = models.DateField(
        null=True, blank=True, help_text="When the study is deleted with everything in it."
    )
    set_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL, related_name="+"
    )
    obstacle = models.TextField(blank=True, help_text="Why what is due was not done yet.")
    created_at = clock.MomentField(auto_now_add=True)

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(identities_days=None) | Q(identities_days__range=(1, 3650)),
                name="retention_days",
            )
        ]

    def __str__(self) -> str:
        return f"retention of {self.study_id}"
