import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    initial = True

    dependencies = [
        ("annotation", "0001_initial"),
        ("studies", "0001_initial"),
    ]

    operations = [
        migrations.CreateModel(
            name="GradesDraft",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("version", models.PositiveIntegerField()),
                ("entered", models.JSONField(default=dict)),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                (
                    "assignment",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="grades_draft",
                        to="annotation.assignment",
                    ),
                ),
            ],
            options={
                "ordering": ["pk"],
            },
        ),
        migrations.CreateModel(
            name="GradeQuestions",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("strength", models.BooleanField(default=False)),
                (
                    "scale",
                    models.PositiveSmallIntegerField(
                        choices=[(0, "no scores"), (5, "1 to 5"), (7, "1 to 7"), (10, "1 to 10")],
                        default=0,
                    ),
                ),
                ("criteria", models.BooleanField(default=False)),
                (
                    "reason",
                    models.CharField(
                        choices=[
                            ("no", "no"),
                            ("optional", "yes, optional"),
                            ("required", "yes, required"),
                        ],
                        default="no",
                        max_length=10,
                    ),
                ),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                (
                    "study",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="grade_questions",
                        to="studies.study",
                    ),
                ),
            ],
            options={
                "verbose_name_plural": "grade questions",
                "ordering": ["pk"],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(("scale__in", [0, 5, 7, 10])),
                        name="grade_questions_scale",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("reason__in", ["no", "optional", "required"])),
                        name="grade_questions_reason",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="Grades",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("revision", models.PositiveIntegerField()),
                (
                    "strength",
                    models.PositiveSmallIntegerField(
                        blank=True,
                        choices=[(1, "slightly"), (2, "clearly"), (3, "strongly")],
                        null=True,
                    ),
                ),
                ("score_1", models.PositiveSmallIntegerField(blank=True, null=True)),
                ("score_2", models.PositiveSmallIntegerField(blank=True, null=True)),
                (
                    "criteria",
                    models.JSONField(
                        blank=True, default=dict, help_text="{key of a criterion: r1, r2 or tie}"
                    ),
                ),
                ("reason", models.CharField(blank=True, max_length=300)),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                (
                    "answer",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="grades",
                        to="annotation.annotation",
                    ),
                ),
            ],
            options={
                "verbose_name_plural": "grades",
                "ordering": ["answer", "revision"],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("answer", "revision"), name="grades_once_per_revision"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("strength", None), ("strength__range", (1, 3)), _connector="OR"
                        ),
                        name="grades_strength",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("score_1", None), ("score_2", None)),
                            models.Q(("score_1__range", (1, 10)), ("score_2__range", (1, 10))),
                            _connector="OR",
                        ),
                        name="grades_scores",
                    ),
                ],
            },
        ),
    ]
