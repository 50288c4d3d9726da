"""Programs whose danger shows in their arguments: a pattern each, and what to say."""

from __future__ import annotations

import re
from collections.abc import Iterator

_O = r"(?:-\S+ (?:[^-\s]\S* (?=\S))?)*?"
"""Options before the verb, with or without a value."""

_ROWS: tuple[tuple[str, str, str], ...] = (
    ("docker podman nerdctl",
     rf"{_O}(?:(?:container|image|volume|network|system|builder) )?(?:stop|kill|rm|rmi|prune)(?: |$)",
     "It ends or deletes containers."),
    ("docker podman nerdctl", r"compose (?:.* )?(?:down|rm|kill|stop)(?: |$)", "It ends containers."),
    ("docker podman nerdctl", r".*--privileged|.*(?:-v|--volume)[ =]/:",
     "It gives a container the whole machine."),
    ("docker-compose", r"(?:.* )?(?:down|rm|kill|stop)(?: |$)", "It ends containers."),
    ("kubectl oc", rf"{_O}(?:delete|drain|replace --force)(?: |$)", "It deletes from a cluster."),
    ("helm", rf"{_O}(?:uninstall|delete|rollback)(?: |$)", "It changes a cluster."),
    ("terraform tofu pulumi", rf"{_O}(?:destroy|down)(?: |$)|.*-auto-approve",
     "It destroys infrastructure."),
    ("aws", rf"{_O}(?:s3 (?:rm|rb)|\S+ (?:delete|terminate|deregister)-\S+)(?: |$)|.*s3 sync .*--delete",
     "It deletes in the cloud."),
    ("gcloud az doctl flyctl heroku", rf"{_O}(?:\S+ ){{0,3}}(?:delete|destroy|purge|apps:destroy)(?: |$)",
     "It deletes in the cloud."),
    ("gsutil", rf"{_O}(?:rm|rb) ", "It deletes in the cloud."),
    ("gh glab", rf"{_O}\S+ (?:delete|archive)(?: |$)", "It deletes on the forge."),
    ("npm yarn pnpm", rf"{_O}(?:unpublish|publish|deprecate|owner)(?: |$)", "It changes what others install."),
    ("twine gem cargo poetry uv hatch flit", rf"{_O}(?:upload|push|publish|yank)(?: |$)",
     "It changes what others install."),
    ("apt apt-get dnf yum zypper pacman apk brew snap port",
     rf"{_O}(?:remove|purge|autoremove|erase|uninstall|del)(?: |$)|-R\w*",
     "It removes programs of this machine."),
    ("iptables ip6tables nft ufw", r"(?:-F|-X|flush|disable|reset|delete)(?: |$)", "It opens the firewall."),
    ("sysctl", r".*-w|.*\S=", "It changes how the system works."),
    ("insmod rmmod modprobe", r".+", "It changes the running system."),
    ("redis-cli", r"(?:.* )?(?:flushall|flushdb|shutdown)(?: |$)", "It empties a database."),
    ("dropdb dropuser", r".+", "It deletes a database."),
    ("userdel groupdel usermod passwd chpasswd visudo", r".*", "It changes who may use the machine."),
    ("truncate", r".*", "It cuts files short."),
    ("history", r"-c", "It clears the shell's history."),
    ("swapoff umount", r".*-a", "It takes away what the system runs on."),
    ("tar", r".*(?:--remove-files|--to-command|--checkpoint-action|--use-compress-program)",
     "It deletes or runs more than it packs."),
    ("ssh sshpass", r".*", "It works on another machine."),
    ("defaults", r"(?:delete|write) ", "It changes settings of this machine."),
    ("reg", r"(?:delete|add) ", "It changes settings of this machine."),
)  # fmt: skip

_BY_NAME: dict[str, list[tuple[re.Pattern[str], str]]] = {}
for _names, _pattern, _reason in _ROWS:
    for _name in _names.split():
        _BY_NAME.setdefault(_name, []).append((re.compile(_pattern, re.IGNORECASE), _reason))


def reasons(name: str, line: str) -> Iterator[str]:
    """What is dangerous about a program with these arguments, joined by single spaces."""
    for pattern, reason in _BY_NAME.get(name, ()):
        if pattern.match(line):
            yield reason
