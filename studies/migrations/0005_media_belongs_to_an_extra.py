"""The table of pictures and sounds belongs to the extra `media`, which keeps its rows."""

from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("studies", "0004_recruiting_settings")]

    operations = [
        migrations.SeparateDatabaseAndState(state_operations=[migrations.DeleteModel("MediaFile")])
    ]
