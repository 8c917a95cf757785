"""Studies with runs of decision endpoints, which were in the core, have the extra."""

from django.db import migrations

from studies.migrations import _extras


def _with_decisions(apps):
    runs = apps.get_model("judging", "JudgeRun").objects.filter(judge__backend="decisions")
    return runs.values_list("study", flat=True).distinct()


class Migration(migrations.Migration):
    initial = True

    dependencies = [
        ("judging", "0002_judge_test_problem"),
        ("studies", "0005_media_belongs_to_an_extra"),
    ]

    operations = [_extras.turn_on("judge_models", _with_decisions)]
