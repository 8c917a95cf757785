"""The researcher API of the simulated Prolific, as far as Thirdperson uses it."""

from typing import Any

from demo.prolific.records import FILTERS, RESEARCHER, Refusal, new_id
from demo.prolific.routing import Platform, Query, RoutedReply, page_of, route, slice_of


@route("GET", "users/me/")
def _me(platform: Platform, query: Query) -> RoutedReply:
    """The account, without its money: every workspace has its own wallet."""
    return RoutedReply.of(
        {"id": RESEARCHER, "email": "simulated@example.org", "name": "Simulated researcher"}
    )


@route("GET", "workspaces/")
def _workspaces(platform: Platform, query: Query) -> RoutedReply:
    rows = platform.world.workspaces
    return slice_of(query, [row for row in rows if row["id"] in query.workspaces])


@route("GET", "workspaces/<id>/balance/")
def _balance(platform: Platform, query: Query) -> RoutedReply:
    world = platform.world
    (workspace,) = query.ids
    world.projects_of(workspace)
    if not world.behaviour.shows_balance:
        raise Refusal(404, "Not found.")
    held = world.wallet(workspace)
    return RoutedReply.of(
        {"currency_code": world.currency, "total_balance": held, "available_balance": held}
    )


@route("GET", "workspaces/<id>/projects/")
def _projects(platform: Platform, query: Query) -> RoutedReply:
    return slice_of(query, platform.world.projects_of(query.ids[0]))


@route("POST", "workspaces/<id>/projects/")
def _project(platform: Platform, query: Query) -> RoutedReply:
    (workspace,) = query.ids
    platform.world.projects_of(workspace)
    # Without `is_longitudinal` the configuration is not used.
    waves = query.body.get("longitudinal") or {} if query.body.get("is_longitudinal") else None
    return RoutedReply.of(platform.world.add_project(workspace, query.body["title"], waves), 201)


@route("GET", "filters/")
def _filters(platform: Platform, query: Query) -> RoutedReply:
    """The list; in a workspace with its studies and groups as choices."""
    world, workspace = platform.world, query.params.get("workspace_id", "")
    own = {
        "StudyID": {
            one: study["internal_name"] or study["name"]
            for one, study in world.studies.items()
            if world.projects[study["project"]]["workspace"] == workspace
            and study["status"] != "UNPUBLISHED"
        },
        "ParticipantGroupID": {
            group: world.group_names[group]
            for group, owner in world.group_workspaces.items()
            if owner == workspace
        },
    }
    rows = [
        {**row, "choices": own[row["data_type"]]} if row["data_type"] in own else row
        for row in FILTERS
    ]
    return page_of(query, rows)


@route("GET", "filters/<id>/distribution/")
def _distribution(platform: Platform, query: Query) -> RoutedReply:
    known = {row["filter_id"]: row for row in FILTERS}
    (group,) = query.ids
    asked = query.params["distribution_filters"].split(",")
    if "custom-group" not in known.get(group, {}).get("tags", ()):
        raise Refusal(400, "Only custom groups have a distribution.")
    for name in asked:
        if "allow-distribution" not in known.get(name, {}).get("tags", ()):
            raise Refusal(400, {"distribution_filters": [f"{name} is not supported."]})
    people = platform.world.behaviour.people // 100
    distribution = {name: dict.fromkeys(known[name]["choices"], people) for name in asked}
    return RoutedReply.of({"distribution": distribution})


@route("GET", "filter-sets/")
def _filter_sets(platform: Platform, query: Query) -> RoutedReply:
    workspace = query.params.get("workspace_id", "")
    sets = platform.world.filter_sets.values()
    return RoutedReply.of(
        {"results": [row for row in sets if workspace in ("", row["workspace_id"])]}
    )


@route("GET", "filter-sets/<id>/")
def _filter_set(platform: Platform, query: Query) -> RoutedReply:
    return RoutedReply.of(platform.world.filter_set(query.ids[0]))


