from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("graded", "0002_drafts_in_one_row")]

    operations = [
        migrations.RemoveConstraint(model_name="gradequestions", name="grade_questions_scale"),
        migrations.AlterField(
            model_name="gradequestions",
            name="scale",
            field=models.PositiveSmallIntegerField(
                choices=[
                    (0, "no scores"),
                    (2, "right or wrong"),
                    (5, "1 to 5"),
                    (7, "1 to 7"),
                    (10, "1 to 10"),
                ],
                default=0,
            ),
        ),
        migrations.AddConstraint(
            model_name="gradequestions",
            constraint=models.CheckConstraint(
                condition=models.Q(("scale__in", [0, 2, 5, 7, 10])), name="grade_questions_scale"
            ),
        ),
    ]
