"""What people, judges and the report need of a study's design, as files."""

from collections.abc import Iterator, Sequence
from decimal import Decimal
from typing import Any

from django.contrib.auth.models import User
from django.utils.text import slugify

from annotation.content.comprehension import as_toml, questions_of, read_questions, set_questions
from annotation.errors import AnnotationError
from annotation.seats import quotas
from annotation.seats.quotas import Quota, QuotaQuestion
from judging.backends.kinds import backend_kind
from judging.catalog.changes import judges_of
from judging.errors import BadJudge, JudgingError
from judging.models import Judge, Jury, PromptTemplate, StudyJudge
from judging.protocols import registry
from judging.runs.judges import IDENTITY, add_judge
from judging.wordings import check_name, checked_texts, is_used
from studies.errors import FrozenStudy, StudyError
from studies.exporters.items import may_redistribute
from studies.models import Study
from studies.services.studies import record
from studies.study_folder import Folder, refuse_unknown, tables_of, to_json, to_toml, value_of
from studies.texts.normalisation import digest


class QuotasFile:
    """quotas.toml: questions of “About you” and quota groups, as `set_quotas` reads them."""

    name, file = "quotas", "quotas.toml"

    def write(self, study: Study) -> dict[str, str]:
        groups = [Quota(group.target, group.criteria) for group in study.quota_groups.all()]
        return {self.file: to_toml(_plan(quotas.questions_of(study), groups))}

    def apply(self, study: Study, folder: Folder, file: str, *, user: User | None) -> list[str]:
        try:
            questions, groups = quotas.read_plan(folder.text(file))
            quotas.set_quotas(study_id=study.pk, questions=questions, groups=groups, user=user)
        except AnnotationError as error:
            raise StudyError(f"{file}: {error}") from error
        return []


def _plan(questions: Sequence[QuotaQuestion], groups: Sequence[Quota]) -> dict[str, Any]:
    """A plan that `set_quotas` reads, with the group for everyone else last.

    Criteria are sorted, because databases keep keys in different orders.
    """
    rows = [
        {"key": question.key, "label": question.label, "options": dict(question.options)}
        | ({"sentence": question.sentence} if question.sentence else {})
        for question in questions
    ]
    plan: dict[str, Any] = {"question": rows} if rows else {}
    own = [group for group in groups if group.criteria]
    if own:
        plan["group"] = [
            {"target": quota.target, **dict(sorted(quota.criteria.items()))} for quota in own
        ]
    if others := [group for group in groups if not group.criteria]:
        plan["everyone_else"] = {"target": others[0].target}
    return plan


class ComprehensionFile:
    """comprehension.toml: the questions of the comprehension check, as the page shows them."""

    name, file = "comprehension", "comprehension.toml"

    def write(self, study: Study) -> dict[str, str]:
        return {self.file: as_toml(questions_of(study))}

    def apply(self, study: Study, folder: Folder, file: str, *, user: User | None) -> list[str]:
        try:
            set_questions(study_id=study.pk, questions=read_questions(folder.text(file)), user=user)
        except AnnotationError as error:
            raise StudyError(f"{file}: {error}") from error
        return []


_NOT_WRITTEN = (
    *("id", "name", "sealed_key", "sealed_headers", "key_by", "reply_form"),
    *("created_by", "is_retired", "created_at"),
)
_JUDGE_FIELDS = {
    field.name: field for field in Judge._meta.concrete_fields if field.name not in _NOT_WRITTEN
}


class JudgesFile:
    """judges.toml: the judges and juries of a study. Of a key it names only the variable."""

    name, file = "judges", "judges.toml"

    def write(self, study: Study) -> dict[str, str]:
        judges = sorted(judges_of(study), key=lambda judge: judge.name)
        juries = sorted(
            Jury.objects.filter(study=study).prefetch_related("judges"), key=lambda jury: jury.name
        )
        content = {
            "judge": [_judge_table(judge) for judge in judges],
            "jury": [
                {"name": jury.name, "judges": sorted(judge.name for judge in jury.judges.all())}
                for jury in juries
            ],
        }
        return {self.file: to_toml(content)}

    def apply(self, study: Study, folder: Folder, file: str, *, user: User | None) -> list[str]:
        content = folder.toml(file, known=("judge", "jury"))
        remarks, judges = [], {}
        for number, row in enumerate(tables_of(content, "judge", where=file), start=1):
            name = value_of(row, "name", str, where=f"{file}, judge {number}")
            where = f"{file}, judge “{name}”"
            refuse_unknown(row, ("name", *_JUDGE_FIELDS), where=where)
            known = Judge.objects.filter(name=name).first()
            judges[name] = known or _added(name, row, where)
            if known is not None:
                remarks += _compared(known, row, where)
        StudyJudge.objects.filter(study=study).exclude(judge__in=judges.values()).delete()
        for judge in judges.values():
            StudyJudge.objects.get_or_create(study=study, judge=judge)
        if missing := sorted(judge.name for judge in _asked(study) if judge.name not in judges):
            raise StudyError(
                f"{file} lacks the judge “{missing[0]}”, which “{study.slug}” has asked. Add it."
            )
        _set_juries(study, tables_of(content, "jury", where=file), judges, file)
        return remarks


