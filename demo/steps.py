"""The steps of the demo, each safe to repeat.

Everything uses the product's own interfaces: items are imported, participants are recruited with
the product's command and answer through the pages, judges run in a Celery worker against an HTTP
server, a worker builds the reports. Only the annotators, the models and the recruiting platform are
simulated.
"""

import shutil
import socket
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from threading import Lock
from typing import Any

import requests
from django.conf import settings
from django.urls import reverse
from django.utils import timezone

from analysis.lifecycle.requests import request_report
from analysis.lifecycle.storage import report_dir
from analysis.models import Report
from annotation.models import Assignment, ProlificStudy
from config.migrate import migrate
from config.processes import Processes, web_command, worker_command
from demo.annotators import TIE_ANNOTATORS, SimulatedAnnotator, pseudonym
from demo.judges import DECIDER
from demo.leftovers import end_leftovers, note
from demo.recruiting import LEAVERS, SimulatedRecruiting
from demo.studies import USER, DemoError, mark_simulated, researcher, set_up
from demo.truth import ANNOTATORS, World
from judging.backends.backend import NO_PROBABILITIES, WITH_REPLY
from judging.backends.kinds import DEFAULT, names
from judging.models import JudgeRun, Judgment
from judging.protocols.protocol import Certainty, Tie
from judging.runs.judges import add_judge
from judging.runs.spec import RunSpec
from judging.runs.start import start_run
from judging.selectors import run_progress
from studies.management.terminal import progress_bar
from studies.models import Item, Study

JUDGES = {
    f"simulated-{name}": f"demo-{name}" for name in ("steady", "boastful", "lefty", "decider")
}
ABLATIONS = ("age,education,politics", "age")  # three features of the profile, and one
# A model of requirements-tiny.txt, asked about a few items beside the simulated judges.
REAL_JUDGE, REAL_MODEL = "real model, 135 million parameters", "SmolLM2-135M-Instruct"
REAL_ITEMS, REAL_SLOTS = 30, 2
VISITORS = ("Ada", "Ben", "Cleo")
PIDS = "processes.json"
SAMPLED, SAMPLES = "simulated-steady", 5  # this one also gives log-probabilities
POLL_SECONDS = 0.3


def demo_folder() -> Path:
    """The folder with the demo's files; created if missing."""
    folder = Path(settings.VAR_DIR) / "demo"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


