"""The files that describe a bundle: card, metadata, licence and citation."""

from pathlib import Path

from django.conf import settings
from django.urls import reverse

from analysis.exports.catalogue import BundleContents, BundleDescription
from analysis.exports.table_files import to_json
from extras.publication.card import dataset_card
from extras.publication.croissant import croissant
from extras.publication.facts import citation_cff, described, licence_text


def texts(contents: BundleContents, folder: Path) -> dict[str, str]:
    """The text of each file, by its name."""
    study, licence = contents.study, contents.licence
    url = settings.PUBLIC_BASE_URL + reverse("studies:detail", args=[study.slug])
    url = "https://removed-for-review.invalid/" if contents.is_blind else url
    facts = described(contents, folder)
    return {
        "README.md": dataset_card(facts),
        "croissant.json": to_json(croissant(facts, url=url), indent=1) + "\n",
        "LICENSE": licence_text(study, licence),
        "CITATION.cff": citation_cff(study, licence=licence, on=contents.on),
    }


FILES = BundleDescription("card", texts)
