"""Refused imports have failed; imports that are over ended when they last moved."""

from django.db import migrations
from django.db.models import F

WAITING = "Waiting for a worker."


def to_jobs(apps, schema_editor):
    jobs = apps.get_model("studies", "ImportJob").objects
    jobs.filter(state="refused").update(state="failed")
    jobs.filter(state__in=["done", "failed"]).update(finished_at=F("heartbeat_at"))
    jobs.filter(message="").update(message=WAITING)


def to_imports(apps, schema_editor):
    jobs = apps.get_model("studies", "ImportJob").objects
    jobs.filter(state__in=["failed", "gone"]).update(state="refused")


class Migration(migrations.Migration):
    dependencies = [("studies", "0007_imports_as_jobs")]

    operations = [migrations.RunPython(to_jobs, to_imports)]
