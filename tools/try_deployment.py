"""Run the steps of the deployment guides on fresh Debian folders: ``python -m tools.try_deployment container systemd``.

For machines without a container engine. Needs root, debootstrap, systemd-nspawn and the package index.

``container``: the instructions of the Containerfile, each as written, in folders made by debootstrap; what they make
then migrates, serves and works as its user, without capabilities, from a read-only root file system.
``systemd``: the shell blocks of docs/guides/systemd.md, in their order, on a machine that systemd-nspawn boots.
"""

import argparse
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import psutil

PROJECT: Final = Path(__file__).parents[1]
FOLDER: Final = PROJECT / ".cache" / "deployments"
RELEASE: Final = "bookworm"
GUIDE: Final = PROJECT / "docs" / "guides" / "systemd.md"
CONTAINERFILE: Final = PROJECT / "deploy" / "container" / "Containerfile"
MACHINE: Final = "systemd-sysv,dbus,ca-certificates"
_OUTSIDE: Final = {"/etc/resolv.conf": "/etc/resolv.conf", "/etc/ssl/certs/ca-certificates.crt": "/etc/ssl/try.crt"}
_PIP: Final = {"PIP_CERT": "/etc/ssl/try.crt", "DEBIAN_FRONTEND": "noninteractive"}
"""How the package index of this machine is reached."""


def run(*words: str | Path, **given: object) -> "subprocess.CompletedProcess[str]":
    """A program that must succeed; its output is shown."""
    print("+", shlex.join(map(str, words))[:300], flush=True)
    return subprocess.run([str(word) for word in words], check=True, text=True, **given)  # type: ignore[call-overload,no-any-return]


def base(name: str, *options: str) -> Path:
    """A folder as debootstrap makes it, made once."""
    made = FOLDER / name
    if not (made / "etc" / "debian_version").exists():
        shutil.rmtree(made, ignore_errors=True)
        FOLDER.mkdir(parents=True, exist_ok=True)
        mirror = next(mirror for mirror, suite in package_sources() if suite == RELEASE)
        run("debootstrap", "--variant=minbase", *options, RELEASE, made, mirror, stdout=subprocess.DEVNULL)
    return made


def package_sources() -> list[tuple[str, str]]:
    """Mirror and suite of each source of this machine's apt, which is of the same release."""
    asked = ["apt-get", "indextargets", "--format", "$(REPO_URI) $(RELEASE)", "Created-By: Packages"]
    shown = subprocess.run(asked, check=True, text=True, capture_output=True).stdout
    pairs = [line.split() for line in sorted(set(shown.splitlines()))]
    return [(mirror, suite) for mirror, suite in pairs if suite.startswith(RELEASE)]


def copy_of(source: Path, name: str) -> Path:
    """A copy to be changed, which can reach the package indexes as this machine does."""
    made = FOLDER / name
    shutil.rmtree(made, ignore_errors=True)
    run("cp", "-a", source, made)
    sources = "\n".join(f"deb {mirror} {suite} main" for mirror, suite in package_sources())
    (made / "etc/apt/sources.list").write_text(sources + "\n")
    clock = 'Acquire::Check-Valid-Until "false";\nAcquire::Check-Date "false";\n'
    (made / "etc/apt/apt.conf.d/99try").write_text(clock)
    for file, place in _OUTSIDE.items():
        (made / place[1:]).parent.mkdir(parents=True, exist_ok=True)
        (made / place[1:]).unlink(missing_ok=True)
        shutil.copy(file, made / place[1:])
    return made


@contextmanager
def mounted(root: Path) -> Iterator[None]:
    """With /proc and /dev of this machine."""
    places = (("proc", ("-t", "proc", "proc")), ("dev", ("--rbind", "/dev")))
    for place, words in places:
        run("mount", *words, root / place)
    try:
        yield
    finally:
        for place, _ in reversed(places):
            run("umount", "--recursive", "--lazy", root / place)


