"""Scripts inside a command: what shells and interpreters are given to run."""

from __future__ import annotations

import ast
import base64
import binascii
import re
from collections.abc import Iterator, Mapping, Sequence

from claw_nb.tools import shell_words as words
from claw_nb.tools.shell_calls import Call, Finding, deny, risky
from claw_nb.tools.shell_commands import Command

_SHELLS = frozenset(
    {"sh", "bash", "zsh", "dash", "ksh", "mksh", "ash", "fish", "csh", "tcsh", "rbash"}
)
_TERMINALS = frozenset(
    {"tmux", "screen", "xterm", "gnome-terminal", "konsole", "alacritty", "kitty"}
)
_EDITORS = frozenset({"vim", "vi", "nvim", "ex", "ed", "emacs", "nano"})
_INTERPRETERS = re.compile(
    r"python[0-9.]*|pypy3?|perl|ruby|node|nodejs|deno|bun|php|lua|osascript|pwsh"
)
_DOWNLOADS = frozenset(
    {"curl", "wget", "http", "https", "xh", "nc", "ncat", "socat", "aria2c", "ssh"}
)
_DECODES = frozenset(
    {"base64", "base32", "xxd", "openssl", "gpg", "uudecode", "gunzip", "zcat", "rev", "tr"}
)

_RUNS = re.compile(
    r"os\.(?:system|popen|exec\w*|spawn\w*|fork|kill)|subprocess|pty\.spawn|child_process"
    r"|(?:exec|spawn)(?:Sync|File)?\s*\(|\bexec\s*[\"']|\bsystem\b|\bpassthru\b|shell_exec|qx[({/|]|`[^`]+`|%x[({]"
    r"|\beval\b|__import__|getattr\(|b64decode|fromhex|do shell script|Invoke-Expression|\biex\b",
)
_DELETES = re.compile(
    r"rmtree|os\.(?:remove|unlink|rmdir|removedirs|truncate)|\.unlink\(|rmSync|rmdirSync|unlinkSync"
    r"|\bunlink\b|rm_rf|FileUtils\.rm|Remove-Item|\brmdir\b"
)
_FORKS = re.compile(
    r"(?:while|until|for\b|loop|\bfork\b).*\bfork\b|\bfork\b.*\b(?:while|until|for)\b", re.DOTALL
)
_SED_RUNS = re.compile(r"(?:^|[;{}]|^[0-9$,/]+)\s*e(?:\s|$)|^s(.).*\1.*\1[gpiI0-9]*e[gpiI0-9]*$")
_SQL_CLIENTS = frozenset(
    {"psql", "mysql", "mariadb", "sqlite3", "sqlite", "duckdb", "clickhouse-client", "sqlcmd", "bq"}
)
_SQL = re.compile(
    r"\b(?:drop\s+(?:table|database|schema|view|index|user|role)|truncate\s+(?:table\s+)?\w"
    r"|delete\s+from\s+[\w.\"`]+\s*(?:;|$|\"|')"
    r"|update\s+[\w.\"`]+\s+set\b(?![^;]*\bwhere\b))",
    re.IGNORECASE,
)


def inner(call: Call) -> Iterator[str]:
    """The shell scripts that a call is given as text."""
    texts = call.texts
    if call.name in _SHELLS:
        if (script := _after_c(texts)) is not None:
            yield script
        elif not _script_file(texts):
            yield from _from_input(call)
    elif call.name in ("eval", "trap", "source", ".") or call.name == "alias":
        if call.name == "eval":
            yield " ".join(texts)
        elif call.name == "trap" and len(call.operands) > 1:
            yield call.operands[0]
        elif call.name == "alias":
            yield from (text.split("=", 1)[1] for text in texts if "=" in text)
    elif call.name in ("script", "su", "sg"):
        if (script := _after_c(texts)) is not None:
            yield script
    elif call.name in ("at", "batch"):
        yield from _given(call)
    elif call.name in _TERMINALS:
        yield from (text for text in call.operands if " " in text)
        yield " ".join(call.operands)
    elif call.name in ("watch", "entr", "ssh") and len(call.operands) > 1:
        yield " ".join(call.operands[1:])
    elif call.name == "awk" or call.name.endswith("awk"):
        yield from re.findall(
            r'(?:system\s*\(|\|\s*)"([^"]+)"|"([^"]+)"\s*\|\s*getline', call.line
        ) and [text.replace("_", " ") for text in re.findall(r'"([^"]+)"', " ".join(texts))]
    elif call.name == "git":
        yield from (text.split("=!", 1)[1] for text in texts if "=!" in text)


