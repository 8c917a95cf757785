"""The researcher API of the simulated Prolific, as far as Thirdperson uses it."""

from demo.prolific.records import FILTERS, Problem, new_id
from demo.prolific.routing import Query, Reply, page_of, route, slice_of
from demo.prolific.server import SimulatedProlific


@route("GET", "users/me/")
def _me(server: SimulatedProlific, query: Query) -> Reply:
    world = server.world
    balance = {"balance": world.balance, "available_balance": world.balance}
    return Reply.of(
        {
            "id": "0" * 24,
            "email": "simulated@example.org",
            "name": "Simulated researcher",
            "currency_code": world.currency,
            **(balance if world.behaviour.shows_balance else {}),
        }
    )


@route("GET", "workspaces/")
def _workspaces(server: SimulatedProlific, query: Query) -> Reply:
    return slice_of(query, server.world.workspaces)


@route("GET", "filters/")
def _filters(server: SimulatedProlific, query: Query) -> Reply:
    return page_of(query, FILTERS)


@route("POST", "eligibility-count/")
def _eligible(server: SimulatedProlific, query: Query) -> Reply:
    return Reply.of({"count": max(0, 40_000 // 3 ** len(query.body["filters"]))})


@route("POST", "study-cost-calculator/")
def _calculate(server: SimulatedProlific, query: Query) -> Reply:
    body = query.body
    return Reply.of(
        {"total_cost": server.world.total_cost(body["reward"], body["total_available_places"])}
    )


@route("GET", "reward-recommendations/")
def _pay(server: SimulatedProlific, query: Query) -> Reply:
    return Reply.of(
        [
            {"currency": "GBP", "min_reward_per_hour": 600, "recommended_reward_per_hour": 900},
            {"currency": "USD", "min_reward_per_hour": 800, "recommended_reward_per_hour": 1200},
        ]
    )


@route("GET", "studies/")
def _studies(server: SimulatedProlific, query: Query) -> Reply:
    world = server.world
    rows = [world.show_study(study_id) for study_id in world.studies]
    return page_of(query, rows, past_the_end=world.behaviour.past_the_end)


@route("POST", "studies/")
def _create(server: SimulatedProlific, query: Query) -> Reply:
    return Reply.of(server.world.create_study(query.body), 201)


@route("GET", "studies/<id>/")
def _study(server: SimulatedProlific, query: Query) -> Reply:
    server.world.settle_approvals()
    return Reply.of(server.world.show_study(query.ids[0]))


@route("PATCH", "studies/<id>/")
def _patch(server: SimulatedProlific, query: Query) -> Reply:
    return Reply.of(server.world.patch_study(query.ids[0], query.body))


@route("DELETE", "studies/<id>/")
def _delete(server: SimulatedProlific, query: Query) -> Reply:
    server.world.delete_study(query.ids[0])
    return Reply.of({})


@route("POST", "studies/<id>/transition/")
def _transition(server: SimulatedProlific, query: Query) -> Reply:
    return Reply.of(server.world.transition_study(query.ids[0], query.body["action"]))


@route("GET", "studies/<id>/cost/")
def _cost(server: SimulatedProlific, query: Query) -> Reply:
    return Reply.of(server.world.cost(query.ids[0]))


@route("POST", "studies/<id>/demographic-export/")
def _export(server: SimulatedProlific, query: Query) -> Reply:
    filters = query.body.get("filters") or []
    if filters and server.world.behaviour.export_filters == "refused":
        raise Problem(400, {"filters": ["Not available."]})
    text = server.world.demographics(query.ids[0], filters)
    if server.world.behaviour.export == "json":
        return Reply.of(text)
    return Reply(200, text.encode(), "text/csv")


@route("GET", "participant-groups/")
def _groups(server: SimulatedProlific, query: Query) -> Reply:
    names = server.world.group_names
    return slice_of(query, [{"id": group, "name": name} for group, name in names.items()])


@route("POST", "participant-groups/")
def _group(server: SimulatedProlific, query: Query) -> Reply:
    group, name = new_id(), query.body["name"]
    server.world.groups[group], server.world.group_names[group] = set(), name
    return Reply.of({"id": group, "name": name}, 201)


@route("GET", "submissions/")
def _submissions(server: SimulatedProlific, query: Query) -> Reply:
    world = server.world
    world.settle_approvals()
    wanted = query.params.get("study")
    own = world.study(wanted)["id"] if wanted else None
    found = [
        s for s in world.submissions.values() if (own is None or s.study == own) and not s.visits
    ]
    if world.behaviour.child_studies and own == wanted:
        found = []  # a quota study's people belong to its child
    rows = [world.list_row(s) for s in found]
    return page_of(query, rows, past_the_end=world.behaviour.past_the_end)


@route("GET", "submissions/<id>/")
def _submission(server: SimulatedProlific, query: Query) -> Reply:
    server.world.settle_approvals()
    return Reply.of(server.world.detail(server.world.submission_of(query.ids[0])))


@route("POST", "submissions/<id>/transition/")
def _decide(server: SimulatedProlific, query: Query) -> Reply:
    world = server.world
    if query.body["action"] == "REJECT":
        return Reply.of(world.detail(world.reject(query.ids[0], query.body)))
    if query.body["action"] == "APPROVE":
        submission = world.submission_of(query.ids[0])
        if submission.status not in ("AWAITING REVIEW", "APPROVED"):
            raise Problem(400, f"The submission is {submission.status}.")
        world.approve([submission.id])
        world.settle_approvals()
        return Reply.of(world.detail(submission))
    raise Problem(400, "Unknown action.")


@route("POST", "submissions/bulk-approve/")
def _approve(server: SimulatedProlific, query: Query) -> Reply:
    if len(query.body["submission_ids"]) > 1000:
        raise Problem(400, "At most 1,000.")
    server.world.approve(query.body["submission_ids"])
    return Reply.of({"message": "Accepted"})


@route("POST", "submissions/<id>/request-return/")
def _request_return(server: SimulatedProlific, query: Query) -> Reply:
    world = server.world
    return Reply.of(world.detail(world.request_return(query.ids[0], query.body)))


@route("POST", "submissions/bonus-payments/")
def _set_up(server: SimulatedProlific, query: Query) -> Reply:
    return Reply.of(server.world.set_up_bonuses(query.body), 201)


@route("POST", "bulk-bonus-payments/<id>/pay/")
def _pay_bonus(server: SimulatedProlific, query: Query) -> Reply:
    server.world.pay_bonuses(query.ids[0])
    return Reply.of({}, 202)


@route("GET", "hooks/secrets/")
def _secrets(server: SimulatedProlific, query: Query) -> Reply:
    secret = server.world.hook_secret
    return slice_of(query, [{"id": "1" * 24, "value": secret}] if secret else [])


@route("POST", "hooks/secrets/")
def _new_secret(server: SimulatedProlific, query: Query) -> Reply:
    server.world.hook_secret = new_id()
    return Reply.of({"id": "1" * 24, "value": server.world.hook_secret}, 201)


@route("GET", "hooks/subscriptions/")
def _hooks(server: SimulatedProlific, query: Query) -> Reply:
    rows = [
        {"id": h.id, "event_type": h.event, "target_url": h.url, "is_enabled": h.enabled}
        for h in server.world.hooks.values()
    ]
    return slice_of(query, rows)


@route("POST", "hooks/subscriptions/")
def _subscribe(server: SimulatedProlific, query: Query) -> Reply:
    hook = server.world.subscribe(query.body)
    row = {"id": hook.id, "event_type": hook.event, "target_url": hook.url, "is_enabled": True}
    many = server.world.behaviour.hooks == "results"
    return Reply.of({"results": [row]} if many else row, 201, X_Hook_Secret=hook.secret)


@route("POST", "hooks/subscriptions/<id>/")
def _confirm(server: SimulatedProlific, query: Query) -> Reply:
    return Reply.of({"id": server.world.confirm(query.ids[0], query.body["secret"]).id})


@route("DELETE", "hooks/subscriptions/<id>/")
def _unsubscribe(server: SimulatedProlific, query: Query) -> Reply:
    del server.world.hooks[server.world.hook_of(query.ids[0]).id]
    return Reply(204)


@route("GET", "/.well-known/study/jwks.json")
def _jwks(server: SimulatedProlific, query: Query) -> Reply:
    return Reply.of({"keys": [server.world.keys.public()]})
