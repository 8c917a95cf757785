"""report STUDY… --out DIR: build reports in a folder, without web server or worker."""

import json
import sys
from argparse import ArgumentParser
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict
from functools import partial
from itertools import groupby
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from django.core.management.base import BaseCommand, CommandError

from analysis.errors import AnalysisError, BadParameters
from analysis.lifecycle.storage import (
    check_output_folder,
    check_parameters,
    files_of_report,
    holds,
)
from analysis.report.added_files import MORE
from analysis.report.rules import (
    DEFAULT_BOOTSTRAP,
    DEFAULT_SEED,
    MORE_PAGES,
    SEVERAL_STUDIES,
    several_studies,
)
from studies.management.terminal import find_study, progress_bar, using
from studies.models.studies import Study, StudyLog
from studies.services.studies import record
from studies.statements import clock
from studies.texts.json_values import NotJson, json_value

if TYPE_CHECKING:
    from analysis.data.views import View
    from analysis.report.quantities import Text
    from analysis.report.section import OwnPage


class Command(BaseCommand):
    # They load every address, and the web server and `check` make them.
    requires_system_checks: list[str] = []
    help = (
        "Build the report of one study in DIR, or of several studies in DIR/<study> with common "
        "tables in DIR: report.html (one file that opens offline), report.json, tables/*.csv and "
        "*.tex, and figures/*.json (plotly)."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("study", nargs="+", help="short name of a study")
        parser.add_argument("--out", help="folder to write to")
        parser.add_argument(
            "--sentences",
            action="store_true",
            help="print every sentence of the report with the numbers in it and what they are "
            "about; without --out, keep no files",
        )
        parser.add_argument("--json", action="store_true", help="print --sentences as JSON")
        parser.add_argument(
            "--seed",
            type=int,
            help=f"seed of all resamples (default: the plan's, or {DEFAULT_SEED})",
        )
        parser.add_argument(
            "--threshold",
            type=int,
            default=None,
            help="high-certainty threshold (default: the study's, usually 80)",
        )
        parser.add_argument(
            "--bootstrap",
            type=int,
            help=f"number of resamples (default: the plan's, or {DEFAULT_BOOTSTRAP})",
        )
        parser.add_argument(
            "--page",
            action="append",
            default=[],
            metavar="NAME",
            help="also write a page of its own, such as validation, as NAME.html; repeatable",
        )
        parser.add_argument(
            "--judge",
            default="",
            metavar="NAME",
            help="the judge or run that --page is about (default: that of the headline)",
        )
        parser.add_argument(
            "--view",
            metavar="FILE",
            help="another view: a JSON file of what to leave out or read otherwise, as in "
            "view.filters of its report.json",
        )
        for added in MORE:
            parser.add_argument(f"--{added.name}", action="store_true", help=added.help)
        for several in SEVERAL_STUDIES:
            several.add_options(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        slugs = list(dict.fromkeys(options["study"]))
        self.lists_sentences, self.as_json = options["sentences"], options["json"]
        if self.as_json and not self.lists_sentences:
            raise CommandError("--json prints sentences. Add --sentences.", returncode=2)
        if self.lists_sentences and len(slugs) > 1:
            raise CommandError("--sentences needs one study.", returncode=2)
        with ExitStack() as folders:
            if options["out"]:
                out = Path(options["out"])
            elif self.lists_sentences:
                out = Path(folders.enter_context(TemporaryDirectory())) / "report"
            else:
                raise CommandError("Name the folder to write to with --out.", returncode=2)
            self._handle(slugs, out, options)

    def _handle(self, slugs: list[str], out: Path, options: dict[str, Any]) -> None:
        chosen: dict[str, Any] = {key: options[key] for key in ("seed", "threshold", "bootstrap")}
        try:
            if options["view"]:
                chosen["view"] = _view(find_study(slugs[0]), Path(options["view"]))
            check_parameters(**{key: chosen[key] for key in ("seed", "threshold", "bootstrap")})
            for several in SEVERAL_STUDIES:
                several.check(slugs, options)
        except BadParameters as error:
            raise CommandError(str(error), returncode=2) from None

        if options["view"] and len(slugs) > 1:
            raise CommandError("--view needs one study.", returncode=2)

        self.pages, self.judge = _pages(options["page"]), options["judge"]
        if self.judge and not self.pages:
            raise CommandError("--judge chooses the judge of a page. Add --page.", returncode=2)
        self.added = [files for files in MORE if options[files.name]]
        needed = [MORE.extra_of(files.name) for files in self.added]
        needed += [MORE_PAGES.extra_of(page.name) for page in self.pages]
        studies = [find_study(slug) for slug in slugs]
        if self.judge:
            for study in studies:
                _check_judge(study, self.judge)
        build = partial(self._build, chosen)
        with ExitStack() as stack:
            for study in studies:
                stack.enter_context(using(study, *needed))
            self._write(slugs, out, options, build)

    def _write(
        self,
        slugs: list[str],
        out: Path,
        options: dict[str, Any],
        build: Callable[[Sequence[str], Path], dict[str, Any]],
    ) -> None:
        try:
            if len(slugs) > 1:
                page, notes = several_studies().build(slugs, out, options, build)
                for note in notes:
                    self.stderr.write(note)
                self.stdout.write(f"All studies: {page}")
            else:
                check_output_folder(out, files_of_report(), is_ours=holds(out, "report"))
                build(slugs, out)
        except BadParameters as error:
            raise CommandError(str(error), returncode=2) from None
        except AnalysisError as error:
            raise CommandError(str(error)) from None
        except OSError as error:
            raise CommandError(
                f"{out} cannot be written: {error.strerror}. Name another folder with --out."
            ) from None

    def _build(self, chosen: dict[str, Any], slugs: Sequence[str], folder: Path) -> dict[str, Any]:
        """The report of one study, or of several that are pooled."""
        from analysis.data.raters import REPORT_WRITTEN
        from analysis.data.runs import asked_on
        from analysis.lifecycle.build_job import write_report
        from analysis.report.quantities import recorded

        asked_at = clock.now()  # as of a report on the page: what happens meanwhile comes after it
        label = slugs[0] if len(slugs) == 1 else "pooled"
        with progress_bar(sys.stderr, total=100, label=label) as bar, recorded() as texts:
            result = write_report(
                *slugs,
                out=folder,
                on_progress=_shown_on(bar),
                added=self.added,
                **chosen,
            )
        if len(slugs) == 1:
            detail = {"seed": result["seed"], "inputs": result["inputs"]["hash"]}
            if view := result.get("view"):
                detail["view"] = view["changes"]
            entry = record(find_study(slugs[0]), REPORT_WRITTEN, **detail)
            StudyLog.objects.filter(pk=entry.pk).update(created_at=asked_at)
            self._write_pages(result, folder, asked_on(slugs[0]))
        if self.lists_sentences:
            self._list_sentences(slugs[0], (folder / "report.html").read_text("utf-8"), texts)
            return result
        return self._summarise(result, folder)

    def _list_sentences(self, slug: str, page: str, texts: "Sequence[Text]") -> None:
        from analysis.report.sentence_list import OF_QUANTITIES, UNKNOWN, sentences_of

        sentences = list(sentences_of(page, texts))
        kinds = Counter(sentence.kind for sentence in sentences)
        if self.as_json:
            listed = [
                {
                    "chapter": one.chapter,
                    "text": one.text,
                    "kind": one.kind,
                    "numbers": [asdict(number) for number in one.numbers],
                    "populations": [{"words": str(of), **asdict(of)} for of in one.populations],
                }
                for one in sentences
            ]
            content = {"study": slug, "sentences": listed, "kinds": kinds}
            self.stdout.write(json.dumps(content, ensure_ascii=False, indent=1))
            return
        for chapter, of_chapter in groupby(sentences, lambda one: one.chapter):
            self.stdout.write(chapter)
            for sentence in of_chapter:
                self.stdout.write("\n".join(sentence.lines))
        known, numbered = kinds[OF_QUANTITIES], kinds[OF_QUANTITIES] + kinds[UNKNOWN]
        self.stdout.write(
            f"{len(sentences):,} sentences; {known:,} of the {numbered:,} with a number are made "
            "of quantities."
        )

    def _write_pages(
        self, result: dict[str, Any], folder: Path, asked_on: Mapping[str, str]
    ) -> None:
        earlier = {path.stem for path in folder.glob("*.html")} - {"report"}
        for page in MORE_PAGES if self.pages or earlier else ():
            path = folder / f"{page.name}.html"
            if page in self.pages:
                today = clock.now().date()
                html = page.html(result, date=today, asked_on=asked_on, judge=self.judge)
                path.write_text(html, encoding="utf-8")
                self.stdout.write(f"{page.title}: {path}")
            else:
                path.unlink(missing_ok=True)  # of an earlier report in this folder

    def _summarise(self, result: dict[str, Any], folder: Path) -> dict[str, Any]:
        from analysis.report.section import part_words

        inputs = result["inputs"]
        for words in filter(None, (added.words(folder) for added in self.added)):
            self.stdout.write(words)
        for name in result.get("failed_parts", ()):
            self.stderr.write(f"{result['study']['slug']}: {part_words(name)}")
        self.stdout.write(
            f"{result['study']['slug']}: {folder / 'report.html'} ({inputs['items']:,} items, "
            f"{inputs['annotations']:,} answers, {inputs['judgments']:,} judgments)"
        )
        return result


def _view(study: Study, path: Path) -> "View":
    """The view in a JSON file. Raises `BadParameters`."""
    from analysis.lifecycle.requests import read_view

    try:
        content = json_value(path.read_bytes())
    except OSError as error:
        raise BadParameters(f"{path} cannot be read: {error.strerror}.") from None
    except NotJson as error:
        raise BadParameters(f"{path} is not JSON: {error}.") from None
    try:
        return read_view(study, content)
    except BadParameters as error:
        raise BadParameters(f"{path}: {error}") from None


def _check_judge(study: Study, name: str) -> None:
    """Refuse an unknown judge before the report is built."""
    from analysis.lifecycle.requests import run_keys

    try:
        if not study.juries.filter(name=name).exists():
            run_keys(study, [name])
    except BadParameters as error:
        raise CommandError(f"--judge: {error}", returncode=2) from None


def _pages(names: list[str]) -> "list[OwnPage]":
    known = {page.name: page for page in MORE_PAGES} if names else {}
    for name in names:
        if name not in known:
            raise CommandError(
                f"--page: There is no page “{name}”. Use one of: {', '.join(known) or 'none'}.",
                returncode=2,
            )
    return [known[name] for name in dict.fromkeys(names)]


def _shown_on(bar: Any) -> Callable[[int, str], None]:
    def show(percent: int, sentence: str) -> None:
        bar.set_postfix_str(sentence, refresh=False)
        bar.update(percent - bar.n)

    return show
