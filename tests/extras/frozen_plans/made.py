"""Plans as if they had been frozen before the data of a study came."""

from extras.frozen_plans.freezing import freeze_plan
from extras.frozen_plans.models import AnalysisPlan

STEADY = {"judge": "steady", "setting": "certainty", "features": "all"}
PLAN = {"analyses": ["accuracy", "certain", "difference"], "judges": [STEADY]}


def before_data(study, **plan):
    """A plan as if it had been frozen before the study's answers came."""
    made = freeze_plan(study_id=study.pk, **PLAN | plan, dry_run=True)
    row = AnalysisPlan(
        study=study, content=made.content, answers=0, judgments=0, frozen_at=made.frozen_at
    )
    row.seal = type(made)(made.content, 0, 0, made.frozen_at).sealed()
    row.save()