def inside(root: Path, command: str, environment: dict[str, str]) -> None:
    """A shell command as RUN runs it."""
    with mounted(root):
        words = [f"{name}={value}" for name, value in {**_PIP, **environment}.items()]
        path = environment.get("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin")
        run("chroot", root, "/usr/bin/env", "-i", f"PATH={path}", *words, "/bin/sh", "-c", command)


@dataclass
class Stage:
    """One stage of the image, and what was said of it."""

    root: Path
    environment: dict[str, str] = field(default_factory=dict)
    said: dict[str, str] = field(default_factory=dict)

    @property
    def entry(self) -> list[str]:
        """What every command begins with."""
        return list(json.loads(self.said["ENTRYPOINT"]))

    @property
    def command(self) -> list[str]:
        """What follows it where nothing else is given."""
        return list(json.loads(self.said["CMD"]))

    @property
    def health(self) -> list[str]:
        """What asks for its health."""
        return list(json.loads(self.said["HEALTHCHECK"].partition("CMD ")[2]))


def instructions(text: str) -> Iterator[tuple[str, str]]:
    """Each instruction with its words."""
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    for one in re.sub(r"\\\n\s*", " ", "\n".join(lines)).splitlines():
        if one.strip():
            name, _, rest = one.partition(" ")
            yield name, rest.strip()


def build_image(*, again: bool) -> Stage:
    """Every instruction, as written; what is unknown is refused. ``again``: take the files of the last time."""
    commit = subprocess.run(["git", "rev-parse", "HEAD"], cwd=PROJECT, capture_output=True, text=True, check=True)
    stages: dict[str, Stage] = {}
    for name, words in instructions(CONTAINERFILE.read_text()):
        if name == "FROM":
            image, *named = words.split()
            assert image == "docker.io/library/debian:bookworm-slim", image
            called = named[-1] if named else "image"
            stages[called] = Stage(FOLDER / called if again else copy_of(base("base"), called))
            continue
        stage = list(stages.values())[-1]
        if again and name in ("RUN", "COPY"):
            continue
        if name == "RUN":
            inside(stage.root, words, {**stage.environment, "COMMIT": commit.stdout.strip()})
        elif name == "COPY":
            copy_files(stage, stages, words.split())
        elif name == "ENV":
            stage.environment |= dict(word.split("=", 1) for word in shlex.split(words))
        elif name not in ("ARG", "VOLUME", "EXPOSE", "STOPSIGNAL"):
            stage.said[name] = words
    unknown = {name for stage in stages.values() for name in stage.said} - _KNOWN
    assert not unknown, unknown
    return stages["image"]


_KNOWN: Final = {"USER", "WORKDIR", "CMD", "ENTRYPOINT", "HEALTHCHECK"}


def copy_files(stage: Stage, stages: dict[str, Stage], given: list[str]) -> None:
    """From the project or from an earlier stage; of folders what is in them."""
    source = stages[given.pop(0).removeprefix("--from=")].root if given[0].startswith("--from") else PROJECT
    *files, target = given
    place = stage.root / target[1:]
    for file in files:
        found = source / file.lstrip("/")
        (place if found.is_dir() or target.endswith("/") else place.parent).mkdir(parents=True, exist_ok=True)
        run("cp", "-a", f"{found}/." if found.is_dir() else found, place)


_CONTAINED: Final = """
set -eu
mount --bind "$1" "$1"
mount -t proc proc "$1/proc"
mount --rbind /dev "$1/dev"
mount -t tmpfs -o mode=1777,size=256m tmpfs "$1/tmp"
mount --bind "$2" "$1/var/lib/almoner"
mount -o remount,bind,ro "$1"
mount -o remount,bind,ro "$1" 2>/dev/null || true
shift 2
exec "$@"
"""
"""In a mount namespace of its own: the root file system for reading alone."""


