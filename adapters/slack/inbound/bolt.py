"""Slack's requests through Bolt: checked, authorized, matched with listeners, and answered once all is safe.

Bolt ends a listener before it answers (`process_before_response`), and so does Parley's middleware, which ends when the
gateway has stored what came. Listeners of extensions come after it: they hear events too, and commands, presses and
forms that are none of ours.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final

import anyio
from anyio.abc import TaskGroup
from msgspec import Struct, field
from slack_bolt.app.async_app import AsyncApp
from slack_bolt.authorization import AuthorizeResult
from slack_bolt.authorization.async_authorize import AsyncAuthorize
from slack_bolt.context.async_context import AsyncBoltContext
from slack_bolt.error import BoltUnhandledRequestError
from slack_bolt.lazy_listener.async_internals import to_runnable_function
from slack_bolt.lazy_listener.async_runner import AsyncLazyListenerRunner
from slack_bolt.listener.async_listener_error_handler import AsyncListenerErrorHandler
from slack_bolt.middleware.async_builtins import AsyncRequestVerification
from slack_bolt.oauth.async_oauth_flow import AsyncOAuthFlow
from slack_bolt.request.async_request import AsyncBoltRequest
from slack_bolt.response import BoltResponse
from slack_sdk.signature import Clock as SlackClock
from slack_sdk.signature import SignatureVerifier
from slack_sdk.web.async_client import AsyncWebClient

from adapters.adapter import NOT_UNDERSTOOD, HandsOver, HttpAnswer, HttpRequest
from adapters.slack.api.calls import SlackTransport, quiet_logger
from adapters.slack.api.workspaces import SlackWorkspaces
from adapters.slack.codec.addresses import ANSWER_ACTION, CHOICE_ACTION
from adapters.slack.codec.interactions import ANSWER_FORM, FEEDBACK_ACTION, FORM, SLASH_COMMAND
from adapters.slack.inbound.deliveries import Delivery, Kind, SlackDeliveries, delivery_id
from runtime.core.clock import Clock
from runtime.core.errors import AuthFailed, OutcomeUncertain, RateLimited

HEARD: Final = (
    "agent_session_stopped",
    "app_home_opened",
    "assistant_thread_started",
    "message",
    "reaction_added",
    "reaction_removed",
)
LISTENERS_WITHIN_S: Final = 2.5
"""The time in which all listeners of extensions end: Slack waits three seconds, and sends again."""
RETRY_HEADER: Final = "x-slack-retry-num"
_OUTCOME: Final = "parley_outcome"
_log = logging.getLogger(__name__)

_ACTIONS: Final[Mapping[str, Kind]] = {CHOICE_ACTION: "choice", FEEDBACK_ACTION: "rating", ANSWER_ACTION: "answer"}

SAFE_WITHIN_S: Final = 2.5
"""The time limit for storing a delivery. Slack waits for 3 s and repeats the event after a failure."""
_READ: Final = frozenset({"content-type", "cookie"})
_SLACKS: Final = "x-slack-"
_BOLTS: Final = "x-slack-bolt-"
"""Headers by which Bolt calls itself, to which nobody else has a right."""


class _Outcome(Struct):
    """The outcome of a request: it must come again, it is stored, a listener of an extension failed."""

    arrived_at: float = field(default_factory=anyio.current_time)
    within: anyio.CancelScope = field(default_factory=anyio.CancelScope)
    later: bool = False
    stored: bool = False
    failed: bool = False

    def covers(self, response: BoltResponse) -> bool:
        """Whether Slack need not hear of a refusal: all is stored, no listener fits, or the request cannot be read."""
        return response.status != 200 if self.stored else not self.failed and response.status in (404, 500)


class BoltApp:
    def __init__(
        self,
        transport: SlackTransport,
        workspaces: SlackWorkspaces,
        signing_secret: str | None,
        clock: Clock,
        door: AsyncOAuthFlow | None,
    ) -> None:
        """`door` is the way in for workspaces, where there may be several."""
        self.deliveries: SlackDeliveries | None = None
        """Where deliveries go; None while nobody listens."""
        self.app = AsyncApp(
            name="parley",
            logger=quiet_logger("bolt"),
            client=AsyncWebClient(base_url=transport.base_url, timeout=int(transport.call_timeout_s)),
            signing_secret=signing_secret or "",
            request_verification_enabled=False,
            before_authorize=None if signing_secret is None else _Signatures(signing_secret, clock),
            authorize=_Authorizing(workspaces),
            oauth_flow=door,
            process_before_response=True,
            raise_error_for_unhandled_request=True,
        )
        self._extended = False
        self._lazily = _Lazily()
        self.app.listener_runner.lazy_listener_runner = self._lazily
        failures = self.app.listener_runner.listener_error_handler
        self.app.error(_not_understood)
        self.app.listener_runner.listener_error_handler = _Failures(failures)
        self.app.use(self._hear)
        if door is not None:
            self.app.enable_token_revocation_listeners()

    async def dispatch(self, request: AsyncBoltRequest, *, within_s: float) -> BoltResponse:
        """Bolt's response: 200 once all is stored and for what concerns nobody, 503 for what must come again."""
        outcome = request.context[_OUTCOME] = _Outcome()
        response: BoltResponse | None = None
        try:
            with anyio.move_on_after(within_s) as outcome.within:
                response = await self.app.async_dispatch(request)
        except Exception as error:  # noqa: BLE001 - of an extension's handler of errors, or of Bolt's own reading
            await _not_understood(error)
            response = BoltResponse(status=500)
        if outcome.later or (response is None and not outcome.stored):
            return BoltResponse(status=503, body="Not safe yet; please send it again.\n")
        return BoltResponse(status=200) if response is None or outcome.covers(response) else response

    async def extend(self, hands_over: HandsOver, token: str | None) -> None:
        """Show the app to extensions, once; `token` is that of the only workspace. Our listeners are there already."""
        if self._extended:
            return
        self._extended = True
        self.app.client.token = token
        await hands_over(self.app)
        failures = self.app.listener_runner.listener_error_handler
        if not isinstance(failures, _Failures):
            self.app.listener_runner.listener_error_handler = _Failures(failures)

    def begin(self, deliveries: SlackDeliveries, tasks: TaskGroup) -> None:
        """Take deliveries from now on. `tasks` has the lazy listeners of extensions."""
        self.deliveries, self._lazily.tasks = deliveries, tasks

    def end(self) -> None:
        self.deliveries = self._lazily.tasks = None

    async def _hear(self, request: AsyncBoltRequest, next_: Callable[[], Awaitable[None]]) -> BoltResponse | None:
        kind = _kind_of(request.body)
        if kind is not None:
            response = await self._take(kind, request)
            if response.status != 200 or kind != "event":
                return response
        outcome = request.context[_OUTCOME]
        outcome.within.deadline = min(outcome.within.deadline, outcome.arrived_at + LISTENERS_WITHIN_S)
        await next_()
        return None

    async def _take(self, kind: Kind, request: AsyncBoltRequest) -> BoltResponse:
        body, outcome = request.body, request.context[_OUTCOME]
        try:
            event_id = delivery_id(kind, body)
        except NOT_UNDERSTOOD as error:
            await _not_understood(error)
            return BoltResponse(status=200)
        again = request.headers.get(RETRY_HEADER, ["0"])[0] != "0"
        outcome.later = True
        if self.deliveries is None:
            return BoltResponse(status=503)
        delivery = Delivery(event_id, body, again, request.context.team_id, kind)
        outcome.stored, words = await self.deliveries.stored(delivery)
        outcome.later = not outcome.stored
        return BoltResponse(status=200 if outcome.stored else 503, body=dict(words) if words else "")


