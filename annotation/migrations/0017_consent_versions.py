import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("annotation", "0016_second_visit_codes"),
        ("studies", "0028_set_display"),
    ]

    operations = [
        migrations.CreateModel(
            name="ConsentVersion",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("version", models.CharField(max_length=64)),
                ("html", models.TextField()),
                ("statements", models.JSONField(blank=True, default=list)),
                (
                    "terms",
                    models.JSONField(default=dict, help_text="Settings of the study at that time."),
                ),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                (
                    "study",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="consent_versions",
                        to="studies.study",
                    ),
                ),
            ],
            options={
                "ordering": ["created_at", "pk"],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("study", "version"), name="consent_version_once_per_study"
                    )
                ],
            },
        ),
    ]
