"""Commands that only read, and only in the workspace: they run unasked."""

from __future__ import annotations

import re

from claw_nb.tools.shell_commands import Command, Script
from claw_nb.tools.shell_paths import Places

#: A program, and the options with which it does more than read.
_READERS: dict[str, str] = {
    **dict.fromkeys(
        ("ls", "cat", "head", "tail", "wc", "pwd", "echo", "printf", "which", "type", "date", "file",
         "stat", "du", "df", "cut", "tr", "diff", "cmp", "basename", "dirname", "realpath", "readlink",
         "true", "false", "test", "[", "[[", "seq", "grep", "egrep", "fgrep", "nl", "tac", "cksum",
         "md5sum", "sha1sum", "sha256sum", "column", "comm", "join", "paste", "fold", "uname",
         "whoami", "id", "nproc", "cd", "jq", "hexdump", "od", "strings"),
        "",
    ),
    "date": r"-s|--set.*",
    "file": r"-C|--compile",
    "sort": r"-o.*|--output.*|--compress-program.*|-T.*",
    "rg": r"--pre.*|--hostname-bin.*|-z|--search-zip",
    "tree": r"-o.*|-R",
    "find": r"-exec.*|-ok.*|-delete|-f(?:print|ls).*",
    "fd": r"-x|-X|--exec.*",
    "git": r"-c|--output.*|--ext-diff|--exec.*|-O.*|--open-files.*|--config-env.*|-C|--git-dir.*|-p",
}  # fmt: skip
_GIT_VERBS = re.compile(
    r"status|log|diff|show|blame|shortlog|describe|rev-parse|ls-files|ls-tree|cat-file|grep"
)


def only_reads(script: Script, places: Places) -> bool:
    """Whether each command is known to read only, with paths in the workspace."""
    return (
        script.clear
        and bool(script.commands)
        and not script.functions
        and all(_reads(command, places) for command in script.commands)
    )


def _reads(command: Command, places: Places) -> bool:
    if (
        not command.words
        or command.assigned
        or any(word.dynamic or word.unset for word in command.words)
    ):
        return False
    for redirect in command.redirects:
        harmless = redirect.target.text == "/dev/null" or re.fullmatch(
            r"[0-9]", redirect.target.text
        )
        reads = redirect.operator in ("<<", "<<<") or (
            redirect.operator == "<" and not places.is_foreign(redirect.target.text)
        )
        if not (harmless or reads):
            return False
    name, args = command.words[0].text, [word.text for word in command.words[1:]]
    if name not in _READERS or any(re.fullmatch(_READERS[name], arg) for arg in args):
        return False
    if name == "git" and not (args and _GIT_VERBS.fullmatch(args[0])):
        return False
    if name in ("echo", "printf"):
        return True
    return not any(_leads_out(arg, places) for arg in args)


def _leads_out(arg: str, places: Places) -> bool:
    """Whether an argument could be a path to something else."""
    path = (
        arg.split("=", 1)[1]
        if re.match(r"--[\w-]+=", arg)
        else re.sub(r"^-[A-Za-z](?=[/~.])", "", arg)
    )
    return places.is_foreign(path)
