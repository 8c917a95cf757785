"""Runs no longer ask items at their start and end; those that did are the same runs without it."""

import hashlib
import json

from django.db import migrations

# What the key of a run was a hash of, if the run had it.
_IN_KEY = (
    *("study", "judge", "backend", "model", "temperature", "top_p", "max_tokens"),
    *("thinking_tokens", "structured", "probabilities", "own_sources", "setting", "features"),
    *("feature_keys", "persona_style", "show_history", "orders", "samples", "seed", "prompts"),
    *("reply_form", "model_options", "discusses", "anchors", "reading"),
)


def _key(parameters):
    text = json.dumps(parameters, sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()


def _forget_anchors(apps, schema_editor):
    runs = apps.get_model("judging", "JudgeRun").objects
    for run in runs.filter(anchors__gt=0):
        asked = {name: run.parameters[name] for name in _IN_KEY if name in run.parameters}
        run.parameters.pop("anchors", None)
        is_known = _key(asked) == run.key
        asked.pop("anchors", None)
        # A run that differed only in its anchors keeps the shorter key; this one stays as it is.
        if is_known and not runs.filter(key=_key(asked)).exists():
            run.key = _key(asked)
        run.save(update_fields=["key", "parameters"])
    waiting = apps.get_model("judging", "Judgment").objects.filter(
        anchor__in=("start", "end"), state__in=("pending", "leased", "error")
    )
    waiting.filter(attempts=None).delete()
    waiting.exclude(state="error").update(state="error", error="This was no longer asked.")
    for campaign in apps.get_model("judging", "Campaign").objects.all():
        if campaign.plan.pop("anchors", None) is not None:
            campaign.save(update_fields=["plan"])


class Migration(migrations.Migration):
    dependencies = [("judging", "0003_judge_price_day")]

    operations = [
        migrations.RunPython(_forget_anchors, migrations.RunPython.noop),
        migrations.RemoveField(model_name="judgerun", name="anchors"),
    ]