def _kind_of(body: Mapping[str, Any]) -> Kind | None:
    """What a request is to Parley, if anything: Bolt's own listeners would try it one by one."""
    try:
        match body.get("type"):
            case "event_callback":
                return "event" if body["event"]["type"] in HEARD else None
            case "block_actions":
                action = str(body["actions"][0]["action_id"])
                return next((kind for prefix, kind in _ACTIONS.items() if action.startswith(prefix)), None)
            case "view_submission":
                return "form" if body["view"]["callback_id"] in (FORM, ANSWER_FORM) else None
            case _:
                return "command" if body.get("command") == SLASH_COMMAND else None
    except NOT_UNDERSTOOD:
        return None


async def _not_understood(error: Exception) -> None:
    _log.warning("A request of Slack's is not understood and is ignored", extra={"error": repr(error)})


class _Authorizing(AsyncAuthorize):
    """Our bot in the workspace that a request concerns. Requests of a workspace go on in their order."""

    def __init__(self, workspaces: SlackWorkspaces) -> None:
        self._workspaces = workspaces

    async def __call__(
        self, *, context: AsyncBoltContext, enterprise_id: str | None, team_id: str | None, **_others: Any
    ) -> AuthorizeResult:
        try:
            workspace = await self._workspaces.of(team_id)
        except (AuthFailed, OutcomeUncertain, RateLimited):
            context[_OUTCOME].later = True
            raise
        bot = workspace.bot
        return AuthorizeResult(
            enterprise_id=enterprise_id,
            team_id=bot.team_id,
            team=bot.team,
            bot_user_id=bot.user_id,
            bot_id=bot.bot_id,
            bot_token=workspace.token,
        )


