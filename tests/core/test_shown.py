"""What is shown while it comes, what nobody sees, and secrets that are known by heart."""

import random

import pytest

from claw_nb.core import redact as redacting
from claw_nb.core.invisible import visible, visible_json
from claw_nb.core.named_secrets import looks_secret
from claw_nb.core.redact import add_named, add_secret, redact
from claw_nb.core.unfolding import Unfolding

KEY = "sk-ant-" + "api03-" + "a1B2c3D4" * 8
PEM = "MIIEabcdefghijklmnop1234\n" * 3
TEXTS = (
    f"Here is the key: {KEY} ok\nnext",
    'password = "hunter2 foo" and my token count is 3 tokens in total',
    f"-----BEGIN RSA PRIVATE KEY-----\n{PEM}-----END RSA PRIVATE KEY-----\ndone all",
    "Authorization: Bearer abcdef123456789xyz now\nThe password is: hunter2Zebra99 indeed",
    "plain words and 中文字符 that go on\n\nmore",
    "api key: aB3dE5gH7jK9 rest",
    "say two words Zecret now",
)


@pytest.fixture(autouse=True)
def forgets(monkeypatch):
    """Secrets that a test teaches are unknown to the next."""
    monkeypatch.setattr(redacting, "_exact", set())
    monkeypatch.setattr(redacting, "_by_length", ())


@pytest.mark.parametrize("text", TEXTS)
def test_what_comes_in_pieces_is_masked_as_the_whole(text):
    add_secret("two words Zecret")
    for seed in range(40):
        pick, coming, shown, at = random.Random(seed), Unfolding(), "", 0
        while at < len(text):
            size = pick.randint(1, 6)
            shown += coming.add(text[at : at + size])
            at += size
            assert redact(text).startswith(shown)
        assert shown + coming.rest() == redact(text)


def test_prose_is_not_kept_waiting():
    coming = Unfolding()
    words = ["I", "count", "the", "tokens", "of", "key", "frames", "in", "the"]
    assert "".join(coming.add(f"{word} ") for word in words) == " ".join(words) + " "


@pytest.mark.parametrize(
    ("name", "value", "masked"),
    [
        ("MY_DB_PASSWORD", "correcthorsebattery", True),
        ("password", "hunter2Zebra99", True),
        ("secret_key", "django-insecure-xx1", True),
        ("GITHUB_TOKEN", "aB3dE5gH7jK9mN", True),
        ("password", "postgres", False),
        ("password", "your-password", False),
        ("DB_PASSWORD", "/run/secrets/db", False),
        ("PWD", "/home/ann", False),
        ("api_key", "customer_id_of", False),
        ("password", "20240101", False),
        ("token", "tokenization", False),
        ("word", "hunter2Zebra99", False),
    ],
)
def test_a_variable_is_a_secret_by_its_name_and_its_value(name, value, masked):
    add_named({name: value, "number": 3})
    assert looks_secret(name, value) == masked
    assert (redact(f"it is {value} here") == f"it is {value} here") != masked


def test_a_secret_is_masked_where_html_escapes_it():
    add_secret('a<b&c"d9')
    assert redact("<td>a&lt;b&amp;c&quot;d9</td>") == "<td>[REDACTED:secret]</td>"


def test_what_nobody_sees_is_spelled_out():
    assert visible("a\x1b[2Jb\u202ec\r\nd\re\x9b\n\tf\x7f\u2028") == (
        "a␛[2Jb⟨U+202E⟩c\r\nd␍e⟨U+009B⟩\n\tf␡⟨U+2028⟩"
    )
    assert visible("naïve 中文 👩‍🚀 می‌خواهم") == "naïve 中文 👩‍🚀 می‌خواهم"
    assert visible_json('"\u202e\x9b\U000e0041"') == r'"\u202e\u009b\udb40\udc41"'