@route("POST", "eligibility-count/")
def _eligible(platform: Platform, query: Query) -> RoutedReply:
    """Zero stands for fewer than 25 people."""
    count = platform.world.behaviour.people // 3 ** len(query.body["filters"])
    return RoutedReply.of({"count": count if count >= 25 else 0})


@route("POST", "study-cost-calculator/")
def _calculate(platform: Platform, query: Query) -> RoutedReply:
    body = query.body
    return RoutedReply.of(
        {"total_cost": platform.world.total_cost(body["reward"], body["total_available_places"])}
    )


@route("GET", "reward-recommendations/")
def _pay(platform: Platform, query: Query) -> RoutedReply:
    rates = {"GBP": (600, 900), "USD": (800, 1200)}
    currency = query.params["currency"]
    least, recommended = rates[currency]
    row = {"currency": currency, "min_reward_per_hour": least}
    return RoutedReply.of([{**row, "recommended_reward_per_hour": recommended}])


@route("GET", "studies/")
def _studies(platform: Platform, query: Query) -> RoutedReply:
    return _studies_of(platform, query, "")


@route("GET", "projects/<id>/studies/")
def _project_studies(platform: Platform, query: Query) -> RoutedReply:
    (project,) = query.ids
    if project not in platform.world.all_projects():
        raise Refusal(404, "Not found.")
    return _studies_of(platform, query, project)


def _studies_of(platform: Platform, query: Query, project: str) -> RoutedReply:
    world = platform.world
    study_ids = [
        one
        for one, row in world.studies.items()
        if project in ("", row["project"]) and world.workspaces_of(one, {}) <= query.workspaces
    ]
    rows = [world.show_study(study_id) for study_id in study_ids]
    return page_of(query, rows, past_the_end=world.behaviour.past_the_end)


@route("POST", "studies/")
def _create(platform: Platform, query: Query) -> RoutedReply:
    return RoutedReply.of(platform.world.create_study(query.body), 201)


@route("GET", "studies/<id>/")
def _study(platform: Platform, query: Query) -> RoutedReply:
    platform.world.settle_approvals()
    return RoutedReply.of(platform.world.show_study(query.ids[0]))


@route("PATCH", "studies/<id>/")
def _patch(platform: Platform, query: Query) -> RoutedReply:
    return RoutedReply.of(platform.world.patch_study(query.ids[0], query.body))


@route("DELETE", "studies/<id>/")
def _delete(platform: Platform, query: Query) -> RoutedReply:
    platform.world.delete_study(query.ids[0])
    return RoutedReply(204)


@route("POST", "studies/<id>/transition/")
def _transition(platform: Platform, query: Query) -> RoutedReply:
    body = query.body
    return RoutedReply.of(
        platform.world.transition_study(query.ids[0], body["action"], body.get("publish_at", ""))
    )


@route("POST", "researchers/participants/")
def _test_participant(platform: Platform, query: Query) -> RoutedReply:
    return RoutedReply.of({"participant_id": platform.world.add_test_participant(query.body)}, 201)


@route("POST", "studies/<id>/test-study")
def _test_study(platform: Platform, query: Query) -> RoutedReply:
    study_id = platform.world.test_study(query.ids[0])
    return RoutedReply.of(
        {"study_id": study_id, "study_url": f"https://app.prolific.com/studies/{study_id}"}
    )


@route("GET", "studies/<id>/cost/")
def _cost(platform: Platform, query: Query) -> RoutedReply:
    is_projected = query.params.get("is_projected", "").casefold() in ("1", "true", "yes", "t")
    return RoutedReply.of(platform.world.cost(query.ids[0], is_projected=is_projected))


@route("POST", "studies/<id>/demographic-export/")
def _export(platform: Platform, query: Query) -> RoutedReply:
    filters = [chosen["filter_id"] for chosen in query.body.get("filters") or []]
    if filters and platform.world.behaviour.export_filters == "refused":
        raise Refusal(400, {"filters": ["Not available."]})
    platform.world.note_export(query.ids[0], query.body.get("filters") or [])
    text = platform.world.demographics(query.ids[0], filters)
    if platform.world.behaviour.export == "json":
        return RoutedReply.of(text)
    return RoutedReply(200, text.encode(), "text/csv")