class Demo:
    """One demo on `port`; the simulated LLM server and the simulated Prolific take the next two.

    With `has_real`, a server with a real model takes the one after them.
    """

    def __init__(self, port: int, processes: Processes, *, has_real: bool = False) -> None:
        self._port = port
        self._has_real = has_real
        self._real_url = f"http://127.0.0.1:{port + 3}"
        self._llm_port = port + 1
        self._prolific_port = port + 2
        self._base_url = f"http://127.0.0.1:{port}"
        self._folder = demo_folder()
        self._processes = processes
        self._world = World()

    def run(self, started: float) -> None:
        """Do the remaining work and print where to click; `started` is by the monotonic clock."""
        end_leftovers(self._folder / PIDS)
        real = [self._port + 3] if self._has_real else []
        require_free(self._port, self._llm_port, self._prolific_port, *real)
        migrate()
        user, password = researcher(self._folder / "login.txt")
        main, ties = set_up(self._world, folder=self._folder, owner=user)
        _say("1/6  The study “Everyday choices”: 300 items, and 24 true ties in a second study.")
        self._start_processes()
        _say(
            f"2/6  Web server on port {self._port}, a worker, simulated LLM server on "
            f"{self._llm_port}, simulated Prolific on {self._prolific_port}."
        )
        recruiting = SimulatedRecruiting(main, f"http://127.0.0.1:{self._prolific_port}")
        new_answers = self._people(main, ties, recruiting)
        self._settle(recruiting)
        new_judgments = self._judges(main, ties)
        report = self._reports(main, ties, is_new=bool(new_answers or new_judgments))
        _say(f"     Done in {time.monotonic() - started:.0f} seconds.")
        self._where_to_click(report, password)

    def _start_processes(self) -> None:
        commands = {
            "The simulated LLM server": llm_command(self._llm_port),
            "The simulated Prolific": prolific_command(
                self._prolific_port, state=self._folder / "prolific.json"
            ),
            "The web server": web_command(port=self._port),
            "The worker": worker_command(),
        }
        if self._has_real:
            commands["The server of the real model"] = real_command(self._port + 3)
        pids = {
            self._processes.start(name, command).pid: " ".join(command)
            for name, command in commands.items()
        }
        note(self._folder / PIDS, pids)
        self._processes.wait_healthy(self._base_url)
        if self._has_real:
            self._wait(lambda: _is_loaded(self._real_url))

    def _people(self, main: Study, ties: Study, recruiting: SimulatedRecruiting) -> int:
        """Let every annotator arrive and give the remaining answers; return how many answers."""
        cost = recruiting.launch()
        finishing, late = self._recruited(main, recruiting)
        by_hand = [
            SimulatedAnnotator(n, ties.slug, self._base_url, self._world) for n in TIE_ANNOTATORS
        ]
        finishing += self._seat(ties, by_hand)
        left = Assignment.objects.filter(
            annotator__study__in=[main, ties],
            annotator__prolific_identity__pid__in=[person.pid for person in finishing],
            state=Assignment.State.RESERVED,
            item__split=Item.Split.MAIN,
        ).count()
        lock = Lock()
        with _bar(left, "People") as bar, ThreadPoolExecutor(len(finishing) + len(late)) as pool:

            def answered() -> None:
                with lock:
                    bar.update()

            for person in finishing:
                person.on_answer = answered
            surplus = [pool.submit(_finish_late, person) for person in late]
            codes = list(pool.map(lambda person: person.finish(), finishing))
            for visit in surplus:
                visit.result()
        for person, code in zip(finishing, codes, strict=True):
            if person.link:
                recruiting.hand_in(person, code)
        _say(
            f"3/6  {len(codes)} simulated annotators have answered through the pages and got their "
            f"codes; {left:,} answers were new. {ANNOTATORS} came through the simulated Prolific "
            f"for {cost}, {len(LEAVERS)} more left early and were replaced."
        )
        return left

    def _recruited(
        self, study: Study, recruiting: SimulatedRecruiting
    ) -> tuple[list[SimulatedAnnotator], list[SimulatedAnnotator]]:
        """The annotators who finish in time and those who finish late, all with their items.

        Annotators take the places of the simulated Prolific one after the other; when some have
        left, others take theirs.
        """
        first = self._seat(
            study, recruiting.arriving(recruiting.first(), self._base_url, self._world)
        )
        recruiting.let_leave(first)
        second = self._seat(
            study,
            recruiting.arriving(
                [leaver.instead for leaver in LEAVERS], self._base_url, self._world
            ),
        )
        finishing = [person for person in first if person.number <= ANNOTATORS]
        late_numbers = {leaver.number for leaver in LEAVERS if leaver.comes_back}
        return finishing + second, [p for p in first if p.number in late_numbers]

    def _seat(
        self, study: Study, arriving: Iterable[SimulatedAnnotator]
    ) -> list[SimulatedAnnotator]:
        """Let annotators arrive and get their items, one by one."""
        people = []
        for person in arriving:
            person.arrive()
            people.append(person)
        mark_simulated(study, self._world, {p.pid: pseudonym(p.number) for p in people})
        with ThreadPoolExecutor(max(1, len(people))) as pool:
            list(pool.map(SimulatedAnnotator.prepare, people))
        for person in people:
            person.take_seat()
        return people

    def _settle(self, recruiting: SimulatedRecruiting) -> None:
        approved, rewards, paid, bonuses = recruiting.settle()
        _say(
            f"4/6  Settled: {approved} people approved for {rewards}, {paid} bonuses of {bonuses} "
            "for work that no approval pays. The money is simulated."
        )

    def _judges(self, main: Study, ties: Study) -> int:
        """Run every judge in every setting; return how many judgments were new."""
        asked = [
            (main, Certainty.name, "all"),
            *((main, Certainty.name, features) for features in ABLATIONS),
            (ties, Tie.name, "all"),
        ]
        began = timezone.now()
        runs = []
        judges = {name: model for name, model in JUDGES.items() if _backend(model) in names()}
        for name, model in judges.items():
            judge, _ = add_judge(
                name=name,
                model=model,
                backend=_backend(model),
                base_url=f"http://127.0.0.1:{self._llm_port}/v1",
                price_input=0,
                price_output=0,
                probabilities=WITH_REPLY if name == SAMPLED else NO_PROBABILITIES,
                structured=False,  # its models answer in the words of the paper
            )
            runs += [
                start_run(
                    RunSpec(
                        study_id=study.pk,
                        judge_id=judge.pk,
                        setting=setting,
                        features=features,
                        samples=SAMPLES if (name, features, study) == (SAMPLED, "all", main) else 1,
                    )
                )
                for study, setting, features in asked
            ]
        if self._has_real:
            runs.append(self._real_run(main))
        # Count from before the first run, because workers have already started.
        before = Judgment.objects.filter(run__in=runs, answered_at__lt=began).count()
        new = sum(run_progress(run).total for run in runs) - before
        with _bar(new, "Judges") as bar:
            self._wait(lambda: _have_ended(runs, bar, new))
        for run in runs:
            if run.state != JudgeRun.State.DONE:
                raise DemoError(f"A run of {run.judge} is {run.state}: {run.sentence}")
        _say(
            f"5/6  {len(judges)} simulated judges {self._and_real}have judged in {len(runs)} runs; "
            f"{new:,} judgments were new."
        )
        return new

    @property
    def _and_real(self) -> str:
        return f"and a {REAL_JUDGE}, " if self._has_real else ""

    def _real_run(self, study: Study) -> JudgeRun:
        """Let the real model judge the first items; the form of its replies is enforced."""
        judge, _ = add_judge(
            name=REAL_JUDGE,
            model=REAL_MODEL,
            base_url=f"{self._real_url}/v1",
            structured=True,
            max_tokens=64,
            concurrency=REAL_SLOTS,
            price_input=0,
            price_output=0,
        )
        return start_run(
            RunSpec(study_id=study.pk, judge_id=judge.pk, setting=Certainty.name, limit=REAL_ITEMS)
        )

    def _reports(self, main: Study, ties: Study, *, is_new: bool) -> Report:
        """Build both studies' reports unless they exist and nothing is new."""
        reports = []
        for study in (main, ties):
            report = study.reports.filter(state=Report.State.DONE).first()
            reports.append(
                request_report(study_id=study.pk) if is_new or report is None else report
            )
        self._wait(lambda: _are_built(reports))
        for report in reports:
            if report.state != Report.State.DONE:
                raise DemoError(f"The report of “{report.study}” was not built: {report.message}")
        out = self._folder / "report"
        with report_dir(reports[0].public_id).local() as folder:
            shutil.copytree(folder, out, dirs_exist_ok=True)
        _say(f"6/6  The report: {out / 'report.html'}")
        return reports[0]

    def _wait(self, is_over: Callable[[], bool]) -> None:
        while not is_over():
            self._processes.check()
            time.sleep(POLL_SECONDS)

    def _where_to_click(self, report: Report, password: str) -> None:
        site = f"http://localhost:{self._port}"
        slug = report.study.slug
        recruited = ProlificStudy.objects.get(study=report.study).prolific_id
        visits = f"http://localhost:{self._port + 2}/simulate/visit"
        visit = f"{visits}?study={recruited}"
        _say()
        for what, where in (
            *((f"Annotator {name}", f"{visit}&person={name}") for name in VISITORS),
            ("A new annotator", f"{visit}  (a new annotator each time)"),
            ("Your own studies", f"{visits}  (new annotators, once published)"),
            ("The study", f"{site}{reverse('studies:detail', args=[slug])}"),
            ("The recruiting", f"{site}{reverse('people:prolific', args=[slug])}"),
            (
                "The report",
                f"{site}{reverse('analysis:report', args=[slug, report.public_id])}",
            ),
            ("Sign in", f"user {USER}, password {password}"),
        ):
            _say(f"  {what:<16} {where}")
        _say()
        judges = f"all judges but “{REAL_JUDGE}”" if self._has_real else "judges"
        _say(
            f"People, annotators, {judges}, Prolific and its money are simulated: "
            "demo/demo_truth.json has the truth."
        )