def container(image: Stage, volume: Path, words: list[str], settings: dict[str, str]) -> list[str]:
    """The program of a container, started as an engine does it with --read-only and --cap-drop=ALL."""
    given = [f"{name}={value}" for name, value in {**image.environment, **settings}.items()]
    enter = f'cd {image.said["WORKDIR"]} && exec "$@"'
    return [
        "unshare", "--mount", "--pid", "--fork", "--kill-child=SIGTERM", "--ipc", "--uts", "sh", "-c", _CONTAINED, "sh",
        str(image.root), str(volume),
        "setpriv", "--no-new-privs", "--bounding-set=-all,+setuid,+setgid,+sys_chroot",
        "chroot", f"--userspec={image.said['USER']}", str(image.root), "/usr/bin/env", "-i", *given,
        "sh", "-c", enter, "sh", *words,
    ]  # fmt: skip


def try_container(*, again: bool) -> None:
    """Build (not ``again`` where it was built), then run it over a database of this machine."""
    from tests.support.production import PRODUCTION
    from tests.support.running import folder, free_port

    began = time.monotonic()
    image = build_image(again=again)
    built = time.monotonic() - began
    size = subprocess.run(["du", "-sm", image.root], capture_output=True, text=True, check=True).stdout.split()[0]
    with folder("container") as place, database(place) as (owner_url, app_url):
        volume = place / "volume"
        volume.mkdir()
        os.chown(volume, 10001, 10001)
        port, worker_port = free_port(), free_port()
        settings = {
            f"ALMONER_{name.upper()}": ",".join(value) if isinstance(value, list) else value
            for name, value in PRODUCTION.items()
        } | {
            "ALMONER_DATABASE_URL": app_url,
            "ALMONER_MASTER_KEY": "MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=",
            "ALMONER_SCANNER_URL": "none",
            "ALMONER_DRAIN_SECONDS": "1",
            "ALMONER_PORT": str(port),
        }
        run(*container(image, volume, [*image.entry, "--version"], settings))
        run(*container(image, volume, [*image.entry, "migrate"], settings | {"ALMONER_OWNER_DATABASE_URL": owner_url}))
        refused = container(image, volume, ["sh", "-c", "id -u; touch /opt/almoner/x || echo refused"], settings)
        said = subprocess.run(refused, capture_output=True, text=True, check=True).stdout.split()
        assert said == ["10001", "refused"], said
        for words, more, asked in (
            (image.command, {}, port),
            (["worker"], {"ALMONER_WORKER_PORT": str(worker_port)}, worker_port),
        ):
            process = subprocess.Popen(container(image, volume, [*image.entry, *words], settings | more))
            try:
                for path in ("/healthz", "/readyz"):
                    probe = container(image, volume, [*image.health, path], settings | more)
                    until(
                        lambda probe=probe: (
                            subprocess.run(probe, stderr=subprocess.DEVNULL, check=False).returncode == 0
                        )
                    )
                    print(f"{words[0]}: {path} on port {asked} is fine", flush=True)
            finally:
                for inner in psutil.Process(process.pid).children():  # `unshare` passes no signal on
                    inner.terminate()
                print(f"{words[0]}: ended with status {process.wait(60)}", flush=True)
    print(f"container: built in {built:.0f} s, {size} MB", flush=True)


@contextmanager
def database(place: Path) -> Iterator[tuple[str, str]]:
    """Debian's PostgreSQL on this machine with what the compose file makes: the addresses of owner and service."""
    from tests.support.debian_postgres import DebianServer

    (place / "database").mkdir()
    server = DebianServer(place / "database" / "data")
    server.create()
    try:
        server.start()
        sql = (
            (PROJECT / "deploy/container/create-database.sh").read_text().partition("<<'SQL'\n")[2].rpartition("SQL")[0]
        )
        passwords = "\\set owner_password for-tests-only\n\\set app_password for-tests-only\n"
        server.sql(passwords + sql)
        yield server.url("almoner_owner"), server.url("almoner_app")
    finally:
        server.stop()


def until(done: object, seconds: float = 60) -> None:
    """Ask until it is so."""
    ends = time.monotonic() + seconds
    while not done():  # type: ignore[operator]
        if time.monotonic() > ends:
            raise TimeoutError
        time.sleep(0.2)


