"""Studies whose judges were asked again, which the extra `certificates` did before."""

from django.db import migrations

from studies.migrations import _extras


def _with_rounds(apps):
    asked_again = apps.get_model("judging", "Judgment").objects.filter(anchor="again")
    return asked_again.order_by().values_list("run__study", flat=True).distinct()


class Migration(migrations.Migration):
    initial = True

    dependencies = [
        ("judging", "0001_initial"),
        ("studies", "0005_media_belongs_to_an_extra"),
    ]

    operations = [_extras.turn_on("watching", _with_rounds)]
