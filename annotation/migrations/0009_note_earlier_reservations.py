"""Note what studies set aside that were published before reservations were noted."""

from django.db import migrations


def note(apps, schema_editor):
    study = apps.get_model("annotation", "ProlificStudy")
    reservation = apps.get_model("annotation", "ProlificReservation")
    published = study.objects.exclude(status__in=["", "UNPUBLISHED"]).filter(places__gt=0)
    reservation.objects.bulk_create(
        reservation(
            prolific_study=row,
            places=row.places,
            places_after=row.places,
            rewards=row.places * row.reward,
        )
        for row in published.filter(reservations=None)
    )


class Migration(migrations.Migration):
    dependencies = [("annotation", "0008_money_ledger")]

    operations = [migrations.RunPython(note, migrations.RunPython.noop)]
