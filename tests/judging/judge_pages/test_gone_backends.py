"""Judges that were asked through a library that is gone are shown, and say what to do."""

import pytest

from judging.errors import BadJudge
from judging.models import Judge
from judging.worker.endpoints import backend_maker
from tests.judging.conftest import make_judge


@pytest.mark.parametrize(
    ("name", "address"),
    [
        ("anthropic", "https://api.anthropic.com"),
        ("gemini", "https://generativelanguage.googleapis.com"),
    ],
)
def test_a_judge_of_a_library_that_is_gone_says_how_to_add_it_again(admin, study, name, address):
    judge = make_judge(name="old", base_url="http://localhost:9/v1")
    Judge.objects.filter(pk=judge.pk).update(backend=name, base_url=address)
    judge.refresh_from_db()
    pages = f"/studies/{study.slug}/judges/"

    for page in ("available/", f"available/{judge.pk}/", f"available/{judge.pk}/change/", "new/"):
        assert admin.get(pages + page).status_code == 200, page
    tested = admin.post(f"{pages}available/{judge.pk}/", {"action": "test"}, follow=True)
    assert tested.status_code in (200, 422)
    assert f"with the preset “{name}”" in tested.content.decode()
    with pytest.raises(BadJudge, match="OpenAI-compatible address"):
        backend_maker(judge)