def written_files(command: Command) -> dict[str, str]:
    """The files that a command writes with text that is plain to see."""
    targets = [r.target.text for r in command.redirects if r.operator in (">", ">>", ">|", "&>")]
    if not targets and command.name == "tee":
        targets = [word.text for word in command.words[1:] if not word.text.startswith("-")]
    text = _said((command, *command.feeds)) if targets else None
    return dict.fromkeys(map(_bare, targets), text) if text is not None else {}


def run_from_files(command: Command, files: Mapping[str, str]) -> Iterator[str]:
    """The scripts that a command runs from files that were written just before."""
    runs = command.name in _SHELLS or command.name in ("source", ".")
    candidates = command.words[1:] if runs else command.words[:1]
    inputs = [r.target for r in command.redirects if r.operator == "<"] if runs else []
    for word in (*candidates, *inputs):
        if (text := files.get(_bare(word.text))) is not None:
            yield text


def _bare(path: str) -> str:
    return path.removeprefix("./")


def dangers(call: Call) -> Iterator[Finding]:
    """What speaks against running a script that nobody has seen, or code in a line."""
    if call.name in _SHELLS or call.name in ("eval", "source", "."):
        yield from _unseen(call)
    elif _INTERPRETERS.fullmatch(call.name):
        yield from _code(call)
    elif call.name in _SQL_CLIENTS:
        text = " ".join((*call.texts, *_given(call)))
        if _SQL.search(re.sub(r"'[^']*'", "''", text)):
            yield risky("It deletes or changes rows of a database for good.")
    elif call.name in ("sed", "gsed") and any(
        _SED_RUNS.search(text[:500]) for text in call.operands
    ):
        yield risky("It makes sed run another program.")
    elif call.name in _EDITORS and re.search(r"!|\(shell-command|--eval", " ".join(call.texts)):
        yield risky("It makes the editor run another program.")
    elif call.name.endswith("awk") and re.search(
        r"system\s*\(|\|\s*\"|getline", " ".join(call.texts)
    ):
        yield risky("It makes awk run another program.")


def _unseen(call: Call) -> Iterator[Finding]:
    sources = [*call.command.feeds, *call.command.inputs]
    names = {command.name for command in sources}
    if names & _DOWNLOADS:
        yield risky("It runs what it fetches from the network, unseen.")
    elif names & _DECODES:
        yield risky("It runs what was encoded, unseen.")
    elif any(word.dynamic for word in call.args):
        yield risky("It runs a script that is only known when it runs.")
    elif call.name in _SHELLS and call.command.feeds and _after_c(call.texts) is None:
        files = all(c.name in ("cat", "tee") for c in call.command.feeds)
        plain = files or _said(call.command.feeds) is not None
        if not _script_file(call.texts) and not plain:
            yield risky("It runs what another program prints, unseen.")
    if call.name in _SHELLS and any(r.target.dynamic for r in call.command.redirects):
        yield risky("It runs a script that is only known when it runs.")


def _code(call: Call) -> Iterator[Finding]:
    code = _after_option(
        call.texts, ("-c", "-e", "-E", "-r", "--eval", "-p", "-ne", "-pe", "-Command")
    )
    stdin = code is None and not [text for text in call.operands if text != "-"]
    text = code if code is not None else "\n".join(_given(call)) if stdin else ""
    if stdin and "-m" not in call.texts:
        names = {command.name for command in call.command.feeds}
        if names & (_DOWNLOADS | _DECODES):
            yield risky("It runs what it fetches or decodes, unseen.")
    if "fork" in text and _FORKS.search(text):
        yield deny("It is a fork bomb.")
    if _DELETES.search(text):
        yield risky("Its code deletes files.")
    if _RUNS.search(text):
        yield risky("Its code runs other programs.")
    if _RUNS.search(text) or _DELETES.search(text):
        yield from _destructive_strings(text)


