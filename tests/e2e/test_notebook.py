"""The notebook of a whole study, executed over the API of a running installation."""

from typing import Any

import pytest

from tests.e2e.stack import Stack
from tests.thirdperson.notebooks import code_cells, run, stored

pytestmark = [pytest.mark.e2e, pytest.mark.sqlite]
TOKEN = """
import django

django.setup()
from django.contrib.auth.models import User

from studies.services.accounts.credentials import create_token

user = User.objects.create_superuser("ada")
scopes = ["read", "write", "spend", "export"]
print(create_token(user=user, name="notebook", days=30, scopes=scopes))
"""


@pytest.mark.nightly
def test_a_whole_study_from_a_notebook(stack: Stack, tmp_path, monkeypatch):
    stack.start()
    monkeypatch.setenv("THIRDPERSON_TOKEN", stack.run("-c", TOKEN).stdout.split()[-1])
    monkeypatch.setenv("THIRDPERSON_URL", stack.base_url)
    monkeypatch.setenv("LLM_URL", stack.llm_url)
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    cells = code_cells("whole_study.ipynb")

    found = [run(cell, names) for cell in cells]
    names["client"].close()

    assert found == [stored(cell) for cell in cells]
    report = names["path"].read_text("utf-8")
    assert "A study from a notebook" in report
    assert names["answers"]["item_id"].nunique() == 12
    assert set(names["judgments"].columns) >= {"item_id", "choice", "certainty"}
