"""A sealed analysis plan as files that prove themselves."""

from pathlib import Path

from analysis.data.plans import read_plan
from analysis.exports.errors import ExportError
from analysis.exports.tables.table_files import to_json, write_text
from studies.models.studies import Study

_README = """# Analysis plan of “{title}”

Frozen on {frozen_at} (UTC), with {answers:,} answers and {judgments:,} judgments collected.

Seal (SHA-256): `{seal}`

`plan.json` holds the plan: threshold, margin, seed, resamples, planned analyses and runs,
exclusions and hypotheses. The seal is a hash of its content. Anyone can compute it again:

```python
import hashlib
import json

with open("plan.json", encoding="utf-8") as file:
    found = json.load(file)
names = ("content", "answers", "judgments", "frozen_at")
sealed = {{name: found[name] for name in names}} | {{"seal": ""}}
text = json.dumps(sealed, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
digest = hashlib.sha256(f"plan:{{len(text)}}:{{text}}\\n".encode()).hexdigest()
print("unchanged" if digest == found["seal"] else "not the plan that was frozen")
```

The time in the plan is that of the installation that froze it. The archive that holds this file
states independently when it received it.
"""


def write_plan(study: Study, folder: Path) -> None:
    """Write the frozen plan of the study and how to check it. Raises `AnalysisError`."""
    plan = read_plan(study)
    if plan is None:
        raise ExportError(
            f"“{study.slug}” has no frozen analysis plan. Freeze one on its page Analysis plan or "
            f"with freeze_plan {study.slug}."
        )
    content = {
        "schema": "thirdperson.sealed-plan/1",
        "study": {"slug": study.slug, "title": study.title},
        "content": plan.content,
        "answers": plan.answers,
        "judgments": plan.judgments,
        "frozen_at": plan.frozen_at,
        "seal": plan.seal,
    }
    write_text(folder / "plan.json", to_json(content, indent=1) + "\n")
    readme = _README.format(
        title=study.title,
        frozen_at=plan.frozen_at[:16].replace("T", " "),
        answers=plan.answers,
        judgments=plan.judgments,
        seal=plan.seal,
    )
    write_text(folder / "README.md", readme)
