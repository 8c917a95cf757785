"""A reader of the LaTeX that reports write: it knows their few commands and refuses all others."""

import re

COMMANDS = set(
    (
        "begin end toprule midrule cmidrule bottomrule multicolumn textit textbf textbackslash "
        "textasciitilde textasciicircum textless textgreater textbar textquotedbl quotedblbase "
        "ldots geq leq times pm rightarrow alpha varepsilon kappa rho tau omega documentclass "
        "usepackage setlength parindent newcommand fitted resizebox ifdim width linewidth else fi "
        "input footnotesize par bigskip "
    ).split()
)
_TOKEN = re.compile(r"\\[a-zA-Z]+|\\.|[{}&$#%^_~]|[^\\{}&$#%^_~]+", re.DOTALL)


class BadLatex(Exception):
    """What LaTeX would stop at, or set otherwise than it was meant."""


def check(text: str) -> None:
    """Groups and environments close, mathematics ends, every command is known, signs have fonts."""
    depth, in_math, environments = 0, False, []
    for line in text.splitlines():
        if line.startswith("%"):
            continue
        for environment, name in re.findall(r"\\(begin|end)\{(\w+)\}", line):
            if environment == "begin":
                environments.append(name)
            elif not environments or environments.pop() != name:
                raise BadLatex(f"\\end{{{name}}} closes nothing: {line}")
        for token in _TOKEN.findall(re.sub(r"\\input\{[\w.]+\}", "", line)):
            if token[0] == "\\" and token[1:].isalpha() and token[1:] not in COMMANDS:
                raise BadLatex(f"unknown command {token}: {line}")
            if token in {"%", "^", "_"} or (token == "#" and "newcommand" not in line):
                raise BadLatex(f"{token} is not escaped: {line}")
            depth += {"{": 1, "}": -1}.get(token, 0)
            if depth < 0:
                raise BadLatex(f"a group closes that did not open: {line}")
            in_math ^= token == "$"
            if any(ord(sign) > 0x17E or not (sign.isprintable() or sign == " ") for sign in token):
                raise BadLatex(f"no font for {token!r}: {line}")
        if in_math:
            raise BadLatex(f"mathematics does not end: {line}")
    if depth or environments:
        raise BadLatex(f"not closed: {depth} groups, {environments}")


def rows(text: str) -> list[list[str]]:
    """Cells of the body of a tabular; every line must fill its columns."""
    layout = re.search(r"\\begin\{tabular\}\{([lr]+)\}", text)
    if layout is None:
        raise BadLatex("no tabular")
    body = text.split("\\toprule\n")[1].split("\\bottomrule")[0]
    found = []
    for line in body.splitlines():
        if line == r"\midrule" or line.startswith(r"\cmidrule"):
            continue
        if not line.endswith(r" \\"):
            raise BadLatex(f"the row does not end: {line}")
        cells = re.split(r"(?<!\\) & ", line.removesuffix(r" \\"))
        spans = [re.match(r"\\multicolumn\{(\d+)\}", cell) for cell in cells]
        width = sum(int(span[1]) if span else 1 for span in spans)
        if width != len(layout[1]):
            raise BadLatex(f"{width} of {len(layout[1])} columns: {line}")
        found.append(cells)
    return found
