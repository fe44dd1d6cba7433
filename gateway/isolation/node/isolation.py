"""The isolation of the tasks of one node: the launchers, the tokens, and the connections of the processes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from starlette.requests import HTTPConnection
from starlette.routing import WebSocketRoute
from starlette.websockets import WebSocket

from gateway.clients.admission import Client
from gateway.clients.scopes import Scopes
from gateway.isolation.handover import PATH, Handover, Manner
from gateway.isolation.launch.launcher import Launcher
from gateway.isolation.node.run import Ended, TaskRun, program_of
from gateway.isolation.tokens import TaskTokens
from gateway.settings.programs.isolation import Isolation, IsolationSettings
from gateway.socket_link import SocketLink
from runtime.core.errors import TaskRefused
from runtime.events.frames import LLMAnswered
from runtime.llm.client import Usage
from runtime.stores.inbox import InboxEntry

_REFUSED = 4401
_ASK_ALL_MODELS = Scopes(models=("*",))
"""A task may ask what its program asks for inline: models by their names in the settings, and nothing else."""


@dataclass
class Isolated:
    """Executes tasks elsewhere. `url` is where this process serves, once it does; `manner` what it hands over of its
    settings."""

    settings: IsolationSettings
    launchers: Mapping[Isolation, Launcher]
    manner: Manner
    url: str = ""
    tokens: TaskTokens[TaskRun] = field(default_factory=TaskTokens)

    def of(self, program: str, asked: str) -> Isolation:
        """The isolation of a task."""
        return self.settings.of(program, asked)

    async def live(self, run: TaskRun, entries: Sequence[InboxEntry]) -> Ended:
        """Have the process of a task live once."""
        rights = run.rights
        launcher = self.launchers[self.of(rights.program, rights.order.isolation)]
        handed = self._handed(run, launcher)
        try:
            return await run.live(launcher, handed, self.tokens, entries)
        except OSError as error:
            return Ended(over=False, code=error.errno or 1)

    def _handed(self, run: TaskRun, launcher: Launcher) -> Callable[[str], Handover]:
        key, lease = run.rights.address.key, run.lease
        program = program_of(run.around, run.rights)
        return lambda token: Handover(
            self.url, token, key, lease.shard, lease.token, program, self.manner, launcher.confinement
        )

    @property
    def route(self) -> WebSocketRoute:
        """Where the processes connect."""
        return WebSocketRoute(PATH, self._attend)

    async def _attend(self, socket: WebSocket) -> None:
        run = self._run(socket)
        if run is None:
            await socket.close(_REFUSED)
            return
        await socket.accept()
        link = SocketLink(socket)
        try:
            await run.attend(link)
        except TaskRefused as error:
            await link.close(_REFUSED, str(error))

    def _run(self, request: HTTPConnection) -> TaskRun | None:
        scheme, _, token = request.headers.get("authorization", "").partition(" ")
        return self.tokens.holder(token.strip()) if scheme.lower() == "bearer" else None

    # -- the models

    def client(self, request: HTTPConnection, /) -> Client | None:
        """See `gateway.clients.model.door.TaskAccounts`."""
        run = self._run(request)
        return None if run is None else TaskClient(f"task {run.rights.session}", _ASK_ALL_MODELS, run)

    async def spent(self, task: Client, /) -> str | None:
        """See `gateway.clients.model.door.TaskAccounts`."""
        return await _run_of(task).over_budget()

    def answered(self, task: Client, model: str, seconds: float, usage: Usage, /) -> None:
        """See `gateway.clients.model.door.TaskAccounts`. Its node counts what a task has used, whatever that says."""
        run = _run_of(task)
        order, rights = run.rights.order, run.rights
        run.around.bus.publish(
            LLMAnswered(
                *(rights.session, "", "", f"{order.klass}.{order.playbook}", model, "execute"),
                reply="",
                seconds=seconds,
                first_text_s=None,
                tokens_in=usage.input_tokens,
                tokens_out=usage.output_tokens,
                tokens_cached=usage.cached_tokens,
                cost_usd=usage.cost_usd,
                conversation=order.place.key,
                participant_id=rights.person or None,
                program=rights.program,
                agent=order.klass,
                task=order.root if order.tokens or order.dollars else None,
                estimated=usage.estimated,
            )
        )


@dataclass(frozen=True, slots=True)
class TaskClient(Client):
    """A task that asks models as a client does."""

    run: TaskRun


def _run_of(task: Client) -> TaskRun:
    assert isinstance(task, TaskClient)  # made above
    return task.run