def shell_blocks(guide: str) -> list[str]:
    """The guide's shell blocks before the one of its upgrade."""
    steps = guide.partition("\n## How the services behave")[0]
    return re.findall(r"^```sh\n(.*?)^```", steps, re.MULTILINE | re.DOTALL)


_EDITS: Final = r"""
set -e
key=$(openssl rand -base64 32)
sed -i -e "s|^ALMONER_MASTER_KEY=.*|ALMONER_MASTER_KEY=$key|" -e 's|almoner_app:CHANGE-ME|almoner_app:APP-PASSWORD|' \
    -e 's|^ALMONER_MAIL_URL=.*|ALMONER_MAIL_URL=smtp://127.0.0.1:25|' \
    -e "s|^ALMONER_PUBLIC_NAME=.*|ALMONER_PUBLIC_NAME='A \& B Giving'|" /etc/almoner/almoner.env
sed -i 's|almoner_owner:CHANGE-ME|almoner_owner:OWNER-PASSWORD|' /etc/almoner/migrate.env
echo "127.0.0.1 api.example.org give.example.org" >> /etc/hosts
systemd-run --quiet --unit=mail python3 /root/mail.py
"""
"""What a person edits, and what this machine lacks: names and a mail server."""
_MAIL: Final = """
import socketserver

class Session(socketserver.StreamRequestHandler):
    def handle(self):
        self.wfile.write(b"220 mail.example.org ESMTP\\r\\n")
        data = False
        for line in self.rfile:
            if data:
                data = line != b".\\r\\n"
                if not data:
                    self.wfile.write(b"250 ok\\r\\n")
                continue
            verb = line[:4].upper()
            data = verb == b"DATA"
            self.wfile.write({b"DATA": b"354 go on\\r\\n", b"QUIT": b"221 bye\\r\\n"}.get(verb, b"250 ok\\r\\n"))
            if verb == b"QUIT":
                break

socketserver.ThreadingTCPServer(("127.0.0.1", 25), Session).serve_forever()
"""
_BEFORE_PROXY: Final = r"""
mkdir -p /etc/ssl/almoner
openssl req -x509 -newkey rsa:2048 -nodes -days 30 -subj /CN=api.example.org \
    -addext subjectAltName=DNS:api.example.org -keyout /etc/ssl/almoner/key.pem \
    -out /etc/ssl/almoner/cert.pem 2>/dev/null
"""
_AFTER_PROXY: Final = r"""
sed -i '/127.0.0.1:8090/d' /etc/nginx/sites-enabled/almoner
systemctl restart nginx
curl --fail --silent --show-error --cacert /etc/ssl/almoner/cert.pem --resolve api.example.org:443:127.0.0.1 \
    https://api.example.org/v1/organisations -o /dev/null -w '%{http_code}\n' || true
curl --silent --cacert /etc/ssl/almoner/cert.pem --resolve api.example.org:443:127.0.0.1 \
    https://api.example.org/readyz -w '\n'
almoner operators add ada@example.org --role administrator --role reviewer --role finance | tee /root/operator
token=$(awk '/^token/{print $2}' /root/operator)
key=$(ALMONER_OPERATOR_TOKEN=$token almoner partners create Partner | grep -o 'sk_live_[A-Za-z0-9_]*')
api() {
    curl --silent --show-error --fail --cacert /etc/ssl/almoner/cert.pem --resolve api.example.org:443:127.0.0.1 \
        --header "Authorization: $key" "$@"
}
invite=$(api https://api.example.org/v1/validation-invites --json '{}' | grep -o '"id":"[^"]*' | head -1 | cut -c7-)
base64 -d > /root/dot.png <<'PNG'
iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==
PNG
# A file is checked by a confined process of the sandboxed service.
api https://api.example.org/v1/validation-submission-documents --form file=@/root/dot.png \
    --form type=validation_request --form "validationInviteId=$invite"
systemctl status --no-pager almoner-server almoner-worker | grep -E 'Active|Memory'
systemd-analyze security --no-pager almoner-server | tail -1
# One server alone, restarted while it is asked on new connections: none is refused.
for i in $(seq 1 150); do
    curl --silent --max-time 20 -o /dev/null -w '%{http_code}\n' http://127.0.0.1:8080/healthz
    sleep 0.02
done > /root/asked &
systemctl restart almoner-server
wait
echo "asked during the restart: $(sort /root/asked | uniq -c | tr -s ' ' | tr '\n' ',')"
test "$(sort -u /root/asked)" = 200
journalctl --no-pager -u almoner-server -u almoner-worker -p warning -o cat | tail -5
"""