def _destructive_strings(code: str) -> Iterator[Finding]:
    """Commands in the code's strings that no program should run."""
    try:
        strings = [
            node.value
            for node in ast.walk(ast.parse(code))
            if isinstance(node, ast.Constant) and isinstance(node.value, str)
        ]
    except (SyntaxError, ValueError):
        strings = [a or b or c for a, b, c in re.findall(r"'([^']*)'|\"([^\"]*)\"|`([^`]*)`", code)]
    if any(
        re.match(
            r"\s*(?:sudo\s+)?(?:rm\s+-\w*r\w*\s+(?:-\S+\s+)*[/~]\S{0,2}(?:\s|$)|mkfs|shutdown|reboot)",
            s,
        )
        for s in strings
    ):
        yield deny("Its code destroys the system or stops the machine.")
    if re.search(r"rmtree\(\s*['\"](?:/|~)['\"]", code):
        yield deny("Its code deletes the whole system or a home.")


def _after_c(texts: Sequence[str]) -> str | None:
    for at, text in enumerate(texts):
        if re.fullmatch(r"-[a-zA-Z]*c", text) or text == "--command":
            return texts[at + 1] if at + 1 < len(texts) else ""
        if not text.startswith(("-", "+")) and not (at and texts[at - 1] in ("-o", "+o", "-O")):
            return None
    return None


def _after_option(texts: Sequence[str], options: Sequence[str]) -> str | None:
    for at, text in enumerate(texts):
        if text in options and at + 1 < len(texts):
            return texts[at + 1]
        for option in options:
            if (
                len(option) == 2
                and re.fullmatch(rf"-[A-Za-z]*{option[1]}", text)
                and at + 1 < len(texts)
            ):
                return texts[at + 1]
            if text.startswith(option) and len(text) > len(option) and len(option) == 2:
                return text[2:]
    return None


def _script_file(texts: Sequence[str]) -> bool:
    """Whether a shell is given a file to run, so that it doesn't read its input."""
    if any(re.fullmatch(r"-[a-z]*s[a-z]*", text) for text in texts):
        return False
    return any(not text.startswith(("-", "+")) for text in texts)


def _from_input(call: Call) -> Iterator[str]:
    yield from _given(call)


def _given(call: Call) -> list[str]:
    """What stands in the command itself as its input: here-documents, and what is echoed into it."""
    texts = [r.target.text for r in call.command.redirects if r.operator in ("<<", "<<<")]
    said = _said(call.command.feeds)
    return [*texts, said] if said is not None else texts


def _said(feeds: Sequence[Command]) -> str | None:
    """The output of a pipeline that is plain to see, decoded where that is all it does."""
    if not feeds:
        return None
    text = _source(feeds[-1])
    for stage in reversed(feeds[:-1]):
        if text is None:
            return None
        text = _filtered(stage, text)
    return text


def _source(command: Command) -> str | None:
    given = [r.target.text for r in command.redirects if r.operator in ("<<", "<<<")]
    if given:
        text = given[0]
    elif command.name in ("echo", "printf"):
        said = [w.text for w in command.words[1:] if not re.fullmatch(r"-[neE]+", w.text)]
        if command.name == "printf" and said and re.fullmatch(r"(?:%[sb](?:\\n)?)+", said[0]):
            said = said[1:]
        elif command.name == "printf" and len(said) > 1:
            return None
        text = words.ansi_c(" ".join(said))
    else:
        return None
    return _filtered(command, text)


def _filtered(command: Command, text: str) -> str | None:
    options = " ".join(word.text for word in command.words[1:])
    try:
        if command.name in ("base64", "base32") and re.search(r"-\w*[dD]|--decode", options):
            decode = base64.b64decode if command.name == "base64" else base64.b32decode
            return decode(text.strip()).decode("utf-8", "replace")
        if command.name == "openssl" and "base64" in options and "-d" in options:
            return base64.b64decode(text.strip()).decode("utf-8", "replace")
        if command.name == "xxd" and re.search(r"-\w*r", options):
            return bytes.fromhex("".join(text.split())).decode("utf-8", "replace")
    except (binascii.Error, ValueError):
        return None
    if command.name == "rev":
        return "\n".join(line[::-1] for line in text.splitlines())
    return text if command.name in ("cat", "tee", "echo", "printf") else None
