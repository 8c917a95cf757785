"""What the extra adds: see `Extra` in `studies.extra`."""

from studies.extra import Extra, Placed

EXTRA = Extra(
    name="try_out",
    title="Trying it out",
    summary="A finished study to try, and the page /check/, which checks a table in the browser.",
    group="installation",
    former=("sample", "check_page"),
    addresses={"": "urls"},
    parts=(
        Placed("sample.views:OFFER", at="studies"),
        Placed("check_page.views:LINK", at="sign_in"),
    ),
)