@route("GET", "studies/<id>/demographic-export-history/")
def _exports(platform: Platform, query: Query) -> RoutedReply:
    used = platform.world.study(query.ids[0]).get("exports", [])
    return RoutedReply.of({"count": len(used), "filters": used[-1] if used else []})


@route("GET", "participant-groups/")
def _groups(platform: Platform, query: Query) -> RoutedReply:
    world, asked = platform.world, query.params
    project = world.all_projects().get(asked.get("project_id", ""), {})
    workspace = asked.get("workspace_id") or project["workspace"]
    names = world.group_names
    return slice_of(
        query,
        [
            {"id": group, "name": names[group], "workspace_id": workspace}
            for group, owner in world.group_workspaces.items()
            if owner == workspace
        ],
    )


@route("POST", "participant-groups/")
def _group(platform: Platform, query: Query) -> RoutedReply:
    group, name = new_id(), query.body["name"]
    world = platform.world
    world.groups[group], world.group_names[group] = set(), name
    world.group_workspaces[group] = query.body.get("workspace_id", "")
    return RoutedReply.of({"id": group, "name": name}, 201)


@route("GET", "participant-groups/<id>/participants/")
def _members(platform: Platform, query: Query) -> RoutedReply:
    return _memberships(platform, query.ids[0])


@route("POST", "participant-groups/<id>/participants/")
def _add_members(platform: Platform, query: Query) -> RoutedReply:
    (group,) = query.ids
    if group in platform.world.groups:
        platform.world.groups[group].update(query.body["participant_ids"])
    return _memberships(platform, group)


def _memberships(platform: Platform, group: str) -> RoutedReply:
    if group not in platform.world.groups:
        raise Refusal(404, "Not found.")
    people = sorted(platform.world.groups[group])
    return RoutedReply.of({"results": [{"participant_id": one} for one in people]})


@route("DELETE", "participant-groups/<id>/")
def _remove_group(platform: Platform, query: Query) -> RoutedReply:
    world, (group,) = platform.world, query.ids
    if group not in world.groups:
        raise Refusal(404, "Not found.")
    for known in (world.groups, world.group_names, world.group_workspaces):
        del known[group]
    return RoutedReply(204)


@route("GET", "submissions/")
def _submissions(platform: Platform, query: Query) -> RoutedReply:
    world = platform.world
    world.settle_approvals()
    wanted = query.params.get("study")
    own = world.study(wanted)["id"] if wanted else None
    submissions = [
        s for s in world.submissions.values() if (own is None or s.study == own) and not s.visits
    ]
    if world.behaviour.child_studies and own == wanted:
        submissions = []  # a quota study's participants belong to its child
    rows = [world.list_row(s) for s in submissions]
    return page_of(query, rows, past_the_end=world.behaviour.past_the_end)


@route("GET", "submissions/<id>/")
def _submission(platform: Platform, query: Query) -> RoutedReply:
    platform.world.settle_approvals()
    return RoutedReply.of(platform.world.detail(platform.world.submission_of(query.ids[0])))


@route("POST", "submissions/<id>/transition/")
def _decide(platform: Platform, query: Query) -> RoutedReply:
    world = platform.world
    if query.body["action"] == "REJECT":
        return RoutedReply.of(world.detail(world.reject(query.ids[0], query.body)))
    if query.body["action"] == "APPROVE":
        submission = world.submission_of(query.ids[0])
        if submission.status not in ("AWAITING REVIEW", "APPROVED"):
            raise Refusal(400, f"The submission is {submission.status}.")
        world.approve([submission.id])
        world.settle_approvals()
        return RoutedReply.of(world.detail(submission))
    raise Refusal(400, "Unknown action.")


@route("POST", "submissions/bulk-approve/")
def _approve(platform: Platform, query: Query) -> RoutedReply:
    if len(query.body["submission_ids"]) > 1000:
        raise Refusal(400, "At most 1,000.")
    platform.world.approve(query.body["submission_ids"])
    return RoutedReply.of({"message": "Accepted"})


