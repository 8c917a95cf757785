from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("api", "0002_tables_of_deleted_extras")]
    operations = [
        migrations.DeleteModel(name="Delivery"),
        migrations.DeleteModel(name="Webhook"),
    ]
