"""Below /simulate/ the simulated Prolific's people act, and its behaviour is switched."""

from dataclasses import asdict

from demo.prolific.faults import Fault
from demo.prolific.records import Problem
from demo.prolific.routing import Query, Reply, route
from demo.prolific.server import SimulatedProlific


@route("POST", "/simulate/arrive")
def _arrive(server: SimulatedProlific, query: Query) -> Reply:
    body = query.body
    return Reply.of(
        server.world.arrive(body["study"], body.get("participant", ""), body.get("about"))
    )


@route("GET", "/simulate/people")
def _people(server: SimulatedProlific, query: Query) -> Reply:
    """Who has taken part in a study, as they came."""
    world = server.world
    study = world.study(query.params["study"])
    return Reply.of({"people": [world.card(submission) for submission in world.people(study)]})


@route("GET", "/simulate/visit")
def _visit(server: SimulatedProlific, query: Query) -> Reply:
    """Lead a browser into a study as somebody new, as often as it is asked."""
    link = server.world.visit(query.params["study"])
    headers = (("Location", link), ("Cache-Control", "no-store"))
    return Reply(302, headers=headers)


@route("POST", "/simulate/(finish|return|time-out)")
def _change(server: SimulatedProlific, query: Query) -> Reply:
    world, submission = server.world, query.body["submission"]
    if query.ids[0] == "finish":
        changed = world.finish(
            submission, query.body.get("code", "NOCODE"), seconds=query.body.get("seconds", 0.0)
        )
    elif query.ids[0] == "return":
        changed = world.give_back(submission)
    else:
        changed = world.time_out(submission)
    return Reply.of(world.detail(changed))


@route("POST", "/simulate/faults")
def _order_fault(server: SimulatedProlific, query: Query) -> Reply:
    body = query.body
    fault = Fault(body.get("method", "*"), body.get("path", ""), body["fault"],
                  body.get("times", 1), body.get("seconds", 1.0))  # fmt: skip
    server.faults.order(fault)
    return Reply.of({})


@route("POST", "/simulate/behaviour")
def _behave(server: SimulatedProlific, query: Query) -> Reply:
    for name, value in query.body.items():
        if not hasattr(server.world.behaviour, name):
            raise Problem(400, f"There is no behaviour {name}.")
        setattr(server.world.behaviour, name, value)
    return Reply.of(asdict(server.world.behaviour))


@route("GET", "/simulate/requests")
def _requests(server: SimulatedProlific, query: Query) -> Reply:
    return Reply.of({"requests": server.requests})
