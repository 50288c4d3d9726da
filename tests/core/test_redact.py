"""Secrets are masked, and what only resembles them stays."""

import base64
import json
import random
import re
import subprocess
import sys
import uuid

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from claw_nb.core.redact import redact, redact_json


def mixed(length, seed=1):
    """A made-up key body: no real key has ever looked like it."""
    letters = "abcdefghijkmnpqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ23456789"
    body = "".join(random.Random(seed).choices(letters, k=length - 3))
    return f"{body}a1B"


HEX = "0123456789abcdef"
VENDOR_KEYS = {
    "anthropic": "sk-ant-" + "api03-" + mixed(80),
    "openai": "sk-" + "proj-" + mixed(60),
    "api-key": "sk-" + mixed(48),
    "aws": "AKIA" + "QWERTYUIOPASDFGH",
    "github": "ghp_" + mixed(36),
    "gitlab": "glpat-" + mixed(20),
    "slack": "xoxb-" + "123456789012-" + mixed(24),
    "google": "AIza" + mixed(35),
    "stripe": "sk_" + "live_" + mixed(24),
    "huggingface": "hf_" + mixed(34),
    "npm": "npm_" + mixed(36),
    "pypi": "pypi-" + mixed(90),
    "sendgrid": "SG." + mixed(22) + "." + mixed(43),
    "digitalocean": "dop_v1_" + HEX * 4,
    "databricks": "dapi" + HEX * 2,
    "telegram": "123456789" + ":AA" + mixed(33),
    "jwt": "eyJhbGciOiJIUzI1NiJ9." + "eyJzdWIiOiIxMjM0In0." + mixed(43),
    "vault": "hvs." + mixed(30),
}


@pytest.mark.parametrize("kind", VENDOR_KEYS)
def test_a_vendors_key_is_masked_wherever_it_stands(kind):
    key = VENDOR_KEYS[kind]
    for around in (
        "{}",
        "use {} now",
        "X={}\n",
        '{{"a":"{}"}}',
        "'{}'",
        "({})",
        "a,{},b",
        r"a\n{}",
        "?q%3D{}",
        "/{}/",
    ):
        masked = redact(around.format(key))
        assert key not in masked
        assert key[-12:] not in masked
        assert "[REDACTED:" in masked
    assert redact(f"see {key}.") == f"see [REDACTED:{kind}]."


SECRETS = [
    ('password = "hunter2"', 'password = "[REDACTED:password]"'),
    ("password = 'c0rrect horse'", "password = '[REDACTED:password]'"),
    ("password: hunter2x", "password: [REDACTED:password]"),
    ("DB_PASSWORD=correcthorse", "DB_PASSWORD=[REDACTED:password]"),
    ("export PGPASSWORD=letmein", "export PGPASSWORD=[REDACTED:password]"),
    ("connect(user='a', passwd='tiger')", "connect(user='a', passwd='[REDACTED:password]')"),
    ("mysql --password=tiger db", "mysql --password=[REDACTED:password] db"),
    ("login --token abcdef", "login --token [REDACTED:password]"),
    ("http://h/?token=3f9a8b7c6d5e4f3a2b", "http://h/?token=[REDACTED:token]"),
    ("http://h/?a=1&password=tiger", "http://h/?a=1&password=[REDACTED:password]"),
    ('{"api_key": "abcd1234"}', '{"api_key": "[REDACTED:key]"}'),
    (r'"{\"api_key\": \"abcd1234\"}"', r'"{\"api_key\": \"[REDACTED:key]\"}"'),
    ("{'client_secret': 'abcdefgh'}", "{'client_secret': '[REDACTED:key]'}"),
    ("os.environ['API_KEY'] = 'abcd1234'", "os.environ['API_KEY'] = '[REDACTED:key]'"),
    ("secret_token: 9f8e7d6c5b4a39f8", "secret_token: [REDACTED:token]"),
    ("postgresql://ann:tiger@db/x", "postgresql://ann:[REDACTED:password]@db/x"),
    ("redis://:tiger@db:6379/0", "redis://:[REDACTED:password]@db:6379/0"),
    ("Server=h;Uid=a;Pwd=tiger;", "Server=h;Uid=a;Pwd=[REDACTED:password];"),
    ("Authorization: Bearer abc.def-ghi123", "Authorization: Bearer [REDACTED:bearer]"),
    ("Authorization: Basic dXNlcjpwYXNzd29yZA==", "Authorization: Basic [REDACTED:bearer]"),
    ("'Authorization': 'Bearer abcdefghi123'", "'Authorization': 'Bearer [REDACTED:bearer]'"),
    ("send bearer abcdefghijk1234 along", "send bearer [REDACTED:bearer] along"),
    ("Set-Cookie: sid=abcdefgh1234; Path=/", "Set-Cookie: sid=[REDACTED:cookie]"),
    ("my password is hunter2!", "my password is [REDACTED:password]"),
    ("The API key is q9w8e7r6t5", "The API key is [REDACTED:key]"),
    ("İstanbul password='tiger'", "İstanbul password='[REDACTED:password]'"),
]


