"""Names of released files: data set, kind of prompt, features, model."""

import re
from dataclasses import dataclass

DATASETS = {"ap": "PR", "ec": "EC", "prism": "PRISM", "opinionqa": "OpinionQA"}
MODELS = {
    "gpt-3.5-turbo": "GPT-3.5",
    "gpt-4o": "GPT-4",
    "command-r-plus": "Command R+",
    "meta-llama_Meta-Llama-3-70B-Instruct": "Llama-3 70B",
}
FEATURES = {
    "all_features": "All features",
    "key_features": "Three features",
    "least_imp_feature": "Least important feature",
}

_NAME = re.compile(
    r"(?P<dataset>ap|ec|prism|opinionqa)"
    r"_(?P<prompt>all_features_with_tie|all_features|no_persona)"
    r"(?:_(?P<features>all_features|key_features|least_imp_feature))?"
    r"_(?P<model>[A-Za-z][\w.+-]*?)"
    r"(?:_(?P<edition>new|jun_?\d+))?"
    r"\.jsonl"
)


@dataclass(frozen=True)
class ResultName:
    """The parts of a released file's name.

    `features` are those that the prompt named; `edition` is the suffix of a repeated run.
    """

    file: str
    dataset: str
    with_tie: bool
    with_persona: bool
    features: str
    model: str
    edition: str

    @classmethod
    def parse(cls, file: str) -> "ResultName | None":
        """Read a file name; None if it is not the name of a result file.

        >>> name = ResultName.parse("prism_all_features_with_tie_all_features_gpt-4o.jsonl")
        >>> name.dataset, name.with_tie, name.features, name.model
        ('PRISM', True, 'All features', 'GPT-4')
        >>> ResultName.parse("notes.jsonl") is None
        True
        """
        found = _NAME.fullmatch(file)
        if found is None:
            return None
        with_persona = found["prompt"] != "no_persona"
        return cls(
            file=file,
            dataset=DATASETS[found["dataset"]],
            with_tie=found["prompt"] == "all_features_with_tie",
            with_persona=with_persona,
            features=FEATURES[found["features"] or "all_features"] if with_persona else "None",
            model=MODELS.get(found["model"], found["model"]),
            edition=found["edition"] or "",
        )

    @property
    def title(self) -> str:
        """A readable title of the file, for headings."""
        parts = [self.dataset, self.model]
        if not self.with_persona:
            parts.append("no persona")
        elif self.features != "All features":
            parts.append(self.features.lower())
        if self.with_tie:
            parts.append("with tie")
        return " · ".join(parts)
