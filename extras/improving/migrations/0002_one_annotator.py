from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("improving", "0001_improvements")]

    operations = [
        migrations.AddField(
            model_name="improvement",
            name="annotator",
            field=models.CharField(
                blank=True, default="", help_text="Pseudonym; empty: all people.", max_length=64
            ),
        ),
    ]
