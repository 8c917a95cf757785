"""Empathic Conversations, on files in its shapes with words of our own."""

import csv
import io
from itertools import chain

import pytest

from extras.datasets import ec
from tests.studies.sets.made import changed, fixture, keys, labels, made, refusal, sentences


def many(tmp_path, essays):
    """Essays about articles, from rows (article, writer, empathy, distress)."""
    folder = tmp_path / "many"
    folder.mkdir()
    lines = ["article_id,person_id,person_essay,person_empathy,person_distress"]
    lines += [f"{a},{w},Essay {n}.,{e},{d}" for n, (a, w, e, d) in enumerate(essays)]
    (folder / "essays.csv").write_text("\n".join(lines) + "\n")
    writers = sorted({row[1] for row in essays})
    people = ["person_id,gender,education,race,age,income", *(f"{w},1,6,1,30,5" for w in writers)]
    (folder / "people.csv").write_text("\n".join(people) + "\n")
    articles = ["article_id,text", *(f"{a},About {a}." for a in sorted({row[0] for row in essays}))]
    (folder / "articles.csv").write_text("\n".join(articles) + "\n")
    return folder


@pytest.mark.parametrize(("rule", "pairs", "ties"), [("either", 2, 3), ("both", 4, 1)])
def test_near_scores_are_ties_by_either_rule_and_one_writer_is_no_pair(rule, pairs, ties):
    read = made("ec", tie_rule=rule)

    assert read.rows["ec/trac3_EMP_train.csv"] == 6
    assert (len(read.items), read.ties) == (pairs, ties)
    assert read.dropped == {"ties": ties, "pairs by the same writer": 1}


def test_an_item_asks_which_essay_the_person_wrote():
    (item, _) = made("ec").items
    own = item.values[item.values["first_person"]]["text"]
    by = {
        "ec-p001": "I keep thinking of the children sleeping on gym mats. I would offer our spare "
        "room.",
        "ec-p002": "Bridges that old should be checked each spring. The council said “next year” "
        "for ten years.".replace("“", '"').replace("”", '"'),
    }

    assert own == by[item.persona.key]
    assert item.values["context"].startswith("A village bridge washed away")
    assert (item.values["task"], item.values["question"]) == ("authorship", "")
    assert item.values["r1"]["generated_by"]["kind"] == "human"


def test_a_quote_after_a_backslash_is_a_quote():
    texts = [i.values[side]["text"] for i in made("ec").items for side in ("r1", "r2")]

    assert any('said "next year" for' in text for text in texts)
    assert not any("\\" in text for text in texts)
    assert '"unless a donor steps in"' in made("ec").items[1].values["context"]


def test_a_person_is_told_with_scores_out_of_seven_and_blanks_leave_no_sentence():
    texts = {
        item.persona.key: [f["text"] for f in item.persona.features]
        for item in chain(
            made("ec", tie_rule="both", pairs_per_article=9, seed=1).items,
            made("ec", tie_rule="both", seed=3).items,
            made("ec", tie_rule="both", seed=4).items,
        )
    }

    assert texts["ec-p001"] == [
        "The person is male.",
        "The person's highest level of education is: college or university degree.",
        "The person's ethnicity is: White.",
        "The person is 29 years old.",
        "The person earns 52,000 dollars a year.",
        "In a test of personality the person scored 6.5 out of 7 for conscientiousness.",
        "In a test of personality the person scored 7 out of 7 for openness.",
        "In a test of personality the person scored 5 out of 7 for extraversion.",
        "In a test of personality the person scored 6.5 out of 7 for agreeableness.",
        "In a test of personality the person scored 6 out of 7 for stability.",
    ]
    assert texts["ec-p003"][:3] == [
        "The person's gender is neither male nor female.",
        "The person's highest level of education is: postgraduate degree.",
        "The person's ethnicity is: Other.",
    ]
    assert not any("years old" in text or "earns" in text for text in texts["ec-p003"])


def test_both_spellings_of_openness_are_read(tmp_path):
    folder = changed(
        "ec", tmp_path, "trac4_PER_train.csv", lambda t: t.replace("openess", "openness")
    )

    assert list(made("ec", folder).items) == list(made("ec").items)


def edition_of_2023(tmp_path):
    """The fixture as one table with tabs, and the articles."""
    people = csv.DictReader((fixture("ec/trac4_PER_train.csv")).read_text().splitlines())
    known = {row.pop("person_id"): row for row in people}
    essays = (fixture("ec/trac3_EMP_train.csv")).read_text().splitlines()
    out = io.StringIO()
    writer = None
    for row in csv.DictReader(essays, escapechar="\\"):
        person = row["person_id"]
        cells = {
            "conversation_id": row["conversation_id"],
            "article_id": row["article_id"],
            "essay": row["person_essay"],
            "speaker_id": person,
            "empathy": row["person_empathy"],
            "distress": row["person_distress"],
        } | known[person]
        if writer is None:
            writer = csv.DictWriter(out, list(cells), delimiter="\t")
            writer.writeheader()
        writer.writerow(cells)
    (tmp_path / "essays_2023.tsv").write_text(out.getvalue())
    return tmp_path / "essays_2023.tsv", fixture("ec/articles_adobe_AMT.csv")


