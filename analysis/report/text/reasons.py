"""Reasons why a number is undefined, in words."""

# Extras add those of their chapters when Django starts.
REASONS = {
    "no_votes": "nobody answered",
    "tie": "the maximum is shared",
    "no_variation": "all values are the same",
    "too_few_items": "too few items",
    "too_few_annotators": "people too few, or their shares of the answers too unequal",
    "too_few_clusters": "too few personas or questions",
    "no_pairs": "no item has two answers",
    "empty_group": "nothing to count",
    "one_order": "each reply puts the whole set in one order",
    "no_discordant": "both are right and wrong on the same items",
    "not_certified": "no threshold could be certified",
    "dependent_items": "items share a persona or a question",
    "no_truth": "nobody knows the right answer",
    "not_stated": "no certainty was given",
    "not_scored": "no answer, or no truth to score it by",
    "one_sample": "every item was asked once",
    "not_offered": "not offered in this setting",
    "not_reported": "not reported",
    "several_currencies": "people were promised rewards in several currencies",
    "words_gone": "its words are no longer stored",
    "no_exclusions": "nobody was excluded",
    "no_payments": "nobody was paid through this study",
    "not_identified": "the data do not identify it",
    "one_judge": "fewer than two runs saw the whole persona",
    "biased": "chance alone pushes the estimate one way, and no interval allows for that",
    "not_connected": "some systems never lose to the others, or never meet them",
    "too_few_systems": "fewer than three systems",
    "at_chance": "it may be no better than chance",
    "too_few_of_a_label": "nobody gave one of the labels",
    "below_one": "may be worth less than one person",
    "above_any": "may be worth more than any number of people",
    "not_settled": "the model did not settle",
    "too_large": "the study is too large for it",
    "nothing_compared": "the headline compares nothing",
    "too_few": "too few items",
    "incomplete_grid": "not every framing was asked with every wording",
    "no_plan": "no analysis plan was frozen",
    "no_other_items": "the plan sealed every item of this report, or none",
    "no_threshold": "this way of labelling has no threshold",
}


def reason(code: str | None) -> str:
    return REASONS.get(code or "", code or "")
