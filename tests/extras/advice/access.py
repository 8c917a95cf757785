"""What `tests.config.test_access` and `tests.test_pairs_at_once` have to know of the pages."""

from extras.advice.models import ArgumentJob
from studies.models import Study

# Editors who may create studies.
MAY_CREATE = {"debates/ study"}
NAMED = {"debates/ rest", "debates/ study"}
NEEDS_DATA = "advice:(discuss|debates )"
LEFT_OUT = {"asks a model at once": "advice:debates$"}


def things(study: Study) -> dict[str, ArgumentJob]:
    values = {"judge_name": "writer", "rounds": 1, "words": 50, "seed": 1, "state": "done"}
    return {"debates/": ArgumentJob.objects.create(study=study, **values)}
