from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("analysis", "0004_number_reports")]

    operations = [
        migrations.AddConstraint(
            model_name="report",
            constraint=models.UniqueConstraint(
                fields=("study", "number"), name="report_number_once"
            ),
        ),
    ]
