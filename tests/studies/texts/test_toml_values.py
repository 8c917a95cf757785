"""TOML from outside: what is wrong with it is said in words, wherever it is read."""

import pytest

from annotation.content.comprehension import read_questions
from annotation.errors import ComprehensionError, QuotaError
from annotation.seats.quotas import read_plan as read_quotas
from judging.errors import BadPlan
from judging.runs.campaigns import read_plan
from studies.errors import StudyError
from studies.study_folder import Folder

TEXTS = {
    f"a = {'[' * 100_000}": "nested too deep",
    f"a = {'9' * 5_000}": "a number has too many digits",
    "a = ": "Invalid value",
}


@pytest.mark.parametrize("text", TEXTS, ids=["deep", "long", "cut"])
@pytest.mark.parametrize(
    ("read", "refusal"),
    [(read_quotas, QuotaError), (read_questions, ComprehensionError), (read_plan, BadPlan)],
)
def test_a_text_that_is_no_toml_is_refused_in_words(read, refusal, text):
    with pytest.raises(refusal, match=TEXTS[text]):
        read(text)


@pytest.mark.parametrize("text", TEXTS, ids=["deep", "long", "cut"])
def test_a_file_of_a_study_that_is_no_toml_is_refused_in_words(tmp_path, text):
    (tmp_path / "study.toml").write_text(text)

    with pytest.raises(StudyError, match=f"study.toml is not TOML: .*{TEXTS[text]}"):
        Folder(tmp_path).toml("study.toml")


def test_a_file_of_a_study_in_another_encoding_says_so(tmp_path):
    (tmp_path / "study.toml").write_bytes(b'a = "\xff"')

    with pytest.raises(StudyError, match=r"study\.toml is not in UTF-8"):
        Folder(tmp_path).toml("study.toml")
