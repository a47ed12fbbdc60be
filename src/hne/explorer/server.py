"""A Session behind HTTP on this machine: one page, one address for its calls, and a door that lets its user in alone.

The page is handed out and calls are taken only with the secret token of this run, under the names 127.0.0.1 and
localhost, and from no other page: what another site makes a browser send has another origin, or none and no token.
"""

import asyncio
import hmac
import json
import secrets
import signal
import socket
import threading
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, suppress
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response, StreamingResponse
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from hne.exceptions import InputError
from hne.explorer.page import explorer_page
from hne.explorer.session import Session

HOST = "127.0.0.1"
NAMES = (HOST, "localhost")
# Bytes of a call: a selection of a million samples takes 8 MB.
MOST_BYTES = 16 * 2**20
# Calls under way at once: of fits one runs and others wait, the rest have threads of their own; and connections beyond
# which the server refuses more.
FITS, MOST_CALLS, MOST_CONNECTIONS = ("embed", "tune"), 8, 200
ENDING = ("SIGINT", "SIGTERM", "SIGHUP")
# Seconds that Ctrl-C waits for what is being sent.
LAST_WAIT = 1
HEADERS = {
    "cache-control": "no-store",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
}
# What follows a call that is refused is not read.
CLOSED = {"connection": "close"}


class Door:
    """ASGI application that refuses whatever does not come from its own page, before anything of it is read."""

    def __init__(self, app: ASGIApp, port: int, token: str) -> None:
        self._app, self._token = app, token
        self._hosts = {f"{name}:{port}" for name in NAMES} | (set(NAMES) if port == 80 else set())
        self._origins = {f"http://{host}" for host in self._hosts}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request in, or answer why not."""
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self._app(scope, receive, send)
            return
        refusal = self._refusal(Request(scope))
        if refusal is not None:
            status, text = refusal
            await JSONResponse({"text": text}, status, HEADERS | CLOSED)(scope, receive, send)
            return
        await self._app(scope, receive, _with_headers(send))

    def _refusal(self, request: Request) -> tuple[int, str] | None:
        """Status and reason, or None for a request of the page's own."""
        headers = request.headers
        if headers.getlist("host") != [headers.get("host")] or headers.get("host", "").lower() not in self._hosts:
            return 421, "This server answers to its own name alone. Open the address that hne explore printed."
        if headers.get("origin", next(iter(self._origins))).lower() not in self._origins:
            return 403, "Calls come from the page of this server alone."
        if headers.get("sec-fetch-site", "none") not in {"none", "same-origin"} and request.method != "GET":
            return 403, "Calls come from the page of this server alone."
        given = request.query_params.get("token") if request.method == "GET" else headers.get("x-hne-token")
        if not hmac.compare_digest((given or "").encode(), self._token.encode()):
            return 403, "The token is missing or wrong. Open the address that hne explore printed, with its token."
        length = headers.get("content-length", "0")
        if not length.isdecimal() or int(length) > MOST_BYTES:
            return 413, f"A call has at most {MOST_BYTES} bytes."
        return None


def _with_headers(send: Send) -> Send:
    async def sent(message: Message) -> None:
        if message["type"] == "http.response.start":
            added = [(name.encode(), value.encode()) for name, value in HEADERS.items()]
            message = {**message, "headers": [*message.get("headers", []), *added]}
        await send(message)

    return sent


def make_app(session: Session, port: int, token: str) -> ASGIApp:
    """The application: `GET /` is the page, `POST /api/<kind>` a call of it."""
    fitting, others = (ThreadPoolExecutor(MOST_CALLS, thread_name_prefix=f"hne-{name}") for name in ("fits", "calls"))

    async def page(_: Request) -> Response:
        return HTMLResponse(explorer_page(session.source.title))

    async def call(request: Request) -> Response:
        try:
            payload = json.loads(await _body(request))
        except (ValueError, RecursionError) as error:
            text = f"A call must be JSON of at most {MOST_BYTES} bytes, got {error}."
            return JSONResponse({"text": text}, 400, CLOSED)
        kind = request.path_params["kind"]
        if kind not in session.calls:
            return JSONResponse({"text": f"There is no call {kind!r:.40}."}, 404)
        answer = _answer(session, fitting if kind in FITS else others, kind, payload)
        return StreamingResponse(answer, media_type="application/octet-stream")

    routes = [Route("/", page, methods=["GET"]), Route("/api/{kind}", call, methods=["POST"])]
    return Door(Starlette(routes=routes), port, token)


async def _body(request: Request) -> bytes:
    """The whole body, unless it is too long: what comes in chunks does not say so before."""
    parts, size = [], 0
    async for part in request.stream():
        size += len(part)
        if size > MOST_BYTES:
            msg = "more"
            raise ValueError(msg)
        parts.append(part)
    return b"".join(parts)


async def _answer(session: Session, threads: ThreadPoolExecutor, kind: str, payload: Any) -> AsyncIterator[bytes]:
    """Frames of a call: how far it is, and what came of it. Whoever goes away cancels it."""
    loop, frames = asyncio.get_running_loop(), asyncio.Queue[bytes | None]()
    cancelled = threading.Event()

    def put(frame: bytes | None) -> None:
        if not cancelled.is_set():
            loop.call_soon_threadsafe(frames.put_nowait, frame)

    def work() -> None:
        end, message = session.answer(kind, payload, lambda told: put(told.frame("progress")), cancelled)
        put(message.frame(end))
        put(None)

    threads.submit(work)
    try:
        while (frame := await frames.get()) is not None:
            yield frame
    finally:
        cancelled.set()


class Explorer:
    """A server that is bound to a port, with its address; `run` serves until Ctrl-C."""

    def __init__(self, session: Session, port: int = 0) -> None:
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            self._socket.bind((HOST, port))
        except (OSError, OverflowError) as error:
            self._socket.close()
            reason = getattr(error, "strerror", None) or str(error)
            remedy = "Choose another, or leave it out for one that is free"
            raise InputError(
                parameter="port", rule="must be free", value=f"{port} ({reason})", remedy=remedy
            ) from error
        # Whoever comes before `run` waits.
        self._socket.listen(MOST_CONNECTIONS)
        self.port = int(self._socket.getsockname()[1])
        token = secrets.token_urlsafe(24)
        self.address = f"http://{HOST}:{self.port}/?token={token}"
        config = uvicorn.Config(
            make_app(session, self.port, token),
            log_level="critical",  # fits that Ctrl-C cuts off are no errors
            access_log=False,
            lifespan="off",
            ws="none",
            limit_concurrency=MOST_CONNECTIONS,
            timeout_graceful_shutdown=LAST_WAIT,
            server_header=False,
        )
        self._server = uvicorn.Server(config)

    def run(self) -> None:
        """Serve until Ctrl-C, which is how it ends, or another signal, which is passed on."""
        heard: list[int] = []

        def end(number: int, _: Any) -> None:
            heard.append(number)
            self.stop()

        with closing(self._socket), ExitStack() as afterwards:
            # Not by an exception in the middle of the server's own work; signals are for the main thread alone.
            for name in ENDING if threading.current_thread() is threading.main_thread() else ():
                with suppress(AttributeError):  # not on Windows
                    number = getattr(signal, name)
                    afterwards.callback(signal.signal, number, signal.signal(number, end))
            self._server.run(sockets=[self._socket])
        for number in heard:
            if number != signal.SIGINT:
                raise KeyboardInterrupt(number)

    def stop(self) -> None:
        """End `run`, from another thread."""
        self._server.should_exit = True