@route("POST", "submissions/<id>/request-return/")
def _request_return(platform: Platform, query: Query) -> RoutedReply:
    world = platform.world
    return RoutedReply.of(world.detail(world.request_return(query.ids[0], query.body)))


@route("POST", "submissions/bonus-payments/")
def _set_up(platform: Platform, query: Query) -> RoutedReply:
    return RoutedReply.of(platform.world.set_up_bonuses(query.body), 201)


@route("POST", "bulk-bonus-payments/<id>/pay/")
def _pay_bonus(platform: Platform, query: Query) -> RoutedReply:
    platform.world.pay_bonuses(query.ids[0])
    return RoutedReply.of({}, 202)


@route("GET", "messages/")
def _messages(platform: Platform, query: Query) -> RoutedReply:
    """Messages in both directions; one does not say who received it."""
    who = query.params.get("user_id", "")
    after = query.params.get("created_after", "")
    rows = [
        one
        for one in platform.world.messages
        if who in ("", one["sender_id"], one["to"]) and one["sent_at"] >= after
    ]
    return RoutedReply.of({"results": [_shown(one) for one in rows]})


@route("GET", "messages/unread/")
def _unread(platform: Platform, query: Query) -> RoutedReply:
    rows = [one for one in platform.world.messages if one["to"] == RESEARCHER]
    return RoutedReply.of({"results": [_shown(one) for one in rows]})


def _shown(message: dict[str, Any]) -> dict[str, Any]:
    hidden = {"to", "study_id"}
    public = {name: value for name, value in message.items() if name not in hidden}
    return {**public, "data": {"study_id": message["study_id"]}}


@route("POST", "messages/")
def _message(platform: Platform, query: Query) -> RoutedReply:
    platform.world.message([query.body["recipient_id"]], query.body)
    return RoutedReply(204)


@route("POST", "messages/bulk/")
def _message_many(platform: Platform, query: Query) -> RoutedReply:
    platform.world.message(query.body["ids"], query.body)
    return RoutedReply(204)


@route("GET", "hooks/secrets/")
def _secrets(platform: Platform, query: Query) -> RoutedReply:
    secret = platform.world.hook_secrets.get(query.params["workspace_id"])
    return slice_of(query, [{"id": "1" * 24, "value": secret}] if secret else [])


@route("POST", "hooks/secrets/")
def _new_secret(platform: Platform, query: Query) -> RoutedReply:
    secret = platform.world.hook_secrets[query.body["workspace_id"]] = new_id()
    return RoutedReply.of({"id": "1" * 24, "value": secret}, 201)


@route("GET", "hooks/subscriptions/")
def _hooks(platform: Platform, query: Query) -> RoutedReply:
    rows = [
        {"id": h.id, "event_type": h.event, "target_url": h.url, "is_enabled": h.enabled}
        for h in platform.world.hooks.values()
        if platform.world.hook_workspaces[h.id] == query.params["workspace_id"]
    ]
    return slice_of(query, rows)


@route("POST", "hooks/subscriptions/")
def _subscribe(platform: Platform, query: Query) -> RoutedReply:
    hook = platform.world.subscribe(query.body)
    row = {"id": hook.id, "event_type": hook.event, "target_url": hook.url, "is_enabled": True}
    many = platform.world.behaviour.hooks == "results"
    return RoutedReply.of({"results": [row]} if many else row, 201, X_Hook_Secret=hook.secret)


@route("POST", "hooks/subscriptions/<id>/")
def _confirm(platform: Platform, query: Query) -> RoutedReply:
    return RoutedReply.of({"id": platform.world.confirm(query.ids[0], query.body["secret"]).id})


@route("DELETE", "hooks/subscriptions/<id>/")
def _unsubscribe(platform: Platform, query: Query) -> RoutedReply:
    del platform.world.hooks[platform.world.hook_of(query.ids[0]).id]
    return RoutedReply(204)


@route("GET", "/.well-known/study/jwks.json")
def _jwks(platform: Platform, query: Query) -> RoutedReply:
    return RoutedReply.of({"keys": [platform.world.keys.public()]})
