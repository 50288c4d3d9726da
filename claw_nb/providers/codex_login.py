"""The login that the Codex CLI keeps in ``auth.json``: read, renewed in time, written back."""

from __future__ import annotations

import asyncio
import base64
import json
import os
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

import httpx2

from claw_nb.core.clock import Clock, now
from claw_nb.core.errors import ProviderError, StoreError
from claw_nb.core.locks import FileLock
from claw_nb.core.redact import add_secret
from claw_nb.providers.failures import Endpoint

TOKEN_URL = "https://auth.openai.com/oauth/token"
CLIENT_ID = "app_EMoamEEZ73f0CkXaXp7hrann"
"""The public client of the Codex CLI, to which its refresh tokens belong."""

LoginMode = Literal["renew", "read-only"]

_MARGIN = 60
"""Seconds before its end at which a token counts as used up."""

_CLAIMS = "https://api.openai.com/auth"
_NEXT = (
    "Run `codex login` and ask again. If Codex keeps its login in the system's keyring, let it keep "
    'a file: cli_auth_credentials_store = "file" in its own config.toml.'
)


@dataclass(frozen=True, kw_only=True)
class Access:
    """What opens the service until ``expires`` (seconds since 1970; None: not told)."""

    account: str
    token: str = field(repr=False)
    expires: float | None