def try_systemd(*, again: bool) -> None:
    """The guide, on a booted machine of its own, without a network once its programs are installed."""
    wheels = sorted((PROJECT / "dist").glob("almoner-*.whl"))
    if not wheels:
        sys.exit("Run `make dist` first.")
    programs, *others = shell_blocks(GUIDE.read_text())
    began = time.monotonic()
    if not again or not (FOLDER / "programs").exists():
        machine = copy_of(base("machine", f"--include={MACHINE}"), "programs")
        clone = machine / "root/almoner"
        for part in ("deploy", "requirements", "docs"):
            shutil.copytree(PROJECT / part, clone / part)
        (clone / "dist").mkdir()
        shutil.copy(wheels[-1], clone / "dist")
        install = programs.replace("apt-get install", "apt-get update && apt-get install --yes --no-install-recommends")
        inside(machine, f"cd /root/almoner && set -ex\n{install}", {})
    installed = time.monotonic() - began
    machine = FOLDER / "systemd"
    shutil.rmtree(machine, ignore_errors=True)
    run("cp", "-a", FOLDER / "programs", machine)
    for part in ("deploy", "docs"):
        shutil.copytree(PROJECT / part, machine / "root/almoner" / part, dirs_exist_ok=True)
    (machine / "root/mail.py").write_text(_MAIL)
    sql, settings, services, proxy = others
    parts = [sql, settings, _EDITS, services, _BEFORE_PROXY, proxy, _AFTER_PROXY]
    (machine / "root/steps.sh").write_text(
        "#!/bin/bash\nset -ex\ncd /root/almoner\n" + "\n".join(parts) + "\necho GUIDE-DONE\n"
    )
    (machine / "etc/systemd/system/steps.service").write_text(
        "[Unit]\nAfter=multi-user.target\n[Service]\nType=oneshot\nExecStart=/bin/bash /root/steps.sh\n"
        "Environment=HOME=/root\n"  # as in the shell of root
        "StandardOutput=file:/root/steps.log\nStandardError=inherit\nExecStopPost=/bin/systemctl --no-block poweroff\n"
        "[Install]\nWantedBy=default.target\n"
    )
    inside(machine, "systemctl enable steps.service", {})
    began = time.monotonic()
    boot = ["systemd-nspawn", "--quiet", "--boot", "--private-network", "--register=no", "--keep-unit",
            f"--directory={machine}", "--machine=almoner-try", "--link-journal=no"]  # fmt: skip
    try:
        subprocess.run(boot, timeout=300, check=False, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    finally:
        said = (machine / "root/steps.log").read_text() if (machine / "root/steps.log").exists() else "it did not boot"
        print(said)
    assert said.rstrip().endswith("GUIDE-DONE"), "the guide did not work"
    print(
        f"systemd: programs in {installed:.0f} s, the rest in {time.monotonic() - began:.0f} s with the boot",
        flush=True,
    )


def main() -> None:
    """The ways that are asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("ways", nargs="+", choices=["container", "systemd"])
    parser.add_argument("--again", action="store_true", help="take what was built or installed the last time")
    given = parser.parse_args()
    if os.geteuid() != 0:
        sys.exit("Run it as root.")
    for way in given.ways:
        try_container(again=given.again) if way == "container" else try_systemd(again=given.again)


if __name__ == "__main__":
    main()