class _Signatures(AsyncRequestVerification):
    """Bolt's check, by our clock. What is no time or no signature at all is not valid."""

    def __init__(self, signing_secret: str, clock: Clock) -> None:
        super().__init__(signing_secret, quiet_logger("bolt"))
        self._checks = _Verifier(signing_secret, _Now(clock))

    @property
    def verifier(self) -> SignatureVerifier:
        return self._checks


class _Verifier(SignatureVerifier):
    def is_valid(self, body: str | bytes, timestamp: str | None, signature: str | None) -> bool:
        try:
            return super().is_valid(body, timestamp, signature)
        except (ValueError, TypeError):
            return False


class _Now(SlackClock):
    def __init__(self, clock: Clock) -> None:
        self._clock = clock

    def now(self) -> float:
        return self._clock.now().timestamp()


class _Failures(AsyncListenerErrorHandler):
    def __init__(self, then: AsyncListenerErrorHandler) -> None:
        self._then = then

    async def handle(self, error: Exception, request: AsyncBoltRequest, response: BoltResponse | None) -> None:
        if not isinstance(error, BoltUnhandledRequestError):
            request.context[_OUTCOME].failed = True
            await self._then.handle(error, request, response)


class _Lazily(AsyncLazyListenerRunner):
    """Runs the lazy listeners of extensions in our tasks, which end with the connection."""

    def __init__(self) -> None:
        self.logger = quiet_logger("bolt")
        self.tasks: TaskGroup | None = None

    def start(self, function: Callable[..., Awaitable[None]], request: AsyncBoltRequest) -> None:
        if self.tasks is None:
            _log.warning("A lazy listener is left out, since Slack is not connected")
        else:
            self.tasks.start_soon(to_runnable_function, function, self.logger, request)


async def answer_http(bolt: BoltApp, request: HttpRequest) -> HttpAnswer:
    """401 for a request that is not Slack's, 503 for a delivery that is not stored in time, else 200."""
    if request.method != "POST":
        return HttpAnswer(405)
    try:
        given = bolt_request(request)
    except NOT_UNDERSTOOD:
        return HttpAnswer(400, b"This cannot be read.\n")
    return http_answer(await bolt.dispatch(given, within_s=SAFE_WITHIN_S))


def bolt_request(request: HttpRequest) -> AsyncBoltRequest:
    headers = {name: value for name, value in request.headers.items() if _is_read(name)}
    return AsyncBoltRequest(body=request.body.decode(), query=dict(request.query), headers=dict(headers))


def http_answer(response: BoltResponse) -> HttpAnswer:
    return HttpAnswer(response.status, response.body.encode(), response.first_headers())


def _is_read(header: str) -> bool:
    return header in _READ or (header.startswith(_SLACKS) and not header.startswith(_BOLTS))
