"""Whatever code a study's language has, its participants read the texts of that language."""

import pytest
from django.utils import translation

from studies.services.items import interface_version
from studies.texts.languages import language_of_texts, page_language


@pytest.mark.parametrize(
    ("language", "page", "texts"),
    [
        ("en-gb", "en-gb", "en"),
        ("pt-br", "pt-br", "pt"),  # dates as in Brazil
        ("de_AT", "de_AT", "de"),
        *((code, "zh-hans", "zh-hans") for code in ("zh", "zh-CN", "zh-sg", "zh_Hans_CN")),
        ("zh-tw", "zh-tw", "en"),  # is written in another script
        ("tlh", "tlh", "en"),
    ],
)
def test_a_code_has_the_texts_of_its_language(language, page, texts):
    assert (page_language(language), language_of_texts(language)) == (page, texts)
    with translation.override(texts):
        expected = translation.gettext("Before you begin")
    with translation.override(page_language(language)):
        assert translation.gettext("Before you begin") == expected
    assert interface_version(language) == interface_version(texts)
