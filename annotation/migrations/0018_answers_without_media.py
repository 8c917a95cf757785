from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("annotation", "0017_consent_versions"),
    ]

    operations = [
        migrations.AddField(
            model_name="annotation",
            name="media_missing",
            field=models.BooleanField(
                default=False,
                db_default=False,
                help_text="A picture or recording did not load, and the person chose to answer without it.",
            ),
        ),
        migrations.AddField(
            model_name="annotationrevision",
            name="media_missing",
            field=models.BooleanField(default=False, db_default=False),
        ),
    ]
