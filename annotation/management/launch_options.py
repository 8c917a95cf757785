"""The options of `prolific launch`, and the changes to the launch plan that they request."""

from argparse import ArgumentParser
from collections.abc import Callable
from typing import Any

from django.core.management.base import CommandError

from annotation.prolific.launch.launch_plan import DEVICES


def add_launch_options(parser: ArgumentParser) -> None:
    parser.add_argument("--preset", choices=["paper"], help="the settings of the paper's study")
    parser.add_argument(
        "--places", type=int, help="number of participants (default: as many as the items need)"
    )
    parser.add_argument("--country", help="as Prolific names it, for example “United States”")
    parser.add_argument("--language", help="as Prolific names it, for example English")
    parser.add_argument("--approval-rate", type=int, help="minimum, in percent")
    parser.add_argument("--earlier-submissions", type=int, help="minimum number")
    parser.add_argument("--age", metavar="LOW-HIGH", help="for example 18-75")
    parser.add_argument(
        "--balance",
        action="append",
        metavar="FILTER=LABEL,LABEL",
        help="divide the places by a filter, for example sex=Male,Female, like the quota groups, "
        "otherwise equally; repeat to cross filters",
    )
    parser.add_argument("--devices", help=f"comma-separated list of {', '.join(DEVICES)}")
    parser.add_argument(
        "--apart", action="store_true", default=None, help="one study for each group"
    )
    parser.add_argument(
        "--signed-links", action="store_true", default=None, help="if your workspace has them"
    )
    parser.add_argument(
        "--screen-out-pay",
        type=int,
        help="cents or pence for people who are turned away, if your workspace pays screen-outs",
    )
    parser.add_argument("--screen-out-slots", type=int, help="how many of them at most")
    parser.add_argument("--workspace", help="workspace id; required if the account has several")
    parser.add_argument("--project", help="project id (default: Thirdperson, else the first)")
    parser.add_argument("--check", action="store_true", help="show checks and cost only")
    parser.add_argument(
        "--dry-run",
        action="store_true",
        help="create the drafts, compare what Prolific stored with what was sent, delete them",
    )


def plan_changes(options: dict[str, Any]) -> dict[str, Any]:
    """The settings named on the command line; the others do not change."""
    names = (
        "places",
        "country",
        "language",
        "approval_rate",
        "earlier_submissions",
        "apart",
        "signed_links",
        "screen_out_pay",
        "screen_out_slots",
        "workspace",
        "project",
    )
    changes = {name: options[name] for name in names if options[name] is not None}
    readers: dict[str, Callable[[Any], dict[str, Any]]] = {
        "age": _ages,
        "balance": _balance,
        "devices": _devices,
    }
    for name, read in readers.items():
        if options[name]:
            changes |= read(options[name])
    return changes


def _ages(text: str) -> dict[str, Any]:
    low, _, high = text.partition("-")
    if not (low.isdecimal() and high.isdecimal() and int(low) <= int(high)):
        raise CommandError(f"--age takes LOW-HIGH, for example 18-75, not “{text}”.")
    return {"age_low": int(low), "age_high": int(high)}


def _balance(texts: list[str]) -> dict[str, Any]:
    found = {}
    for text in texts:
        name, _, labels = text.partition("=")
        found[name.strip()] = [label.strip() for label in labels.split(",") if label.strip()]
        if not name.strip() or len(found[name.strip()]) < 2:
            raise CommandError(f"--balance takes FILTER=LABEL,LABEL, not “{text}”.")
    return {"balance": found}


def _devices(text: str) -> dict[str, Any]:
    chosen = [name.strip() for name in text.split(",") if name.strip()]
    if not chosen or set(chosen) - set(DEVICES):
        raise CommandError(f"--devices takes {', '.join(DEVICES)}, not “{text}”.")
    return {"devices": chosen}