@pytest.mark.parametrize(("text", "masked"), SECRETS)
def test_a_value_is_masked_where_its_name_gives_it_away(text, masked):
    assert redact(text) == masked


HARMLESS = [
    "token = next(tokens)",
    "tokens = tokenizer(text)",
    "token = tokens[i]",
    "token: str",
    "token: str = ''",
    "max_tokens=16_000, tokens_in=1024",
    'eos_token = "<|endoftext|>"',
    'pad_token="[PAD]"',
    '"token": "hello"',
    "A token is about 4 characters of English.",
    "The token is 4096bytes long.",
    "password: str | None = None",
    "password = getpass('Password: ')",
    "password = args.password",
    "password = self.password2",
    "password=password",
    "connect(password=config.db_password)",
    'api_key = os.environ["OPENAI_API_KEY"]',
    'api_key_env = "OPENAI_API_KEY"',
    "export OPENAI_API_KEY=$MY_KEY",
    "OPENAI_API_KEY=<your key>",
    'api_key="your-api-key-here"',
    'api_key="sk-..."',
    "The password is hashed with sha256.",
    "the password is sha256 hashed",
    "Password: at least 8 characters",
    "sorted(rows, key=lambda row: row.id)",
    "df.sort_values(key=str.lower)",
    "max(d, key=d.get)",
    'key = "user:42:profile"',
    "cache_key = 'd41d8cd98f00b204e9800998ecf8427e'",
    "monkey = 'abcDEF123456ghiJKL78'",
    "primary key: integer",
    "git commit 9fceb02d0ae598e95dc970b74767f19372d61af8",
    "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    "550e8400-e29b-41d4-a716-446655440000",
    'id = "018f3c2e7b7a7c3f9a5b1d2e3f405162"',
    "-----BEGIN CERTIFICATE-----\nMIIDdzCCAl+gAwIBAgIEAgAAuTANBgkqhkiG\n-----END CERTIFICATE-----",
    "A PEM file starts with -----BEGIN PRIVATE KEY----- and then base64.",
    "https://example.org:8080/path@v2",
    "postgres://user:${DB_PASSWORD}@host/db",
    "git@github.com:owner/repo.git",
    "Bearer tokens are sent in a header.",
    "Authorization: authentication of users",
    "Cookie: a small biscuit",
    "sk-learn estimators, .sk-container-id-1 .sk-toggleable__content",
    "skip-this-very-long-hyphenated-word-please",
    "task-0123456789abcdef0123456789",
    "eyJhbGciOiJIUzI1NiJ9",
    "src/__pycache__/secrets.cpython-311.pyc",
    "import secrets; secrets.token_hex(16)",
    "signature: (a: int, b: str) -> None",
    "signature = inspect.signature(function)",
    "secret = hmac.new(key, message, sha256)",
    "The secret sauce: butter.",
    "keys: ['species', 'island']",
    "<input type='password' name='password'>",
    '{"type": "password", "label": "Password"}',
    "credential.helper=store",
    "df['token'] = df.text.str.split()",
    "claw://github/token",
    "password = claw://db/password",
    "PWD=/home/ann/work",
    "OLDPWD=/tmp",
    '"PWD": "."',
]


@pytest.mark.parametrize("text", HARMLESS)
def test_what_only_resembles_a_secret_stays(text):
    assert redact(text) == text


