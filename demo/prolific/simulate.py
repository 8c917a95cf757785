"""The routes below /simulate/: actions of the participants, and switches of the behaviour."""

from dataclasses import asdict
from html import escape

from demo.prolific.faults import RequestFault
from demo.prolific.records import Refusal
from demo.prolific.routing import Platform, Query, RoutedReply, route


@route("POST", "/simulate/arrive")
def _arrive(platform: Platform, query: Query) -> RoutedReply:
    body = query.body
    return RoutedReply.of(
        platform.world.arrive(body["study"], body.get("participant", ""), body.get("about"))
    )


@route("GET", "/simulate/people")
def _people(platform: Platform, query: Query) -> RoutedReply:
    """The participants of a study, in the order of their arrival."""
    world = platform.world
    study = world.study(query.params["study"])
    return RoutedReply.of(
        {"people": [world.card(submission) for submission in world.people(study)]}
    )


@route("GET", "/simulate/visit")
def _visit(platform: Platform, query: Query) -> RoutedReply:
    """Redirect a browser into a study as a new participant, at every request.

    With `person`, always as the same one. Without a study, show the links of all of them.
    """
    study = query.params.get("study", "")
    if not study:
        return RoutedReply(200, _visit_page(platform).encode(), "text/html; charset=utf-8")
    link = platform.world.visit(study, query.params.get("person", ""))
    headers = (("Location", link), ("Cache-Control", "no-store"))
    return RoutedReply(302, headers=headers)


def _visit_page(platform: Platform) -> str:
    studies = [s for s in platform.world.studies.values() if s["status"] != "UNPUBLISHED"]
    links = [
        f'<li><a href="?study={escape(s["id"])}">{escape(s["name"])}</a></li>' for s in studies
    ]
    listing = f"<ul>{''.join(links)}</ul>" if links else "<p>No study is published here yet.</p>"
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Simulated Prolific'
        "</title></head><body><h1>Simulated Prolific</h1><p>Each link starts a new annotator.</p>"
        f"{listing}</body></html>"
    )


@route("POST", "/simulate/(finish|return|time-out)")
def _change(platform: Platform, query: Query) -> RoutedReply:
    world, submission = platform.world, query.body["submission"]
    if query.ids[0] == "finish":
        changed = world.finish(
            submission, query.body.get("code", "NOCODE"), seconds=query.body.get("seconds", 0.0)
        )
    elif query.ids[0] == "return":
        changed = world.give_back(submission)
    else:
        changed = world.time_out(submission)
    return RoutedReply.of(world.detail(changed))


@route("POST", "/simulate/faults")
def _order_fault(platform: Platform, query: Query) -> RoutedReply:
    body = query.body
    fault = RequestFault(
        body.get("method", "*"),
        body.get("path", ""),
        body["fault"],
        body.get("times", 1),
        body.get("seconds", 1.0),
    )
    platform.faults.order(fault)
    return RoutedReply.of({})


@route("POST", "/simulate/behaviour")
def _behave(platform: Platform, query: Query) -> RoutedReply:
    for name, value in query.body.items():
        if not hasattr(platform.world.behaviour, name):
            raise Refusal(400, f"There is no behaviour {name}.")
        setattr(platform.world.behaviour, name, value)
    return RoutedReply.of(asdict(platform.world.behaviour))


@route("GET", "/simulate/requests")
def _requests(platform: Platform, query: Query) -> RoutedReply:
    return RoutedReply.of({"requests": platform.requests})