def _asked(study: Study) -> list[Judge]:
    return list(Judge.objects.filter(runs__study=study).distinct())


def _judge_table(judge: Judge) -> dict[str, Any]:
    """A judge as a TOML table; what is not set is left out."""
    row: dict[str, Any] = {"name": judge.name}
    for name in _JUDGE_FIELDS:
        value = getattr(judge, name)
        if isinstance(value, Decimal):
            value = f"{value.normalize():f}"
        elif name == "model_options":
            value = dict(sorted(value.items()))
        if value is not None:
            row[name] = value
    return row


def _judge_values(row: dict[str, Any], where: str) -> dict[str, Any]:
    """The fields of a judge as the database has them; a field that is not named has its default."""
    fields = {}
    for name, field in _JUDGE_FIELDS.items():
        value = row.get(name, field.get_default() if not field.null else None)
        if name == "model_options" and name in row:
            value = value_of(row, name, dict, where=where)
        if field.get_internal_type() == "DecimalField" and value is not None:
            try:
                value = Decimal(str(value))
            except ArithmeticError as error:
                problem = f"{where}: {name} is {value!r}. Use a number in quotes."
                raise StudyError(problem) from error
        fields[name] = value
    return fields


def _added(name: str, row: dict[str, Any], where: str) -> Judge:
    """Add a judge that this installation lacks."""
    fields = _judge_values(row, where)
    try:
        is_local = backend_kind(fields["backend"]).capabilities.is_local
        if is_local and not fields["model_options"].get("revision"):
            raise StudyError(
                f"{where}: model_options has no revision. Name the exact revision of a local "
                "model, or add the judge with add_judge, which finds it."
            )
        return add_judge(name=name, **fields)[0]
    except JudgingError as error:
        raise StudyError(f"{where}: {error}") from error


def _compared(judge: Judge, row: dict[str, Any], where: str) -> list[str]:
    """What a judge that exists keeps. Raises `StudyError` if its answers would differ."""
    fields = _judge_values(row, where)
    # Without a word about structured replies, those of the judge that is here are meant.
    fields["structured"] = row.get("structured", judge.structured)
    other = [name for name, value in fields.items() if value != getattr(judge, name)]
    if differing := [name for name in other if name in IDENTITY]:
        raise StudyError(
            f"{where}: this installation has a judge of that name with another "
            f"{', '.join(name.replace('_', ' ') for name in differing)}. All studies share a "
            "judge, so it is not changed. Give the judge another name in the file."
        )
    if not other:
        return []
    kept = ", ".join(name.replace("_", " ") for name in other)
    return [f"{where}: this installation keeps its own {kept}, because all studies share a judge."]


def _set_juries(
    study: Study, rows: list[dict[str, Any]], judges: dict[str, Judge], file: str
) -> None:
    names = []
    for number, row in enumerate(rows, start=1):
        where = f"{file}, jury {number}"
        refuse_unknown(row, ("name", "judges"), where=where)
        name = value_of(row, "name", str, where=where)
        members = value_of(row, "judges", list, where=where)
        if unknown := [member for member in members if member not in judges]:
            raise StudyError(f"{where}: there is no judge “{unknown[0]}” in {file}.")
        if not 1 <= len(name) <= 120 or name in judges:
            raise StudyError(f"{where}: “{name}” needs a name of its own, of 1 to 120 letters.")
        jury, _ = Jury.objects.get_or_create(study=study, name=name)
        jury.judges.set([judges[member] for member in members])
        names.append(name)
    if left := Jury.objects.filter(study=study).exclude(name__in=names).first():
        raise StudyError(f"{file} lacks the jury “{left.name}” of “{study.slug}”. Add it.")


_TEXTS = ("template", "template_without_persona")
_KEYS = ("name", "version", "setting", "source", "note", *_TEXTS, "exact_texts")
# Fields that must agree between wordings of one name and version, once a run has used it.
_CONTENT = ("setting", "exact_texts", *_TEXTS)


