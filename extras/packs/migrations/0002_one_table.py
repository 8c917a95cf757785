"""A batch is a pack that is with a provider: one table for both."""

from django.db import migrations, models
from django.db.models import Q

# Their public ids stay, because they are the leases of judgments and the names at the provider.
_SAME = """public_id, run_id, provider_id, requests, most_nano, most_tokens, answered, sentence,
    busy_until, failing_since, submitted_at, ended_at"""
# ruff: noqa: S608  the names are constants of this module
_MOVE = f"""
INSERT INTO packs_pack ({_SAME}, written_at, is_batch, state)
SELECT {_SAME}, created_at, TRUE,
    CASE state WHEN 'submitted' THEN 'waiting' WHEN 'collected' THEN 'read' ELSE state END
FROM packs_batch ORDER BY id
"""
_MOVE_BACK = f"""
INSERT INTO packs_batch ({_SAME}, created_at, state)
SELECT {_SAME}, written_at,
    CASE state WHEN 'waiting' THEN 'submitted' WHEN 'read' THEN 'collected' ELSE state END
FROM packs_pack WHERE is_batch ORDER BY id
"""
_TAKE_OUT = "DELETE FROM packs_pack WHERE is_batch"


class Migration(migrations.Migration):
    dependencies = [("packs", "0001_initial")]

    operations = [
        migrations.RemoveConstraint("pack", "pack_state"),
        *(
            migrations.AddField("pack", name, field)
            for name, field in {
                "is_batch": models.BooleanField(default=False),
                "provider_id": models.CharField(
                    blank=True, help_text="Of a batch.", max_length=200
                ),
                "busy_until": models.DateTimeField(
                    blank=True,
                    help_text="Some process hands the batch in, or collects it.",
                    null=True,
                ),
                "failing_since": models.DateTimeField(blank=True, null=True),
                "submitted_at": models.DateTimeField(blank=True, null=True),
            }.items()
        ),
        migrations.AlterField(
            "pack",
            "state",
            models.CharField(
                choices=[
                    ("prepared", "being handed in"),
                    ("waiting", "waiting for replies"),
                    ("read", "read"),
                    ("discarded", "discarded"),
                    ("failed", "failed"),
                ],
                default="waiting",
                max_length=9,
            ),
        ),
        migrations.AddConstraint(
            "pack",
            models.CheckConstraint(
                condition=Q(state__in=["prepared", "waiting", "read", "discarded", "failed"]),
                name="pack_state",
            ),
        ),
        migrations.AddConstraint(
            "pack",
            models.CheckConstraint(
                condition=Q(is_batch=False)
                | Q(state__in=["prepared", "failed"])
                | ~Q(provider_id=""),
                name="pack_known_to_provider",
            ),
        ),
        migrations.RunSQL(_MOVE, [_MOVE_BACK, _TAKE_OUT]),
        migrations.DeleteModel("Batch"),
    ]
