"""What git throws away, and how it is made to run other programs."""

from __future__ import annotations

import re
from collections.abc import Iterator

from claw_nb.tools.shell_calls import Call, Finding, risky

_LOSES = re.compile(
    r"reset (?:.* )?--(?:hard|merge)\b|clean (?!.*(?:-\w*n|--dry-run)).*-(?:\w*[fdxX]|-force)"
    r"|push (?:.* )?(?:--force\S*|-\w*f\w*|--mirror|--delete|-d|--prune|\+\S+|\S*:\S+|:\S+)(?: |$)"
    r"|branch (?:.* )?(?:-\w*D\w*|-\w*d\w*f\w*|--delete .*--force)\b|checkout (?:.* )?(?:--( |$)|\.$|-f\b|--force)"
    r"|restore (?!--staged)|switch (?:.* )?(?:-f\b|--discard-changes)|stash (?:drop|clear)"
    r"|filter-(?:branch|repo)|reflog (?:expire|delete)|gc .*--prune|update-ref (?:.* )?-d|tag (?:.* )?-d\b"
    r"|worktree remove (?:.* )?(?:-f|--force)|submodule deinit|rm (?:.* )?-\w*r|prune\b"
    r"|config (?:.* )?--(?:global|system)\b(?! --(?:get|list))|remote (?:rm|remove|set-url)"
)


def git(call: Call) -> Iterator[Finding]:
    """What speaks against a git command."""
    texts = call.texts
    while texts and texts[0].startswith("-"):
        valued = texts[0] in ("-C", "-c", "--git-dir", "--work-tree", "--namespace", "--exec-path")
        setting = " ".join(texts[:2])
        if re.search(
            r"-c\s?(?:alias\.|core\.(?:pager|editor|sshcommand|hookspath|fsmonitor|gitproxy|askpass|worktree)|diff\.|filter\.|pager\.|include|credential|gpg|sequence\.|merge\.|interactive\.|protocol|\S*=!)",
            setting,
            re.I,
        ):
            yield risky("It makes git run another program.")
        texts = texts[2:] if valued else texts[1:]
    line = " ".join(re.sub(r"\s", "_", text) for text in texts)
    if _LOSES.match(line):
        yield risky(
            "It throws away work or history that git can't bring back, or rewrites others'."
        )
    if re.match(r"(?:bisect run|submodule foreach|rebase .*(?:-x|--exec))", line):
        yield risky("It makes git run another program.")
