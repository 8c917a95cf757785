"""Every number of the headlines and of the methods leads to the row that says where it is from."""

import csv
import datetime
import re
from html.parser import HTMLParser

import pytest

from analysis.report.build import all_tables
from analysis.report.render import render_html
from analysis.report.report_json import without_people
from analysis.report.sections.certainty.section import certainty_headline
from analysis.report.sentences import at, pieces
from analysis.report.table_files import write_tables
from tests.analysis.builders import make_run, random_study
from tests.analysis.partial import report_of
from tests.factories import make_study

pytestmark = pytest.mark.django_db

# Words of a rule or of a record that hold figures and are no number of this study.
NO_NUMBERS = re.compile(
    r"response [12]|1 to 100|(in|ex)cludes? 0|80 lies in|9[05] % (interval|CI)|replies: \d|"
    r"model-2024-05-13|changed on \d{4}-\d\d-\d\d"
)
VOID = {"br", "hr", "img", "input", "link", "meta", "path", "rect", "line"}


class Numbers(HTMLParser):
    """The links to sources, the ids, and the figures that stand in no link."""

    def __init__(self, text):
        super().__init__()
        self.links, self.ids, self.bare, self.open = [], [], [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        found = dict(attrs)
        self.ids.append(found.get("id", ""))
        if tag == "a":
            self.links.append(found.get("href", ""))
        if tag not in VOID:
            self.open.append((tag, found))

    def handle_endtag(self, tag):
        while self.open and self.open.pop()[0] != tag:
            pass

    def handle_data(self, data):
        tags = {tag for tag, _ in self.open}
        # Tables have their own files; prompts and hashes are words; the paragraph is for copying.
        if tags & {"a", "table", "pre", "code", "h2", "h3", "h4", "style", "script", "summary"}:
            return
        about = {value for _, found in self.open for value in (found.get("id"), found.get("class"))}
        is_told = about & {"methods", "headline"} or any(
            str(name).startswith("headline") for name in about
        )
        if is_told and not about & {"note", "methods-words"}:
            words = NO_NUMBERS.sub("", data.replace("\xa0", " "))
            self.bare += [words] if re.search(r"\d", words) else []


def usual_study():
    return random_study(
        51,
        n_items=60,
        n_raters=12,
        truths=("r1", "r2"),
        runs=({"judge": "steady", "setting": "certainty"}, {"judge": "other", "setting": "tie"}),
    )


def without_truth():
    return random_study(52, n_items=30, truths=("",))


def empty():
    return make_study()


def never_begun():
    study = make_study(ask_certainty=False)
    make_run(study=study)
    return study


@pytest.fixture(scope="module")
def usual(module_db):
    return report_of(usual_study(), seed=7)


@pytest.fixture(scope="module", params=[usual_study, without_truth, empty, never_begun])
def report(request, module_db):
    if request.param is usual_study:
        return request.getfixturevalue("usual")
    return report_of(request.param(), seed=7)


def page_of(report):
    return Numbers(render_html(report, date=datetime.date(2026, 11, 20)))


@pytest.mark.nightly
def test_every_number_is_a_link_and_every_link_has_its_row(report):
    for shown in (report, without_people(report)):
        page = page_of(shown)

        leads = [link.removeprefix("#") for link in page.links if link.startswith("#from-")]
        assert len(leads) > 10
        assert set(leads) <= set(page.ids)
        assert not page.bare, page.bare
        assert {link[1:] for link in page.links if link.startswith("#table-")} <= set(page.ids)


@pytest.mark.sampled(keep=1)
def test_the_file_holds_what_stands_in_report_json(report, tmp_path):
    write_tables(list(all_tables(report).values()), tmp_path / "tables")

    with (tmp_path / "tables" / "methods.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))

    for row in rows:
        path = row["Path in report.json"]
        value = at(report, path)
        assert row["Value"] in (str(value), str(value).replace(", ", ","), ""), path


def test_sentences_are_cut_where_their_numbers_stand(usual):
    report = usual

    for found in (report["headline"], report["certainty_headline"], certainty_headline(report)):
        for sentence, numbers in zip(found["sentences"], found["numbers"], strict=True):
            parts = list(pieces(sentence, numbers))
            assert "".join(piece.text for piece in parts) == sentence
            assert [piece.text for piece in parts if piece.path] == [n["text"] for n in numbers]
            assert all(at(report, piece.path) is not None for piece in parts if piece.path)
