"""The GitHub Action against an API that is simulated here, and the fixture for pytest."""

import json
import re
import subprocess
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest

from tests.thirdperson.test_check import labels_table
from thirdperson.check.pull_request import run

pytest_plugins = ["pytester"]
pytestmark = pytest.mark.slow
ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def github():
    """Comments of pull request 7 of lab/judge, behind the addresses of GitHub."""

    class GitHub(BaseHTTPRequestHandler):
        def answer(self, content, status=200):
            self.send_response(status)
            self.end_headers()
            self.wfile.write(json.dumps(content).encode())

        def body(self):
            return json.loads(self.rfile.read(int(self.headers["Content-Length"])))["body"]

        def do_GET(self):
            page = int(parse_qs(urlsplit(self.path).query)["page"][0])
            self.answer(server.comments[100 * (page - 1) : 100 * page])

        def do_POST(self):
            assert self.path == "/repos/lab/judge/issues/7/comments"
            if server.refuses:
                self.answer({"message": "Resource not accessible"}, 403)
                return
            server.comments.append({"id": len(server.comments), "body": self.body()})
            self.answer({}, 201)

        def do_PATCH(self):
            server.comments[int(self.path.rpartition("/")[2])]["body"] = self.body()
            self.answer({})

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), GitHub)
    server.comments, server.refuses = [], False
    threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    yield server
    server.shutdown()
    server.server_close()


@pytest.fixture
def job(github, tmp_path, monkeypatch):
    """A job in a clone whose base branch has labels of a worse judge."""

    def git(*arguments, at):
        subprocess.run(["git", *arguments], cwd=at, check=True, capture_output=True)

    origin, clone = tmp_path / "origin", tmp_path / "clone"
    origin.mkdir()
    git("init", "--initial-branch=main", at=origin)
    labels_table(origin / "labels.csv", judge=0.4, people=24)
    git("add", ".", at=origin)
    author = ["-c", "user.name=a", "-c", "user.email=a@lab.example"]
    git(*author, "commit", "--message=labels", at=origin)
    git("clone", str(origin), str(clone), at=tmp_path)
    labels_table(clone / "labels.csv")
    event = tmp_path / "event.json"
    event.write_text(json.dumps({"pull_request": {"number": 7, "base": {"ref": "main"}}}))
    monkeypatch.chdir(clone)
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    return {
        "GITHUB_API_URL": f"http://127.0.0.1:{github.server_port}",
        "GITHUB_REPOSITORY": "lab/judge",
        "GITHUB_EVENT_PATH": str(event),
        "GITHUB_TOKEN": "t",
        "GITHUB_STEP_SUMMARY": str(tmp_path / "summary.md"),
        "GITHUB_OUTPUT": str(tmp_path / "output"),
        "RUNNER_TEMP": str(tmp_path / "temporary"),
    }


@pytest.mark.nightly
def test_a_pull_request_has_one_comment_however_often_it_is_checked(github, job):
    github.comments = [{"id": n, "body": "Looks good."} for n in range(100)]

    assert run("labels.csv", [], job, comments=True) == 0
    labels_table(Path("labels.csv"), judge=0.4, people=24, seed=2)
    assert run("labels.csv", [], job, comments=True) == 1

    assert len(github.comments) == 101
    said = github.comments[-1]["body"]
    assert said.startswith("<!-- thirdperson check labels.csv -->\n### ❌ NOT TRUSTED: ")
    assert "On `main`: ❌ NOT TRUSTED: " in said
    summary = Path(job["GITHUB_STEP_SUMMARY"]).read_text()
    assert "### ✅ TRUSTED" in summary
    output = Path(job["GITHUB_OUTPUT"]).read_text().splitlines()
    assert output[-2] == "name=thirdperson-check-labels.csv"
    folder = Path(output[-1].removeprefix("folder="))
    assert sorted(path.name for path in folder.iterdir()) == ["card.png", "report.html"]
    assert sorted(path.name for path in Path().iterdir()) == [".git", "labels.csv"]


@pytest.mark.nightly
def test_without_the_right_to_comment_the_verdict_still_counts(github, job, capsys):
    github.refuses = True

    assert run("labels.csv", [], job, comments=True) == 0
    assert "::warning::The comment was not written: 403" in capsys.readouterr().out


@pytest.mark.nightly
def test_a_bad_file_is_an_error_at_the_file(github, job, capsys):
    Path(job["GITHUB_EVENT_PATH"]).write_text("{}")

    assert run("labels.csv", ["--label", "zzz"], job, comments=True) == 2
    assert "::error file=labels.csv::" in capsys.readouterr().out
    assert github.comments == []


def test_the_action_passes_nothing_to_a_shell():
    commands = re.findall(r"run: (.+)", (ROOT / "action.yml").read_text())

    assert len(commands) == 2
    assert not [command for command in commands if "${{" in command]


@pytest.mark.nightly
def test_a_judge_that_is_not_trusted_fails_a_test_with_the_sentence(pytester, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    labels_table(pytester.path / "good.csv")
    labels_table(pytester.path / "bad.csv", judge=0.4, people=24)
    pytester.makepyfile(
        """
        import pytest

        pytest_plugins = ["thirdperson.pytest_plugin"]

        @pytest.mark.parametrize("name", ["good", "bad", "missing"])
        def test_judge(thirdperson_check, name):
            assert thirdperson_check(f"{name}.csv")["verdict"] == "TRUSTED"
        """
    )
    found = pytester.runpytest_subprocess("-p", "no:django")

    found.assert_outcomes(passed=1, failed=2)
    found.stdout.fnmatch_lines(["*NOT TRUSTED: *", "*missing.csv: there is no such file*"])