class CodexLogin:
    """One login file, shared with the Codex CLI.

    A refresh token works once. So one process at a time renews, under a lock beside the file, and
    only after it has made sure that it can write the new one back; ``read-only`` never renews.
    """

    def __init__(
        self,
        path: Path,
        *,
        mode: LoginMode = "renew",
        token_url: str = TOKEN_URL,
        clock: Clock = now,
    ) -> None:
        self.path = path
        self._mode = mode
        self._token_url = token_url
        self._clock = clock
        self._masked: set[str] = set()

    async def access(self, *, instead_of: str = "") -> Access:
        """A token to ask with, other than the one that was just refused.

        Raises ProviderError: ``auth`` when a new login is needed, else how the renewal failed.
        """
        # A renewal that has begun goes on when the question is stopped: its answer comes once.
        return await asyncio.to_thread(self._access, instead_of)

    def _access(self, refused: str) -> Access:
        found = self._usable(self._read(), refused)
        if found is not None:
            return found
        if self._mode == "read-only":
            raise self._needed("it has expired, and provider.codex_login is read-only")
        target = self.path.resolve()
        try:
            with FileLock(target.with_name(f"{target.name}.claw-lock")):
                login = self._read()
                return self._usable(login, refused) or self._renew(login, target)
        except StoreError as error:
            raise self._needed(f"it has expired and cannot be renewed: {error.message}") from None

    def _usable(self, login: Mapping[str, Any], refused: str) -> Access | None:
        access = self._opened(login)
        used_up = access.expires is not None and access.expires < self._clock() / 1e6 + _MARGIN
        return None if used_up or access.token == refused else access

    def _read(self) -> dict[str, Any]:
        try:
            login = json.loads(self.path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            raise self._needed("there is no such file") from None
        except (OSError, ValueError, RecursionError) as error:
            # The words of a JSON error could quote the file.
            why = error.strerror if isinstance(error, OSError) else "it is not JSON"
            raise self._needed(f"it cannot be read: {why}") from None
        tokens = login.get("tokens") if isinstance(login, dict) else None
        if not isinstance(tokens, dict) or not tokens.get("access_token"):
            if isinstance(login, dict) and login.get("OPENAI_API_KEY"):
                raise self._needed("it holds an API key, which the provider openai takes")
            raise self._needed("it holds no ChatGPT login")
        for name in ("access_token", "refresh_token", "id_token"):
            self._mask(tokens.get(name))
        return dict(login)

    def _mask(self, secret: object) -> None:
        if isinstance(secret, str) and secret not in self._masked:
            self._masked.add(secret)
            add_secret(secret)

    def _opened(self, login: Mapping[str, Any]) -> Access:
        tokens = login["tokens"]
        token = str(tokens["access_token"])
        claims = _claims(token)
        account = tokens.get("account_id") or next(
            (
                str(found["chatgpt_account_id"])
                for source in (claims, _claims(str(tokens.get("id_token") or "")))
                if isinstance(found := source.get(_CLAIMS), dict) and "chatgpt_account_id" in found
            ),
            None,
        )
        if not account:
            raise self._needed("it does not tell the account")
        expires = claims.get("exp")
        return Access(
            account=str(account),
            token=token,
            expires=float(expires) if isinstance(expires, int | float) else None,
        )

    def _renew(self, login: dict[str, Any], target: Path) -> Access:
        refresh = login["tokens"].get("refresh_token")
        if not refresh:
            raise self._needed("it has expired and holds nothing to renew it with")
        try:
            handle, name = tempfile.mkstemp(prefix=".auth-", dir=target.parent)  # mode 0600
        except OSError as error:
            why = f"it has expired, and its folder cannot be written: {error.strerror}"
            raise self._needed(why) from None
        scratch = Path(name)
        try:
            with os.fdopen(handle, "w", encoding="utf-8") as out:
                fresh = self._exchanged(login, str(refresh))
                json.dump(fresh, out, indent=2)
                out.flush()
                os.fsync(out.fileno())
            scratch.replace(target)
        except OSError as error:
            why = f"it was renewed, but cannot be written: {error.strerror}"
            raise self._needed(why) from None
        finally:
            with suppress(OSError):
                scratch.unlink(missing_ok=True)
        return self._opened(fresh)

    def _exchanged(self, login: dict[str, Any], refresh: str) -> dict[str, Any]:
        """The login with new tokens, for the old refresh token."""
        form = {"grant_type": "refresh_token", "refresh_token": refresh, "client_id": CLIENT_ID}
        service = Endpoint(
            label="the login service of Codex",
            model="",
            url=self._token_url,
            variable="",
            secret=refresh,
        )
        try:
            answer = httpx2.post(self._token_url, data=form, timeout=30)
        except httpx2.TimeoutException:
            raise service.failed("timeout") from None
        except httpx2.HTTPError as error:
            raise service.failed("connection", str(error)) from None
        given = _object(answer.content)
        if answer.status_code in (400, 401, 403):
            raise self._needed(f"it cannot be renewed any more ({_reason(given)})")
        if answer.status_code != 200:
            raise service.answered(answer.status_code, given, answer.headers)
        if not given.get("access_token"):
            raise service.failed("server", "it sent no token")
        names = ("access_token", "refresh_token", "id_token")
        tokens = {name: given[name] for name in names if given.get(name)}
        for token in tokens.values():
            self._mask(token)
        moment = datetime.fromtimestamp(self._clock() / 1e6, UTC).isoformat()
        return login | {
            "tokens": login["tokens"] | tokens,
            "last_refresh": moment.replace("+00:00", "Z"),
        }

    def _needed(self, why: str) -> ProviderError:
        return ProviderError(
            f"there is no usable Codex login in {self.path}: {why}", kind="auth", hint=_NEXT
        )


def _claims(token: str) -> dict[str, Any]:
    """What a JWT says, unchecked: it is the service's to check."""
    _, _, rest = token.partition(".")
    payload = rest.partition(".")[0]
    try:
        return _object(base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4)))
    except ValueError:
        return {}


def _object(text: bytes) -> dict[str, Any]:
    """The JSON object that a text is, or an empty one."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def _reason(body: Mapping[str, Any]) -> str:
    """The service's word for it, such as ``refresh_token_reused``; never its whole answer."""
    error = body.get("error")
    word = error.get("code") or error.get("type") if isinstance(error, dict) else error
    return word if isinstance(word, str) and word.isidentifier() else "refused"
