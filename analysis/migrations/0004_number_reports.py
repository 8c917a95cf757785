"""Give the reports of before versions were counted their numbers, by study and age."""

from collections import Counter
from typing import Any

from django.db import migrations


def number_reports(apps: Any, schema_editor: Any) -> None:
    reports = apps.get_model("analysis", "Report").objects
    last: Counter[int] = Counter()
    for pk, study in reports.order_by("number", "created_at", "pk").values_list("pk", "study"):
        last[study] += 1
        reports.filter(pk=pk).update(number=last[study])


class Migration(migrations.Migration):
    dependencies = [("analysis", "0003_exports")]

    operations = [migrations.RunPython(number_reports, migrations.RunPython.noop)]
