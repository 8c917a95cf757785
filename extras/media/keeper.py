"""What the core asks of this extra; its modules are loaded once they are needed."""

from pkgutil import resolve_name
from typing import Any

from extras.media.films import FRAMES
from studies.media import MediaKeeper

OF_FILMS = f"{FRAMES} frames each, in the order of time, as pictures and without sound"


def _from(address: str) -> Any:
    def call(*arguments: Any) -> Any:
        return resolve_name(f"extras.media.{address}")(*arguments)

    return call


KEEPER = MediaKeeper(
    in_folder=_from("delivered:in_folder"),
    in_zip=_from("delivered:in_zip"),
    store=_from("storage:store"),
    stored=_from("storage:StoredMedia"),
    copy=_from("storage:copy"),
    forget_unused=_from("storage:forget_unused"),
    files=_from("storage:files_of"),
    named=_from("storage:named"),
    types=_from("storage:types_of"),
    frames=_from("storage:frames_of"),
    of_films=OF_FILMS,
    html=_from("display:html"),
    send=_from("views:send"),
)
