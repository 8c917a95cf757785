"""What the extra adds: see `Extra` in `studies.extra`."""

from studies.extra import Extra, Placed

EXTRA = Extra(
    name="study_files",
    title="Studies as files",
    summary=(
        "A study is exported as a folder of files, and `apply` makes or changes it from them."
    ),
    group="installation",
    files=(Placed("applying:PARTS", at="study"),),
    exports=(Placed("applying:EXPORT", at="folders"),),
)