def _backend(model: str) -> str:
    """The backend of a simulated model; that of decision endpoints is in an extra."""
    return "decisions" if model == DECIDER else DEFAULT


def require_free(*ports: int) -> None:
    """Raise `DemoError` when another program already listens on one of the ports."""
    for port in ports:
        with closing(socket.socket()) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                raise DemoError(
                    f"Port {port} is in use, perhaps by another demo. Stop that, or choose another "
                    f"port (the demo uses {len(ports)} from it on): PORT={ports[0] + 10} make demo"
                ) from None


def llm_command(port: int) -> list[str]:
    return [sys.executable, "-m", "demo.llm_server", "--port", str(port)]


def real_command(port: int) -> list[str]:
    command = [sys.executable, "-m", "django", "serve_model", "tiny", "--port", str(port)]
    command += ["--name", REAL_MODEL, "--context", "2048"]
    return [*command, "--slots", str(REAL_SLOTS), "--threads", "1"]


def _is_loaded(url: str) -> bool:
    try:
        return requests.get(f"{url}/health", timeout=2).ok
    except requests.RequestException:
        return False


def prolific_command(port: int, *, state: Path) -> list[str]:
    """The command of the simulated Prolific, which survives a kill with its state in `state`."""
    return [sys.executable, "-m", "demo.prolific", "--port", str(port), "--state", str(state)]


def _finish_late(person: SimulatedAnnotator) -> None:
    person.continue_late()
    person.finish()


def _say(text: str = "") -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def _bar(total: int, label: str) -> Any:
    return progress_bar(sys.stdout, total=total, label=f"     {label:<7}")


def _have_ended(runs: Sequence[JudgeRun], bar: Any, total: int) -> bool:
    """Read the runs again, draw their progress, and return whether all have ended."""
    for run in runs:
        if run.is_active:
            run.refresh_from_db()
    bar.update(total - sum(run_progress(run).left for run in runs) - bar.n)
    return not any(run.is_active for run in runs)


def _are_built(reports: Sequence[Report]) -> bool:
    for report in reports:
        if report.is_open:
            report.refresh_from_db()
    return not any(report.is_open for report in reports)
