"""The interface of every backend; `registry` lists the backends."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from judging.engine.interface import Backend, Parameters
from judging.errors import ConflictingValue, Reason

if TYPE_CHECKING:  # the client library behind it takes a second to import
    from judging.backends.batch import BatchClient

NO_PROBABILITIES, WITH_REPLY, INSTEAD_OF_REPLY = "no", "beside", "only"

LEAVE_OUT = "leave_out"  # the option that names parameters which requests leave out

_NO_OPTIONS = Reason(
    "no_options", "{field}: the backend {backend} has no option “{value}”. Leave it out."
)
_MUST_BE_SENT = Reason(
    "must_be_sent",
    "{field}: the backend {backend} cannot leave out “{value}”. It can leave out: {allowed}.",
)


@dataclass(frozen=True, kw_only=True)
class Capabilities:
    """Capabilities of a backend; the rest of the program uses nothing else to choose what to do.

    `needs_endpoint`: a server at the judge's address answers. The address is checked, the number of
    requests grows from a few, and all workers share slots and rates.
    `is_local`: the model runs in the worker. Its runs go to the workers with a GPU, and the option
    `revision` of its judges names the exact model.
    `structured`: replies can be requested in a form that the server enforces.
    `probabilities`: the ways in which it gives option probabilities: "beside" a reply, or "only"
    the probabilities instead of a reply.
    `batch`: questions can be submitted as a file, at a lower price.
    `media`: the types of pictures and sounds that its requests can hold. Whether a model takes them
    is known of each judge.
    `costs_money`: a question can cost something. If it cannot, a new judge has the price 0
    instead of an unknown one.
    """

    needs_endpoint: bool = False
    is_local: bool = False
    structured: bool = False
    probabilities: frozenset[str] = frozenset()
    batch: bool = False
    media: frozenset[str] = frozenset()
    costs_money: bool = True


@dataclass(frozen=True, kw_only=True)
class OwnForm:
    """A page of its own for judges without a server, which administrators add.

    `preset` chooses it in the address of “Add a judge”, where a link with `title` and `words`
    leads to it. `form` is a subclass of `JudgeForm`, as “package.module:NAME”.
    """

    preset: str
    title: str
    words: str
    form: str


class StoredKey(Protocol):
    """A key that was entered on a page; it is kept encrypted until a request needs it."""

    def open(self) -> str:
        """The key. Raises `BadJudge` if it cannot be read."""


@dataclass(frozen=True, kw_only=True)
class JudgeSettings:
    """What a backend knows of a judge. `max_tokens` is the limit of a whole reply with thinking.

    `stored_key` is used instead of an environment variable. `link_local`: the administrator allows
    link-local addresses, where cloud providers serve the credentials of a machine. `model_options`
    are names and values that only the judge's backend understands.
    """

    name: str
    model: str
    base_url: str = ""
    api_key_env: str = ""
    stored_key: StoredKey | None = field(default=None, repr=False)
    link_local: bool = False
    temperature: float = 0.7
    top_p: float = 0.95
    max_tokens: int = 1024
    timeout_seconds: float = 120.0
    concurrency: int = 64
    structured: bool = False
    probabilities: str = NO_PROBABILITIES
    model_options: tuple[tuple[str, Any], ...] = ()

    @property
    def left_out(self) -> list[str]:
        """Parameters that requests leave out, because the judge is set so."""
        named = str(dict(self.model_options).get(LEAVE_OUT, ""))
        return sorted({name.strip() for name in named.split(",")} - {""})


class BackendKind(ABC):
    """One kind of backend: its name, its capabilities, and how to ask a judge through it."""

    name: ClassVar[str]  # as judges store it
    label: ClassVar[str]
    capabilities: ClassVar[Capabilities] = Capabilities()
    default_base_url: ClassVar[str] = ""
    # Python packages that send the questions: their versions are stored with every run.
    packages: ClassVar[tuple[str, ...]] = ()
    batch_packages: ClassVar[tuple[str, ...]] = ()
    # Parameters that a judge may be set to leave out, for servers that refuse them.
    may_leave_out: ClassVar[tuple[str, ...]] = ()
    own_form: ClassVar[OwnForm | None] = None
    options_help: ClassVar[str] = ""  # of `add_judge --option`, where the backend has options

    def check(self, judge: JudgeSettings) -> None:  # noqa: B027 - most have nothing to check
        """Raise `BadJudge` if a judge with these settings cannot be stored."""

    def exact_options(self, judge: JudgeSettings) -> Mapping[str, Any]:
        """The options to store: checked, and with everything that must not change later.

        Raises `BadJudge` if one of them is wrong, or if that is not known.
        """
        for name, _ in judge.model_options:
            if name != LEAVE_OUT or not self.may_leave_out:
                raise ConflictingValue("model_options", _NO_OPTIONS, backend=self.name, value=name)
        for name in judge.left_out:
            if name not in self.may_leave_out:
                raise ConflictingValue(
                    "model_options",
                    _MUST_BE_SENT,
                    backend=self.name,
                    value=name,
                    allowed=", ".join(self.may_leave_out),
                )
        return {LEAVE_OUT: ",".join(judge.left_out)} if judge.left_out else {}

    @abstractmethod
    def connect(self, judge: JudgeSettings) -> Callable[[], Backend]:
        """A function that makes the backend. Raises `BadJudge` if the judge cannot be asked."""

    def intended_parameters(self, judge: JudgeSettings) -> Parameters:
        """The parameters of requests as long as the server refuses none of them."""
        return Parameters({})

    def models(self, judge: JudgeSettings) -> list[str]:
        """The models that the judge's server says it offers; empty if it does not say."""
        return []

    def batch_client(self, judge: JudgeSettings) -> "BatchClient":
        """The client that submits files of questions; only with the capability `batch`."""
        raise NotImplementedError(f"{self.name} takes no batches")