class WordingsFile:
    """wordings.toml, and a file for each text that it names."""

    name, file = "wordings", "wordings.toml"

    def write(self, study: Study) -> dict[str, str]:
        rows, files, taken = [], {}, set[str]()
        wordings = PromptTemplate.objects.filter(study=study)
        for wording in sorted(wordings, key=lambda one: (one.name, one.version)):
            path = _path(wording, taken)
            row = {
                "name": wording.name,
                "version": wording.version,
                "setting": wording.setting,
                "source": wording.source,
                "note": wording.note,
            }
            texts = {f"{path}.txt": wording.template}
            texts |= {f"{path}.no_persona.txt": wording.template_without_persona}
            for key, (name, text) in zip(_TEXTS, texts.items(), strict=True):
                if text:
                    row[key] = name
                    files[name] = text
            # They are texts of items, as a released file spells them.
            if wording.exact_texts and may_redistribute(study):
                row["exact_texts"] = f"{path}.items.json"
                files[f"{path}.items.json"] = to_json(wording.exact_texts)
            rows.append(row)
        return {self.file: to_toml({"wording": rows}), **files}

    def apply(self, study: Study, folder: Folder, file: str, *, user: User | None) -> list[str]:
        wanted = {(row["name"], row["version"]): row for row in _rows(study, folder, file)}
        there = {(w.name, w.version): w for w in PromptTemplate.objects.filter(study=study)}
        for key in there.keys() - wanted.keys():
            _refuse_used(there[key], file)
            there[key].delete()
        for key, row in wanted.items():
            wording = there.get(key) or PromptTemplate(study=study)
            if all(getattr(wording, name) == value for name, value in row.items()):
                continue
            if any(getattr(wording, name) != row[name] for name in _CONTENT):
                _refuse_used(wording, file)
                problems = checked_texts(study, row["setting"], *(row[name] for name in _TEXTS))
                for problem in problems.values():
                    if problem.problems:
                        where = f"{file}, “{row['name']}”"
                        raise StudyError(f"{where}: {' '.join(problem.problems)}")
            for name, value in row.items():
                setattr(wording, name, value)
            wording.sha256 = digest([row["setting"], *(row[n] for n in _TEXTS), row["exact_texts"]])
            wording.save()
            noted = {"wording": wording.reference, "sha256": wording.sha256}
            record(study, "wording applied", user=user, **noted)
        return []


def _path(wording: PromptTemplate, taken: set[str]) -> str:
    """A unique name for the files of a wording."""
    stem = f"wordings/{slugify(wording.name) or 'wording'}.{wording.version}"
    path, number = stem, 1
    while path in taken:
        number += 1
        path = f"{stem}-{number}"
    taken.add(path)
    return path


def _rows(study: Study, folder: Folder, file: str) -> Iterator[dict[str, Any]]:
    """The wordings of a file, checked one by one. Raises `StudyError`."""
    seen = set()
    content = folder.toml(file, known=("wording",))
    for number, row in enumerate(tables_of(content, "wording", where=file), start=1):
        where = f"{file}, wording {number}"
        refuse_unknown(row, _KEYS, where=where)
        name = value_of(row, "name", str, where=where)
        version = value_of(row, "version", int, where=where)
        try:
            check_name(name)
        except BadJudge as error:
            raise StudyError(f"{where}: {error}") from error
        if not 1 <= version <= 32_767 or (name, version) in seen:
            raise StudyError(f"{where}: give every version of “{name}” its own number, from 1.")
        seen.add((name, version))
        setting = value_of(row, "setting", str, where=where)
        source = value_of(row, "source", str, where=where, default="written")
        for value, known in ((setting, registry.names()), (source, PromptTemplate.Source.values)):
            if value not in known:
                names = ", ".join(known)
                raise StudyError(f"{where}: “{value}” is not known. Use one of: {names}.")
        texts = {key: value_of(row, key, str, where=where, default="") for key in _TEXTS}
        exact = value_of(row, "exact_texts", str, where=where, default="")
        if not any(texts.values()):
            raise StudyError(f"{where}: name a file as template or template_without_persona.")
        yield {
            "name": name,
            "version": version,
            "setting": setting,
            "source": source,
            "note": value_of(row, "note", str, where=where, default=""),
            "exact_texts": folder.json(exact) if exact else {},
            **{key: folder.text(path) if path else "" for key, path in texts.items()},
        }


def _refuse_used(wording: PromptTemplate, file: str) -> None:
    if wording.pk is not None and is_used(wording):
        raise FrozenStudy(
            f"{file}: “{wording.reference}” is used by a run, so it cannot change. Add the new "
            f"text as version {wording.version + 1}."
        )
