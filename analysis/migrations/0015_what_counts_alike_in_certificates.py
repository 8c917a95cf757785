from django.db import migrations, models

_FIELD = {
    "choices": [("item", "Each item counts alike"), ("persona", "Each persona counts alike")],
    "max_length": 10,
    "help_text": "In the share of wrong answers.",
}


class Migration(migrations.Migration):
    dependencies = [("analysis", "0014_errors_shared_with_judges")]

    operations = [
        # Certificates of before drew one item of each persona.
        migrations.AddField(
            "certificate", "by", models.CharField(default="persona", db_default="persona", **_FIELD)
        ),
        migrations.AlterField(
            "certificate",
            "by",
            models.CharField(default="item", db_default="persona", **_FIELD),
        ),
    ]
