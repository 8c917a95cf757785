import sys
from argparse import ArgumentParser, ArgumentTypeError
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any

from django.contrib.auth.models import User
from django.core.management.base import BaseCommand, CommandError

from analysis.errors import ForeignFiles
from extras.replication.recipes.recipe import BadRecipe
from studies.management.terminal import progress_bar


def dollars(text: str) -> Decimal:
    """Parse a budget; argparse turns the `ValueError` into its message."""
    try:
        amount = Decimal(text)
    except InvalidOperation:
        raise ValueError(text) from None
    if not amount.is_finite() or amount <= 0:
        raise ValueError(text)
    return amount


def positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise ValueError(text)
    return number


def option(text: str) -> tuple[str, str, str]:
    data, dot, rest = text.partition(".")
    name, sign, value = rest.partition("=")
    if not (dot and sign):
        raise ArgumentTypeError(f"“{text}”: use DATA.NAME=VALUE, for example prism.n=500")
    return data, name, value


class Command(BaseCommand):
    help = (
        "Repeat a published comparison with your models: create one study per data set, ask "
        "every question within one budget, and compare the answers with the published figures. "
        "If you repeat the command, it asks only unanswered questions."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "recipe", help="name of a recipe, such as personalized-judge, or a .toml file"
        )
        parser.add_argument(
            "--models",
            type=Path,
            required=True,
            metavar="FILE.toml",
            help="file of models: a block [[judges]] with the fields of add_judge for each",
        )
        parser.add_argument(
            "--data", type=Path, metavar="DIR", help="folder with a subfolder for each data set"
        )
        parser.add_argument(
            "--outputs",
            type=Path,
            metavar="DIR",
            help=(
                "folder with the paper's released files, to use their prompts and show their "
                "figures"
            ),
        )
        parser.add_argument(
            "--dry-run",
            action="store_true",
            help=(
                "show requests and cost without storing or sending anything; without --data at "
                "full size"
            ),
        )
        parser.add_argument(
            "--budget", type=dollars, metavar="USD", help="budget for all runs and studies together"
        )
        parser.add_argument(
            "--change",
            action="store_true",
            help="replace the --budget or --limit of an earlier call",
        )
        parser.add_argument("--variant", action="append", help="use only this variant; repeatable")
        parser.add_argument(
            "--option",
            type=option,
            action="append",
            default=[],
            metavar="DATA.NAME=VALUE",
            help="replace an option of an importer; repeatable",
        )
        parser.add_argument(
            "--limit", type=positive, metavar="N", help="use only the first N items of each study"
        )
        parser.add_argument(
            "--prefix",
            default="",
            help="prefix of the studies' short names (default: the recipe's name)",
        )
        parser.add_argument(
            "--owner", metavar="USERNAME", help="user who can see and change the studies"
        )
        parser.add_argument(
            "--confirm-sharing",
            metavar="REASON",
            help="allow items to be sent to providers",
        )
        parser.add_argument(
            "--inline", action="store_true", help="run in this process, without a broker or workers"
        )
        parser.add_argument(
            "--out",
            type=Path,
            metavar="DIR",
            help="folder for reproduction.html, .json, tables/ and article/",
        )

    def handle(self, *args: Any, **entered: Any) -> None:
        from extras.replication.recipes.recipe import find_recipe, read_models

        try:
            recipe, models = find_recipe(entered["recipe"]), read_models(entered["models"])
            if entered["dry_run"]:
                self._estimate(recipe, models, entered)
            else:
                self._repeat(recipe, models, entered)
        except (BadRecipe, ForeignFiles) as error:
            raise CommandError(str(error)) from error

    def _estimate(self, recipe: Any, models: Any, entered: dict[str, Any]) -> None:
        from analysis.report.table_files import to_text, write_tables
        from extras.replication.recipes.asking import cost_table
        from extras.replication.recipes.repetition import estimated

        table = cost_table(recipe, estimated(recipe, models, _options(recipe, entered)))
        self.stdout.write(to_text(table))
        if entered["out"] is not None:
            write_tables([table], entered["out"])
            self.stdout.write(f"Wrote {entered['out']}/costs.csv.")
        self.stdout.write("Nothing was stored or sent.")

    def _repeat(self, recipe: Any, models: Any, entered: dict[str, Any]) -> None:
        from analysis.report.table_files import to_text
        from extras.replication.recipes.repetition import ask, found, prepare
        from extras.replication.recipes.reproduction import write_reproduction
        from extras.replication.released.replication import check_output

        options, out = _options(recipe, entered), entered["out"]
        if options.data is None:
            raise CommandError("Give the folder with the data sets with --data, or use --dry-run.")
        if out is not None:
            check_output(out, "reproduction")
        planned = prepare(recipe, models, options)
        with progress_bar(sys.stderr, total=0, label=recipe.name) as bar:

            def on_wait(ended: int, total: int) -> None:
                bar.total = total
                bar.update(ended - bar.n)

            stopped = ask(
                recipe,
                planned,
                budget=entered["budget"],
                inline=entered["inline"],
                change=entered["change"],
                confirm_sharing=entered["confirm_sharing"],
                user=options.owner,
                on_wait=on_wait,
            )
        repeated = found(recipe, models, options, planned)
        for table in repeated.tables:
            self.stdout.write(to_text(table))
        self.stdout.write(repeated.result["state"])
        if out is not None:
            try:
                written = write_reproduction(
                    repeated.result, repeated.tables, repeated.charts, repeated.article, out
                )
            except OSError as error:
                raise CommandError(
                    f"{out} cannot be written: {error.strerror}. Name another folder with --out."
                ) from error
            self.stdout.write(f"Wrote {len(written)} files to {out}, among them {written[1]}.")
        if stopped:
            raise CommandError("\n".join(stopped))


def _options(recipe: Any, entered: dict[str, Any]) -> Any:
    from extras.replication.recipes.repetition import Repetition

    variants = tuple(entered["variant"] or recipe.variants)
    if unknown := [name for name in variants if name not in recipe.variants]:
        known = ", ".join(recipe.variants)
        raise BadRecipe(f"There is no variant “{unknown[0]}”. Use: {known}.")
    replaced: dict[str, dict[str, str]] = {}
    for data, name, value in entered["option"]:
        replaced.setdefault(data, {})[name] = value
    owner = None
    if entered["owner"]:
        owner = User.objects.filter(username=entered["owner"]).first()
        if owner is None:
            raise CommandError(f"There is no user “{entered['owner']}”.")
    return Repetition(
        variants=variants,
        data=entered["data"],
        outputs=entered["outputs"],
        given=replaced,
        limit=entered["limit"],
        owner=owner,
        prefix=entered["prefix"],
    )
