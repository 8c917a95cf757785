from django.db import migrations


class Migration(migrations.Migration):
    """Drop the lists of annotators who err as a judge does: they name people, and nothing reads them."""

    initial = True

    dependencies = [("studies", "0001_initial")]

    operations = [
        migrations.RunSQL("DROP TABLE IF EXISTS likeness_errorcomparison", migrations.RunSQL.noop)
    ]
