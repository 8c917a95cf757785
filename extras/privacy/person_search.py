"""Find a person by what they or the platform call them, in every study of an owner."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from django.db.models import Q, QuerySet

from annotation.models import Annotator, CompletionCode, Invitation
from annotation.services.identities import email_ids, erased_ids, identity_hashes, imported_hashes
from extras.privacy.personal_data import RequestError
from studies.held_copies import MORE
from studies.importers.files.answer_rows import read_answer_rows
from studies.importers.files.bundle import File
from studies.importers.files.lines import BadLine
from studies.models import Study

_RATER = "rater_id"
_MOST_WORDS = 200
_MOST_FOUND = 100


@dataclass(frozen=True)
class FoundPerson:
    """An annotator whom a text identifies, and by what."""

    annotator: Annotator
    by: str


@dataclass(frozen=True)
class FoundInvitation:
    """An id on the list of a study."""

    study: Study
    pk: int


@dataclass(frozen=True)
class Search:
    """Who was found, in the order of the words, and ids on lists.

    `everybody` says why a word identifies nobody in particular.
    """

    people: list[FoundPerson]
    invitations: list[FoundInvitation]
    everybody: list[str]
    is_cut: bool


def words_of(text: str) -> list[str]:
    """The ids in a text; a line with spaces may also be one name."""
    lines = [line.strip() for line in text.splitlines()]
    return [*lines, *text.replace(",", " ").replace(";", " ").split()]


def words_of_file(file: File) -> list[str]:
    """The raters in a file of answers. Raises `RequestError`."""
    words = []
    for row in read_answer_rows(file, required=(_RATER,)):
        if isinstance(row, BadLine):
            raise RequestError(f"{row.fault}")
        words.append(str(row[1].get(_RATER) or "").strip())
    return words


def search(studies: QuerySet[Study], words: Iterable[str]) -> Search:
    """Find people in these studies by ids, pseudonyms, personal codes, or names in files."""
    words = [word for word in dict.fromkeys(words) if word]
    if len(words) > _MOST_WORDS:
        raise RequestError(f"There are {len(words):,} ids. Enter at most {_MOST_WORDS} at a time.")
    people: dict[int, FoundPerson] = {}
    invitations: list[FoundInvitation] = []
    everybody: list[str] = []
    for word in words:
        listed_as = [word, *(email_ids(word) if "@" in word else ())]
        for condition, by in _ways(word, listed_as):
            annotators = Annotator.objects.filter(condition, study__in=studies.values("pk"))
            for annotator in annotators.select_related("study").distinct()[: _MOST_FOUND + 1]:
                people.setdefault(annotator.pk, FoundPerson(annotator, by))
        for source in MORE:
            for study in studies:
                names = source.find(study, word)
                for annotator in Annotator.objects.filter(study=study, pseudonym__in=names):
                    people.setdefault(
                        annotator.pk, FoundPerson(annotator, "a name outside the study")
                    )
        listed = Invitation.objects.filter(study__in=studies.values("pk"), key__in=listed_as)
        invitations += [FoundInvitation(one.study, one.pk) for one in listed]
        codes = CompletionCode.objects.filter(study__in=studies.values("pk"), code=word.upper())
        everybody += [_all_with(code) for code in codes.select_related("study")]
    found_people = list(people.values())
    return Search(
        found_people[:_MOST_FOUND], invitations, everybody, len(found_people) > _MOST_FOUND
    )


def _ways(word: str, listed_as: Sequence[str]) -> Iterator[tuple[Q, str]]:
    hashes = [digest for key in listed_as for digest in identity_hashes(key)]
    hashes += imported_hashes(word)
    yield Q(identity_hash__in=hashes), "platform id"
    yield Q(prolific_identity__pid=word), "platform id"
    sent = Q(prolific_submissions__participant=word) | Q(
        prolific_submissions__submission_id__in=[word, *erased_ids(word)]
    )
    yield sent, "submission on the platform"
    yield Q(pseudonym__iexact=word), "name in the study"
    yield Q(resume_code=word.upper()), "personal code"


def _all_with(code: CompletionCode) -> str:
    people = Annotator.objects.filter(study=code.study_id, state=code.ending).count()
    number = "1 person has" if people == 1 else f"{people:,} people have"
    return (
        f"{code.code} is the completion code of everybody in “{code.study.slug}” whose part ended "
        f"as “{code.get_ending_display()}”: {number} it. Ask for their id on the platform."
    )


def elsewhere(annotator: Annotator, studies: QuerySet[Study]) -> list[Annotator]:
    """The same person in other studies, by the keyed hash of their id."""
    if annotator.identity_hash is None:
        return []
    same = Annotator.objects.filter(study__in=studies.values("pk"))
    same = same.filter(identity_hash=annotator.identity_hash).exclude(pk=annotator.pk)
    return list(same.select_related("study").order_by("pk"))
