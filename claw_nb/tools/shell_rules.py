"""What each program may destroy: one row or one short function per program."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence

from claw_nb.tools import shell_lines
from claw_nb.tools.shell_calls import Call, Finding, deny, risky
from claw_nb.tools.shell_git import git
from claw_nb.tools.shell_own import own

Rule = Callable[[Call], Iterator[Finding]]


def _remove(call: Call) -> Iterator[Finding]:
    recursive = call.has("rR", "--recursive") or call.repeated
    if call.has("", "--no-preserve-root"):
        yield deny("It switches off rm's own safeguard.")
    for word in call.args:
        if word.text.startswith("-"):
            continue
        empty = word.unset and re.fullmatch(r"/\*?", word.text)
        if recursive and (empty or (call.places.is_protected(word.text) and not word.dynamic)):
            yield deny(f"It deletes {word.text} with everything in it.")
        elif recursive and not word.dynamic and call.places.holds_forbidden(word.text):
            yield deny(f"The agent's own home lies in {word.text}.")
        elif call.places.is_protected(word.text) and re.search(r"[*?\[]", word.text):
            yield risky(f"It deletes {word.text}.")
        elif call.places.is_outside(word.text) and not (word.dynamic or word.unset):
            yield risky(f"It deletes {word.text}, which is outside of the workspace.")
        elif call.places.is_workspace(word.text) and "*" in word.text:
            yield risky("It deletes every file of the workspace.")
    if call.repeated:
        yield risky("It deletes every file that is found.")
    elif recursive:
        yield risky("It deletes folders with everything in them.")


def _shred(call: Call) -> Iterator[Finding]:
    if any(call.places.is_disk(text) for text in call.operands):
        yield deny("It overwrites a disk.")
    yield risky("It destroys files beyond recovery.")


def _move(call: Call) -> Iterator[Finding]:
    *sources, target = call.operands or [""]
    if any(call.places.is_protected(text) for text in sources):
        yield deny("It moves away a part of the system or a whole home.")
    if target == "/dev/null":
        yield risky("What is moved to /dev/null is lost.")
    yield from written(call, [target])
    if any(call.places.is_outside(text) for text in sources):
        yield risky("It moves files from outside of the workspace.")


def _copy(call: Call) -> Iterator[Finding]:
    yield from written(call, call.operands[-1:])


def _writes_all(call: Call) -> Iterator[Finding]:
    yield from written(call, call.operands)


def _in_place(call: Call) -> Iterator[Finding]:
    if call.has("i", "--in-place") or any(text.startswith("-i") for text in call.texts):
        yield from written(call, call.operands[1:])


def _unpack(call: Call) -> Iterator[Finding]:
    match = re.search(r"(?:^|\s)(?:-C|-d|--directory|-o)[ =]?(\S+)", call.line)
    if match and not (call.name == "tar" and re.search(r"^-?\w*c", call.line)):
        yield from written(call, [match[1]])


def _dd(call: Call) -> Iterator[Finding]:
    yield from written(call, [text[3:] for text in call.texts if text.startswith("of=")])


def written(call: Call, targets: Sequence[str]) -> Iterator[Finding]:
    """What writing to these paths may do."""
    places = call.places
    for text in targets:
        if places.is_disk(text):
            yield deny(f"It writes over the disk {text}.")
        elif re.match(r"/proc/sysrq|/proc/sys/kernel/|/sys/power|/sys/firmware", places.path(text)):
            yield deny(f"It writes to {text}, which steers the machine.")
        elif places.is_network(text):
            yield risky("It sends something over the network.")
        elif places.is_system(text):
            yield risky(f"It changes {text}, which belongs to the system.")
        elif places.starts_itself(text):
            yield risky(f"{text} makes other programs run something later.")
        elif places.is_secret(text):
            yield risky(f"{text} may hold secrets.")
        elif places.is_outside(text):
            yield risky(f"It writes to {text}, which is outside of the workspace.")


def _mode(call: Call) -> Iterator[Finding]:
    mode, *paths = call.operands or [""]
    recursive = call.has("R", "--recursive")
    owner = call.name in ("chown", "chgrp")
    if recursive and any(call.places.is_protected(text) for text in paths):
        yield deny("It changes the rights of the whole system or a whole home.")
    opened = re.search(r"(?:^|,)[ugo]*[oa]+[ugo]*[+=][rx]*w|^[+]w|[ug+=,][rwx]*s", mode)
    digits = re.fullmatch(r"([0-7]?)[0-7][0-7]([0-7])", mode)
    if not owner and (
        opened or (digits and ((digits[1] in "24567" and digits[1]) or digits[2] in "2367"))
    ):
        yield risky("It lets everybody change the file, or run it with its owner's rights.")
    if recursive:
        yield risky("It changes the rights of a folder with everything in it.")
    yield from (risky(f"It changes the rights of {p}.") for p in paths if call.places.is_outside(p))


def _kill(call: Call) -> Iterator[Finding]:
    texts = call.texts
    signal = bool(texts) and bool(re.fullmatch(r"-(?:\d+|[A-Za-z]\w*)", texts[0]))
    if texts[:1] in (["-s"], ["-n"]):
        texts, signal = texts[1:], True
    targets = texts[1:] if signal else texts
    if any(text in ("-1", "1", "0") for text in targets if text != "--"):
        yield deny("It ends every process of the user or the machine itself.")
    if re.search(r"\$\$|\$PPID", " ".join(targets)):
        yield risky("It may end the agent itself.")


_OURS = re.compile(r"(?:^|\W)(?:claw|jupyter|ipykernel|python3?)(?:$|\W|_|-)", re.IGNORECASE)


def _kill_by_name(call: Call) -> Iterator[Finding]:
    if call.name == "killall" or re.search(r"(?:^|\s)-(?:9|KILL|SIGKILL|s KILL|u)\b", call.line):
        yield risky("It ends programs by their name, at once.")
    elif any(_OURS.search(text) for text in call.operands):
        yield risky("It may end the agent itself, or the user's kernels.")


def _system_state(call: Call) -> Iterator[Finding]:
    if call.name in ("init", "telinit") and not (set(call.operands) & set("0156sS")):
        return
    yield deny("It stops or restarts the machine.")


def _systemctl(call: Call) -> Iterator[Finding]:
    verb = next(iter(call.operands), "")
    if re.fullmatch(
        r"poweroff|reboot|halt|kexec|rescue|emergency|suspend|hibernate|soft-reboot|isolate", verb
    ):
        yield deny("It stops or restarts the machine.")
    elif re.fullmatch(
        r"stop|disable|mask|kill|restart|revert|set-default|unload|bootout|remove", verb
    ):
        yield risky("It stops services of this machine.")


def _service(call: Call) -> Iterator[Finding]:
    if re.search(r" (?:stop|restart|force-reload)$", call.line):
        yield risky("It stops services of this machine.")


def _other_rights(call: Call) -> Iterator[Finding]:
    yield deny(f"{call.name} takes another user's rights.")


def _disk_tool(call: Call) -> Iterator[Finding]:
    if re.search(
        r"(?:^|\s)(?:-l|--list|print|-n|--dry-run|--no-act|list|info|status)\b", call.line
    ):
        return
    yield deny(f"{call.name} destroys what is on a disk.")


def _uploads(call: Call) -> Iterator[Finding]:
    if re.search(
        r"(?:^|\s)(?:-T|--upload-file|--post-file|--body-file)|(?:-d|--data\S*|-F|--form\S*|--json|--url-query|-H|--header)[ =]?\S*@",
        call.line,
    ):
        yield risky("It sends a file over the network.")
    elif call.repeated or any(word.dynamic for word in call.args):
        yield risky("It may send what another command prints over the network.")
    target = re.search(r"(?:^|\s)(?:-o|-O|--output|--output-document)[ =]?(\S+)", call.line)
    if target and not target[1].startswith(("http", "-")):
        yield from written(call, [target[1]])


def _netcat(call: Call) -> Iterator[Finding]:
    if re.search(r"(?:^|\s)(?:-\w*[ec]\b|--(?:sh-)?exec)|exec:|system:", call.line, re.I):
        yield risky("It hands a shell to whoever connects.")
    elif call.command.feeds or any(r.operator == "<" for r in call.command.redirects):
        yield risky("It sends something over the network.")


def _crontab(call: Call) -> Iterator[Finding]:
    if call.texts not in (["-l"], []):
        yield risky("It changes what runs on a schedule.")


def _rsync(call: Call) -> Iterator[Finding]:
    if "--delete" in call.line or "--remove-source-files" in call.line:
        if any(call.places.is_protected(text) for text in call.operands[-1:]):
            yield deny("It empties a part of the system or a whole home.")
        yield risky("It deletes files that the other side doesn't have.")
    yield from written(call, [text for text in call.operands[-1:] if ":" not in text])


_NAMED: tuple[tuple[str, Rule], ...] = (
    ("rm unlink rmdir rd del srm trash", _remove),
    ("shred wipe", _shred),
    ("mv rename", _move),
    ("cp install ln scp", _copy),
    ("rsync", _rsync),
    ("tee touch mkdir truncate", _writes_all),
    ("tar unzip 7z bsdtar", _unpack),
    ("sed perl ruby gsed", _in_place),
    ("dd", _dd),
    ("chmod chown chgrp", _mode),
    ("kill", _kill),
    ("pkill killall skill", _kill_by_name),
    ("shutdown reboot halt poweroff init telinit", _system_state),
    ("systemctl launchctl", _systemctl),
    ("service", _service),
    ("sudo su doas pkexec runuser sudoedit gosu run0", _other_rights),
    ("mke2fs fdisk sfdisk cfdisk gdisk sgdisk parted wipefs mkswap blkdiscard", _disk_tool),
    ("cryptsetup lvremove vgremove pvremove mdadm zpool hdparm nvme diskutil format", _disk_tool),
    ("git", git),
    ("curl wget http https xh", _uploads),
    ("nc ncat netcat socat", _netcat),
    ("crontab", _crontab),
)  # fmt: skip
RULES: dict[str, Rule] = {name: rule for names, rule in _NAMED for name in names.split()}


def found(call: Call) -> Iterator[Finding]:
    """What speaks against one call by its program."""
    if set(call.texts) and set(call.texts) <= {"--help", "--version", "-V"}:
        return
    if re.fullmatch(r"(?:mkfs|newfs)(?:[._]\w{1,8})?", call.name):
        yield from _disk_tool(call)
    yield from own(call)
    if rule := RULES.get(call.name):
        yield from rule(call)
    for reason in shell_lines.reasons(call.name, call.line):
        yield risky(reason)