def test_pictures_and_hashes_stay():
    source = random.Random(7)
    picture = base64.b64encode(source.randbytes(300_000)).decode()
    hashes = "\n".join(source.randbytes(32).hex() for _ in range(200))
    ids = "\n".join(str(uuid.UUID(bytes=source.randbytes(16))) for _ in range(200))
    for text in (f"data:image/png;base64,{picture}", hashes, ids):
        assert redact(text) == text


def test_this_projects_own_sources_read_the_same_but_for_examples_of_secrets():
    from pathlib import Path

    import claw_nb

    folder = Path(claw_nb.__file__).parent
    changed = {
        path.relative_to(folder).as_posix()
        for path in folder.rglob("*.py")
        if redact(text := path.read_text("utf-8")) != text
    }
    assert changed <= {"core/named_secrets.py"}


PEM = "-----BEGIN RSA PRIVATE KEY-----\n{}\n-----END RSA PRIVATE KEY-----".format(
    "\n".join(["MIIEowIBAAKCAQEA0123456789abcdefABCDEF+/0123456789abcdefABCDEF+/"] * 5 + ["Qk0="])
)


def test_a_private_key_goes_whole():
    assert redact(f"a\n{PEM}\nb") == "a\n[REDACTED:private-key]\nb"
    assert redact(json.dumps({"k": PEM})) == '{"k": "[REDACTED:private-key]"}'
    numbered = "\n".join(f"{n}\t{line}" for n, line in enumerate(PEM.splitlines(), 1))
    assert "MIIE" not in redact(numbered)
    cut = PEM[:200]
    assert redact(cut + " and so on") == "[REDACTED:private-key] and so on"


def test_json_is_masked_by_its_keys_and_keeps_its_shape():
    value = {
        "password": "tiger",
        "userPassword": "tiger",
        "api_key": "abc",
        "token": "hello",
        "access_token": "9f8e7d6c5b4a39f8",
        "tokens": 12,
        "note": ["the password is hunter2", 3.5, None, True],
        "key": "species",
        "secretary": "Ann",
        "api_key_env": "OPENAI_API_KEY",
    }
    assert redact_json(value) == {
        "password": "[REDACTED:password]",
        "userPassword": "[REDACTED:password]",
        "api_key": "[REDACTED:key]",
        "token": "hello",
        "access_token": "[REDACTED:token]",
        "tokens": 12,
        "note": ["the password is [REDACTED:password]", 3.5, None, True],
        "key": "species",
        "secretary": "Ann",
        "api_key_env": "OPENAI_API_KEY",
    }


def test_a_configured_secret_is_masked_in_every_spelling():
    script = """
import json
from urllib.parse import quote
from claw_nb.core.redact import add_secret, redact
secret = 'tr0ub4dor "& 3'
add_secret(secret); add_secret('short'); add_secret('not-needed')
print(redact(f'{secret}|{json.dumps(secret)}|{quote(secret, safe="")}|short|not-needed'))
"""
    out = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    mask = "[REDACTED:secret]"
    assert out.stdout.strip() == f'{mask}|"{mask}"|{mask}|short|not-needed'


@settings(deadline=None, max_examples=150)
@given(
    st.lists(
        st.one_of(
            st.sampled_from([text for text, _ in SECRETS] + HARMLESS + list(VENDOR_KEYS.values())),
            st.text(max_size=20),
        ),
        max_size=6,
    ).map("\n".join)
)
def test_redacting_twice_changes_nothing_more(text):
    once = redact(text)
    assert redact(once) == once


@pytest.mark.parametrize(
    "piece",
    [
        "eyJ",
        "://a:",
        "-----BEGIN PRIVATE KEY-----",
        "password",
        "password=",
        "\\",
        "AIza",
        "key is ",
        "token='",
        "x" * 50 + "-",
        "bearer ",
        "cookie: ",
        "MIIEowIBAAKCAQEA\n",
        '\\"',
    ],
)
def test_hostile_repetition_is_read_in_one_pass(piece):
    # A quadratic rule would need hours for this, and the test's time limit would end it.
    text = piece * (3_000_000 // len(piece))
    assert re.sub(r"\[REDACTED:[a-z-]+\]", "", redact(text)) is not None