def test_the_edition_of_2023_gives_the_same_items(tmp_path):
    read = made("ec", *edition_of_2023(tmp_path))

    assert [i.content_hash for i in read.items] == [i.content_hash for i in made("ec").items]


def test_so_many_pairs_of_each_article_are_drawn_and_who_is_asked_about_varies(tmp_path):
    rows = [(a, f"w{w}", 1 + 3 * (w % 2), 1 + 3 * (w % 2)) for a in range(6) for w in range(8)]

    read = made("ec", many(tmp_path, rows))

    assert [keys(read).count(key) for key in keys(read)] == [1] * 30
    per_article = [sum(key.startswith(f"ec-{a}-") for key in keys(read)) for a in range(6)]
    assert per_article == [5] * 6
    assert labels(read).count("r1") == 15
    assert len({item.persona.key for item in read.items}) > 6
    assert read.dropped["pairs beyond 5 per article"] == 6 * (16 - 5)


def test_ties_are_kept_up_to_their_share(tmp_path):
    rows = [(a, f"w{w}", 1 + 3 * (w % 2), 1 + 3 * (w % 2)) for a in range(4) for w in range(8)]

    read = made("ec", many(tmp_path, rows), include_ties="true")

    assert (labels(read).count("tie"), len(read.items)) == (5, 25)
    assert read.ties == 4 * 12


def test_what_cannot_be_used_is_counted(tmp_path):
    folder = changed(
        "ec",
        tmp_path,
        "trac3_EMP_train.csv",
        lambda t: (
            t.replace("6.5,6.0", ",6.0").replace('"Sad, but nobody was hurt."', "")
            + "9,9,p001,No article.,1,1\n9,2,p777,Nobody.,1,1\n"
        ),
    )

    assert made("ec", folder).dropped == {
        "essays without an empathy or distress score": 1,
        "essays without a text": 1,
        "essays about an article without a text": 1,
        "essays by people without a row": 1,
        "pairs by the same writer": 1,
        "ties": 1,
    }


def test_articles_can_be_chosen():
    assert keys(made("ec", articles="2")) == ["ec-2-1-2"]


def test_missing_files_columns_and_broken_quotes_are_told(tmp_path):
    essays, people, articles = (
        fixture("ec") / name
        for name in ("trac3_EMP_train.csv", "trac4_PER_train.csv", "articles_adobe_AMT.csv")
    )

    assert "a row for each writer (trac4_PER_train.csv)" in refusal("ec", essays, articles)[0]
    assert "a row for each article (articles_adobe_AMT.csv)" in refusal("ec", essays, people)[0]
    assert "a row for each essay (trac3_EMP_train.csv)" in refusal("ec", people, articles)[0]
    folder = changed(
        "ec", tmp_path, "trac3_EMP_train.csv", lambda t: t.replace("person_distress", "sorrow")
    )
    assert "has no column person_distress" in refusal("ec", folder)[0]
    folder = changed(
        "ec",
        tmp_path,
        "trac3_EMP_train.csv",
        lambda _: (
            'article_id,person_id,person_essay,person_empathy,person_distress\n1,p1,"Open,1,1\n'
        ),
    )
    assert (
        "Line 2 of ec/trac3_EMP_train.csv: this cannot be read as CSV" in refusal("ec", folder)[0]
    )


def test_a_byte_order_mark_and_other_line_ends_change_nothing(tmp_path):
    for name in ("trac3_EMP_train.csv", "trac4_PER_train.csv", "articles_adobe_AMT.csv"):
        folder = changed("ec", tmp_path, name, lambda t: "\ufeff" + t.replace("\n", "\r\n"))

    found = [item.content_hash for item in made("ec", folder).items]
    assert found == [item.content_hash for item in made("ec").items]
    assert sentences(made("ec"), "ec-1-1-2") == sentences(made("ec", folder), "ec-1-1-2")


def test_more_pairs_than_can_be_compared_are_refused_before_any_is_made(tmp_path, monkeypatch):
    monkeypatch.setattr(ec, "MAX_PAIRS", 5)
    monkeypatch.setattr(ec, "_pairs", None)
    folder = many(tmp_path, [("7", f"w{n}", 1, 7) for n in range(4)])

    (fault,) = refusal("ec", folder)

    assert "make 6 pairs; at most 5 can be compared" in fault
    assert "Article 7 has the most essays, 4." in fault


def test_the_first_pairs_of_an_article_are_asked_about_the_first_writer_as_in_the_papers_code():
    read = made("ec", tie_rule="both", pairs_per_article=1, sample="first", target="first")
    every = made("ec", tie_rule="both", target="first")

    first: dict[str, str] = {}
    for item in every.items:
        first.setdefault(item.values["metadata"]["article"], item.key)
    assert keys(read) == sorted(first.values())
    by_writer = {item.key: item.values[item.values["first_person"]]["text"] for item in every.items}
    other_draws = made("ec", tie_rule="both", seed=7, target="first")
    assert by_writer == {
        item.key: item.values[item.values["first_person"]]["text"] for item in other_draws.items
    }
