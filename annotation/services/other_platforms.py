"""Annotators whom another platform sent than the study's own way to enter, and how they go back."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from annotation.models import Annotator, Ending
from studies.extra import Kind
from studies.models import Study


@dataclass(frozen=True, kw_only=True)
class WayBack:
    """How an annotator goes back to the platform that sent them.

    The `template` says it; an extra adds what that needs in a subclass. `code` is what they enter
    there by hand, and `form_hosts` are where a form of the page may be sent.
    """

    template: str
    code: str = ""
    form_hosts: tuple[str, ...] = ()


@dataclass(frozen=True)
class OtherPlatforms:
    """An extra's platforms: whether one `sent` an annotator, and their way back after an ending.

    `reward` is the pay that the platform promises them, in minor units; None if that of the study.
    `people` says how many people each platform has sent to a study, by its name.
    """

    name: str
    sent: Callable[[Annotator], bool]
    way_back: Callable[[Annotator, Ending], WayBack | None]
    reward: Callable[[Annotator], int | None] = lambda annotator: None
    people: Callable[[Study], Mapping[str, int]] = lambda study: {}


PLATFORMS: Kind[OtherPlatforms] = Kind("recruiting", "platforms")


def is_on_prolific(annotator: Annotator) -> bool:
    """Whether the rules of Prolific hold for the annotator: nobody else sent them."""
    study = annotator.study
    return study.entry == Study.Entry.PROLIFIC and not any(
        platforms.sent(annotator) for platforms in PLATFORMS.of(study)
    )


def with_own_pay(study: Study, annotator: Annotator) -> Study:
    """The study with the pay of the platform that sent the annotator, for pages: do not save it."""
    rewards = (platforms.reward(annotator) for platforms in PLATFORMS.of(study))
    own = next((reward for reward in rewards if reward is not None), None)
    if own is not None:
        study.reward = own
    return study


def way_back_of(annotator: Annotator, ending: Ending) -> WayBack | None:
    """The annotator's way back; None if they came as the study says."""
    ways = (platforms.way_back(annotator, ending) for platforms in PLATFORMS.of(annotator.study))
    return next(filter(None, ways), None)
