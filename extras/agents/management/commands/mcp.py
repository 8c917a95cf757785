"""mcp: serve agents by the Model Context Protocol, or write the files that teach them."""

from argparse import ArgumentParser
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError


class Command(BaseCommand):
    help = (
        "Serve agents by the Model Context Protocol: on standard input and output, with the token "
        "in THIRDPERSON_TOKEN, or over HTTP, with a token in each request. Needs the package mcp. "
        "--skill writes the files that say how to use this program, and ends."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--http", action="store_true", help="serve over HTTP at /mcp")
        parser.add_argument("--host", default="127.0.0.1", help="default: 127.0.0.1")
        parser.add_argument("--port", type=int, default=8010, help="default: 8010")
        parser.add_argument(
            "--skill",
            type=Path,
            metavar="FOLDER",
            help="write SKILL.md and llms-full.txt, the whole documentation, into a folder",
        )

    def handle(self, **options: Any) -> None:
        if folder := options["skill"]:
            self._write(folder)
            return
        if find_spec("mcp") is None:
            raise CommandError(
                "The package mcp is not installed. Install it: pip install 'thirdperson[agents]', "
                "or pip install -r requirements-agents.txt in a checkout."
            )
        from extras.agents.server import PATH, agent_server, serve_http

        if not options["http"]:
            agent_server(is_local=True).run("stdio")
            return
        self.stderr.write(f"http://{options['host']}:{options['port']}{PATH}")
        serve_http(host=options["host"], port=options["port"])

    def _write(self, folder: Path) -> None:
        from config.documentation.pages import whole_text

        skill = Path(__file__).parents[2] / "SKILL.md"
        files = {"SKILL.md": skill.read_text("utf-8"), "llms-full.txt": whole_text()}
        try:
            folder.mkdir(parents=True, exist_ok=True)
            for name, text in files.items():
                (folder / name).write_text(text, encoding="utf-8")
        except OSError as error:
            raise CommandError(f"{folder} cannot be written: {error.strerror}.") from None
        self.stdout.write(f"Written to {folder}: {', '.join(files)}.")
