"""One item a round. The items are in items.json next to the project's settings."""

import json
from pathlib import Path

from otree.api import BaseConstants, BaseGroup, BasePlayer, BaseSubsession, Page, models, widgets

ITEMS = json.loads(Path("items.json").read_text("utf-8"))


class C(BaseConstants):
    NAME_IN_URL = "annotate"
    PLAYERS_PER_GROUP = None
    NUM_ROUNDS = 30


class Subsession(BaseSubsession):
    pass


class Group(BaseGroup):
    pass


class Player(BasePlayer):
    item = models.IntegerField()
    choice = models.StringField(
        label="Which response would this person prefer?",
        choices=[["a", "Response A"], ["b", "Response B"]],
        widget=widgets.RadioSelect,
    )
    certainty = models.IntegerField(label="How certain are you?", min=1, max=100)


def creating_session(subsession):
    for number, player in enumerate(subsession.get_players()):
        player.item = (number * C.NUM_ROUNDS + subsession.round_number - 1) % len(ITEMS)


class Task(Page):
    form_model = "player"
    form_fields = ["choice", "certainty"]

    @staticmethod
    def vars_for_template(player):
        return {"item": ITEMS[player.item], "total": C.NUM_ROUNDS}


page_sequence = [Task]
