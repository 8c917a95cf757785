"""Extras of studies. Those that an older version created get what their rows need."""

import json

from django.db import migrations, models

import studies.extra

# An extra, the tables that have to be there, and the studies that use it. A new database has none
# of these tables yet.
_RUNS = ("judging_judgerun",)
# ruff: noqa: S608  the names are constants of this module
_USES = (
    *(
        (extra, (table,), f"SELECT study_id FROM {table}")
        for extra, tables in {
            "advice": ("advice_argumentjob", "advice_beliefsource"),
            "agents": ("agents_proposal",),
            "certificates": ("certificates_certificate",),
            "frozen_plans": ("frozen_plans_analysisplan",),
            "graded": ("graded_gradequestions",),
            "own_answers": (
                "own_answers_linkedstudy",
                "own_answers_secondvisitsettings",
                "own_answers_secondvisitcode",
                "own_answers_laterwave",
            ),
            "personas": ("personas_draftingjob",),
            "planning": ("planning_powerforecast", "planning_watchedcomparison"),
            "prolific_tools": ("annotation_prolificstudy",),
            "rules": ("rules_rulesearch",),
        }.items()
        for table in tables
    ),
    *(
        (
            extra,
            (table, *_RUNS),
            f"SELECT r.study_id FROM {table} t JOIN judging_judgerun r ON r.id = t.run_id",
        )
        for extra, table in (
            ("packs", "packs_pack"),
            ("packs", "packs_batch"),
            ("packs", "packs_packjob"),
        )
    ),
    *(
        (
            extra,
            _RUNS,
            f"SELECT study_id FROM judging_judgerun WHERE setting IN ({settings})",
        )
        for extra, settings in {
            "advice": "'advice', 'discussion'",
            "graded": "'score-5', 'score-7', 'steps', 'strength'",
            "judge_models": "'judgelm', 'auto-j', 'prometheus-2', 'prometheus-2-score', "
            "'compass-judger'",
            "option_sets": "'listwise'",
        }.items()
    ),
    (
        "graded",
        ("graded_grades", "annotation_annotation"),
        "SELECT p.study_id FROM graded_grades g"
        " JOIN annotation_annotation a ON a.id = g.answer_id"
        " JOIN annotation_assignment s ON s.id = a.assignment_id"
        " JOIN annotation_annotator p ON p.id = s.annotator_id",
    ),
    (
        "own_answers",
        ("own_answers_ownprofile", "annotation_annotator"),
        "SELECT p.study_id FROM own_answers_ownprofile o"
        " JOIN annotation_annotator p ON p.id = o.annotator_id",
    ),
    ("own_answers", (), "SELECT id FROM studies_study WHERE perspective = 'own'"),
)
# Notes in the source of a study that was made of another one.
_NOTES = {
    "advice_arms": "advice",
    "counterfactual": "personas",
    "persona_signal": "personas",
    "routed": "certificates",
}


def turn_on_what_rows_need(apps, schema_editor):
    connection, model = schema_editor.connection, apps.get_model("studies", "Study")
    studies_by_id = {study.pk: study for study in model.objects.only("source", "extras")}
    if not studies_by_id:
        return
    needed = {pk: set() for pk in studies_by_id}
    with connection.cursor() as cursor:
        present = set(connection.introspection.table_names(cursor))
        for extra, tables, query in _USES:
            if present.issuperset(tables):
                cursor.execute(f"SELECT DISTINCT q.* FROM ({query}) q")
                for (pk,) in cursor.fetchall():
                    needed[pk].add(extra)
        if "frozen_plans_analysisplan" in present:
            cursor.execute("SELECT study_id, content FROM frozen_plans_analysisplan")
            for pk, content in cursor.fetchall():
                plan = json.loads(content) if isinstance(content, str) else content
                for code, extra in (("several", "judges_compared"), ("wording", "wordings")):
                    if code in plan.get("analyses", ()):
                        needed[pk].add(extra)
    items = apps.get_model("studies", "Item").objects.order_by()
    for extra, field in (("option_sets", "option_set"), ("advice", "advice")):
        for pk in items.exclude(**{field: {}}).values_list("study", flat=True).distinct():
            needed[pk].add(extra)
    for pk, study in studies_by_id.items():
        if isinstance(study.source, dict):
            needed[pk] |= {extra for note, extra in _NOTES.items() if note in study.source}
        study.extras = sorted(needed[pk])
        study.save(update_fields=["extras"])


class Migration(migrations.Migration):
    dependencies = [("studies", "0001_initial")]

    operations = [
        migrations.AddField(
            model_name="study",
            name="extras",
            field=models.JSONField(
                blank=True,
                default=studies.extra.extras_of_new_studies,
                help_text="Names of the extras that are on.",
            ),
        ),
        migrations.RunPython(turn_on_what_rows_need, migrations.RunPython.noop),
    ]
