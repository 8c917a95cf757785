"""Options that the commands share which import items, answers or judgments from files."""

from argparse import ArgumentParser, ArgumentTypeError

from studies.importers.files.answer_rows import Scale, scale_of


def add_skip_faulty(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--skip-faulty", action="store_true", help="leave faulty rows out, and list them"
    )


def add_scale(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--scale",
        type=_scale,
        metavar="LOW-HIGH",
        help="scale of the certainties, if it is not 1-100",
    )


def _scale(text: str) -> Scale:
    if (found := scale_of(text)) is None:
        raise ArgumentTypeError(f"must be two numbers such as 1-5, not “{text}”")
    return found
