"""Items can have a reference answer that judges see."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("studies", "0007_names_of_merged_extras_again")]

    operations = [
        migrations.AddField(
            model_name="item",
            name="reference",
            field=models.TextField(
                blank=True,
                db_default="",
                default="",
                help_text="A reference answer, which only judges can see; never shown to people.",
            ),
        )
    ]
