"""Login files as the Codex CLI writes them, with tokens that open nothing."""

import base64
import json
from pathlib import Path

ACCOUNT = "acct-0123456789"
CLAIMS = "https://api.openai.com/auth"


def jwt(**claims) -> str:
    def part(value) -> str:
        return base64.urlsafe_b64encode(json.dumps(value).encode()).rstrip(b"=").decode()

    return f"{part({'alg': 'none'})}.{part(claims)}.{'c2lnbmF0dXJl'}"


def access_token(*, expires: float = 4_000_000_000, serial: int = 1) -> str:
    return jwt(exp=expires, serial=serial, **{CLAIMS: {"chatgpt_account_id": ACCOUNT}})


def write_login(folder: Path, *, mode: int = 0o600, **given) -> Path:
    """An auth.json; ``tokens`` and further keys go over the usual ones."""
    tokens = {
        "id_token": jwt(email="somebody@example.org"),
        "access_token": access_token(),
        "refresh_token": "rt-first-0123456789",
        "account_id": ACCOUNT,
    } | given.pop("tokens", {})
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "auth.json"
    login = {"OPENAI_API_KEY": None, "tokens": tokens, "last_refresh": "2026-11-01T00:00:00Z"}
    path.write_text(json.dumps(login | given), encoding="utf-8")
    path.chmod(mode)
    return path
